"""A whole simulation: launches in turn on one machine, to an op-log and, if they are wanted, the values they leave."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from xdsl.printer import Printer

from .engine.execute import PeWork, execute
from .engine.pe_cpu import Commands, OverLimitError
from .engine.records import Log
from .engine.run_pe import Work
from .engine.values import PeValues, execute_all
from .launch import Launch
from .launch import Program as ProgramId
from .memory import Memory, Tensor
from .numerics.blas import single_threaded
from .numerics.commands import PeMemory
from .numerics.device import Device
from .numerics.dtypes import Array
from .oplog import SCHEMA_VERSION, OpLog, Site
from .program.alike import key_of, slices_of
from .program.lanes import FEWEST
from .program.program import Program
from .program.turns import apart, at_once, grouped, in_turn
from .target.machine import Machine
from .target.quantities import Bytes

# Of so many commands of a PE it is worked out in advance what they are like.
_MOST_COMMANDS = 10_000


@dataclass(frozen=True)
class Execution:
    """What a simulation leaves.

    `memory` holds the tensors by name if values were computed (`valued`), which may be because timing had to read
    memory. `differing` names replicated tensors whose copies were written differently. `events` counts what the
    engine handled; `values_s` is the time that values took on this computer (a figure of the run, not of the machine).
    `interrupted` is there if the user's interrupt ended it: in which launch and how far it had come. Then the op-log
    holds the programs that had ended, and there are no values.
    """

    oplog: OpLog
    memory: Mapping[str, Array]
    differing: tuple[str, ...]
    valued: bool
    events: int
    values_s: float
    interrupted: str | None = None

    @property
    def latency_ps(self) -> int:
        return self.oplog.latency_ps


def simulate(
    launches: Sequence[Launch], *, values: bool, exact: bool = False, partial: bool = False, links: bool = False
) -> Execution:
    """Run launches in turn on their (one) machine. Tensors of different launches are the same where they are one
    object.

    Timing is the same with and without `values`, and with `exact`, which simulates each program, tile and packet by
    itself. With `links` the op-log says when packets held which link, which takes longer. With `partial` a
    KeyboardInterrupt ends the simulation, not the call: what had ended is returned. Raises AhbmcError where something
    does not fit, leaves its tensor or never ends.
    """
    with single_threaded():
        return _simulate(launches, values, _How(exact, partial, links))


def latency_within(launch: Launch, limit_ps: int | None) -> int | None:
    """The latency of a launch alone, in ps; None where it is found to be more than `limit_ps`. Raises as `simulate`."""
    try:
        return _simulate([launch], False, _How(limit=limit_ps, in_full=False)).latency_ps
    except OverLimitError:
        return None


@dataclass(frozen=True)
class _How:
    """The options of `simulate`. Behind `limit` ps nothing matters; without `in_full` values are computed only as
    far as timing reads them, and none are left.
    """

    exact: bool = False
    partial: bool = False
    links: bool = False
    limit: int | None = None
    in_full: bool = True


def _simulate(launches: Sequence[Launch], values: bool, how: _How) -> Execution:
    machine = launches[0].machine
    assert all(launch.machine is machine for launch in launches), "launches of one simulation share a machine"
    memory = Memory(machine, _tensors(launches))
    programs: list[Program] = []
    others: list[Program] = []
    sites: list[Site] = []
    for launch in launches:
        programs.append(Program(launch, memory, len(sites)))
        others.append(apart(programs[-1], memory, len(sites)))
        sites += programs[-1].sites
    valued = values or any(program.reads_values for program in programs)
    log, device, numbers = Log(), Device(), dict[int, int]()
    scratches: dict[int, PeMemory] = {}
    now, events, told = 0, 0, list[dict[str, Any]]()
    values_s, interrupted = 0.0, False
    for index, program in enumerate(programs):
        launch, start = program.launch, now
        work: dict[int, PeWork] = {}
        slices = {pe: program.view(pe).owners_of(_arguments(launch)) for pe in launch.programs}
        sizes = at_once(program, slices)
        for pe in sorted(launch.programs):
            pe_values = None
            if valued:
                if pe not in scratches:
                    scratches[pe] = PeMemory(_scratch(machine), memory.space(pe))
                pe_values = PeValues(pe, scratches[pe], device, eager=program.waits_for_others)
            groups = grouped(launch.programs[pe], sizes[pe])
            work[pe] = _work((program, others[index]), pe, groups, slices[pe], pe_values)
        again = not program.reads_values
        told.append({"kernel": launch.name, "grid": list(launch.grid), "start": start, "program": _hash(launch)})
        told[-1]["programs"] = sum(map(len, launch.programs.values()))
        try:
            options = {"exact": how.exact, "logs_links": how.links}
            now, handled = execute(
                machine, index, start, work, sites, log, numbers, again=again, limit=how.limit, **options
            )
            events += handled
            told[-1]["end"] = now
            began = time.perf_counter()
            if how.in_full:
                execute_all([w.values for w in work.values() if w.values is not None])
            values_s += time.perf_counter() - began
        except KeyboardInterrupt:
            if not how.partial:
                raise
            interrupted = True
            break
    oplog = log.build(_header(machine, told, log), sites)
    if interrupted:
        told[-1].setdefault("end", max(oplog.latency_ps, now))
        return Execution(oplog, {}, (), False, events, values_s, _interrupted(launches, oplog))
    valued = valued and how.in_full
    contents, differing = memory.arrays() if valued else ({}, ())
    return Execution(oplog, contents, differing, valued, events, values_s)


def _header(machine: Machine, launches: Sequence[Mapping[str, Any]], log: Log) -> dict[str, Any]:
    return {
        "schema": SCHEMA_VERSION,
        "machine": machine.name,
        "machine_hash": _machine_hash(machine),
        "launches": launches,
        "links": list(log.links),
    }


def _interrupted(launches: Sequence[Launch], log: OpLog) -> str:
    """How far the last launch of the log had come."""
    index = len(log.header["launches"]) - 1
    launch = launches[index]
    ended = int((log.programs["launch"][log.turns["row"]] == index).sum())
    programs = sum(map(len, launch.programs.values()))
    return (
        f"interrupted in launch {index + 1} of {len(launches)} ({launch.name}), of which {ended:,} of {programs:,}"
        " programs had ended; the figures are of what had ended, and there are no values"
    )


def _arguments(launch: Launch) -> tuple[Tensor, ...]:
    return tuple(a for a in launch.arguments if isinstance(a, Tensor))


def _tensors(launches: Sequence[Launch]) -> list[Tensor]:
    """The tensors of all launches, each once, in the order of their first use."""
    return list(dict.fromkeys(t for launch in launches for t in _arguments(launch)))


def _scratch(machine: Machine) -> Array:
    # What nobody wrote reads as NaN in every float type, so that a kernel that needs it shows.
    return np.full(machine.pe.tcm.scratch_bytes, 0xFF, np.uint8)


def _work(
    turns: tuple[Program, Program],
    pe: int,
    groups: Sequence[Sequence[ProgramId]],
    slices: Collection[int],
    values: PeValues | None,
) -> PeWork:
    """The programs of a PE, in groups that it takes up at once, the slices (by owner) that they may touch, and what is
    known of them."""
    program = turns[0]
    launch = program.launch
    commands = [
        partial(in_turn, [partial(turns[n % 2].commands, number, pe) for n, number in enumerate(group)])
        for group in groups
    ]
    numbers = [tuple([launch.number(each) for each in group]) for group in groups]
    if program.reads_values:
        # What reads values is only like itself.
        return PeWork([Work(n, c) for n, c in zip(numbers, commands, strict=True)], slices, values)
    ids = [each for group in groups for each in group]
    known = _few(launch.machine, pe, numbers, commands, values) if len(ids) < FEWEST else None
    if known is not None:
        return known
    alike = program.lanes.alike(program.arguments, ids, program.view(pe))
    if alike is None:
        keys = [partial(_key, c) for c in commands]
        works = [Work(n, c, k) for n, c, k in zip(numbers, commands, keys, strict=True)]
        return PeWork(works, slices, values, certain=len(slices) == 1)
    classes: dict[tuple[int, ...], int] = {}
    each = iter(alike.classes)
    keys = [classes.setdefault(tuple(islice(each, len(group))), len(classes)) for group in groups]
    works = [Work(n, c, k) for n, c, k in zip(numbers, commands, keys, strict=True)]
    return PeWork(works, alike.slices, values, certain=True)


def _few(
    machine: Machine,
    pe: int,
    numbers: Sequence[tuple[int, ...]],
    commands: Sequence[Callable[[], Commands]],
    values: PeValues | None,
) -> PeWork | None:
    """The same from all commands of few programs; None if they are too many to keep."""
    lists = [list(islice(c(), _MOST_COMMANDS)) for c in commands]
    if sum(map(len, lists)) >= _MOST_COMMANDS:
        return None
    size = machine.pes_per_cube
    cube = range(pe // size * size, pe // size * size + size)
    keys = [key_of(each, cube) for each in lists]
    works = [Work(n, c, k) for n, c, k in zip(numbers, commands, keys, strict=True)]
    like = None if None in keys else tuple(keys)
    return PeWork(works, slices_of(command for each in lists for command in each), values, True, like)


def _key(commands: Callable[[], Commands]) -> Any:
    return key_of(commands())


def _hash(launch: Launch) -> str:
    text = StringIO()
    Printer(text).print_op(launch.function)
    return hashlib.sha256(text.getvalue().encode()).hexdigest()


def _machine_hash(machine: Machine) -> str:
    def plain(value: object) -> Any:
        return int(value) if isinstance(value, Bytes) else str(value)

    return hashlib.sha256(msgspec.json.encode(machine, enc_hook=plain, order="deterministic")).hexdigest()
