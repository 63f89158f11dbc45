"""Runs the programs of one launch on all of its PEs.

Which slices and links several PEs contend for is often seen only when they have run. So a PE of which it is not known
first runs as if it had the machine for itself, ahead of everybody else. Those that then turn out to have used the same
slice or link are rolled back: they run again together, under one clock, and take what they contend for in the order of
simulated time; until nobody has met anybody else unawares. Who met nobody has not been disturbed by anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from ..memory import pe_name
from ..oplog import Site
from ..target.machine import Machine
from .clock import pe_process
from .island import Island
from .network import Network
from .pe import Pe
from .records import Log
from .run_pe import PeRun, Work
from .values import PeValues
from .way import Way

# Beyond this many pairs of PE and slice it is not worked out which links they may contend for: it may be any.
_MOST_PAIRS = 1024

Names = frozenset[str | int]


@dataclass(frozen=True)
class PeWork:
    """The programs of a PE, the slices (by owner) that they may use, and its values if they are wanted. `certain`: the
    slices are known to be those that they use. `like`: equal for PEs of the same number in their cubes that do the same
    there; None: it is not known.
    """

    works: Sequence[Work]
    slices: Collection[int]
    values: PeValues | None = None
    certain: bool = False
    like: Any = None


@dataclass
class Run:
    """One launch that runs: what all of its PEs have in common."""

    machine: Machine
    launch: int
    start: int
    work: Mapping[int, PeWork]
    sites: Sequence[Site]
    log: Log
    numbers: dict[int, int]
    exact: bool
    logs_links: bool
    limit: int | None


@dataclass
class Together:
    """PEs that run under one clock. `ordered` are the slices and links that they take in the order of simulated time
    (None: all)."""

    pes: tuple[int, ...]
    ordered: Names | None
    network: Network | None = None
    log: Log = field(default_factory=Log)
    runs: list[PeRun] = field(default_factory=list[PeRun])

    def run(self, of: Run) -> None:
        """Run their programs, from the start."""
        self.log = Log(of.log.links)
        self.network = Network(of.machine, self.ordered, of.log.links, of.logs_links)
        clock = simpy.Environment(of.start)
        several = Island(clock, self.network) if len(self.pes) > 1 else None
        self.runs = []
        for number in self.pes:
            todo, name, done = of.work[number], pe_name(of.machine, number), of.numbers.get(number, 0)
            if todo.values is not None:
                todo.values.restart()
            pe = Pe(self.network, number, exact=of.exact)
            parts = (of.sites, self.log, several, todo.values, done, not of.exact, of.limit)
            run = PeRun(pe, name, of.launch, of.start, todo.works, *parts)
            self.runs.append(run)
            clock.process(pe_process(clock, run.run()))
        if several is not None and not of.exact:
            several.add(self.runs)
        clock.run()

    @property
    def used(self) -> dict[str | int, set[str | int]]:
        """The slices and links that they used, each with who feeds it: PEs a slice, links a link."""
        assert self.network is not None
        found: dict[str | int, set[str | int]] = {}
        for owner, slice_ in self.network.slices.items():
            found[owner] = set(slice_.users)
        for name, link in self.network.links.items():
            if link.feeders:
                found[name] = set(link.feeders)
        return found


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
    again: bool = True,
    logs_links: bool = False,
    limit: int | None = None,
) -> tuple[int, int]:
    """Run a launch whose PE_CPUs start at `start`; returns (when its last command has ended, events).

    `numbers` are the issue numbers that the PEs have got to; they are brought up to date. `exact`: every program, every
    tile and every packet is simulated by itself, which takes longer and gives the same times. `again`: a PE may run
    again from the start; not so where running it has changed memory. `logs_links`: the op-log says when links were
    taken. Raises AhbmcError `deadlock` where a PE cannot go on, OverLimitError where one is not done at `limit`.
    """
    numbers = {} if numbers is None else numbers
    followers = {} if exact or logs_links else cubes_that_follow(machine, work)
    leading = {pe: todo for pe, todo in work.items() if pe not in followers}
    run = Run(machine, launch, start, leading, sites, log, numbers, exact, logs_links, limit)
    groups = _together_at_first(run, again)
    try:
        for group in groups:
            group.run(run)
        while again and not exact and (met := roll_back(groups)) is not None:
            groups = met
            for group in groups:
                if group.network is None:
                    group.run(run)
    except KeyboardInterrupt:
        # Whoever may still meet somebody has no times to speak of.
        groups = [group for group in groups if exact or all(work[pe].certain for pe in group.pes)]
        raise
    finally:
        runs = {pe_run.pe.number: pe_run for group in groups for pe_run in group.runs}
        for pe, leader in followers.items():
            if leader in runs and len(runs[leader].patterns) == len(work[pe].works):
                numbers[pe] = runs[leader].followed(pe, work[pe].works, work[pe].values, numbers.get(pe, 0))
        for group in sorted(groups, key=lambda group: group.pes):
            log.extend(group.log)
    numbers.update((number, pe_run.number) for number, pe_run in runs.items())
    end = max((pe_run.finished_at for pe_run in runs.values()), default=start)
    return end, sum(pe_run.pe.calendar.events for pe_run in runs.values())


def cubes_that_follow(machine: Machine, work: Mapping[int, PeWork]) -> dict[int, int]:
    """For each PE of a cube where the same happens as in an earlier one, the PE of that one that does what it does.

    Only if no PE uses slices of other cubes: then nothing passes from cube to cube, and all cubes are built alike.
    """
    size = machine.pes_per_cube
    if not all(pe.certain and pe.like is not None for pe in work.values()):
        return {}
    if any(owner // size != pe // size for pe, todo in work.items() for owner in todo.slices):
        return {}
    cubes: dict[int, list[int]] = {}
    for pe in sorted(work):
        cubes.setdefault(pe // size, []).append(pe)
    first: dict[Any, list[int]] = {}
    found: dict[int, int] = {}
    for pes in cubes.values():
        leaders = first.setdefault(tuple((pe % size, work[pe].like) for pe in pes), pes)
        if leaders is not pes:
            found.update(zip(pes, leaders, strict=True))
    return found


def _together_at_first(run: Run, again: bool) -> list[Together]:
    """Whom it is known to share something, together; the others each alone."""
    pes = tuple(sorted(run.work))
    if run.exact:
        return [Together(pes, None)]
    if not again:
        return [Together(pes, _foreseen(run, pes))]
    users: dict[int, list[int]] = {}
    for pe in pes:
        for owner in run.work[pe].slices if run.work[pe].certain else ():
            users.setdefault(owner, []).append(pe)
    groups = _joined([(pe,) for pe in pes], list(users.values()))
    return [
        Together(group, _foreseen(run, group) if all(run.work[pe].certain for pe in group) else _unseen(run))
        for group in groups
    ]


def _unseen(run: Run) -> Names | None:
    """What is ordered before anything is known: nothing, unless data leave a slice in another order than they came
    in."""
    return None if run.machine.hbm.strided == "bursts" else frozenset()


def _foreseen(run: Run, pes: Sequence[int]) -> Names | None:
    """The slices and links that PEs contend for who use the slices that they may use; None: any."""
    if run.machine.hbm.strided == "bursts":
        return None
    pairs = [(pe, owner) for pe in pes for owner in sorted(set(run.work[pe].slices))]
    if len(pairs) > _MOST_PAIRS:
        return None
    network = Network(run.machine)
    for pe, owner in pairs:
        way = Way(network, pe, network.slice_of(owner))
        way.hops(write=False)
        way.hops(write=True)
    return frozenset(network.contested())


def roll_back(groups: Sequence[Together]) -> list[Together] | None:
    """The groups with those together that met unawares, to run again; None if nobody did."""
    used = [group.used for group in groups]
    feeders: dict[str | int, set[str | int]] = {}
    for names in used:
        for name, by in names.items():
            feeders.setdefault(name, set()).update(by)
    contested = {name for name, by in feeders.items() if len(by) > 1}
    sharers: dict[str | int, list[int]] = {}
    for group, names in zip(groups, used, strict=True):
        for name in names.keys() & contested:
            sharers.setdefault(name, []).append(group.pes[0])
    needed = {group.pes: frozenset(names.keys() & contested) for group, names in zip(groups, used, strict=True)}
    if all(len(sharing) == 1 for sharing in sharers.values()) and all(
        group.ordered is None or needed[group.pes] <= group.ordered for group in groups
    ):
        return None
    known = {group.pes: group for group in groups}
    found: list[Together] = []
    for pes in _joined([group.pes for group in groups], list(sharers.values())):
        parts = [group for group in groups if group.pes[0] in pes]
        ordered = frozenset[str | int]().union(*(needed[part.pes] for part in parts))
        before = known[pes].ordered if pes in known else frozenset[str | int]()
        if pes in known and (before is None or ordered <= before):
            found.append(known[pes])
        else:
            found.append(Together(pes, None if any(part.ordered is None for part in parts) else ordered))
    return found


def _joined(groups: Sequence[tuple[int, ...]], sharing: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Groups of PEs, those joined of which members share something."""
    leader = {pe: pe for pe in (pe for group in groups for pe in group)}

    def find(pe: int) -> int:
        while leader[pe] != pe:
            pe = leader[pe] = leader[leader[pe]]
        return pe

    for pes in (*groups, *sharing):
        for pe in pes[1:]:
            a, b = sorted((find(pes[0]), find(pe)))
            leader[b] = a
    found: dict[int, list[int]] = {}
    for pe in sorted(leader):
        found.setdefault(find(pe), []).append(pe)
    return [tuple(pes) for pes in found.values()]
