"""The third panel: one cube, its routers at their places on the die, and all that hangs at them."""

from __future__ import annotations

from itertools import pairwise

from ...target.describe import nanoseconds, number
from ...target.machine import Machine
from ...target.machine_checks import router_names
from ...target.topology import mesh_links
from .canvas import Canvas, Point, text_width

_RADIUS = 15.0  # of a router
_BOX_WIDTH, _BOX_HEIGHT = 46.0, 14.0  # of what hangs at a router
_APART = 14.0  # between a router with its boxes and the next
_BAR = 18.0  # thickness of a port
_EDGE = 40.0  # from the outermost routers to the edge of the die
_ASIDE = 5.0  # of a connection from the links of the mesh
_LINE = 16.0
_RULER = 34.0  # room for positions in mm
_GOOD = 46.0  # pixels per mm
_LEAST, _MOST = 640.0, 8000.0  # pixels of a mesh; at the most of them routers may touch

# Router -> (class, label, title) of each thing that hangs at it.
Hanging = dict[str, list[tuple[str, str, str]]]


def draw_cube(canvas: Canvas, machine: Machine, x: float, y: float) -> Point:
    """Draws the panel with its corner at (x, y); returns the opposite corner."""
    mesh, names = machine.cube.mesh, router_names(machine)
    canvas.text(x, y, f"One CUBE: {len(names)} routers, {machine.pes_per_cube} PEs", 14, class_="heading")
    about = _about(machine)
    for i, line in enumerate(about):
        canvas.text(x, y + 18 + i * _LINE, line, 10, class_="faint")
    hanging = _hanging(machine)
    px_per_mm = _scale(machine, hanging)
    edge = max(_EDGE, *(_half(len(boxes)) + _APART for boxes in hanging.values()))
    left = x + _RULER + _BAR + edge + 10
    top = y + 18 + len(about) * _LINE + _RULER + _BAR + edge + 10
    columns = [left + float(mm - mesh.columns_mm[0]) * px_per_mm for mm in mesh.columns_mm]
    rows = [top + float(mm - mesh.rows_mm[0]) * px_per_mm for mm in mesh.rows_mm]
    # Boxes hang to the right of a router, so the die is wider there.
    die = (left - edge, top - edge, columns[-1] + edge + _BOX_WIDTH, rows[-1] + edge)
    canvas.rectangle("die", die[0], die[1], die[2] - die[0], die[3] - die[1], "die")
    _draw_ruler(canvas, machine, columns, rows, (x + _RULER, die[1] - 10 - _BAR))
    places = {f"r{r}c{c}": (px, py) for r, py in enumerate(rows) for c, px in enumerate(columns)}
    for name in mesh.missing:
        canvas.circle("missing", *places[name], _RADIUS, name, f"no router {name}: links go over it")
    for a, b, mm in mesh_links(machine):
        title = f"{a} to {b}: {number(mm)} mm, {number(mesh.gb_per_s)} GB/s"
        canvas.line("mesh-link", places[a], places[b], name=f"{a} {b}", title=title)
    _draw_ports(canvas, machine, places, die)
    for name in names:
        px, py = places[name]
        class_ = "router" if hanging.get(name) or name in _connected(machine) else "relay"
        canvas.circle(class_, px, py, _RADIUS, name, f"{name}: {nanoseconds(mesh.router_overhead_ps)}")
        canvas.text(px, py + 3.5, name, 9, "middle")
        boxes = hanging.get(name, [])
        up = py - len(boxes) * (_BOX_HEIGHT + 2) / 2
        for i, (kind, label, title) in enumerate(boxes):
            at = px + _RADIUS + 4, up + i * (_BOX_HEIGHT + 2) + 1
            canvas.rectangle(kind, *at, _BOX_WIDTH, _BOX_HEIGHT, label, title)
            canvas.text(at[0] + _BOX_WIDTH / 2, at[1] + 10.5, label, 9, "middle")
    right, bottom = die[2], die[3]
    if machine.cube.ucie is not None:
        right, bottom = right + 10 + _BAR, bottom + 10 + _BAR
    return max(right, x + max(text_width(line, 10) for line in about)), bottom


def _draw_ruler(canvas: Canvas, machine: Machine, columns: list[float], rows: list[float], corner: Point) -> None:
    """The positions of columns and rows in mm, above and left of `corner`, which is that of the ports."""
    for mm, px in zip(machine.cube.mesh.columns_mm, columns, strict=True):
        canvas.text(px, corner[1] - 6, number(mm), 9, "middle", "faint")
    for mm, py in zip(machine.cube.mesh.rows_mm, rows, strict=True):
        canvas.text(corner[0] - 6, py + 3.5, number(mm), 9, "end", "faint")
    canvas.text(corner[0] - 6, corner[1] - 6, "mm", 9, "end", "faint")


