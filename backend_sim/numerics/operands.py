"""What a command instance takes at run time: buffers (bytes of a PE's scratch) and index views, beside regions and
numbers.

A view is the same bytes under other strides, so a `Buffer` with its strides is a view already. Strides count in
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from .dtypes import Array, DType


def packed_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def viewed(numbers: Sequence[int], old: Sequence[int], axes: Sequence[int], new: Sequence[int]) -> tuple[int, ...]:
    """Strides (or steps) after `ahbm.view`: those of the source axes; 0 on a repeated axis."""
    return tuple(0 if a < 0 or old[a] != n else numbers[a] for a, n in zip(axes, new, strict=True))


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block in scratch: `offset` in bytes from the scratch's start."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType

    @staticmethod
    def packed(offset: int, shape: tuple[int, ...], dtype: DType) -> Buffer:
        return Buffer(offset, shape, packed_strides(shape), dtype)

    def view(self, axes: Sequence[int], shape: tuple[int, ...]) -> Buffer:
        """Axis d of the result is axis `axes[d]`, -1 a repeated lane."""
        return replace(self, shape=shape, strides=viewed(self.strides, self.shape, axes, shape))

    def at(self, lanes: Sequence[int]) -> Buffer:
        """The same axes from a lane of each on."""
        moved = sum(lane * s for lane, s in zip(lanes, self.strides, strict=True))
        return replace(self, offset=self.offset + moved * self.dtype.itemsize)

    def reshape(self, shape: tuple[int, ...]) -> Buffer:
        """The same bytes in order; the buffer must be packed."""
        assert all(
            s == p or n == 1 for s, p, n in zip(self.strides, packed_strides(self.shape), self.shape, strict=True)
        )
        return replace(self, shape=shape, strides=packed_strides(shape))

    @property
    def byte_range(self) -> tuple[int, int]:
        """The bytes [first, end) of scratch that it touches."""
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset, self.offset + (last + 1) * self.dtype.itemsize

    def array(self, scratch: Array) -> Array:
        """The elements as a view of the scratch's bytes: writing to it writes the scratch."""
        itemsize = self.dtype.itemsize
        return np.ndarray(self.shape, self.dtype, scratch.data, self.offset, [s * itemsize for s in self.strides])


@dataclass(frozen=True, slots=True)
class Index:
    """A block without bytes, whose element (i0, ..) is `start + sum over d of steps[d] * i_d`."""

    start: int
    steps: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: DType

    def view(self, axes: Sequence[int], shape: tuple[int, ...]) -> Index:
        """As the view of a buffer."""
        return replace(self, shape=shape, steps=viewed(self.steps, self.shape, axes, shape))

    def array(self) -> Array:
        rank, total = len(self.shape), np.full((1,) * len(self.shape), self.start, np.int64)
        for d, (step, size) in enumerate(zip(self.steps, self.shape, strict=True)):
            if step:
                total = total + (step * np.arange(size)).reshape([-1 if e == d else 1 for e in range(rank)])
        return np.broadcast_to(total.astype(self.dtype), self.shape)
