"""Regions at run time: reads, writes and cuts agree with the definition of a region, lane by lane."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.addresses import AddressSpace, Allocation, bytes_of
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.backend_sim.numerics.regions import Axis, Region
from ahbmc.dialects.errors import AhbmcError, Place
from ahbmc.dialects.region import no_lane
from hypothesis import given, settings
from hypothesis import strategies as st

BASE = 1 << 40
COUNT = 4000
INT32 = np.dtype(np.int32)
NO_LANE = no_lane(32)


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    size = draw(st.integers(1, 6))
    lo = draw(st.integers(0, size))
    hi = draw(st.integers(0, size))
    stride = draw(st.integers(-9, 9))
    kind = draw(st.sampled_from(["affine", "folded", "indexed"]))
    if kind == "folded":
        start, width, high = draw(st.integers(0, 9)), draw(st.integers(1, 5)), draw(st.integers(-20, 20))
        return Axis(size, stride, lo, hi, start, width, high)
    if kind == "indexed":
        numbers = draw(st.lists(st.integers(-9, 9) | st.just(NO_LANE), min_size=size, max_size=size))
        return Axis(size, stride, lo, hi, indices=np.array(numbers, np.int32))
    return Axis(size, stride, lo, hi)


def is_valid(axis: Axis, lane: int) -> bool:
    return axis.lo <= lane < axis.hi and (axis.indices is None or axis.indices[lane] != NO_LANE)


def lane_offset(axis: Axis, lane: int) -> int:
    """The definition, in the words of dialects/region.py."""
    if axis.indices is not None:
        return axis.stride * int(axis.indices[lane])
    if axis.fold_width:
        number = axis.fold_start + lane
        return axis.fold_stride * (number // axis.fold_width) + axis.stride * (number % axis.fold_width)
    return axis.stride * lane


regions = st.builds(
    Region, st.just(BASE), st.just(COUNT // 2), st.lists(axes(), min_size=1, max_size=3).map(tuple), st.just(INT32)
)


def expected(region: Region, memory: Array) -> Array:
    block = np.full(region.sizes, region.pad, np.int32)
    for lanes in product(*(range(n) for n in region.sizes)):
        if all(is_valid(axis, i) for axis, i in zip(region.axes, lanes, strict=True)):
            at = region.offset + sum(lane_offset(axis, i) for axis, i in zip(region.axes, lanes, strict=True))
            block[lanes] = memory[at]
    return block


def space(memory: Array) -> AddressSpace:
    return AddressSpace([Allocation("x", BASE, bytes_of(memory))])


@settings(deadline=None)
@given(regions, st.integers(-1, 5))
def test_a_read_gives_each_valid_lane_its_element_and_the_others_the_pad(region: Region, pad: int) -> None:
    memory = np.arange(COUNT, dtype=np.int32)
    padded = Region(region.base, region.offset, region.axes, region.dtype, pad)
    assert np.array_equal(space(memory).read_region(padded, None), expected(padded, memory))


@settings(deadline=None)
@given(regions, st.data())
def test_a_cut_is_the_same_lanes_of_the_whole(region: Region, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(region.axes) - 1))
    start = data.draw(st.integers(0, region.sizes[axis] - 1))
    size = data.draw(st.integers(1, region.sizes[axis] - start))
    memory = np.arange(COUNT, dtype=np.int32)
    part = tuple(slice(start, start + size) if d == axis else slice(None) for d in range(len(region.axes)))
    cut = region.cut(axis, start, size)
    assert np.array_equal(space(memory).read_region(cut, None), expected(region, memory)[part])


@settings(deadline=None)
@given(regions)
def test_a_write_touches_the_valid_lanes_and_nothing_else(region: Region) -> None:
    memory = np.zeros(COUNT, np.int32)
    block = np.arange(1, np.prod(region.sizes) + 1, dtype=np.int32).reshape(region.sizes)
    space(memory).write_region(region, block, None)
    touched = {
        region.offset + sum(lane_offset(axis, i) for axis, i in zip(region.axes, lanes, strict=True)): block[lanes]
        for lanes in product(*(range(n) for n in region.sizes))
        if all(is_valid(axis, i) for axis, i in zip(region.axes, lanes, strict=True))
    }
    assert set(np.flatnonzero(memory).tolist()) == set(touched)
    # Where several lanes have one address, one of them wins; elsewhere the lane's own value is there.
    assert all(int(memory[at]) in block for at in touched)


@settings(deadline=None)
@given(regions)
def test_the_byte_range_bounds_what_is_touched(region: Region) -> None:
    first, end = region.byte_range()
    offsets = region.offsets()
    if offsets.size == 0:
        assert first == end
        return
    assert first == BASE + 4 * int(offsets.min()) and end == BASE + 4 * (int(offsets.max()) + 1)
    assert region.valid_bytes == 4 * offsets.size


def test_the_copy_for_products_is_dropped_when_the_tensor_is_written() -> None:
    memory = np.arange(64, dtype=np.float16)
    memories = AddressSpace([Allocation("x", BASE, bytes_of(memory))])
    region = Region(BASE, 0, (Axis(8, 8, 0, 8), Axis(8, 1, 0, 8)), np.dtype(np.float16))
    assert memories.read_float32(region, None)[7, 7] == 63
    memories.write_region(region, np.zeros((8, 8), np.float16), None)
    assert not memories.read_float32(region, None).any()


def test_an_access_outside_says_what_it_hit_and_what_is_there() -> None:
    memory = np.zeros(100, np.int32)
    region = Region(BASE, 90, (Axis(20, 1, 0, 20),), INT32)
    with pytest.raises(AhbmcError) as caught:
        space(memory).read_region(region, Place("k.py", 3, 5))
    fault = caught.value.faults[0]
    assert fault.message == "the load touches elements 90 to 109 of 'x', which has 100"
    assert fault.place == Place("k.py", 3, 5) and "mask" in (fault.hint or "")


def test_an_access_before_the_tensor_is_outside_too() -> None:
    with pytest.raises(AhbmcError, match="element -1 of 'x'"):
        space(np.zeros(100, np.int32)).read_scalar(BASE - 4, INT32, None)


def test_a_misaligned_access_is_refused() -> None:
    with pytest.raises(AhbmcError, match="not aligned in 'x'"):
        space(np.zeros(100, np.int32)).gather(np.array([BASE, BASE + 6]), None, np.zeros((), np.int32), None)


def test_one_block_of_addresses_may_lie_in_several_tensors() -> None:
    x, y = np.arange(10, dtype=np.int32), np.arange(10, 20, dtype=np.int32)
    both = AddressSpace([Allocation("x", BASE, bytes_of(x)), Allocation("y", 2 * BASE, bytes_of(y))])
    where = np.array([BASE + 4, 2 * BASE, BASE, 2 * BASE + 36])
    assert both.gather(where, None, np.zeros((), np.int32), None).tolist() == [1, 10, 0, 19]
    both.scatter(where, np.array([True, False, True, True]), np.array([-1, -2, -3, -4], np.int32), None)
    assert (x[:2].tolist(), y[0], y[9]) == ([-3, -1], 10, -4)


def test_lanes_with_a_false_mask_touch_no_memory() -> None:
    memory = np.arange(4, dtype=np.int32)
    where = np.array([BASE, 7])
    got = space(memory).gather(where, np.array([True, False]), np.array(9, np.int32), None)
    assert got.tolist() == [0, 9]
    none = np.array([False, False])
    assert space(memory).gather(np.array([5, 7]), none, np.array([1, 2], np.int32), None).tolist() == [1, 2]
