"""What a machine must fulfil beyond the types of its fields, each violation with its line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...dialects.errors import Fault, Place
from .document import Node
from .machine import Machine

_Path = tuple[str | int, ...]
_Finding = tuple[tuple[_Path, ...], str, str | None]


def faults_of(machine: Machine, root: Node) -> list[Fault]:
    """Every violation in `machine`, placed in the document `root` that it was decoded from."""
    findings = [*_mesh(machine), *_attached(machine), *_cubes(machine), *_sips(machine), *_memories(machine)]
    return [Fault(message, _place(root, paths), hint=hint) for paths, message, hint in findings]


def _place(root: Node, paths: tuple[_Path, ...]) -> Place:
    """Where the fault lies: of several values that do not fit together, one that the own file or `--set` gave."""
    places = [root.at(*path).place for path in paths]
    return next((place for place in places if place.file == "--set"), None) or next(
        (place for place in places if place.file == root.place.file and place != root.place), places[0]
    )


def router_names(machine: Machine) -> tuple[str, ...]:
    """The routers of a cube that are there, row by row."""
    mesh = machine.cube.mesh
    names = (f"r{r}c{c}" for r in range(len(mesh.rows_mm)) for c in range(len(mesh.columns_mm)))
    return tuple(name for name in names if name not in mesh.missing)


def _mesh(machine: Machine) -> Iterator[_Finding]:
    mesh = machine.cube.mesh
    for key, values in (("rows_mm", mesh.rows_mm), ("columns_mm", mesh.columns_mm)):
        if not values or any(a >= b for a, b in pairwise(values)):
            yield (("cube", "mesh", key),), f"`{key}` must be one or more positions in rising order", None
    for i, name in enumerate(mesh.missing):
        row, column = name[1:].split("c")
        if int(row) >= len(mesh.rows_mm) or int(column) >= len(mesh.columns_mm):
            size = f"{len(mesh.rows_mm)} x {len(mesh.columns_mm)}"
            yield (("cube", "mesh", "missing", i),), f"router {name} lies outside the mesh of {size}", None
    if names := router_names(machine):
        if unreached := set(names) - _reached(names):
            first = min(unreached, key=names.index)
            yield (
                (("cube", "mesh"),),
                f"router {first} is cut off from {names[0]}",
                "leave a router in its row or column",
            )
    else:
        yield (("cube", "mesh"),), "no router is left", None


def _reached(names: tuple[str, ...]) -> set[str]:
    """Routers that can be reached from the first: all of a row or a column are joined in a chain, over holes too."""
    reached, rows, columns = {names[0]}, set[str](), set[str]()
    while True:
        rows |= {name.split("c")[0] for name in reached}
        columns |= {name.split("c")[1] for name in reached}
        more = {name for name in names if name.split("c")[0] in rows or name.split("c")[1] in columns}
        if more == reached:
            return reached
        reached = more


def _attached(machine: Machine) -> Iterator[_Finding]:
    cube, names = machine.cube, router_names(machine)
    used: list[tuple[tuple[str | int, ...], str]] = [(("cube", "pes", i), name) for i, name in enumerate(cube.pes)]
    if cube.m_cpu is not None:
        used.append((("cube", "m_cpu", "router"), cube.m_cpu.router))
    if cube.sram is not None:
        used.append((("cube", "sram", "router"), cube.sram.router))
    if cube.ucie is not None:
        sides = {"n": cube.ucie.n, "e": cube.ucie.e, "s": cube.ucie.s, "w": cube.ucie.w}
        used += [(("cube", "ucie", side, i), name) for side, list_ in sides.items() for i, name in enumerate(list_)]
    for path, name in used:
        if name not in names:
            yield (path,), f"there is no router {name}", f"routers: {names[0]} to {names[-1]}" if names else None
    if not cube.pes:
        yield (("cube", "pes"),), "a cube needs at least one PE", None


def _cubes(machine: Machine) -> Iterator[_Finding]:
    (rows, columns), ucie, io = machine.sip.cubes, machine.cube.ucie, machine.sip.io
    needed = {"e": columns > 1, "w": columns > 1, "s": rows > 1, "n": rows > 1 or io is not None}
    for side, need in needed.items():
        if need and (ucie is None or not getattr(ucie, side)):
            message = f"{rows} x {columns} cubes{' with IO' if io else ''} need the port `{side}` of `cube.ucie`"
            yield (("cube", "ucie"), ("sip", "cubes")), message, "give the routers that its connections join"
    if io is not None:
        for i, cube in enumerate(io.cubes):
            if cube >= machine.cubes_per_sip:
                message = f"there is no cube {cube} in a SIP of {machine.cubes_per_sip}"
                yield (("sip", "io", "cubes", i), ("sip", "cubes")), message, None
        if not io.cubes:
            yield (("sip", "io", "cubes"),), "the IO chiplet feeds no cube", None


def _sips(machine: Machine) -> Iterator[_Finding]:
    inter = machine.inter_sip
    if machine.sips > 1 and (inter is None or machine.sip.io is None):
        paths = (("sips",), ("inter_sip",), ("sip", "io"))
        yield paths, f"{machine.sips} SIPs need `inter_sip` and `sip.io` to reach each other", "or set sips: 1"
    if inter is None:
        return
    topology, grid = inter.topology, inter.grid
    paths = (("inter_sip", "topology"), ("inter_sip", "grid"))
    if topology in ("mesh", "torus") and grid is None:
        yield paths, f"a {topology} of SIPs needs its `grid`", "for example grid: [2, 3], rows and columns"
    elif topology in ("switch", "ring") and grid is not None:
        yield paths, f"`grid` is for mesh and torus; found topology {topology}", "write grid: null, or take it away"
    elif grid is not None and grid[0] * grid[1] != machine.sips:
        message = f"a grid of {grid[0]} x {grid[1]} has {grid[0] * grid[1]} SIPs; `sips` is {machine.sips}"
        yield (("sips",), paths[1]), message, "make both the same number"


def _memories(machine: Machine) -> Iterator[_Finding]:
    tcm, noc = machine.pe.tcm, machine.noc
    if tcm.scratch_bytes > tcm.bytes:
        message = f"scratch of {tcm.scratch_bytes} bytes is larger than the TCM of {tcm.bytes}"
        yield (("pe", "tcm", "scratch_bytes"), ("pe", "tcm", "bytes")), message, None
    if noc.packet_bytes % noc.flit_bytes:
        message = f"a packet of {noc.packet_bytes} bytes is no whole number of flits of {noc.flit_bytes}"
        yield (("noc", "packet_bytes"), ("noc", "flit_bytes")), message, None
    if machine.hbm.slice_bytes % machine.hbm.burst_bytes:
        message = (
            f"a slice of {machine.hbm.slice_bytes} bytes is no whole number of bursts of {machine.hbm.burst_bytes}"
        )
        yield (("hbm", "slice_bytes"), ("hbm", "burst_bytes")), message, None
