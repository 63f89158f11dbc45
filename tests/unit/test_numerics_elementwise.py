"""Lane-wise functions: every row of the table is computed, on blocks as on scalars, with C's integers and IEEE's
NaNs.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ahbmc.backend_sim.numerics.elementwise import compare, function_of, product, reduce, to_float32
from ahbmc.backend_sim.numerics.math_kinds import math_function
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.backend_sim.numerics.scalars import scalar_function
from ahbmc.dialects.elementwise import BY_KIND, ELEMENTWISE, Elementwise
from ahbmc.dialects.text import parse_module
from hypothesis import given, settings
from hypothesis import strategies as st

INT32 = np.dtype(np.int32)
FLOAT32 = np.dtype(np.float32)
INTEGERS = [row for row in ELEMENTWISE if row.domain != "float"]
FLOATS = [row for row in ELEMENTWISE if row.domain == "float"]
int32s = st.integers(-(2**31), 2**31 - 1)


def _c_divide(a: int, b: int) -> int:
    return math.trunc(a / b)


@settings(max_examples=60, deadline=None)
@given(int32s, int32s.filter(lambda n: n != 0))
def test_integer_division_truncates_as_in_c(a: int, b: int) -> None:
    x, y = np.array([a], np.int32), np.array([b], np.int32)
    with np.errstate(all="ignore"):
        quotient = int(function_of(BY_KIND["divsi"])(x, y)[0])
        remainder = int(function_of(BY_KIND["remsi"])(x, y)[0])
    if (a, b) != (-(2**31), -1):  # overflows in C
        assert quotient == _c_divide(a, b)
        assert remainder == a - b * _c_divide(a, b)


@settings(max_examples=60, deadline=None)
@given(int32s, int32s.filter(lambda n: n != 0))
def test_unsigned_division_reads_the_bits_without_a_sign(a: int, b: int) -> None:
    x, y = np.array([a], np.int32), np.array([b], np.int32)
    quotient = function_of(BY_KIND["divui"])(x, y).view(np.uint32)
    remainder = function_of(BY_KIND["remui"])(x, y).view(np.uint32)
    assert (int(quotient[0]), int(remainder[0])) == divmod(a % 2**32, b % 2**32)


@pytest.mark.parametrize(("a", "b", "up", "down"), [(7, 2, 4, 3), (-7, 2, -3, -4), (8, 2, 4, 4), (0, 5, 0, 0)])
def test_divisions_of_sizes_round_up_or_down(a: int, b: int, up: int, down: int) -> None:
    text = """func.func @k(%o: !tl.ptr<i64>, %a: i64, %b: i64) {
  %up = arith.ceildivsi %a, %b : i64
  tl.store %o, %up : !tl.ptr<i64>, i64
  %one = arith.constant 1 : i64
  %p = tl.addptr %o, %one : !tl.ptr<i64>, i64 -> !tl.ptr<i64>
  %down = arith.floordivsi %a, %b : i64
  tl.store %p, %down : !tl.ptr<i64>, i64
  func.return
}"""
    o = np.zeros(2, np.int64)
    run_reference(parse_module(text, "k.mlir"), [o, a, b], (1,))
    assert o.tolist() == [up, down]


def _operands(row: Elementwise, values: list[int]) -> list[np.ndarray[Any, Any]]:
    return [np.array([v], np.int32) for v in values[: row.arity]]


@pytest.mark.parametrize("row", INTEGERS, ids=lambda row: row.kind)
@settings(max_examples=30, deadline=None)
@given(values=st.lists(int32s | st.integers(-4, 40), min_size=2, max_size=2))
def test_integers_are_the_same_on_scalars_and_on_blocks(row: Elementwise, values: list[int]) -> None:
    with np.errstate(all="ignore"):
        block = function_of(row)(*_operands(row, values))
        single = scalar_function(row, INT32)(*values[: row.arity])
    assert block.dtype == np.int32
    assert isinstance(single, int) and single == int(block[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("row", FLOATS, ids=lambda row: row.kind)
def test_a_float_function_keeps_the_type_on_scalars_and_on_blocks(row: Elementwise, dtype: str) -> None:
    element: np.dtype[Any] = np.dtype(dtype)
    operands = [np.array(v, element) for v in ([0.5, 2.0], [1.25, 0.75], [3.0, -1.0])][: row.arity]
    with np.errstate(all="ignore"):  # some functions are not defined at some of these
        block = function_of(row)(*operands)
        single = scalar_function(row, element)(*(o[0] for o in operands))
        wide = function_of(row)(*(o.astype(np.float64) for o in operands))
    assert block.dtype == element == np.asarray(single).dtype
    np.testing.assert_equal(float(block[0]), float(single))
    np.testing.assert_allclose(
        block.astype(np.float64), wide, rtol=2.0 ** -{"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7}[dtype]
    )


def test_a_function_of_module_math_is_applied_to_each_element() -> None:
    values = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    got = function_of(BY_KIND["erf"])(values)
    assert got.shape == (3, 4) and got.dtype == np.float32
    assert got[2, 3] == np.float32(math.erf(float(values[2, 3])))


def test_maximum_drops_a_nan_unless_it_is_to_propagate() -> None:
    a, b = np.array([np.nan, 1.0, np.nan], np.float32), np.array([2.0, np.nan, np.nan], np.float32)
    assert function_of(BY_KIND["max"])(a, b)[:2].tolist() == [2.0, 1.0]
    assert np.isnan(function_of(BY_KIND["max"])(a, b)[2])
    assert np.isnan(function_of(BY_KIND["max_nan"])(a, b)).all()


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [("oeq", [False, True]), ("une", [True, False]), ("olt", [False, False]), ("oge", [False, True])],
)
def test_a_nan_is_unequal_to_all(predicate: str, expected: list[bool]) -> None:
    a = np.array([np.nan, 1.0], np.float32)
    assert compare(predicate)(a, np.array([1.0, 1.0], np.float32)).tolist() == expected


def test_unsigned_compares_see_a_negative_number_as_large() -> None:
    a, b = np.array([-1], np.int32), np.array([1], np.int32)
    assert compare("slt")(a, b).tolist() == [True]
    assert compare("ult")(a, b).tolist() == [False]


def test_a_row_of_minus_infinity_reduces_to_it_and_its_softmax_is_nan() -> None:
    """The kernel's own guard must deal with it: exp(-inf - -inf) is NaN here as on any hardware."""
    row = np.full((1, 4), -np.inf, np.float32)
    top = reduce("max", row, 1)
    assert top.tolist() == [-np.inf]
    with np.errstate(all="ignore"):
        assert np.isnan(math_function("exp_diff")([row, top[:, None]], FLOAT32)).all()


