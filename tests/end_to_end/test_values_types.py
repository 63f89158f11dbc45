"""Element types from loads to stores: lane-wise and in products, by numpy and after every pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array, convert
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
LANE_WISE = """def k(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(o + i, ({0}).to(o.dtype.element_ty), mask=i < n)
"""


def _float(*arrays: Array) -> list[Array]:
    return [a.astype(np.float32) for a in arrays]


def _c_divide(a: Array, b: Array) -> Array:
    return np.trunc(a / b).astype(a.dtype)


def _shifted(a: Array, b: Array) -> Array:
    amount = b.view(np.uint8)
    return np.where(amount < 8, a >> np.minimum(amount, 7).astype(np.int8), a >> 7).view(np.uint8)


def _upper_half(a: Array, m: int, b: Array, n: int) -> list[int]:
    bits = a.dtype.itemsize * 8
    return [(int(x) * m % (1 << bits)) * (int(y) * n % (1 << bits)) >> bits for x, y in zip(a, b, strict=True)]


CASES: list[tuple[str, str, str, Callable[[Array, Array], Any]]] = [
    ("fp8e5", "fp8e5", "a.to(tl.float32) + b.to(tl.float32)", lambda a, b: np.add(*_float(a, b))),
    ("fp8e4nv", "fp16", "a.to(tl.float16) * b.to(tl.float16)", lambda a, b: np.multiply(*_float(a, b))),
    ("bf16", "bf16", "a * b", lambda a, b: a * b),
    ("fp16", "fp32", "a - b", lambda a, b: a - b),
    ("fp64", "fp64", "tl.exp(a) - b", lambda a, b: np.exp(a) - b),
    ("i8", "i8", "a * b", lambda a, b: a * b),
    ("u8", "u8", "(a + 250) // (b + 1)", lambda a, b: (a + np.uint8(250)) // (b + np.uint8(1))),
    ("i32", "i32", "a // (b + 10)", lambda a, b: _c_divide(a, b + np.int32(10))),
    ("i32", "i32", "a % (b + 10)", lambda a, b: np.fmod(a, b + np.int32(10))),
    ("u32", "u32", "(a - 9) >> 1", lambda a, b: (a - np.uint32(9)) >> np.uint32(1)),
    ("i32", "i32", "(a - 9) >> 1", lambda a, b: (a - np.int32(9)) >> np.int32(1)),
    ("u32", "fp32", "tl.maximum(a - 4, b)", lambda a, b: np.maximum(a - np.uint32(4), b)),
    ("i64", "i64", "tl.minimum(a, b) << 33", lambda a, b: np.minimum(a, b) << np.int64(33)),
    ("i1", "i32", "a & b", lambda a, b: a & b),
    # A shift is arithmetic or not by its left operand, whatever type both come into.
    ("i8", "u8", "(a - 9) >> b.to(tl.uint8, bitcast=True)", lambda a, b: _shifted(a - np.int8(9), b)),
    # A number in a comparison is of its own type: 0.1 is no fp16, 300 no i8, and -1 is less than all that have no sign.
    ("fp16", "i32", "(a * 0 + 0.1) < 0.1", lambda a, b: np.full(77, 1)),
    ("fp16", "i32", "(a < 0.5) & (a > -2)", lambda a, b: (a < 0.5) & (a > -2)),
    ("i8", "i32", "a < 300", lambda a, b: np.full(77, 1)),
    ("u8", "i32", "a > -1", lambda a, b: np.full(77, 1)),
    ("fp64", "i32", "(a * 0 + 0.1) == 0.1", lambda a, b: np.full(77, 0)),
    ("i32", "i32", "a > 2.5", lambda a, b: a > 2.5),
    # What a type cannot hold is an infinity in it.
    ("fp16", "fp16", "tl.where(b > 0, a, 1e10)", lambda a, b: np.where(b > 0, a, np.float16(np.inf))),
    ("fp32", "fp32", "a % (b * 0.3)", lambda a, b: np.fmod(a, b * np.float32(0.3))),
    ("fp16", "fp32", "a % b", lambda a, b: np.fmod(*_float(a, b))),
    ("u32", "u32", "tl.umulhi(a * 500000001, b * 400000003)", lambda a, b: _upper_half(a, 500000001, b, 400000003)),
    ("u64", "u64", "tl.umulhi(a * (3 << 60), b * (5 << 59))", lambda a, b: _upper_half(a, 3 << 60, b, 5 << 59)),
    ("u8", "u8", "tl.abs(a - 200)", lambda a, b: a - np.uint8(200)),
    ("i32", "i32", "tl.mul(tl.add(a, b), tl.sub(a, 3, sanitize_overflow=False))", lambda a, b: (a + b) * (a - 3)),
]


@pytest.mark.parametrize(("kind", "out", "expression", "twin"), CASES, ids=[f"{k}: {e}" for k, _, e, _ in CASES])
def test_lane_wise_arithmetic_of_a_type(kind: str, out: str, expression: str, twin: Callable[..., Any]) -> None:
    """The result has the type's own rounding, wrapping and sign."""
    x, y = random_array([77], kind, 1), random_array([77], kind, 2)
    o = random_array([77], out, 3)
    arguments = {"x": x, "y": y, "o": o, "n": 77}
    case = case_of_text(HEAD + LANE_WISE.format(expression), "k", arguments, {"B": 32}, (3,))
    with np.errstate(all="ignore"):
        exact = np.asarray(twin(x, y))
        wanted = exact.astype(o.dtype) if o.dtype.kind in "iuf" else convert(exact, o.dtype)
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, "auto")


