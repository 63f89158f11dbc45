"""The whole picture of a machine: a heading, the four panels from SIPs to the engines of a PE, a legend."""

from __future__ import annotations

from textwrap import wrap

from ...target.describe import routing_note
from ...target.machine import Machine
from .canvas import Canvas, text_width
from .cube import draw_cube
from .pe import draw_pe
from .sip import draw_sip
from .sips import draw_sips

_GAP = 50.0  # between panels
_STYLES = {
    "text": "fill: #222",
    "faint": "fill: #666",
    "heading": "fill: #000; font-weight: bold",
    "die": "fill: #fafafa; stroke: #999",
    "sip": "fill: #eef2f7; stroke: #567",
    "cube": "fill: #e8f0e4; stroke: #575",
    "io": "fill: #f7ecd9; stroke: #a73",
    "io-node": "fill: #fff; stroke: #a73",
    "port": "fill: #cfe0f5; stroke: #36c",
    "switch": "fill: #ddd; stroke: #444",
    "router": "fill: #fff; stroke: #444",
    "relay": "fill: #fff; stroke: #bbb",
    "missing": "fill: none; stroke: #c33; stroke-dasharray: 3 3",
    "pe": "fill: #f6d9d9; stroke: #a33",
    "slice": "fill: #d9e8d2; stroke: #4a4",
    "m-cpu": "fill: #eadcf5; stroke: #739",
    "sram": "fill: #fdf3c4; stroke: #a90",
    "engine": "fill: #fff; stroke: #a33",
    "mesh-link": "fill: none; stroke: #888; stroke-width: 2",
    "connection": "fill: none; stroke: #36c; stroke-width: 1.2",
    "cube-link": "fill: none; stroke: #36c; stroke-width: 4",
    "io-link": "fill: none; stroke: #a73; stroke-width: 2",
    "inter-sip-link": "fill: none; stroke: #444; stroke-width: 3",
    "flow": "fill: none; stroke: #555; stroke-width: 1.2",
}
"""Style of each class of shapes."""
_LEGEND = (
    ("router", "router"),
    ("relay", "router that nothing hangs at"),
    ("missing", "no router: links go over it"),
    ("pe", "PE"),
    ("slice", "HBM slice"),
    ("m-cpu", "M_CPU"),
    ("sram", "SRAM"),
    ("port", "UCIe port"),
    ("io", "IO chiplet"),
    ("switch", "switch between SIPs"),
)
_LEGEND_LINES = (
    ("mesh-link", "link of the mesh"),
    ("connection", "UCIe connection"),
    ("cube-link", "UCIe link"),
    ("io-link", "link in the IO chiplet"),
    ("inter-sip-link", "link between SIPs"),
)


def draw(machine: Machine) -> str:
    """The picture as the text of an SVG document."""
    canvas = Canvas()
    x, y = 20.0, 36.0
    canvas.text(x, y, f"{machine.name}: {machine.about}", 18, class_="heading")
    for line in wrap(routing_note(machine), 150):
        y += 18
        canvas.text(x, y, line, 11, class_="faint")
    top = y + _GAP
    right, bottom = draw_sips(canvas, machine, x, top)
    _, beside = draw_sip(canvas, machine, right + _GAP, top)
    below = max(bottom, beside) + _GAP
    right, bottom = draw_cube(canvas, machine, x, below)
    _, beside = draw_pe(canvas, machine, right + _GAP, below)
    _legend(canvas, x, max(bottom, beside) + _GAP)
    return canvas.finished(_STYLES)


def _legend(canvas: Canvas, x: float, y: float) -> None:
    """What the classes of shapes in the picture stand for."""
    used = set(canvas.used)
    for entries in (_LEGEND, _LEGEND_LINES):
        at = x
        for class_, what in entries:
            if class_ not in used:
                continue
            if entries is _LEGEND:
                canvas.rectangle(class_, at, y - 11, 20, 14)
            else:
                canvas.line(class_, (at, y - 4), (at + 20, y - 4))
            canvas.text(at + 27, y, what, 11)
            at += 27 + text_width(what, 11) + 16
        y += 26
