"""The first panel: the SIPs of a machine and the links and switches between them."""

from __future__ import annotations

from math import ceil, copysign, sqrt

from ...target.describe import nanoseconds, number
from ...target.inter_sip import switch_joints
from ...target.machine import Machine
from .canvas import Canvas, Point, text_width

_WIDTH, _HEIGHT, _GAP = 130.0, 78.0, 60.0
_TITLE, _SWITCH = 44.0, 11.0  # height of the title, radius of a switch


def draw_sips(canvas: Canvas, machine: Machine, x: float, y: float) -> Point:
    """Draws the panel with its corner at (x, y); returns the opposite corner."""
    canvas.text(x, y, f"{machine.sips} {'SIP' if machine.sips == 1 else 'SIPs'}", 14, class_="heading")
    about = _about(machine)
    canvas.text(x, y + 18, about, 10, class_="faint")
    columns = _columns(machine)
    # A row or column that is closed passes its inner SIPs in a lane beside them.
    corners = [
        (x + _GAP / 2 + column * (_WIDTH + _GAP), y + _TITLE + _GAP / 2 + row * (_HEIGHT + _GAP))
        for row, column in (divmod(sip, columns) for sip in range(machine.sips))
    ]
    bottom = corners[-1][1] + _HEIGHT + _GAP / 2
    right = x + columns * (_WIDTH + _GAP)
    joined: dict[str, list[int]] = {}
    for switch, sip in switch_joints(machine):
        joined.setdefault(switch, []).append(sip)
    if "switch" in joined:
        bottom += _draw_switch(canvas, machine, corners, joined.pop("switch"), ((x + right) / 2, bottom + _SWITCH))
    for switch, (a, b) in joined.items():
        _draw_hop(canvas, machine, switch, (a, b), (corners[a], corners[b]))
    rows, cubes_across = machine.sip.cubes
    for sip, (left, top) in enumerate(corners):
        canvas.rectangle("sip", left, top, _WIDTH, _HEIGHT, f"sip{sip}")
        middle = left + _WIDTH / 2
        canvas.text(middle, top + 26, f"sip{sip}", 13, "middle")
        canvas.text(middle, top + 46, f"{rows} x {cubes_across} CUBEs", 10, "middle")
        canvas.text(middle, top + 62, f"{machine.pes_per_cube} PEs each", 10, "middle")
    return max(right, x + text_width(about, 10)), bottom


def _about(machine: Machine) -> str:
    inter = machine.inter_sip
    if inter is None or machine.sips == 1:
        return f"{machine.pes} PEs together"
    shape = f"a {inter.topology} {'between' if inter.topology == 'switch' else 'of'} pcie_eps"
    link = f"links {number(inter.link.gb_per_s)} GB/s, {number(inter.link.mm)} mm"
    return f"{shape}: {link}; a switch {nanoseconds(inter.switch_overhead_ps)}"


def _columns(machine: Machine) -> int:
    """How many SIPs are drawn side by side: as the grid says, a ring in one row, else about a square."""
    inter = machine.inter_sip
    if inter is not None and inter.grid is not None:
        return inter.grid[1]
    if inter is not None and inter.topology == "ring":
        return machine.sips
    return ceil(sqrt(machine.sips))


def _draw_switch(canvas: Canvas, machine: Machine, corners: list[Point], sips: list[int], at: Point) -> float:
    """The one switch of all SIPs, below them; returns how much room it takes."""
    for sip in sips:
        left, top = corners[sip]
        # Down beside the SIPs below, then across to the switch.
        lane = left + _WIDTH + _GAP / 4
        canvas.line("inter-sip-link", (left + _WIDTH, top + _HEIGHT / 2), (lane, top + _HEIGHT / 2), (lane, at[1]), at,
                    name=f"sip{sip} switch", title=f"sip{sip}.io0.pcie_ep to switch")  # fmt: skip
    canvas.circle("switch", *at, _SWITCH, "switch", f"switch: {_switch_title(machine)}")
    return 2 * _SWITCH + 10


def _draw_hop(
    canvas: Canvas, machine: Machine, switch: str, sips: tuple[int, int], corners: tuple[Point, Point]
) -> None:
    """The switch between two SIPs and its two links."""
    way = _way(*corners)
    (ax, ay), (bx, by) = way[len(way) // 2 - 1], way[len(way) // 2]
    # In the middle of the first gap on the way, where no other link crosses it.
    across, lane = ay == by, len(way) > 2
    past = _GAP / 2 + (_WIDTH if across else _HEIGHT) / 4 * lane
    middle = (ax + copysign(past, bx - ax), ay) if across else (ax, ay + copysign(past, by - ay))
    for sip, piece in zip(sips, (way[: len(way) // 2], way[len(way) // 2 :][::-1]), strict=True):
        title = f"sip{sip}.io0.pcie_ep to {switch}"
        canvas.line("inter-sip-link", *piece, middle, name=f"sip{sip} {switch}", title=title)
    canvas.circle("switch", *middle, _SWITCH / 2, switch, f"{switch}: {_switch_title(machine)}")


def _way(a: Point, b: Point) -> list[Point]:
    """From one SIP to another of its row or column: straight between neighbours, else in a lane past those between."""
    (ax, ay), (bx, by) = a, b
    if ay == by:
        if abs(bx - ax) <= _WIDTH + _GAP:
            return [(min(ax, bx) + _WIDTH, ay + _HEIGHT / 2), (max(ax, bx), ay + _HEIGHT / 2)][:: 1 if ax < bx else -1]
        lane = ay - _GAP / 4
        ax, bx = ax + _WIDTH * (0.75 if ax < bx else 0.25), bx + _WIDTH * (0.25 if ax < bx else 0.75)
        return [(ax, ay), (ax, lane), (bx, lane), (bx, by)]
    if abs(by - ay) <= _HEIGHT + _GAP:
        return [(ax + _WIDTH / 2, min(ay, by) + _HEIGHT), (ax + _WIDTH / 2, max(ay, by))][:: 1 if ay < by else -1]
    lane = ax - _GAP / 4
    ay, by = ay + _HEIGHT * (0.75 if ay < by else 0.25), by + _HEIGHT * (0.25 if ay < by else 0.75)
    return [(ax, ay), (lane, ay), (lane, by), (bx, by)]


def _switch_title(machine: Machine) -> str:
    assert machine.inter_sip is not None
    return f"{nanoseconds(machine.inter_sip.switch_overhead_ps)} a message"
