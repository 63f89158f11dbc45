"""Byte memories under virtual addresses: which allocation an address lies in, and accesses by blocks of addresses.

An access that leaves its allocation is an AhbmcError with the place of the op; lanes without memory never get here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...dialects.errors import AhbmcError, Place, fail
from .dtypes import Array, DType, is_float
from .elementwise import to_float32
from .regions import Region

# Tensors up to this size keep a float32 copy for products: converting once is cheaper than at every product.
_SHADOW_LIMIT_BYTES = 64 << 20


@dataclass(eq=False)
class Allocation:
    """The bytes of one tensor (`data`: uint8, rank 1) from the virtual address `base` on.

    Whoever shares the bytes shares the object: it knows whether they have been written since their float32 copy was
    made.
    """

    name: str
    base: int
    data: Array
    _shadow: Array | None = field(default=None, init=False)
    _written: bool = field(default=False, init=False)

    @property
    def end(self) -> int:
        return self.base + self.data.size

    def written(self) -> None:
        """Someone writes the bytes: from now on there is no copy."""
        self._shadow, self._written = None, True

    def float32(self, dtype: DType) -> Array | None:
        """All elements as float32; None where the tensor is too large for a copy or is written to."""
        if dtype == np.float32:
            return self.data.view(dtype)
        if self._written or self.data.size > _SHADOW_LIMIT_BYTES or not is_float(dtype) or dtype.itemsize > 4:
            return None
        if self._shadow is None:
            self._shadow = to_float32(self.data.view(dtype))
        return self._shadow


def bytes_of(array: Array) -> Array:
    """The bytes of a C-contiguous array, as a view of rank 1: writes go to the array."""
    assert array.flags.c_contiguous
    return array.reshape(-1).view(np.uint8)


@dataclass
class AddressSpace:
    """Allocations that do not overlap. Accesses name the op's place for their errors."""

    allocations: Sequence[Allocation]
    _bases: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.allocations = sorted(self.allocations, key=lambda a: a.base)
        self._bases = [a.base for a in self.allocations]

    def find(self, address: int) -> Allocation | None:
        """The allocation at or nearest below an address."""
        at = bisect_right(self._bases, address) - 1
        return self.allocations[at] if at >= 0 else None

    def checked(self, first: int, end: int, itemsize: int, what: str, place: Place | None) -> Allocation:
        """The allocation that holds the bytes [first, end). Raises AhbmcError, with what was found and allowed."""
        allocation = self.find(first)
        if allocation is not None and end <= allocation.end and (first - allocation.base) % itemsize == 0:
            return allocation
        raise self._outside(first, end, itemsize, what, place)

    def _outside(self, first: int, end: int, itemsize: int, what: str, place: Place | None) -> AhbmcError:
        # The tensor that was meant is the one that any byte of the access hits, else the nearest.
        candidates = [a for a in (self.find(first), self.find(end - 1)) if a is not None]
        hit = next((a for a in candidates if first < a.end and a.base < end), None)
        nearest = hit or min(self.allocations, key=lambda a: min(abs(first - a.base), abs(first - a.end)), default=None)
        if nearest is None:
            return fail(f"{what} touches memory, but no tensor was passed", place)
        if (first - nearest.base) % itemsize:
            return fail(f"{what} of {itemsize} bytes each is not aligned in '{nearest.name}'", place)
        low, high = (first - nearest.base) // itemsize, (end - nearest.base) // itemsize - 1
        found = f"element {low}" if low == high else f"elements {low} to {high}"
        size = nearest.data.size // itemsize
        return fail(
            f"{what} touches {found} of '{nearest.name}', which has {size}",
            place,
            hint="mask the lanes that lie outside the tensor",
        )

    def read_region(self, region: Region, place: Place | None) -> Array:
        """A fresh block of the region's sizes, padded."""
        first, end = region.byte_range()
        if first == end:
            return region.padding()
        allocation = self.checked(first, end, region.dtype.itemsize, "the load", place)
        return region.read(allocation.data, allocation.base)

    def read_float32(self, region: Region, place: Place | None) -> Array:
        """As `read_region`, as float32 for a product; a view of the tensor's copy where there is one and no lane is
        padded.
        """
        first, end = region.byte_range()
        if first == end:
            return to_float32(region.padding())
        allocation = self.checked(first, end, region.dtype.itemsize, "the load", place)
        shadow = allocation.float32(region.dtype)
        if shadow is None:
            return to_float32(region.read(allocation.data, allocation.base))
        elements = (region.base - allocation.base) // region.dtype.itemsize
        moved = replace(region, base=0, offset=region.offset + elements, dtype=np.dtype(np.float32))
        data = shadow.view(np.uint8)
        view = moved.in_memory(data, 0) if region.valid_sizes == region.sizes else None
        return moved.read(data, 0) if view is None else view

    def write_region(self, region: Region, block: Array, place: Place | None) -> None:
        """Write the valid lanes of a block of the region's sizes."""
        first, end = region.byte_range()
        if first != end:
            allocation = self.checked(first, end, region.dtype.itemsize, "the store", place)
            allocation.written()
            region.write(block, allocation.data, allocation.base)

    def read_scalar(self, address: int, dtype: DType, place: Place | None) -> Array:
        """The element at a byte address, as an array of rank 0."""
        allocation = self.checked(address, address + dtype.itemsize, dtype.itemsize, "the load", place)
        start = address - allocation.base
        return allocation.data[start : start + dtype.itemsize].view(dtype).reshape(()).copy()

    def gather(self, addresses: Array, mask: Array | None, other: Array, place: Place | None) -> Array:
        """The elements at a block of byte addresses; where `mask` is false, those of `other` (whose dtype it is)."""
        chosen = addresses.reshape(-1) if mask is None else addresses[mask]
        if chosen.size == 0:
            return np.array(np.broadcast_to(other, addresses.shape))
        values = np.empty(chosen.shape, other.dtype)
        for allocation, lanes in self._by_allocation(chosen, other.dtype.itemsize, "the load", place):
            index = (chosen[lanes] - allocation.base) // other.dtype.itemsize
            values[lanes] = allocation.data.view(other.dtype)[index]
        if mask is None:
            return values.reshape(addresses.shape)
        result = np.array(np.broadcast_to(other, addresses.shape))
        result[mask] = values
        return result

    def scatter(self, addresses: Array, mask: Array | None, values: Array, place: Place | None) -> None:
        """Write a block of elements to a block of byte addresses where `mask` is true; of equal addresses the last one
        wins.
        """
        values = np.broadcast_to(values, addresses.shape)
        chosen, written = (
            (addresses.reshape(-1), values.reshape(-1)) if mask is None else (addresses[mask], values[mask])
        )
        if chosen.size == 0:
            return
        itemsize = values.dtype.itemsize
        for allocation, lanes in self._by_allocation(chosen, itemsize, "the store", place):
            allocation.written()
            allocation.data.view(values.dtype)[(chosen[lanes] - allocation.base) // itemsize] = written[lanes]

    def update(
        self,
        addresses: Array,
        mask: Array | None,
        values: Sequence[Array],
        change: Callable[..., Array],
        place: Place | None,
    ) -> Array:
        """Replace the elements at a block of addresses by `change(old, *values)` where `mask` is true; returns the old
        ones, 0 in other lanes. Of equal addresses each sees what the lane before it left.
        """
        zero = np.zeros((), values[0].dtype)
        before = np.zeros(addresses.shape, zero.dtype)
        flat, old = addresses.reshape(-1), before.reshape(-1)
        lanes = np.arange(flat.size) if mask is None else np.flatnonzero(mask)
        given = [np.broadcast_to(v, addresses.shape).reshape(-1) for v in values]
        while lanes.size:
            # One lane of each address at a time, the first in order.
            _, first = np.unique(flat[lanes], return_index=True)
            now = lanes[first]
            old[now] = self.gather(flat[now], None, zero, place)
            self.scatter(flat[now], None, change(old[now], *(v[now] for v in given)), place)
            lanes = np.delete(lanes, first)
        return before

    def _by_allocation(
        self, addresses: Array, itemsize: int, what: str, place: Place | None
    ) -> list[tuple[Allocation, Array | slice]]:
        """The allocations that a list of addresses touches, each with its lanes; nearly always there is one."""
        low, high = int(addresses.min()), int(addresses.max())
        first, last = self.find(low), self.find(high)
        if first is last:
            allocation = self.checked(low, high + itemsize, itemsize, what, place)
            if itemsize > 1 and ((addresses - allocation.base) % itemsize).any():
                raise fail(f"{what} of {itemsize} bytes each is not aligned in '{allocation.name}'", place)
            return [(allocation, slice(None))]
        owner = np.searchsorted(np.asarray(self._bases), addresses, side="right") - 1
        found: list[tuple[Allocation, Array | slice]] = []
        for number in np.unique(owner):
            lanes = np.flatnonzero(owner == number)
            found += [(a, lanes) for a, _ in self._by_allocation(addresses[lanes], itemsize, what, place)]
        return found
