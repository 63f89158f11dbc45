"""What lane-wise functions compute, in numpy: rows of `dialects/elementwise.py`, compares, select, reductions and
products.

Arithmetic is that of the operands' own dtype; reductions and products of floats narrower than 32 bits run in float32
and round once. Callers run under `np.errstate(all="ignore")`: infinities and NaNs are values here, not events.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from ...dialects.elementwise import Elementwise
from . import ieee
from .dtypes import Array, DType, convert, is_float, unsigned

Function = Callable[..., Any]


@cache
def function_of(row: Elementwise) -> Function:
    """The numpy function of a row of the table. A function of module `math` is applied element by element, in
    float64.
    """
    module, _, name = row.evaluate.rpartition(".")
    if module == "ieee":
        return getattr(ieee, name)
    function = getattr(importlib.import_module(module), name)
    return _by_element(function, row.arity) if module == "math" else function


def _by_element(function: Function, arity: int) -> Function:
    lifted = np.frompyfunc(function, arity, 1)

    def apply(*operands: Any) -> Any:
        arrays = [np.asarray(o) for o in operands]
        wide = lifted(*(a.astype(np.float64) for a in arrays))
        return np.asarray(wide, dtype=np.float64).astype(arrays[0].dtype)

    return apply


_COMPARE: Mapping[str, Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare(predicate: str) -> Function:
    """The function of a predicate of `tl.cmp`; `u..` reads integers as unsigned, `une` and `o..` compare floats."""
    if predicate in _COMPARE:
        return _COMPARE[predicate]
    kind, relation = _COMPARE[predicate[-2:]], predicate[0]
    if relation != "u" or predicate == "une":
        return kind

    def apply(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        return kind(a.view(unsigned(a.dtype)), b.view(unsigned(b.dtype)))

    return apply


def select(condition: Any, on_true: Any, on_false: Any) -> Array:
    return np.where(np.asarray(condition), np.asarray(on_true), np.asarray(on_false))


def exp_diff(a: Any, b: Any) -> Any:
    """exp(a - b): one pass of the MATH engine."""
    return np.exp(np.subtract(a, b))


def exp2_diff(a: Any, b: Any) -> Any:
    return np.exp2(np.subtract(a, b))


_REDUCE: Mapping[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    # As the element-wise maximum of Triton: a NaN loses against a number.
    "max": np.fmax,
    "min": np.fmin,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def reduction(kind: str, dtype: DType) -> np.ufunc:
    """The function that reductions and scans of a kind repeat, on elements of `dtype`."""
    if kind in ("max", "min") and dtype.kind in "ib":
        return np.maximum if kind == "max" else np.minimum
    return _REDUCE[kind]


def reduce(kind: str, values: Array, axis: int, *, is_unsigned: bool = False, to: DType | None = None) -> Any:
    """Reduce one axis; the result has the dtype of `values`. Sums and products of narrow floats run in float32, and are
    rounded once, to `to` where that is a float.
    """
    dtype = values.dtype
    ufunc = reduction(kind, dtype)
    if dtype.kind in "ib":
        if is_unsigned:
            values = values.view(unsigned(dtype))
        return ufunc.reduce(values, axis=axis, dtype=values.dtype).view(dtype)
    if dtype.itemsize < 4:
        return convert(ufunc.reduce(to_float32(values), axis=axis), to if to is not None and is_float(to) else dtype)
    return ufunc.reduce(values, axis=axis)


@cache
def _half_table() -> Array:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def to_float32(values: Array) -> Array:
    """The values as float32. A table is twice as fast as numpy's own conversion of float16."""
    if values.dtype == np.float16 and values.size > 4096:
        return _half_table().take(values.view(np.uint16), mode="clip")
    return values.astype(np.float32, copy=False)


def product(a: Array, b: Array, accumulator: Array | None, dtype: DType) -> Array:
    """a @ b (+ accumulator), summed in float32 (float64 of float64, int32 of integers) and rounded once to `dtype`."""
    if not is_float(a.dtype):
        # Exact: products of 32-bit integers are the only ones that could leave float64's 53 bits.
        wide = np.int64 if a.dtype.itemsize > 2 else np.float64
        total = np.matmul(a.astype(wide), b.astype(wide)).astype(np.int64)
    elif a.dtype == np.float64:
        total = np.matmul(a, b)
    else:
        total = np.matmul(to_float32(a), to_float32(b))
    if accumulator is not None:
        total = total + accumulator.astype(total.dtype, copy=False)
    return convert(total, dtype)


def python_integer(dtype: DType) -> Callable[[int], int]:
    """Wraps a Python integer into the signed range of `dtype`."""
    bits = dtype.itemsize * 8
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return lambda value: ((value + half) & mask) - half


def truncating_quotient(a: int, b: int) -> int:
    """C's `/` of Python integers; 0 where b is 0."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def truncating_remainder(a: int, b: int) -> int:
    """C's `%` of Python integers; 0 where b is 0."""
    return 0 if b == 0 else a - truncating_quotient(a, b) * b
