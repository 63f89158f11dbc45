"""Which PE runs which programs of a grid, and the names of PEs: `sip0.cube0.pe0-7` and machine-wide numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Literal

from ..backend_sim.launch import Program
from ..backend_sim.target.machine import Machine
from ..dialects.errors import Category, Place, fail

_PES = re.compile(r"sip(\d{1,6})(?:-(\d{1,6}))?\.cube(\d{1,6})(?:-(\d{1,6}))?\.pe(\d{1,6})(?:-(\d{1,6}))?")
MOST_PROGRAMS = 1 << 24
FIRST_PE = "sip0.cube0.pe0"


def pe_numbers(text: str, machine: Machine, place: Place | None) -> list[int]:
    """The machine-wide numbers of the PEs that `sipA-B.cubeC-D.peE-F` names; each range may be a single number."""
    match = _PES.fullmatch(text.strip())
    if match is None:
        raise fail(f"`{text}` names no PEs", place, hint="for example sip0.cube0.pe0-7")
    ranges: list[range] = []
    limits = (("sip", machine.sips), ("cube", machine.cubes_per_sip), ("pe", machine.pes_per_cube))
    for (what, count), first, last in zip(limits, match.groups()[::2], match.groups()[1::2], strict=True):
        low, high = int(first), int(last if last is not None else first)
        if high < low:
            raise fail(f"the range {what}{low}-{high} of `{text}` is empty", place, hint=f"write {what}{high}-{low}")
        if high >= count:
            allowed = f"{what}0" if count == 1 else f"{what}0 to {what}{count - 1}"
            hint = "name PEs that the machine has, or run on a machine with more"
            raise fail(f"machine {machine.name} has no {what}{high}; it has {allowed}", place, hint=hint)
        ranges.append(range(low, high + 1))
    cubes, pes = machine.cubes_per_sip, machine.pes_per_cube
    return [(sip * cubes + cube) * pes + pe for sip, cube, pe in product(*ranges)]


def programs_of(grid: Program) -> Iterator[Program]:
    """Every program of a grid, the first axis fastest."""
    return ((x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0]))


def map_programs(
    kind: Literal["block", "cyclic", "rank"], pes: Sequence[int], grid: Program, machine: Machine, place: Place | None
) -> Mapping[int, Sequence[Program]]:
    """The programs of each PE in the order in which they run there.

    `block` gives each PE of `pes` neighbouring programs, `cyclic` deals them out one by one, `rank` runs program
    (x, y, z) on PE x of cube y of SIP z. PEs without a program are left out.
    """
    count = grid[0] * grid[1] * grid[2]
    if count > MOST_PROGRAMS:
        message = f"a grid of {grid[0]} x {grid[1]} x {grid[2]} programs; at most {MOST_PROGRAMS:,} can be run"
        raise fail(message, place, Category.DOES_NOT_FIT, hint="launch fewer programs, each doing more")
    if kind == "rank":
        return _by_rank(pes, grid, machine, place)
    programs = list(programs_of(grid))
    if kind == "cyclic":
        dealt = {pe: programs[i :: len(pes)] for i, pe in enumerate(pes)}
    else:
        # Sizes differ by one at most, the larger blocks first.
        size, more = divmod(count, len(pes))
        starts = [i * size + min(i, more) for i in range(len(pes) + 1)]
        dealt = {pe: programs[starts[i] : starts[i + 1]] for i, pe in enumerate(pes)}
    return {pe: mine for pe, mine in dealt.items() if mine}


def _by_rank(
    pes: Sequence[int], grid: Program, machine: Machine, place: Place | None
) -> Mapping[int, Sequence[Program]]:
    bounds = (machine.pes_per_cube, machine.cubes_per_sip, machine.sips)
    for axis, (size, bound, what) in enumerate(zip(grid, bounds, ("PEs", "cubes", "SIPs"), strict=True)):
        if size > bound:
            message = f"`map: {{kind: rank}}` with {size} programs on axis {axis}: there are {bound} {what}"
            raise fail(message, place, hint="make the grid smaller, or map by `block` or `cyclic`")
    dealt: dict[int, Sequence[Program]] = {}
    for x, y, z in programs_of(grid):
        pe = (z * machine.cubes_per_sip + y) * machine.pes_per_cube + x
        if pes and pe not in pes:
            message = f"program ({x}, {y}, {z}) belongs to sip{z}.cube{y}.pe{x}, which is not in `pes`"
            raise fail(message, place, hint="name it in `pes`, or leave `pes` out")
        dealt[pe] = [(x, y, z)]
    return dealt
