"""Which pass of a pipeline changes the values of a kernel: they are computed after each pass, on the reference down to
commands and on the device from there, and held against those of the kernel as the frontend makes it.

In the pass that did it the first op is named that makes a value which the program before it did not compute, and the
first op before it whose value is not computed any more: between the two stands what was rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from ..backend_sim.launch import Launch
from ..backend_sim.memory import Tensor
from ..backend_sim.numerics.dtypes import Array, is_float
from ..backend_sim.simulate import simulate
from ..backend_sim.target.machine import Machine
from ..dialects.errors import AhbmcError, Place, place_of
from ..passes import build_pipeline, run_pipeline
from .ablation import names_of
from .launches import BoundLaunch
from .lowering import Request, front, function_of
from .value_trace import ValueTrace, has_values, tolerance_of, values_of

SIMULATION = "the simulation"
_LONGEST = 150  # characters of the text of an op


@dataclass(frozen=True)
class Witness:
    """An op of the program as lines of text, what makes its operands above it if it would not be told apart without,
    and its line of the kernel.
    """

    lines: tuple[str, ...]
    place: Place | None


@dataclass(frozen=True)
class Culprit:
    """What changed the values: the name of a pass (or SIMULATION: every pass is right, but the order in which commands
    complete is not), what is wrong, and the ops that show it.
    """

    name: str
    reason: str
    new: Witness | None = None
    missing: Witness | None = None


@dataclass(frozen=True)
class ValueBisection:
    """The passes whose result has the right values, in order, and the first one whose result has not."""

    right: tuple[str, ...]
    culprit: Culprit | None


class _Found(Exception):
    """Ends the pipeline after the pass that did it."""

    def __init__(self, culprit: Culprit):
        self.culprit = culprit


def bisect_values(
    request: Request, launch: BoundLaunch, machine: Machine, advance: Callable[[], None] = lambda: None
) -> ValueBisection:
    """Run the pipeline of `request` with a look at the values of `launch` after each pass. Raises AhbmcError where the
    kernel cannot be executed before the first pass, or a pass refuses it.
    """
    module = front(request)
    wanted = values_of(module, launch)
    passes = build_pipeline(request.pipeline, request.options, request.pipeline_place)
    names = names_of([each.name for each in passes])
    right: list[str] = []
    last = [module.clone()]  # the last program that had values: they were right
    since: list[str] = []

    def look(_: ModulePass, now: ModuleOp) -> None:
        name = names[len(right) + len(since)]
        advance()
        if not has_values(now):
            since.append(name)
            return
        reasons = _differences(now, launch, wanted)
        if reasons:
            suspects = " or ".join([*since, name])
            raise _Found(_witnessed(suspects, reasons, last[0], now, launch, wanted))
        right.extend([*since, name])
        since.clear()
        last[0] = now.clone()

    try:
        run_pipeline(module, passes, on_pass=look)
    except _Found as found:
        return ValueBisection(tuple(right), found.culprit)
    simulated = Launch(function_of(module), machine, tuple(launch.values.values()), launch.grid, launch.programs)
    memory = simulate([simulated], values=True).memory
    got = {name: memory[value.name] for name, value in launch.values.items() if isinstance(value, Tensor)}
    reasons = _compared(got, wanted)
    return ValueBisection(tuple(right), Culprit(SIMULATION, _first(reasons)) if reasons else None)


def _differences(module: ModuleOp, launch: BoundLaunch, wanted: Mapping[str, Array]) -> dict[str, str]:
    """How the values of `module` differ from the right ones, by tensor; all of them if it cannot be executed."""
    try:
        return _compared(values_of(module, launch), wanted)
    except AhbmcError as error:
        return dict.fromkeys(wanted, f"it cannot be executed: {str(error).splitlines()[0]}")


def _first(reasons: Mapping[str, str]) -> str:
    return next(iter(reasons.values()))


def _compared(got: Mapping[str, Array], wanted: Mapping[str, Array]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for name, right in wanted.items():
        have, should = got[name].astype(np.float64), right.astype(np.float64)
        finite = np.abs(should[np.isfinite(should)])
        tolerance = tolerance_of(right)
        with np.errstate(all="ignore"):
            same = (have == should) | (np.isnan(have) & np.isnan(should))
            near = np.abs(have - should) <= tolerance * (np.abs(should) + finite.max(initial=0.0))
        bad = ~(same | near)
        if bad.any():
            first = tuple(int(i) for i in np.argwhere(bad)[0])
            count = f"{np.count_nonzero(bad):,} of {bad.size:,} elements of `{name}` are off"
            reasons[name] = f"{count}; first at {list(first)}: {have[first]:.6g}, right is {should[first]:.6g}"
    return reasons


def _witnessed(
    name: str,
    reasons: Mapping[str, str],
    before: ModuleOp,
    after: ModuleOp,
    launch: BoundLaunch,
    wanted: Mapping[str, Array],
) -> Culprit:
    integers = not any(is_float(wanted[tensor].dtype) for tensor in reasons)
    traces = ValueTrace(integers), ValueTrace(integers)
    for module, trace in zip((before, after), traces, strict=True):
        try:
            values_of(module, launch, trace)
        except AhbmcError:
            continue  # what ran until then is in the trace
    tolerance = max(tolerance_of(array) for array in wanted.values())
    missing, new = traces[0].unlike(traces[1], tolerance), traces[1].unlike(traces[0], tolerance)
    alike = new is not None and missing is not None and _lines(new) == _lines(missing)
    witnesses = [Witness(_lines(op, alike), place_of(op.location)) if op is not None else None for op in (new, missing)]
    return Culprit(name, _first(reasons), *witnesses)


def _lines(op: Operation, with_operands: bool = False) -> tuple[str, ...]:
    """The first line of an op as text, and those of the ops that make its operands before it."""
    made = dict.fromkeys(each.owner for each in op.operands if isinstance(each.owner, Operation))
    out = StringIO()
    printer = Printer(stream=out)
    lines: list[str] = []
    for each in (*(made if with_operands else ()), op):
        out.truncate(out.seek(0))
        printer.print_op(each)
        line = out.getvalue().splitlines()[0]
        lines.append(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ...")
    return tuple(lines)
