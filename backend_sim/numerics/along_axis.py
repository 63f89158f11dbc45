"""What scans, gathers, sorts and histograms compute, in numpy, for the reference and the device alike.

Narrow floats are scanned in float32 and rounded once; sorting rounds nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import Array, convert, is_float, unsigned
from .elementwise import reduction, to_float32


def scan(kind: str, values: Array, axis: int, *, reverse: bool = False, is_unsigned: bool = False) -> Array:
    """Lane i along the axis is the reduction of lanes 0 to i; `reverse`: of lanes i to the last."""
    dtype = values.dtype
    if not is_float(dtype) and is_unsigned:
        values = values.view(unsigned(dtype))
    wide = to_float32(values) if is_float(dtype) and dtype.itemsize < 4 else values
    wide = np.flip(wide, axis) if reverse else wide
    found = reduction(kind, dtype).accumulate(wide, axis=axis, dtype=wide.dtype)
    found = np.flip(found, axis) if reverse else found
    return convert(found, dtype) if is_float(dtype) else found.view(dtype)


def gather(source: Array, index: Array, axis: int) -> Array:
    """The lanes of the source that the index names; of an index outside the nearest lane."""
    nearest = np.clip(index.astype(np.int64), 0, source.shape[axis] - 1)
    return np.take_along_axis(source, nearest, axis)


def sort(values: Array, axis: int, count: int, *, descending: bool = False, is_unsigned: bool = False) -> Array:
    """The first `count` lanes along the axis in order; NaNs are the greatest."""
    dtype = values.dtype
    if is_float(dtype):
        keys = to_float32(values) if dtype.itemsize < 4 else values
    else:
        keys = values.view(unsigned(dtype)) if is_unsigned else values
    order = np.sort(keys, axis=axis)
    order = np.flip(order, axis) if descending else order
    first = np.take(order, np.arange(count), axis)
    return first.astype(dtype) if is_float(dtype) else first.view(dtype)


def histogram(values: Array, mask: Array | None, bins: int) -> Any:
    """How many lanes hold 0, 1, ..., bins - 1, as int32."""
    counted = values if mask is None else values[mask]
    inside = counted[(counted >= 0) & (counted < bins)]
    return np.bincount(inside.astype(np.int64), minlength=bins).astype(np.int32)
