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
    numbers: Mapping[int, int] | None = None,
) -> tuple[int, int]:
    """Run a launch whose PE_CPUs start at `start`; returns (when its last command has ended, events).

    `numbers` are the issue numbers that the PEs have got to. Raises AhbmcError `deadlock` where a PE cannot go on.
    """
    users = Counter(owner for pe in work.values() for owner in sorted(set(pe.slices)))
    slices = {owner: Slice(owner, shared=count > 1) for owner, count in users.items()}
    runs: list[PeRun] = []
    clock = simpy.Environment(start)
    for number in sorted(work):
        todo = work[number]
        pe = Pe(machine, number, slices)
        private = all(users[owner] == 1 for owner in todo.slices)
        name = pe_name(machine, number)
        issued = (numbers or {}).get(number, 0)
        run = PeRun(pe, name, launch, start, todo.works, sites, log, private, todo.values, issued)
        runs.append(run)
        clock.process(pe_process(clock, run.run()))
    clock.run()
    return max((run.end for run in runs), default=start), sum(run.pe.events for run in runs)