PRODUCT = """def k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype={1})
    for k in range(0, K, BK):
        kk = k + rk
        x = tl.load(a + rm[:, None] * K + kk[None, :], mask=(rm < M)[:, None] & (kk < K)[None, :], other=0)
        y = tl.load(b + kk[:, None] * N + rn[None, :], mask=(kk < K)[:, None] & (rn < N)[None, :], other=0)
        acc = {0}
    c_mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=c_mask)
"""
PRODUCTS = [
    ("i8", "i32", "tl.dot(x, y, acc)", "tl.int32"),
    ("fp8e5", "fp32", "tl.dot(x, y, acc)", "tl.float32"),
    ("fp8e4nv", "bf16", "acc + tl.dot(x, y)", "tl.float32"),
    ("fp64", "fp64", "acc + tl.dot(x, y)", "tl.float64"),
    ("i8", "fp32", "tl.dot(x.to(tl.float16), y.to(tl.float16), acc)", "tl.float32"),
    ("fp16", "fp16", "tl.dot(x, y, acc, out_dtype=tl.float16)", "tl.float16"),
]


@pytest.mark.parametrize(("kind", "out", "dot", "sums"), PRODUCTS, ids=[f"{k}: {d}" for k, _, d, _ in PRODUCTS])
def test_products_of_a_type(kind: str, out: str, dot: str, sums: str) -> None:
    """Products sum in float32, integers in int32, float64 in its own kind."""
    a, b = random_array([20, 50], kind, 1), random_array([50, 25], kind, 2)
    c = random_array([20, 25], out, 3)
    arguments = {"a": a, "b": b, "c": c, "M": 20, "N": 25, "K": 50}
    source = HEAD + PRODUCT.format(dot, sums)
    case = case_of_text(source, "k", arguments, {"BM": 32, "BN": 32, "BK": 16})
    exact = a.astype(np.float64) @ b.astype(np.float64)
    got = reference_values(case)["c"]
    if out == "fp16":
        # Four sums of up to 20 that are each rounded to float16.
        np.testing.assert_allclose(got.astype(np.float64), exact, atol=0.03)
    else:
        assert_close({"c": got}, {"c": exact.astype(c.dtype)}, "by numpy")
    for pipeline in ("primitive", "auto") if out != "fp16" else ("primitive",):
        check_every_pass(case, pipeline)


MASKED_ROWS = """def k(x, o, n, B: tl.constexpr):
    r = tl.arange(0, 8)
    c = tl.arange(0, B)
    s = tl.load(x + r[:, None] * B + c[None, :])
    s = tl.where(c[None, :] < (r * n)[:, None], s, float("-inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    tl.store(o + r[:, None] * B + c[None, :], p / tl.sum(p, axis=1)[:, None])
"""


def test_a_row_that_is_masked_off_whole_is_nan_at_every_level() -> None:
    """Row 0 has no lane left: the softmax of nothing is NaN, after every pass as before the first."""
    arguments = {"x": random_array([8, 16], "fp32", 1), "o": np.zeros((8, 16), np.float32), "n": 2}
    case = case_of_text(HEAD + MASKED_ROWS, "k", arguments, {"B": 16})
    got = reference_values(case)["o"]
    assert np.isnan(got[0]).all() and np.isfinite(got[1:]).all()
    check_every_pass(case, "auto")
