"""Which programs of a PE are taken up at once, because they overlap, and their commands in turn.

Programs that run alike are simulated once, and only what the PE has ended before the next begins can run alike. So
where a launch has many programs the PE takes them up some at a time, and each time their end has nothing beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from xdsl.dialects.builtin import IntegerAttr, i64

from ...dialects import ahbm
from ...dialects.programs import overlap, scratch_bytes
from ..engine.commands import Composite, NextProgram
from ..engine.pe_cpu import Commands
from ..launch import Program as ProgramId
from ..memory import Memory
from .program import Program

# What is simulated by itself counts as tiles; a command takes as long as some of them.
_COMMAND = 4
# A launch that is no more than this is simulated as a whole.
_SMALL = 16384
# Of a larger one a PE takes up so much at once, all PEs together no more than a small launch has.
_AT_ONCE = 4096
# So many programs are taken up at once, whatever they have.
_FEWEST = 8


def at_once(program: Program, slices: Mapping[int, Collection[int]]) -> dict[int, int]:
    """For each PE of a launch, how many of its programs it takes up at once. `slices` are those (by owner) that the PE
    may use.

    If nothing says how many: all, in a small launch; else as many as have a bounded number of commands and tiles. PEs
    that share slices fall into step only with few at once.
    """
    launch, wanted = program.launch, overlap(program.launch.function)
    if program.reads_values or max(map(len, launch.programs.values()), default=0) <= 1:
        wanted = 1
    if wanted is not None:
        return dict.fromkeys(launch.programs, wanted)
    # Where programs differ in a regular way the first or the last is the longest.
    longest = {
        pe: max(_work(program.commands(number, pe)) for number in {ids[0], ids[-1]})
        for pe, ids in launch.programs.items()
    }
    if sum(longest[pe] * len(ids) for pe, ids in launch.programs.items()) <= _SMALL:
        return {pe: len(ids) for pe, ids in launch.programs.items()}
    users = Counter(owner for owners in slices.values() for owner in owners)
    room = min(_AT_ONCE, _SMALL // len(launch.programs))
    return {
        pe: max(_FEWEST, room // max(1, work) if all(users[owner] == 1 for owner in slices[pe]) else 0)
        for pe, work in longest.items()
    }


def _work(commands: Commands) -> int:
    """What simulating a program takes, in tiles, as far as it matters."""
    work = 0
    for command in islice(commands, _SMALL // _COMMAND):
        tiles = command.tiles if isinstance(command, Composite) else None
        work += _COMMAND + (0 if tiles is None else tiles.count)
    return work


def apart(program: Program, memory: Memory, first_site: int) -> Program:
    """The kernel with its buffers in the other half of the scratch, if its programs overlap and both halves have room;
    else as it is.
    """
    launch = program.launch
    by, room = scratch_bytes(launch.function), launch.machine.pe.tcm.scratch_bytes
    if overlap(launch.function) == 1 or by is None or 2 * by > room or program.reads_values:
        return program
    function = launch.function.clone()
    for op in function.walk():
        if isinstance(op, ahbm.AllocOp) and op.offset is not None:
            op.properties["offset"] = IntegerAttr(op.offset.value.data + by, i64)
    return Program(replace(launch, function=function), memory, first_site)


def in_turn(commands: Sequence[Callable[[], Commands]]) -> Commands:
    """The commands of programs that overlap: PE_CPU goes on from one to the next."""
    for number, each in enumerate(commands):
        if number:
            yield NextProgram()
        yield from each()


def grouped(ids: Sequence[ProgramId], size: int) -> list[Sequence[ProgramId]]:
    """What is taken up at once, `size` at a time."""
    return [ids[first : first + size] for first in range(0, len(ids), size)]
