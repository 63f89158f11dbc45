"""Packing of buffers into the kernel scratch."""

from __future__ import annotations

import pytest
from ahbmc.dialects import ahbm
from ahbmc.passes.analysis.scratch import Lifetime, pack, peak
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32


def _lifetime(size: int, first: int, last: int) -> Lifetime:
    return Lifetime(ahbm.AllocOp(ahbm.BufferType([size // 4], f32)), size, first, last)


@pytest.mark.parametrize(
    ("items", "offsets", "size"),
    [
        ([(64, 0, 1), (64, 1, 2)], (0, 64), 128),
        ([(64, 0, 1), (64, 2, 3)], (0, 0), 64),
        # The small one fits into the gap that the two large ones leave at the end of the first.
        ([(128, 0, 9), (256, 0, 3), (128, 4, 9), (64, 4, 9)], (256, 0, 0, 128), 384),
        ([], (), 0),
    ],
)
def test_offsets(items: list[tuple[int, int, int]], offsets: tuple[int, ...], size: int) -> None:
    """The largest first, each at the lowest free place."""
    packing = pack([_lifetime(*item) for item in items])
    assert (packing.offsets, packing.size) == (offsets, size)


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(0, 20), st.integers(0, 20)), max_size=12))
def test_buffers_in_use_at_once_share_no_byte(drawn: list[tuple[int, int, int]]) -> None:
    """And no packing is smaller than the most that lives at one instant."""
    items = [_lifetime(8 * size, first, first + length) for size, first, length in drawn]
    packing = pack(items)
    for n, a in enumerate(items):
        for m, b in enumerate(items[:n]):
            if a.overlaps(b):
                apart = packing.offsets[n] >= packing.offsets[m] + b.size
                assert apart or packing.offsets[m] >= packing.offsets[n] + a.size
    assert packing.size >= sum(i.size for i in peak(items))


def test_peak_lists_the_largest_first() -> None:
    """The instant at which most bytes live, not the one with most buffers."""
    items = [_lifetime(8, 0, 0), _lifetime(8, 0, 0), _lifetime(16, 1, 2), _lifetime(64, 2, 3)]
    assert [i.size for i in peak(items)] == [64, 16]
