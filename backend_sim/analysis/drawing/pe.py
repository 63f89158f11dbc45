"""The last panel: one PE, its engines with their rates, its memory, and the slice of HBM that is its own."""

from __future__ import annotations

from ...target.describe import binary_size, nanoseconds, number
from ...target.machine import Machine
from .canvas import Canvas, Point, block_width, text_width

_LINE, _PADDING, _GAP = 15.0, 10.0, 46.0
_NAME, _FIGURE = 12.0, 10.0  # sizes of the two kinds of text

# Where each block stands (row, column, columns that it spans).
_PLACES = {
    "PE_CPU": (0, 0, 1),
    "PE_SCHED": (0, 1, 1),
    "GEMM": (0, 2, 1),
    "FETCH": (0, 3, 1),
    "PE_IPCQ": (1, 0, 1),
    "PE_DMA": (1, 1, 1),
    "MATH": (1, 2, 1),
    "STORE": (1, 3, 1),
    "HBM slice": (2, 0, 1),
    "router": (2, 1, 1),
    "TCM": (2, 2, 2),
}
_FLOWS = (
    ("PE_CPU", "PE_SCHED"),
    ("PE_CPU", "PE_IPCQ"),
    ("PE_SCHED", "PE_DMA"),
    ("PE_SCHED", "GEMM"),
    ("PE_SCHED", "MATH"),
    ("PE_IPCQ", "PE_DMA"),
    ("FETCH", "GEMM"),
    ("GEMM", "STORE"),
    ("STORE", "TCM"),
)
_BOTH_WAYS = (("PE_DMA", "router"), ("router", "HBM slice"), ("PE_DMA", "TCM"), ("MATH", "TCM"))
_CLASSES = {"HBM slice": "slice", "router": "router"}

Box = tuple[float, float, float, float]  # left, top, width, height


def draw_pe(canvas: Canvas, machine: Machine, x: float, y: float) -> Point:
    """Draws the panel with its corner at (x, y); returns the opposite corner."""
    canvas.text(x, y, "One PE and its slice", 14, class_="heading")
    about = f"composites of at most {machine.composite_max_bytes} logical bytes"
    canvas.text(x, y + 18, about, 10, class_="faint")
    blocks = _blocks(machine)
    boxes = _boxes(blocks, x + 2 * _PADDING, y + 34 + 2 * _PADDING)
    _outline(canvas, boxes)
    for source, target in _FLOWS:
        canvas.line("flow", *_between(boxes[source], boxes[target]), name=f"{source} {target}", arrows=1)
    for source, target in _BOTH_WAYS:
        canvas.line("flow", *_between(boxes[source], boxes[target]), name=f"{source} {target}", arrows=2)
    tcm, fetch = boxes["TCM"], boxes["FETCH"]
    right, lane = tcm[0] + tcm[2], tcm[0] + tcm[2] + 2 * _PADDING
    up, down = fetch[1] + fetch[3] / 2, tcm[1] + tcm[3] / 2
    # Past STORE.
    canvas.line("flow", (right, down), (lane, down), (lane, up), (right, up), name="TCM FETCH", arrows=1)
    for name, (left, top, width, height) in boxes.items():
        canvas.rectangle(_CLASSES.get(name, "engine"), left, top, width, height, name)
        canvas.text(left + _PADDING, top + _LINE + 2, name, _NAME, class_="heading")
        for i, figure in enumerate(blocks[name], 2):
            canvas.text(left + _PADDING, top + _LINE * i + 2, figure, _FIGURE)
    return max(lane + _PADDING, x + text_width(about, 10)), tcm[1] + tcm[3] + _PADDING


