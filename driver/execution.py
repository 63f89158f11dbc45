"""Compiled launches brought to the simulator: the one way in which the command line and the Python API run kernels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..backend_sim.analysis.summary import Analysis
from ..backend_sim.launch import Launch
from ..backend_sim.memory import Tensor
from ..backend_sim.numerics.dtypes import Array
from ..backend_sim.program.program import reads_values
from ..backend_sim.simulate import Execution, simulate
from ..backend_sim.target.machine import Machine
from ..dialects.programs import scratch_bytes
from ..dialects.remarks import Remark, remarks
from .forms import compiled_form
from .launches import BoundLaunch
from .lowering import Compiled, Request
from .progress import step


@dataclass(frozen=True)
class Executed:
    """What a run of launches gave: op-log and memory, the compiled modules, and seconds of work by name."""

    machine: Machine
    execution: Execution
    compiled: tuple[Compiled, ...]
    bound: tuple[BoundLaunch, ...]
    seconds: dict[str, float]

    @cached_property
    def analysis(self) -> Analysis:
        return Analysis(self.execution.oplog, self.machine)

    def written(self) -> dict[Tensor, Array]:
        """The tensors that the kernels may write, with what they hold now; none if no values were computed."""
        if not self.execution.valued:
            return {}
        pairs = zip(self.compiled, self.bound, strict=True)
        tensors = dict.fromkeys(b.values[name] for c, b in pairs for name in c.writes)
        return {t: self.execution.memory[t.name] for t in tensors if isinstance(t, Tensor)}

    @property
    def scratch_peak(self) -> int | None:
        """The most bytes of scratch that a program of one of the kernels needs; None where no pass has placed them."""
        return max((size for c in self.compiled if (size := scratch_bytes(c.function)) is not None), default=None)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        return tuple(r for c in self.compiled for r in remarks(c.module))


def compile_all(requests: Sequence[Request]) -> tuple[Compiled, ...]:
    """Every request compiled down to `pe`; equal ones once, open ones in their fastest form."""
    with step("compiling"):
        return tuple(map(compiled_form, requests))


def reads_memory(compiled: Sequence[Compiled]) -> bool:
    """Whether addresses or control flow may depend on what tensors hold, so that timing needs their contents."""
    return any(reads_values(c.function) for c in compiled)


def execute(
    compiled: Sequence[Compiled],
    bound: Sequence[BoundLaunch],
    machine: Machine,
    *,
    values: bool,
    exact: bool = False,
    partial: bool = False,
    links: bool = False,
) -> Executed:
    """Simulate launches in turn; `exact` takes no short cuts and gives the same; `links` notes when links were taken;
    `partial` returns what had ended when the user interrupts it.

    Raises AhbmcError: a deadlock, an access outside of every tensor, ...
    """
    launches = [
        Launch(c.function, machine, tuple(b.values.values()), b.grid, b.programs)
        for c, b in zip(compiled, bound, strict=True)
    ]
    start = time.perf_counter()
    with step("simulating"):
        execution = simulate(launches, values=values, exact=exact, partial=partial, links=links)
    spent = time.perf_counter() - start
    values_s = execution.values_s
    seconds = {"compile": sum(c.seconds for c in compiled), "simulate": spent - values_s, "values": values_s}
    return Executed(machine, execution, tuple(compiled), tuple(bound), seconds)
