"""The second panel: one SIP, its cubes with the UCIe links between them, and the IO chiplet with the cubes it feeds."""

from __future__ import annotations

from ...target.describe import nanoseconds, number
from ...target.machine import Link, Machine
from .canvas import Canvas, Point, text_width

_CUBE, _GAP = 74.0, 44.0  # side of a cube, distance to the next
_PORT_WIDTH, _PORT_HEIGHT = 58.0, 18.0
_NODE_WIDTH, _NODE_HEIGHT = 70.0, 24.0
_LINE = 16.0


def draw_sip(canvas: Canvas, machine: Machine, x: float, y: float) -> Point:
    """Draws the panel with its corner at (x, y); returns the opposite corner."""
    rows, columns = machine.sip.cubes
    canvas.text(x, y, f"One SIP: {rows} x {columns} CUBEs", 14, class_="heading")
    about = _about(machine)
    for i, line in enumerate(about):
        canvas.text(x, y + 18 + i * _LINE, line, 10, class_="faint")
    top = y + 18 + len(about) * _LINE + 12
    if machine.sip.io is not None:
        top += 2 * _NODE_HEIGHT + _PORT_HEIGHT + 3 * _LINE + _GAP
    corners = [
        (x + column * (_CUBE + _GAP), top + row * (_CUBE + _GAP))
        for row, column in (divmod(cube, columns) for cube in range(rows * columns))
    ]
    right = max(corners[-1][0] + _CUBE, x + max(text_width(line, 10) for line in (*about, "")))
    if machine.sip.io is not None:
        right = max(right, _draw_io(canvas, machine, x, top - _GAP, corners))
    _draw_links(canvas, machine, corners)
    for cube, (left, up) in enumerate(corners):
        canvas.rectangle("cube", left, up, _CUBE, _CUBE, f"cube{cube}", f"cube{cube}: {machine.pes_per_cube} PEs")
        canvas.text(left + _CUBE / 2, up + _CUBE / 2 + 4, f"cube{cube}", 12, "middle")
    return right, corners[-1][1] + _CUBE


def _about(machine: Machine) -> list[str]:
    lines: list[str] = []
    if machine.cubes_per_sip > 1:
        lines.append(f"UCIe links between cubes: {_rate(machine.sip.cube_link)}")
    io = machine.sip.io
    if io is None:
        return [*lines, "no IO chiplet"]
    return [
        *lines,
        f"IO chiplet: to io_noc {_rate(io.noc_link)}; io_noc to ports {_rate(io.port_link)}; ports to cubes"
        f" {_rate(io.cube_link)}",
    ]


def _rate(link: Link) -> str:
    return f"{number(link.gb_per_s)} GB/s, {number(link.mm)} mm"


def _draw_links(canvas: Canvas, machine: Machine, corners: list[Point]) -> None:
    columns, title = machine.sip.cubes[1], _rate(machine.sip.cube_link)
    for cube, (left, top) in enumerate(corners):
        middle = _CUBE / 2
        if (cube + 1) % columns:
            ends = (left + _CUBE, top + middle), (left + _CUBE + _GAP, top + middle)
            canvas.line("cube-link", *ends, name=f"cube{cube}.e cube{cube + 1}.w", title=title)
        if cube + columns < len(corners):
            ends = (left + middle, top + _CUBE), (left + middle, top + _CUBE + _GAP)
            canvas.line("cube-link", *ends, name=f"cube{cube}.s cube{cube + columns}.n", title=title)


def _draw_io(canvas: Canvas, machine: Machine, x: float, bottom: float, corners: list[Point]) -> float:
    """The IO chiplet with its lower edge at `bottom`: nodes above, a port over each cube it feeds; its right edge."""
    io = machine.sip.io
    assert io is not None
    top = bottom - 2 * _NODE_HEIGHT - _PORT_HEIGHT - 3 * _LINE
    ports = [corners[cube][0] + (_CUBE - _PORT_WIDTH) / 2 for cube in io.cubes]  # each above its cube
    right = max(max(ports) + _PORT_WIDTH + 8, x + 2 * _NODE_WIDTH + 60 + text_width("IO chiplet", 11))
    canvas.rectangle("io", x, top, right - x, bottom - top, "io0")
    canvas.text(right - 8, top + 16, "IO chiplet", 11, "end")
    noc = x + 12 + _NODE_WIDTH + 15, top + 2 * _LINE + _NODE_HEIGHT
    nodes = {
        "pcie_ep": (x + 12, top + 10, io.pcie_ep_overhead_ps),
        "io_cpu": (x + 12 + _NODE_WIDTH + 30, top + 10, io.io_cpu_overhead_ps),
        "io_noc": (noc[0], noc[1], io.io_noc_overhead_ps),
    }
    centre = noc[0] + _NODE_WIDTH / 2, noc[1] + _NODE_HEIGHT / 2
    for name in ("pcie_ep", "io_cpu"):
        end = nodes[name][0] + _NODE_WIDTH / 2, nodes[name][1] + _NODE_HEIGHT / 2
        canvas.line("io-link", end, centre, name=f"{name} io_noc", title=_rate(io.noc_link))
    for i, left in enumerate(ports):
        middle = left + _PORT_WIDTH / 2
        canvas.line(
            "io-link", centre, (middle, bottom - _PORT_HEIGHT / 2), name=f"io_noc io_ucie{i}", title=_rate(io.port_link)
        )
        ends = (middle, bottom), (middle, bottom + _GAP)
        canvas.line("cube-link", *ends, name=f"io_ucie{i} cube{io.cubes[i]}.n", title=_rate(io.cube_link))
    for name, (left, up, overhead_ps) in nodes.items():
        title = f"{name}: {nanoseconds(overhead_ps)}"
        canvas.rectangle("io-node", left, up, _NODE_WIDTH, _NODE_HEIGHT, name, title)
        canvas.text(left + _NODE_WIDTH / 2, up + 16, name, 10, "middle")
    for i, left in enumerate(ports):
        title = f"io_ucie{i}: {nanoseconds(io.port_overhead_ps)}"
        canvas.rectangle("port", left, bottom - _PORT_HEIGHT, _PORT_WIDTH, _PORT_HEIGHT, f"io_ucie{i}", title)
        canvas.text(left + _PORT_WIDTH / 2, bottom - 5, f"io_ucie{i}", 9, "middle")
    return right