def _about(machine: Machine) -> list[str]:
    cube = machine.cube
    lines = [
        f"mesh links {number(cube.mesh.gb_per_s)} GB/s, {nanoseconds(machine.noc.ps_per_mm)} per mm; a router"
        f" {nanoseconds(cube.mesh.router_overhead_ps)}; slices {number(cube.slice_gb_per_s)} GB/s"
    ]
    if cube.ucie is not None:
        lines.append(
            f"UCIe ports {nanoseconds(cube.ucie.overhead_ps)}, connections {number(cube.ucie.connection_gb_per_s)} GB/s"
        )
    return lines


def _hanging(machine: Machine) -> Hanging:
    cube, found = machine.cube, Hanging()
    for i, router in enumerate(cube.pes):
        found.setdefault(router, []).append(("pe", f"PE{i}", f"PE{i}: {number(cube.pe_gb_per_s)} GB/s"))
        found[router].append(("slice", f"HBM{i}", f"slice {i}: {number(cube.slice_gb_per_s)} GB/s"))
    if cube.m_cpu is not None:
        title = f"M_CPU: {nanoseconds(cube.m_cpu.overhead_ps)}, {number(cube.m_cpu.gb_per_s)} GB/s"
        found.setdefault(cube.m_cpu.router, []).append(("m-cpu", "M_CPU", title))
    if cube.sram is not None:
        title = f"SRAM: {cube.sram.bytes:,} B, {number(cube.sram.gb_per_s)} GB/s"
        found.setdefault(cube.sram.router, []).append(("sram", "SRAM", title))
    return found


def _connected(machine: Machine) -> set[str]:
    """Routers that a port is connected to."""
    ucie = machine.cube.ucie
    return set() if ucie is None else {*ucie.n, *ucie.e, *ucie.s, *ucie.w}


def _scale(machine: Machine, hanging: Hanging) -> float:
    """Pixels per mm: as many as any two neighbours need to stay apart; more where the picture is small all the same."""
    mesh = machine.cube.mesh
    columns, rows = range(len(mesh.columns_mm)), range(len(mesh.rows_mm))

    def boxes(row: int, column: int) -> int:
        return len(hanging.get(f"r{row}c{column}", ()))

    needed = [0.0]
    for a, b in pairwise(columns):
        beside = _BOX_WIDTH if any(boxes(row, a) for row in rows) else 0
        needed.append((2 * _RADIUS + beside + _APART) / float(mesh.columns_mm[b] - mesh.columns_mm[a]))
    for a, b in pairwise(rows):
        high = max(_half(boxes(a, column)) + _half(boxes(b, column)) for column in columns)
        needed.append((high + _APART) / float(mesh.rows_mm[b] - mesh.rows_mm[a]))
    span = max(float(mesh.columns_mm[-1] - mesh.columns_mm[0]), float(mesh.rows_mm[-1] - mesh.rows_mm[0]))
    return min(max(*needed, min(_GOOD, _LEAST / span)), _MOST / span) if span else _GOOD


def _half(boxes: int) -> float:
    """How far a router with this many boxes beside it reaches up and down."""
    return max(_RADIUS, boxes * (_BOX_HEIGHT + 2) / 2)


def _draw_ports(
    canvas: Canvas, machine: Machine, places: dict[str, Point], die: tuple[float, float, float, float]
) -> None:
    """A bar at each edge of the die that has a port, and a line from it to each router that it is connected to."""
    ucie = machine.cube.ucie
    if ucie is None:
        return
    left, top, right, bottom = die
    bars = {
        "n": (left, top - 10 - _BAR, right - left, _BAR),
        "s": (left, bottom + 10, right - left, _BAR),
        "w": (left - 10 - _BAR, top, _BAR, bottom - top),
        "e": (right + 10, top, _BAR, bottom - top),
    }
    for side, routers in (("n", ucie.n), ("e", ucie.e), ("s", ucie.s), ("w", ucie.w)):
        if not routers:
            continue
        x, y, width, height = bars[side]
        for i, router in enumerate(routers):
            px, py = places[router]
            aside = -_ASIDE if side in "nw" else _ASIDE
            edge = {
                "n": (px + aside, y + height),
                "s": (px + aside, y),
                "w": (x + width, py + aside),
                "e": (x, py + aside),
            }
            start = (px + aside, py) if side in "ns" else (px, py + aside)
            title = f"connection {i} of port {side}: {number(ucie.connection_gb_per_s)} GB/s"
            canvas.line("connection", start, edge[side], name=f"{side}.conn{i} {router}", title=title)
        canvas.rectangle("port", x, y, width, height, f"ucie_{side}", f"ucie_{side}: {nanoseconds(ucie.overhead_ps)}")
        canvas.text(x + width / 2, y + height / 2 + 4, side.upper(), 11, "middle")
