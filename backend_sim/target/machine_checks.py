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
    mesh = list(_mesh(machine))
    # Where the mesh itself is at fault, every router name would be a fault of its own.
    findings = mesh or [*_attached(machine), *_repeated(machine)]
    findings += [*_cubes(machine), *_sips(machine), *_memories(machine)]
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
            text = f"[{', '.join(map(str, values))}]"
            message = f"`{key}` must be one or more positions in rising order; found {text}"
            yield (("cube", "mesh", key),), message, "write where the routers lie on the die, in mm"
    size = f"{len(mesh.rows_mm)} x {len(mesh.columns_mm)}"
    if names := router_names(machine):
        if unreached := set(names) - _reached(names):
            first = min(unreached, key=names.index)
            message = f"the hole cuts the mesh of {size}: router {first} is cut off from {names[0]}"
            yield (("cube", "mesh", "missing"),), message, "leave a router in its row or column"
    elif mesh.rows_mm and mesh.columns_mm:
        yield (("cube", "mesh", "missing"),), f"no router of the mesh of {size} is left", "leave one"


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


def _router_lists(machine: Machine) -> Iterator[tuple[_Path, tuple[str, ...]]]:
    """Every place that names routers, with those that it names."""
    cube = machine.cube
    yield ("cube", "pes"), cube.pes
    if cube.m_cpu is not None:
        yield ("cube", "m_cpu", "router"), (cube.m_cpu.router,)
    if cube.sram is not None:
        yield ("cube", "sram", "router"), (cube.sram.router,)
    if cube.ucie is not None:
        for side in ("n", "e", "s", "w"):
            yield ("cube", "ucie", side), getattr(cube.ucie, side)


def _attached(machine: Machine) -> Iterator[_Finding]:
    """What hangs at routers that are not there: beyond the mesh, or in its hole."""
    mesh, names = machine.cube.mesh, router_names(machine)
    for i, name in enumerate(mesh.missing):
        row, column = name[1:].split("c")
        if int(row) >= len(mesh.rows_mm) or int(column) >= len(mesh.columns_mm):
            message = f"router {name} lies outside the mesh of {len(mesh.rows_mm)} x {len(mesh.columns_mm)}"
            paths = ("cube", "mesh", "missing", i), ("cube", "mesh", "rows_mm"), ("cube", "mesh", "columns_mm")
            yield paths, message, "`missing` names routers that the mesh would have"
    for path, used in _router_lists(machine):
        if absent := [name for name in used if name not in names]:
            first = (*path, used.index(absent[0])) if path[-1] != "router" else path
            paths = first, *((("cube", "mesh", key)) for key in ("rows_mm", "columns_mm", "missing"))
            what = ".".join(map(str, path))
            message = f"there is no router {', '.join(dict.fromkeys(absent))}, which `{what}` names"
            yield paths, message, f"the routers are {names[0]} to {names[-1]} without the missing ones"
    if not machine.cube.pes:
        yield (("cube", "pes"),), "a cube needs at least one PE", "for example pes: [r0c0]"


def _repeated(machine: Machine) -> Iterator[_Finding]:
    """Routers named twice. Several PEs may hang at one router; a port needs no second connection to it."""
    lists = [(("cube", "mesh", "missing"), machine.cube.mesh.missing)]
    lists += [(path, used) for path, used in _router_lists(machine) if "ucie" in path]
    for path, used in lists:
        for i, name in enumerate(used):
            if name in used[:i]:
                yield ((*path, i),), f"router {name} is given twice in `{'.'.join(map(str, path))}`", "keep one"


def _cubes(machine: Machine) -> Iterator[_Finding]:
    (rows, columns), ucie, io = machine.sip.cubes, machine.cube.ucie, machine.sip.io
    needed = {"n": rows > 1 or io is not None, "e": columns > 1, "s": rows > 1, "w": columns > 1}
    closed = [side for side, need in needed.items() if need and (ucie is None or not getattr(ucie, side))]
    if closed:
        ports = f"port{'s' if len(closed) > 1 else ''} {', '.join(closed)}"
        message = f"{rows} x {columns} cubes{' with IO' if io else ''} need the {ports} of `cube.ucie`"
        paths = ("cube", "ucie", closed[0]), ("cube", "ucie"), ("sip", "cubes")
        yield paths, message, "list the routers that the connections of each join"
    if io is not None:
        for i, cube in enumerate(io.cubes):
            paths = ("sip", "io", "cubes", i), ("sip", "cubes")
            if cube >= columns:
                there = f"there is no cube {cube}" if cube >= rows * columns else f"cube {cube} is not in the top row"
                message = f"{there} of {rows} x {columns} cubes, so no IO port can feed it"
                yield paths, message, f"give sip.io.cubes: IO ports feed cubes 0 to {columns - 1}"
            elif cube in io.cubes[:i]:
                yield (paths[0],), f"two IO ports feed cube {cube}, which has one port for them", "keep one"
        if not io.cubes:
            yield (("sip", "io", "cubes"),), "the IO chiplet feeds no cube", "for example cubes: [0]"


def _sips(machine: Machine) -> Iterator[_Finding]:
    inter = machine.inter_sip
    if machine.sips > 1 and (inter is None or machine.sip.io is None):
        message = f"{machine.sips} SIPs need `inter_sip` and `sip.io` to reach each other"
        yield (("sips",), ("inter_sip",), ("sip", "io")), message, "give both, or set sips: 1"
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
    tcm, noc, hbm = machine.pe.tcm, machine.noc, machine.hbm
    if tcm.scratch_bytes > tcm.bytes:
        message = f"scratch of {tcm.scratch_bytes} bytes is larger than the TCM of {tcm.bytes}"
        yield (("pe", "tcm", "scratch_bytes"), ("pe", "tcm", "bytes")), message, "scratch is a part of the TCM"
    for whole, part, one, path in (
        (noc.packet_bytes, noc.flit_bytes, "packet", (("noc", "packet_bytes"), ("noc", "flit_bytes"))),
        (hbm.slice_bytes, hbm.burst_bytes, "slice", (("hbm", "slice_bytes"), ("hbm", "burst_bytes"))),
    ):
        if whole % part:
            parts = "flits" if one == "packet" else "bursts"
            message = f"a {one} of {whole} bytes is no whole number of {parts} of {part}"
            yield path, message, f"make it a multiple of {part}"
