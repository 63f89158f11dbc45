"""The published suite of probes, adapted to the machine at hand: what it has no counterpart for is left out, and said.

The near end is PE 0 of cube 0 of sip0, or the host end of sip0. Of several far ends that are alike it is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...target.machine import Machine
from ...target.routing import route
from .ends import End, Pair
from .rows import PROBE_BYTES, Row, inter_sip_links

SATURATION_BYTES = (4096, 16384, 65536, 262144, 1048576)
PE_TO_PE_BYTES = (128, 256, 384, 512, 768, 1024, 2048, 4096, 8192, 10240)
SATURATION = "Saturation"
GROUPS = {"dma": "PE to HBM", "h2d": "Host to device", "d2h": "Device to host", "raw": "PE to PE", "ipcq": "PE to PE"}
"""The part of the report that shows the probes of a path."""
_PE_TO_PE = ("raw", "ipcq")
_PE = End("pe", 0, 0, 0)


Measured = tuple[str, Row]
"""The part of the report that shows a row, and the row."""


@dataclass(frozen=True)
class Job:
    """One row to measure, and the part of the report that shows it."""

    group: str
    pair: Pair
    size: int


@dataclass(frozen=True)
class Suite:
    """Jobs in the order of the report, and a line for each kind of probe that the machine has nothing for."""

    jobs: tuple[Job, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Missing:
    """A case of the suite that the machine has no counterpart for."""

    case: str
    path: str
    why: str


def pair_jobs(pairs: Sequence[Pair], sizes: Sequence[int] | None) -> tuple[Job, ...]:
    """Jobs for `pairs`; sizes None: the published ones of each path."""
    return tuple(
        Job(GROUPS[pair.path], pair, size)
        for pair in pairs
        for size in sizes or (PE_TO_PE_BYTES if pair.path in _PE_TO_PE else (PROBE_BYTES,))
    )


def whole_suite(machine: Machine, path: str | None = None, sizes: Sequence[int] | None = None) -> Suite:
    """The suite, or its probes of one path; `sizes` replace the published ones, and then there is no saturation."""
    cases = [case for case in _cases(machine) if path in (None, case.path)]
    pairs = [case for case in cases if isinstance(case, Pair)]
    jobs = pair_jobs(pairs, sizes)
    if sizes is None:
        several = (pair for pair in pairs if pair.path not in _PE_TO_PE)
        jobs += tuple(Job(SATURATION, pair, size) for pair in several for size in SATURATION_BYTES)
    reasons: dict[str, list[str]] = {}
    for case in cases:
        if isinstance(case, _Missing):
            reasons.setdefault(case.why, []).append(case.case)
    return Suite(jobs, tuple(f"{why}: {', '.join(names)}" for why, names in reasons.items()))


def _cases(machine: Machine) -> Iterator[Pair | _Missing]:
    yield from _own_cube(machine)
    yield from _other_cubes(machine)
    yield from _other_sips(machine)
    yield from _host(machine)
    yield from _pe_to_pe(machine)


def _own_cube(machine: Machine) -> Iterator[Pair | _Missing]:
    """PE 0 to its own slice, and to the first others in its half of the die and in the other half."""
    yield Pair("pe-local-hbm", "dma", _PE, _PE.own_slice)
    here, others = _half(machine, 0), range(1, machine.pes_per_cube)
    for name, wanted in (("same", True), ("cross", False)):
        case = f"pe-{name}-half-hbm"
        index = next((i for i in others if (_half(machine, i) == here) == wanted), None)
        if index is None:
            which = "no other" if wanted else "no"
            yield _Missing(case, "dma", f"{which} PE in {'the same' if wanted else 'the other'} half of the die")
        else:
            yield Pair(case, "dma", _PE, End("hbm", 0, 0, index))


def _half(machine: Machine, pe: int) -> bool:
    """Whether the router of a PE lies in the lower half of the die, halved between its first and its last row."""
    rows = machine.cube.mesh.rows_mm
    row, _ = _crossing(machine, pe)
    return rows[row] > Fraction(rows[0] + rows[-1], 2)


def _crossing(machine: Machine, pe: int) -> tuple[int, int]:
    """(row, column) of the router of a PE in the mesh of its cube."""
    row, _, column = machine.cube.pes[pe].removeprefix("r").partition("c")
    return int(row), int(column)


def _other_cubes(machine: Machine) -> Iterator[Pair | _Missing]:
    """PE 0 to slice 0 of the nearest and of the farthest cube."""
    for name, cube in (("best", 1), ("worst", machine.cubes_per_sip - 1)):
        case = f"pe-cross-cube-hbm-{name}"
        if machine.cubes_per_sip == 1:
            yield _Missing(case, "dma", "one cube in a SIP")
        else:
            yield Pair(case, "dma", _PE, End("hbm", 0, cube, 0))


def _other_sips(machine: Machine) -> Iterator[Pair | _Missing]:
    """PE 0 to slice 0 of the nearest and, if more links lie between, of the farthest other SIP."""
    if machine.sips == 1:
        yield _Missing("pe-other-sip-hbm", "dma", "one SIP")
        return
    ends = [End("hbm", sip, 0, 0) for sip in range(1, machine.sips)]
    links = [inter_sip_links(route(machine, _PE.node, end.node)) for end in ends]
    nearest, farthest = links.index(min(links)), links.index(max(links))
    yield Pair("pe-other-sip-hbm", "dma", _PE, ends[nearest])
    if farthest != nearest:
        yield Pair("pe-other-sip-hbm-worst", "dma", _PE, ends[farthest])


def _host(machine: Machine) -> Iterator[Pair | _Missing]:
    """The host and slice 0 of the first cube at each number of hops from the IO chiplet."""
    host, nearest = End("host", 0), dict[int, int]()
    if machine.sip.io is not None:
        columns, fed = machine.sip.cubes[1], [divmod(cube, machine.sip.cubes[1]) for cube in machine.sip.io.cubes]
        for cube in range(machine.cubes_per_sip):
            row, column = divmod(cube, columns)
            nearest.setdefault(1 + min(abs(row - r) + abs(column - c) for r, c in fed), cube)
    for path in ("h2d", "d2h"):
        if not nearest:
            yield _Missing(path, path, "no IO chiplet")
        for hops, cube in sorted(nearest.items()):
            device = End("hbm", 0, cube, 0)
            ends = (host, device) if path == "h2d" else (device, host)
            yield Pair(f"{path}-{hops}hop", path, *ends)


def _pe_to_pe(machine: Machine) -> Iterator[Pair | _Missing]:
    """PE 0 to its first neighbours along the row and the column of the mesh, of the cubes, and in the next SIP."""
    rows, columns = machine.sip.cubes
    row, column = _crossing(machine, 0)

    def along(matches: Callable[[tuple[int, int]], bool]) -> End | None:
        others = range(1, machine.pes_per_cube)
        return next((End("pe", 0, 0, i) for i in others if matches(_crossing(machine, i))), None)

    targets = (
        ("intracube-horizontal", along(lambda at: at[0] == row), "no other PE in the mesh row of PE 0"),
        ("intracube-vertical", along(lambda at: at[1] == column), "no other PE in the mesh column of PE 0"),
        ("intercube-horizontal", End("pe", 0, 1, 0) if columns > 1 else None, "one column of cubes"),
        ("intercube-vertical", End("pe", 0, columns, 0) if rows > 1 else None, "one row of cubes"),
        ("inter-sip", End("pe", 1, 0, 0) if machine.sips > 1 else None, "one SIP"),
    )
    for case, target, why in targets:
        for path in _PE_TO_PE:
            name = f"{path}-{case}"
            yield _Missing(name, path, why) if target is None else Pair(name, path, _PE, target)
