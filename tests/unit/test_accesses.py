"""HBM as commands touch it: the tiles of a stream lie where their parts lie, however the tensor is cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ahbmc.backend_sim.memory import Memory, Placement, Tensor
from ahbmc.backend_sim.numerics.regions import Axis, Region, tile_spans
from ahbmc.backend_sim.program.accesses import HbmView
from ahbmc.backend_sim.target.machine_file import load_machine
from hypothesis import given, settings
from hypothesis import strategies as st

MACHINE = load_machine("tiny")
ROWS, COLUMNS = 48, 64
HALF = np.dtype(np.float16)


@st.composite
def axes(draw: st.DrawFn, extent: int, pitch: int) -> Axis:
    """An axis over `extent` lines that lie `pitch` elements apart, some of its lanes masked off, some folded."""
    size = draw(st.integers(1, extent))
    lo = draw(st.integers(0, size))
    hi = draw(st.integers(lo, size))
    if draw(st.booleans()):
        return Axis(size, pitch, lo, hi)
    width = draw(st.integers(1, extent))
    return Axis(size, pitch, lo, hi, draw(st.integers(0, extent - size)), width, width * pitch)


def tiles_of(region: Region, tile: tuple[int, int], across: Sequence[int]) -> list[Region]:
    def cut(region: Region, axis: int, number: int) -> Region:
        start = number * tile[axis]
        return region.cut(axis, start, min(tile[axis], region.sizes[axis] - start))

    return [cut(cut(region, 0, row), 1, column) for row in range(across[0]) for column in range(across[1])]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["row_wise", "column_wise"]),
    axes(ROWS, COLUMNS),
    axes(COLUMNS, 1),
    st.tuples(st.integers(1, 32), st.integers(1, 32)),
)
def test_tiles_of_a_stream_lie_where_their_parts_lie(
    how: str, rows: Axis, columns: Axis, tile: tuple[int, int]
) -> None:
    placement = Placement("replicate", "row_wise") if how == "row_wise" else Placement("replicate", "column_wise")
    tensor = Tensor("x", HALF, (ROWS, COLUMNS), placement)
    memory = Memory(MACHINE, [tensor])
    view = HbmView(memory, 0)
    region = Region(memory.base(tensor), 0, (rows, columns), HALF)
    across = (-(-region.sizes[0] // tile[0]), -(-region.sizes[1] // tile[1]))
    stream = view.stream(region, tile, across, 1, 1, "the load", None)
    tile_bytes = tile[0] * tile[1] * 2
    assert stream.tile_bytes == tile_bytes and stream.useful == region.valid_bytes
    for number, part in enumerate(tiles_of(region, tile, across)):
        shares = view.region(part, "the load", None)[1]
        if shares:
            padding = tile_bytes - sum(size for _, size, _ in shares)
            assert stream.of(number) == ((shares[0][0], shares[0][1] + padding, ()), *shares[1:])
        else:
            assert [size for _, size, _ in stream.of(number)] == [tile_bytes]


def test_spans_of_tiles() -> None:
    """Lowest and highest offsets by tile; lanes behind the last tile do not count, a tile of masked lanes has none."""
    found = tile_spans(Axis(10, 3, 1, 9), 4, 2)
    assert found is not None
    assert [each.tolist() for each in found] == [[3, 12], [9, 21]]
    folded = tile_spans(Axis(8, 1, 0, 8, 0, 4, -10), 3, 2)
    assert folded is not None
    assert [each.tolist() for each in folded] == [[0, -10], [2, 3]]
    assert tile_spans(Axis(10, 3, 4, 9), 4, 2) is None
    assert tile_spans(Axis(10, 3, 0, 4), 4, 2) is None
