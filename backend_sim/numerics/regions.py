"""A region at run time: numbers instead of SSA values, the lanes it names, and reading and writing them in an
allocation's bytes.

It is what the reference, the device and the engine (sizes, byte ranges) know of `dialects/region.py`; offsets count in
elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from .dtypes import Array, DType


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: `size` lanes of which `[lo, hi)` are valid. A fold width of 0 means no fold; `indices` only where it is
    indexed: then lanes with the least number of their type are not valid either.
    """

    size: int
    stride: int
    lo: int
    hi: int
    fold_start: int = 0
    fold_width: int = 0
    fold_stride: int = 0
    indices: Array | None = None

    @property
    def valid(self) -> int:
        """The number of valid lanes."""
        if self.indices is not None:
            return len(self.lanes())
        return self.hi - self.lo if self.hi > self.lo else 0

    def lanes(self) -> Array:
        """The numbers of the valid lanes (int64)."""
        if self.indices is None:
            return np.arange(self.lo, max(self.lo, self.hi), dtype=np.int64)
        within = self.indices[self.lo : self.hi]
        return self.lo + np.flatnonzero(within != np.iinfo(within.dtype).min)

    @property
    def affine(self) -> bool:
        return self.indices is None and not self.fold_width

    def offsets(self) -> Array:
        """Where the valid lanes lie along this axis, in elements (int64)."""
        lanes = self.lanes()
        if self.indices is not None:
            return self.stride * self.indices[lanes].astype(np.int64)
        if not self.fold_width:
            return self.stride * lanes
        high, low = np.divmod(self.fold_start + lanes, self.fold_width)
        return self.fold_stride * high + self.stride * low

    def span(self) -> tuple[int, int]:
        """Lowest and highest offset of a valid lane; there must be one."""
        if self.affine:
            ends = self.stride * self.lo, self.stride * (self.hi - 1)
            return min(ends), max(ends)
        if self.indices is None:
            return _folded_span(self)
        offsets = self.offsets()
        return int(offsets.min()), int(offsets.max())

    def straight(self) -> tuple[int, Axis]:
        """(offset, axis): a folded axis that crosses no fold as an affine one behind an offset; any other as it is."""
        if not self.fold_width or not self.valid:
            return 0, self
        high = (self.fold_start + self.lo) // self.fold_width
        if (self.fold_start + self.hi - 1) // self.fold_width != high:
            return 0, self
        first = self.fold_stride * high + self.stride * (self.fold_start - high * self.fold_width)
        return first, Axis(self.size, self.stride, self.lo, self.hi)

    def dimensions(self) -> tuple[int, tuple[tuple[int, int], ...]] | None:
        """(offset of the first valid lane, (count, stride) of each dimension that the valid lanes have in memory); None
        where they are indexed or cut through a fold.
        """
        if self.affine:
            return self.stride * self.lo, ((self.valid, self.stride),)
        if self.indices is not None or (self.fold_start + self.lo) % self.fold_width or self.valid % self.fold_width:
            return None
        first = self.fold_stride * ((self.fold_start + self.lo) // self.fold_width)
        return first, ((self.valid // self.fold_width, self.fold_stride), (self.fold_width, self.stride))

    def cut(self, start: int, size: int) -> Axis:
        """`size` lanes from lane `start` on, as an axis of its own whose offsets count from the old lane `start` where
        it is affine.
        """
        lo, hi = (min(max(bound - start, 0), size) for bound in (self.lo, self.hi))
        indices = None if self.indices is None else self.indices[start : start + size]
        fold_start = self.fold_start + start if self.fold_width else 0
        return replace(self, size=size, lo=lo, hi=hi, fold_start=fold_start, indices=indices)


# A kernel makes few different axes, each for many regions.
@lru_cache(1024)
def _folded_span(axis: Axis) -> tuple[int, int]:
    offsets = axis.offsets()
    return int(offsets.min()), int(offsets.max())


@lru_cache(1024)
def tile_spans(axis: Axis, tile: int, count: int) -> tuple[Array, Array] | None:
    """(lowest, highest) offset of a valid lane in each of `count` tiles of `tile` lanes; None where one has none. The
    axis is not an indexed one.
    """
    if axis.lo >= tile or axis.hi <= (count - 1) * tile:
        return None
    offsets = axis.offsets()[: count * tile - axis.lo]
    starts = np.maximum(np.arange(count) * tile - axis.lo, 0)
    return np.minimum.reduceat(offsets, starts), np.maximum.reduceat(offsets, starts)


@dataclass(frozen=True)
class Region:
    """A region of HBM. `base` is a byte address, `offset` counts elements from it; `pad` is what lanes without memory
    hold.
    """

    base: int
    offset: int
    axes: tuple[Axis, ...]
    dtype: DType
    pad: Any = 0

    # A transfer asks for these several times: to be priced, checked, and done.
    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple([axis.size for axis in self.axes])

    @cached_property
    def valid_sizes(self) -> tuple[int, ...]:
        return tuple([axis.valid for axis in self.axes])

    @property
    def valid_bytes(self) -> int:
        """Bytes that a transfer of it moves."""
        return prod(self.valid_sizes) * self.dtype.itemsize

    @property
    def box(self) -> tuple[slice | Array, ...]:
        """The valid lanes, as an index of a block of the region's sizes."""
        if any(axis.indices is not None for axis in self.axes):
            return np.ix_(*[axis.lanes() for axis in self.axes])
        return tuple(slice(axis.lo, max(axis.lo, axis.hi)) for axis in self.axes)

    def cut(self, axis: int, start: int, size: int) -> Region:
        """`size` lanes along `axis` from lane `start` on."""
        old = self.axes[axis]
        moved = start * old.stride if old.affine else 0
        axes = (*self.axes[:axis], old.cut(start, size), *self.axes[axis + 1 :])
        return replace(self, offset=self.offset + moved, axes=axes)

    def straight(self) -> Region:
        """The same lanes with each folded axis that crosses no fold made affine: views and short runs follow."""
        if not any(axis.fold_width for axis in self.axes):
            return self
        found = [axis.straight() for axis in self.axes]
        return replace(self, offset=self.offset + sum(o for o, _ in found), axes=tuple(axis for _, axis in found))

    def byte_range(self) -> tuple[int, int]:
        """The addresses [first, end) that bound all valid lanes; an empty range at `base` where there is none."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        if not all(self.valid_sizes):
            return self.base, self.base
        spans = [axis.span() for axis in self.axes]
        low = self.offset + sum(span[0] for span in spans)
        high = self.offset + sum(span[1] for span in spans) + 1
        return self.base + low * self.dtype.itemsize, self.base + high * self.dtype.itemsize

    def offsets(self) -> Array:
        """Element offsets from `base` of all valid lanes, as an array of `valid_sizes`."""
        rank, total = len(self.axes), np.full((1,) * len(self.axes), self.offset, dtype=np.int64)
        for number, axis in enumerate(self.axes):
            total = total + axis.offsets().reshape([-1 if d == number else 1 for d in range(rank)])
        return np.broadcast_to(total, self.valid_sizes)

    def in_memory(self, data: Array, data_base: int) -> Array | None:
        """The valid lanes as a view of `data` (bytes that start at address `data_base`); None where an axis is not
        affine.
        """
        return self._strided(data, data_base) if all(axis.affine for axis in self.axes) else None

    def _strided(self, data: Array, data_base: int) -> Array | None:
        """The valid lanes as a view of `data` in which a folded axis has two dimensions; None where there is none."""
        found = [axis.dimensions() for axis in self.axes]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        itemsize = self.dtype.itemsize
        start = self.base - data_base + (self.offset + sum(first for first, _ in known)) * itemsize
        dimensions = [d for _, each in known for d in each]
        shape, strides = [count for count, _ in dimensions], [stride * itemsize for _, stride in dimensions]
        return np.ndarray(shape, self.dtype, data.data, start, strides)

    def read(self, data: Array, data_base: int) -> Array:
        """A fresh block of the region's sizes; the caller has checked `byte_range` against `data`."""
        block = np.empty(self.sizes, self.dtype) if self.valid_sizes == self.sizes else self.padding()
        if all(self.valid_sizes):
            view = self._strided(data, data_base)
            if view is None:
                index = self.offsets() + (self.base - data_base) // self.dtype.itemsize
                view = data.view(self.dtype)[index]
            block[self.box] = view.reshape(self.valid_sizes)
        return block

    def padding(self) -> Array:
        """A block of the region's sizes that holds nothing but the pad value."""
        return np.full(self.sizes, self.pad, self.dtype)

    def write(self, block: Array, data: Array, data_base: int) -> None:
        """Write the valid lanes of a block of the region's sizes; the caller has checked `byte_range` against
        `data`.
        """
        if not all(self.valid_sizes):
            return
        view = self.in_memory(data, data_base)
        if view is not None and all(axis.stride or axis.valid == 1 for axis in self.axes):
            view[...] = block[self.box]
            return
        index = self.offsets() + (self.base - data_base) // self.dtype.itemsize
        data.view(self.dtype)[index] = block[self.box]