def test_sums_of_half_precision_run_in_float32_and_round_once() -> None:
    values = np.full((2048,), 1.0 + 2.0**-10, np.float16)
    assert reduce("sum", values, 0) == np.float16(2048 * (1.0 + 2.0**-10))
    # In float16 all the way the sum would stop growing at 2048.
    assert reduce("sum", np.ones(4096, ml_dtypes.bfloat16), 0) == 4096


@pytest.mark.parametrize(
    ("kind", "is_unsigned", "expected"),
    [
        ("sum", False, 1),
        ("prod", False, -6),
        ("max", False, 3),
        ("max", True, -2),
        ("min", True, 0),
        ("xor", False, -3),
    ],
)
def test_reductions_of_integers(kind: str, is_unsigned: bool, expected: int) -> None:
    values = np.array([3, -2, 0] if kind != "prod" else [3, -2, 1], np.int32)
    got = reduce(kind, values, 0, is_unsigned=is_unsigned)
    assert int(got) == expected and got.dtype == np.int32


def test_products_sum_in_float32_and_round_once() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(17, 600)).astype(np.float16), rng.normal(size=(600, 9)).astype(np.float16)
    acc = rng.normal(size=(17, 9)).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64) + acc
    got = product(a, b, acc, np.dtype(np.float16))
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=2**-10, atol=1e-4)


def test_products_of_integers_are_exact() -> None:
    a = np.full((1, 1000), 127, np.int8)
    assert product(a, a.T, None, INT32).tolist() == [[127 * 127 * 1000]]


def test_products_of_float64_stay_in_float64() -> None:
    a = np.array([[1.0, 1e-12]])
    assert product(a, np.ones((2, 1)), None, np.dtype(np.float64))[0, 0] == 1.0 + 1e-12


def test_the_table_of_half_precision_is_numpys_conversion() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(to_float32(every).view(np.uint32), every.astype(np.float32).view(np.uint32))
