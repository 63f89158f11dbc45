"""`check-limits`: what the machine cannot take, all of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ..backend_sim.target.cost import GEMM_ELEMENTS
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm
from ..dialects.errors import AhbmcError, Category, Fault, place_of
from ..dialects.region import operand_element
from .analysis.bounds import argument_fact
from .analysis.scratch import size_of

BYTES_FACT = "ahbm.bytes"
"""The attribute of a pointer argument that holds the size of its allocation."""


@dataclass(frozen=True)
class CheckLimitsPass(ModulePass):
    """Compare commands, buffers and arguments with the limits of the machine. It changes nothing.

    checks:  the logical bytes of each composite (`composite_max_bytes`), the element type of each GEMM, the place of
             each buffer in the scratch (`pe.tcm.scratch_bytes`), the bytes of each pointer argument (`ahbm.bytes`,
             against `hbm.slice_bytes` of all PEs).

    needs:   `lower-to-commands`, `allocate-scratch`; `expand-recipes`, because the rows of a recipe are what is issued.
    keeps:   everything. Every limit that is broken is one fault of one error, each with its place.
    options: none
    """

    name = "check-limits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        faults: list[Fault] = []
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            faults += _arguments(function, machine)
            for each in function.walk():
                if isinstance(each, ahbm.CompositeOp):
                    faults += _composite(each, machine)
                    faults += _element(each, each.factor_elements[:1] if each.gemm_number is not None else ())
                elif isinstance(each, ahbm.GemmOp):
                    faults += _element(each, [each.a.type])
                elif isinstance(each, ahbm.AllocOp):
                    faults += _buffer(each, machine)
        if faults:
            raise AhbmcError(*faults)


def _composite(op: ahbm.CompositeOp, machine: Machine) -> Iterator[Fault]:
    bound, size = machine.composite_max_bytes, op.logical_bytes
    if size <= bound:
        return
    ops = [(spec.kind.data, each) for spec, each in zip(op.specs, op.spec_bytes, strict=True)]
    handles = size - sum(op.spec_bytes)
    yield Fault(
        f"a composite of {len(ops)} ops has {size} bytes; a command has {bound} at most, {size - bound} fewer",
        place_of(op.location),
        Category.DOES_NOT_FIT,
        "leave some of the ops outside of the composite: nothing is split silently",
        (*_listed(ops), f"framing and written handles: {handles} bytes"),
    )


def _listed(ops: list[tuple[str, int]]) -> Iterator[str]:
    """One line per op; the same op several times in a row is one line."""
    for (kind, size), same in groupby(ops):
        count = len(list(same))
        yield f"{kind}: {size} bytes" + (f", {count} times" if count > 1 else "")


def _element(op: Operation, operands: Iterable[Attribute]) -> Iterator[Fault]:
    """The GEMM engine has a rate for some element types only."""
    for kind in operands:
        element = str(operand_element(kind))
        if element not in GEMM_ELEMENTS:
            yield Fault(
                f"the GEMM engine does not take {element}; it takes {', '.join(GEMM_ELEMENTS)}",
                place_of(op.location),
                Category.UNSUPPORTED,
                "cast the operands of the dot",
            )


def _buffer(op: ahbm.AllocOp, machine: Machine) -> Iterator[Fault]:
    kind = op.result.type
    assert isinstance(kind, ahbm.BufferType)
    if op.offset is None or kind.space.data != "tcm":
        return
    bound, end = machine.pe.tcm.scratch_bytes, op.offset.value.data + size_of(kind)
    if end > bound:
        yield Fault(
            f"{kind} at offset {op.offset.value.data} ends at byte {end} of the scratch, which has {bound}",
            place_of(op.location),
            Category.DOES_NOT_FIT,
            "make the blocks of the kernel smaller, or take a machine with a larger pe.tcm.scratch_bytes",
        )


def _arguments(function: func.FuncOp, machine: Machine) -> Iterator[Fault]:
    """A tensor larger than all the slices together has no room under any placement."""
    bound = machine.hbm.slice_bytes * machine.pes
    for number, arg in enumerate(function.body.block.args if function.body.blocks else ()):
        fact = argument_fact(function, number, BYTES_FACT)
        if isinstance(fact, IntegerAttr) and fact.value.data > bound:
            yield Fault(
                f"argument '{arg.name_hint or number}' has {fact.value.data} bytes; the HBM of the machine has "
                f"{bound}, {fact.value.data - bound} too few",
                place_of(function.location),
                Category.DOES_NOT_FIT,
                "make the tensor smaller, or take a machine with more PEs or larger slices (hbm.slice_bytes)",
            )
