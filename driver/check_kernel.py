"""One row of `ahbmc check`: a kernel compiled down to commands with plans, and whether everything in it can run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..backend_sim.numerics.device import effect_of
from ..backend_sim.target import cost
from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm
from ..dialects.ahbm.commands import CommandOp
from ..dialects.errors import AhbmcError, Category, Fault, Place, fail, place_of
from ..dialects.shapes import element_of
from .check_rows import Row, fits
from .kernel_files import module_in
from .kernels import kernel_of
from .lowering import Request, compile_request
from .outermost import caught


@dataclass(frozen=True)
class Outcome:
    """What became of a row: `status` is "compiled", "failed", "refused" or "missing"; `ms` is CPU time."""

    status: str
    fault: Fault | None = None
    ms: float = 0.0


def check(row: Row, machine: str, pipeline: str) -> Outcome:
    """Compile a row. Nothing gets out of here as an exception."""
    if row.fault is not None:
        return Outcome(_status(row.fault), row.fault)
    if row.file is None:
        return Outcome("missing", Fault(f"no file given ends with {row.path}"))
    start = time.process_time()
    error = caught("ahbmc", lambda: _compile(row, machine, pipeline))
    ms = (time.process_time() - start) * 1000
    if error is None:
        return Outcome("compiled", ms=ms)
    if isinstance(error, _Missing):
        return Outcome("missing", error.faults[0])
    return Outcome(_status(error.faults[0]), error.faults[0], ms)


def _status(fault: Fault) -> str:
    return "refused" if fault.category is Category.UNSUPPORTED else "failed"


class _Missing(AhbmcError):
    """The file has no such jit function, or one with other parameters."""


def _compile(row: Row, machine: str, pipeline: str) -> None:
    assert row.file is not None
    module = module_in(row.file)
    listed = row.function.rpartition(".")[2] in module.kernels
    function = module.function(row.function) if listed else None
    if function is None:
        raise _Missing(Fault(f"{row.file} has no kernel {row.function}", Place(row.file, 1, 1)))
    if not fits(function, {*row.signature, *row.constants}):
        place = module.text.place(function.tree.span)
        raise _Missing(Fault(f"the parameters of {row.function} are not those of the signature", place))
    kernel = kernel_of(module, row.function)
    compiled = compile_request(Request(kernel, row.signature, row.constants, machine, pipeline=pipeline))
    can_run(compiled.module)


def can_run(module: ModuleOp) -> None:
    """Raise AhbmcError (`internal`) at an op of a lowered module that is no command, or one without values or cost."""
    machine = machine_of(module)
    for op in module.walk():
        if op.name.startswith("tl."):
            raise fail(f"'{op.name}' is left after lowering", place_of(op.location), Category.INTERNAL, _OURS)
        if not isinstance(op, CommandOp):
            continue
        try:
            effect_of(op)
        except KeyError as error:
            message = f"'{op.name}' has no rule for values: {error}"
            raise fail(message, place_of(op.location), Category.INTERNAL, _OURS) from None
        cost.issue_ps(machine, op.logical_bytes, composite=isinstance(op, ahbm.CompositeOp))
        if isinstance(op, ahbm.GemmOp):
            cost.gemm_rate(machine, str(element_of(op.a.type)))


_OURS = "this is a fault of the compiler, not of the kernel: please report it with the kernel"