def _boxes(blocks: dict[str, list[str]], x: float, y: float) -> dict[str, Box]:
    """The box of each block, each column as wide and each row as high as its largest."""
    widths, heights = [0.0] * 4, [0.0] * 3
    for name, (row, column, span) in _PLACES.items():
        width = max(text_width(name, _NAME), block_width(blocks[name], _FIGURE)) + 2 * _PADDING
        if span == 1:
            widths[column] = max(widths[column], width)
        heights[row] = max(heights[row], _LINE * (len(blocks[name]) + 1) + _PADDING)
    lefts = [x + sum(widths[:i]) + i * _GAP for i in range(4)]
    tops = [y + sum(heights[:i]) + i * _GAP for i in range(3)]
    return {
        name: (lefts[column], tops[row], sum(widths[column : column + span]) + (span - 1) * _GAP, heights[row])
        for name, (row, column, span) in _PLACES.items()
    }


def _outline(canvas: Canvas, boxes: dict[str, Box]) -> None:
    """What belongs to the PE: all but its router and its slice, which lie at its lower left."""
    left, top = boxes["PE_CPU"][0] - 2 * _PADDING, boxes["PE_CPU"][1] - 2 * _PADDING
    tcm = boxes["TCM"]
    right, bottom = tcm[0] + tcm[2] + 3 * _PADDING, tcm[1] + tcm[3] + _PADDING
    edge, corner = tcm[1] - _GAP / 2, tcm[0] - _GAP / 2
    points = (left, top), (right, top), (right, bottom), (corner, bottom), (corner, edge), (left, edge), (left, top)
    canvas.line("pe", *points, name="pe0")


def _blocks(machine: Machine) -> dict[str, list[str]]:
    """The figures of each block, a line each."""
    pe, hbm, cube = machine.pe, machine.hbm, machine.cube
    return {
        "PE_CPU": [
            f"{number(pe.cpu.clock_ghz)} GHz",
            f"single-op {pe.cpu.fixed_cycles_single} cycles",
            f"composite {pe.cpu.fixed_cycles_composite} cycles",
            f"{pe.cpu.cycles_per_byte} cycle per byte",
        ],
        "PE_SCHED": [
            f"to DMA {nanoseconds(pe.sched.entry_dma_ps)}",
            f"to engines {nanoseconds(pe.sched.entry_engine_ps)}",
            f"{pe.sched.stream_tiles:,} tiles in flight",
        ],
        "GEMM": [f"{number(pe.gemm.peak_tflops)} TFLOP/s in f16", f"tile {' x '.join(map(str, pe.gemm.tile))}"],
        "FETCH": [f"{pe.fetch.servers} x {number(pe.fetch.gb_per_s)} GB/s"],
        "PE_IPCQ": [f"{pe.ipcq.queues} queues", f"entry {nanoseconds(pe.ipcq.entry_ps)}"],
        "PE_DMA": [
            f"{pe.dma.read_channels} read, {pe.dma.write_channels} write",
            f"{number(cube.pe_gb_per_s)} GB/s to router",
        ],
        "MATH": [f"{pe.math.lanes} lanes", f"{nanoseconds(pe.math.pass_ps)} a pass"],
        "STORE": [
            f"{pe.store.servers} x {number(pe.store.gb_per_s)} GB/s",
            *(["one engine with FETCH"] if pe.fetch_store_shared else []),
        ],
        "HBM slice": [
            binary_size(hbm.slice_bytes),
            f"{hbm.channels} x {number(hbm.channel_gb_per_s)} GB/s",
            f"burst {hbm.burst_bytes} B: {nanoseconds(hbm.burst_ps)}",
        ],
        "router": [f"{nanoseconds(cube.mesh.router_overhead_ps)}", f"{number(cube.slice_gb_per_s)} GB/s to slice"],
        "TCM": [
            binary_size(pe.tcm.bytes),
            f"scratch {binary_size(pe.tcm.scratch_bytes)}",
            f"{number(pe.tcm.gb_per_s)} GB/s",
        ],
    }


def _between(source: Box, target: Box) -> tuple[Point, Point]:
    """A straight line between the edges of two boxes that face each other."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = source, target
    if ax + aw < bx:
        return (ax + aw, ay + ah / 2), (bx, by + bh / 2)
    if bx + bw < ax:
        return (ax, ay + ah / 2), (bx + bw, by + bh / 2)
    middle = (max(ax, bx) + min(ax + aw, bx + bw)) / 2
    return (middle, ay + ah), (middle, by)
