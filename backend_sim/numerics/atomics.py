"""What an atomic leaves in memory, for the reference and the device alike: a function of (old elements, values), with
the comparands behind them for `cas`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...dialects.elementwise import BY_KIND
from .dtypes import Array, DType, is_float, unsigned
from .elementwise import function_of

Change = Callable[..., Array]


def _of_row(kind: str) -> Change:
    return function_of(BY_KIND[kind])


_INTEGERS: Mapping[str, Change] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "maxu": _of_row("maxui"),
    "minu": _of_row("minui"),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
# Triton finds extrema of floats by integer atomics on their bits: there a NaN is the greatest of all numbers.
_FLOATS: Mapping[str, Change] = {"add": np.add, "max": np.maximum, "min": np.fmin}


def change_of(kind: str, dtype: DType) -> Change:
    """What an atomic of a kind writes to elements of `dtype`."""
    if kind == "xchg":
        return _exchange
    if kind == "cas":
        return _swap_if_equal
    return (_FLOATS if is_float(dtype) else _INTEGERS)[kind]


def _exchange(old: Array, value: Array) -> Array:
    return value


def _swap_if_equal(old: Array, value: Array, compare: Array) -> Array:
    """Elements are compared bit by bit: -0.0 is not 0.0, and a NaN is itself."""
    bits = np.dtype(f"u{old.dtype.itemsize}") if is_float(old.dtype) else unsigned(old.dtype)
    return np.where(old.view(bits) == compare.view(bits), value, old)
