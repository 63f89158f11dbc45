"""Functions that numpy has not, or not with the hardware's rule: integer division, shifts, unsigned forms, rsqrt, fma.

All take arrays (or numpy scalars) of one dtype and give that dtype. Integers come as signed arrays whatever the op says
of the sign. What C leaves undefined has one defined result here: x / 0 and x % 0 are 0, shifts by the width or more
give 0 (or the sign).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import Array, unsigned


def _as_unsigned(*values: Any) -> list[Array]:
    arrays = [np.asarray(v) for v in values]
    return [a.view(unsigned(a.dtype)) for a in arrays]


def divide_truncating(a: Any, b: Any) -> Array:
    """C's `/` on signed integers: towards zero."""
    a, b = np.asarray(a), np.asarray(b)
    floor: Array = np.floor_divide(a, b)
    # The floor of a quotient below 0 that is not exact lies one too low. numpy's x // 0 is 0.
    too_low: Array = (floor * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return (floor + too_low).astype(a.dtype)


def remainder_truncating(a: Any, b: Any) -> Array:
    """C's `%` on signed integers: the sign of the dividend."""
    return np.fmod(a, b)


def divide_unsigned(a: Any, b: Any) -> Array:
    x, y = _as_unsigned(a, b)
    return np.floor_divide(x, y).view(np.asarray(a).dtype)


def remainder_unsigned(a: Any, b: Any) -> Array:
    x, y = _as_unsigned(a, b)
    return np.remainder(x, y).view(np.asarray(a).dtype)


def maximum_unsigned(a: Any, b: Any) -> Array:
    return np.maximum(*_as_unsigned(a, b)).view(np.asarray(a).dtype)


def minimum_unsigned(a: Any, b: Any) -> Array:
    return np.minimum(*_as_unsigned(a, b)).view(np.asarray(a).dtype)


def shift_left(a: Any, b: Any) -> Array:
    x, y = _as_unsigned(a, b)
    return np.left_shift(x, y).view(np.asarray(a).dtype)


def shift_right(a: Any, b: Any) -> Array:
    """Arithmetic: the sign comes in from the left."""
    a, b = np.asarray(a), np.asarray(b)
    (amount,) = _as_unsigned(b)
    width = a.dtype.itemsize * 8
    return np.right_shift(a, np.minimum(amount, width - 1).astype(a.dtype))


def shift_right_unsigned(a: Any, b: Any) -> Array:
    x, y = _as_unsigned(a, b)
    return np.right_shift(x, y).view(np.asarray(a).dtype)


def multiply_high(a: Any, b: Any) -> Array:
    """The upper half of the product of two unsigned integers, by products of their halves."""
    x, y = _as_unsigned(a, b)
    half = np.asarray(x.dtype.itemsize * 4, x.dtype)
    low = (np.asarray(1, x.dtype) << half) - np.asarray(1, x.dtype)
    cross, other = (x >> half) * (y & low), (x & low) * (y >> half)
    middle = ((x & low) * (y & low) >> half) + (cross & low) + (other & low)
    high = (x >> half) * (y >> half) + (cross >> half) + (other >> half) + (middle >> half)
    return high.view(np.asarray(a).dtype)


def rsqrt(x: Any) -> Array:
    """1 / sqrt(x), rounded once to the dtype of x."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    return (1.0 / np.sqrt(wide)).astype(x.dtype)


def fma(a: Any, b: Any, c: Any) -> Array:
    """a * b + c in float64, then rounded to the dtype: no rounding of a product of narrower floats."""
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    wide = np.float64
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def round_half_away(x: Any) -> Array:
    """C's `round`: to the nearest integer, halves away from zero."""
    values = np.asarray(x)
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1, values), whole).astype(values.dtype)
