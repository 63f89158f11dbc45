"""Runs the programs of one launch on all of its PEs under one clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import simpy

from ..memory import pe_name
from ..oplog import Site
from ..target.machine import Machine
from .clock import pe_process
from .hbm import Slice
from .island import Island
from .pe import Pe
from .records import Log
from .run_pe import PeRun, Work
from .values import PeValues


@dataclass(frozen=True)
class PeWork:
    """The programs of a PE, the slices (by owner) that they may use, and its values if they are wanted."""

    works: Sequence[Work]
    slices: Collection[int]
    values: PeValues | None = None


def execute(
    machine: Machine,
    launch: int,
    start: int,
    work: Mapping[int, PeWork],
    sites: Sequence[Site],
    log: Log,
    numbers: dict[int, int] | None = None,
    *,
    exact: bool = False,
) -> tuple[int, int]:
    """Run a launch whose PE_CPUs start at `start`; returns (when its last command has ended, events).

    `numbers` are the issue numbers that the PEs have got to; they are brought up to date. `exact`: every program and
    every tile is simulated by itself, which takes longer and gives the same times. Raises AhbmcError `deadlock` where
    a PE cannot go on.
    """
    users = Counter(owner for pe in work.values() for owner in sorted(set(pe.slices)))
    slices = {owner: Slice(owner, shared=count > 1) for owner, count in users.items()}
    clock = simpy.Environment(start)
    shared = Island(clock, [s for s in slices.values() if s.shared])
    runs: list[PeRun] = []
    issued = {} if numbers is None else numbers
    for number in sorted(work):
        todo, pe = work[number], Pe(machine, number, slices, exact=exact)
        island = shared if any(slices[owner].shared for owner in todo.slices) else None
        name, done = pe_name(machine, number), issued.get(number, 0)
        run = PeRun(pe, name, launch, start, todo.works, sites, log, island, todo.values, done, not exact)
        runs.append(run)
        clock.process(pe_process(clock, run.run()))
    if not exact:
        shared.add([run for run in runs if run.island is not None])
    clock.run()
    issued.update((run.pe.number, run.number) for run in runs)
    return max((run.finished_at for run in runs), default=start), sum(run.pe.events for run in runs)
