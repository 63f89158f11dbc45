"""Reductions and scans, by name and by functions of the kernel, against numpy or a loop in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_kernels import case_of_body, check_values, commands_of
from support_values import Case, check_every_pass, random_array

FUNCTIONS = """
@triton.jit
def add(a, b):
    return a + b

@triton.jit
def left(a, b):
    return a

@triton.jit
def linear(a1, b1, a2, b2):
    # The recurrence h = a * h + b: associative, but a and b do not commute.
    return a1 * a2, a2 * b1 + b2

@triton.jit
def larger(value1, index1, value2, index2):
    keep = (value1 > value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)

@triton.jit
def welford(mean1, m1, weight1, mean2, m2, weight2):
    delta = mean2 - mean1
    weight = weight1 + weight2
    share = weight2 / weight
    return mean1 + delta * share, m1 + m2 + delta * delta * weight1 * share, weight
"""
HEAD = """
i = tl.arange(0, 8)
j = tl.arange(0, 16)
at = i[:, None] * 16 + j[None, :]
a = tl.load(x + at)
"""
X = random_array((8, 16), "fp32", 1)


def matrix_case(body: str, x: Array = X, out: str = "fp32") -> Case:
    """A kernel that loads `a` of 8 x 16; `o` takes a matrix, `r` and `k` a row each of up to 16."""
    rows = random_array((16,), out, 5)
    arguments = {"x": x, "o": random_array((8, 16), out, 4), "r": rows, "k": np.zeros(16, np.int32), "n": 11}
    return case_of_body(HEAD + body, arguments, globals_=FUNCTIONS)


def filled(*values: Any, dtype: Any = np.float32) -> Array:
    """The row `r` or `k` after its first lanes were written."""
    row = random_array((16,), "fp32", 5) if dtype is np.float32 else np.zeros(16, dtype)
    row[: len(values)] = values
    return row


def recurrence(x: Array, axis: int) -> Array:
    """h = 0.5 * h + x along an axis."""
    h = np.zeros_like(np.take(x, 0, axis))
    steps = list[Array]()
    for t in range(x.shape[axis]):
        h = h * np.float32(0.5) + np.take(x, t, axis)
        steps.append(h)
    return np.stack(steps, axis)


SCANS = [
    ("tl.cumsum(a, 1)", np.cumsum(X, 1)),
    ("tl.cumsum(a)", np.cumsum(X, 0)),
    ("tl.cumsum(a, axis=0, reverse=True)", np.cumsum(X[::-1], 0)[::-1]),
    ("a.cumprod(-1)", np.cumprod(X, 1)),
    ("tl.associative_scan(a, 1, add)", np.cumsum(X, 1)),
    ("tl.associative_scan(a, 0, left)", np.repeat(X[:1], 8, 0)),
    ("tl.associative_scan(a, 0, left, reverse=True)", np.repeat(X[-1:], 8, 0)),
    ("tl.associative_scan((a * 0 + 0.5, a), 1, linear)[1]", recurrence(X, 1)),
    ("tl.associative_scan((a * 0 + 0.5, a), -2, linear)[1]", recurrence(X, 0)),
    ("tl.associative_scan((a * 0 + 0.5, a), 1, linear, reverse=True)[1]", recurrence(X[:, ::-1], 1)[:, ::-1]),
]


@pytest.mark.parametrize(("expression", "expected"), SCANS, ids=[e for e, _ in SCANS])
def test_scans(expression: str, expected: Array) -> None:
    """A scan keeps its shape; each lane holds what was combined up to it, from the side it starts at."""
    check_values(matrix_case(f"tl.store(o + at, {expression})"), {"o": expected})


REDUCTIONS: list[tuple[str, str, dict[str, Array]]] = [
    ("one op, by a function", "tl.store(r + i, tl.reduce(a, 1, add))", {"r": filled(*X.sum(1))}),
    ("the first lane, which needs the order", "tl.store(r + j, tl.reduce(a, 0, left))", {"r": filled(*X[0])}),
    (
        "a recurrence over all lanes",
        "p, h = tl.reduce((a * 0 + 0.5, a), None, linear)\ntl.store(r, h)",
        {"r": filled(recurrence(X.reshape(-1), 0)[-1])},
    ),
    (
        "axes that stay",
        "m = tl.reduce((a, a), 1, linear, keep_dims=True)\ntl.store(o + at, a - m[0])",
        {"o": X - np.prod(X, 1, keepdims=True)},
    ),
    (
        "the largest lane and where it is, by a function",
        "v, p = tl.reduce((a, tl.broadcast_to(j[None, :], (8, 16))), 1, larger)\n"
        "tl.store(r + i, v)\ntl.store(k + i, p)",
        {"r": filled(*X.max(1)), "k": filled(*X.argmax(1), dtype=np.int32)},
    ),
    (
        "mean and variance in one pass",
        "w = tl.zeros((8, 16), tl.float32)\nmean, m2, weight = tl.reduce((a, w, w + 1), 1, welford)\n"
        "tl.store(r + i, mean)\ntl.store(r + 8 + i, m2 / weight)",
        {"r": filled(*X.mean(1), *X.var(1))},
    ),
    (
        "the largest lane and where it is, by name",
        "v, p = tl.max(a, 1, return_indices=True)\ntl.store(r + i, v)\ntl.store(k + i, p)",
        {"r": filled(*X.max(1)), "k": filled(*X.argmax(1), dtype=np.int32)},
    ),
    (
        "the smallest, along the other axis, whose axis stays",
        "v, p = tl.min(a, 0, return_indices=True, keep_dims=True)\ntl.store(o + at, a - v)\n"
        "tl.store(k + j, tl.reshape(p, (16,)))",
        {"o": X - X.min(0), "k": filled(*X.argmin(0), dtype=np.int32)},
    ),
    (
        "positions alone",
        "tl.store(k + i, tl.argmax(a, 1, tie_break_left=False))\ntl.store(k + 8 + i, tl.argmin(a, 1))",
        {"k": filled(*X.argmax(1), *X.argmin(1), dtype=np.int32)},
    ),
    (
        "bits",
        "b = (a * 8).to(tl.int32)\ntl.store(k + i, tl.xor_sum(b, 1))\ntl.store(k + 8 + i, tl.reduce_or(b, 1))",
        {
            "k": filled(
                *np.bitwise_xor.reduce((X * 8).astype(np.int32), 1),
                *np.bitwise_or.reduce((X * 8).astype(np.int32), 1),
                dtype=np.int32,
            )
        },
    ),
]


@pytest.mark.parametrize(("shows", "body", "expected"), REDUCTIONS, ids=[r[0] for r in REDUCTIONS])
def test_reductions(shows: str, body: str, expected: dict[str, Array]) -> None:
    """The name of the case says what it shows."""
    check_values(matrix_case(body), expected)


def test_a_function_of_one_op_is_one_command() -> None:
    """`a + b` is the named sum, of reductions and of scans; another function costs a command for each of its ops."""
    by_name = check_every_pass(matrix_case("tl.store(o + at, tl.associative_scan(a, 1, add))"), "primitive")
    assert commands_of(by_name) == ["dma_read", "scan_sum", "dma_write"]
    by_halves = check_every_pass(matrix_case("tl.store(r + i, tl.reduce((a, a), 1, linear)[0])"), "primitive")
    # Four times: the even lanes, the odd ones, their product; what only the other result needs is gone.
    assert commands_of(by_halves) == ["dma_read", *["gather", "gather", "mul"] * 4, "dma_write"]


TYPES: list[tuple[str, str, str, Callable[[Array], Any]]] = [
    ("i8", "i32", "tl.cumsum(a, 1)", lambda x: np.cumsum(x, 1, dtype=np.int32)),
    ("u8", "u32", "tl.cumsum(a + 250, 1)", lambda x: np.cumsum(x + np.uint8(250), 1, dtype=np.uint32)),
    ("i64", "i64", "tl.cumprod(a, 1)", lambda x: np.cumprod(x, 1)),
    ("bf16", "fp32", "tl.cumsum(a, 1)", lambda x: np.cumsum(x.astype(np.float32), 1)),
    ("fp16", "fp16", "tl.cumsum(a, 0)", lambda x: np.cumsum(x.astype(np.float32), 0).astype(np.float16)),
    ("fp64", "fp64", "tl.associative_scan(a, 0, add)", lambda x: np.cumsum(x, 0)),
    ("u32", "u32", "tl.associative_scan(a - 4, 0, larger_of)", lambda x: np.maximum.accumulate(x - np.uint32(4), 0)),
    ("i32", "i32", "tl.associative_scan(a - 4, 0, larger_of)", lambda x: np.maximum.accumulate(x - np.int32(4), 0)),
    ("i16", "i16", "a - tl.max(a, 1, return_indices=True)[0][:, None]", lambda x: x - x.max(1, keepdims=True)),
]


@pytest.mark.parametrize(("kind", "out", "expression", "twin"), TYPES, ids=[f"{k}: {e}" for k, _, e, _ in TYPES])
def test_types(kind: str, out: str, expression: str, twin: Any) -> None:
    """Short integers are summed in 32 bits, bf16 in fp32; extrema of unsigned numbers read them as such."""
    x = random_array((8, 16), kind, 1)
    globals_ = FUNCTIONS + "\n@triton.jit\ndef larger_of(a, b):\n    return tl.maximum(a, b)\n"
    arguments = {"x": x, "o": random_array((8, 16), out, 4)}
    case = case_of_body(f"{HEAD}tl.store(o + at, {expression})", arguments, globals_=globals_)
    check_values(case, {"o": twin(x)}, ("auto",))
