"""Blocks put together, taken apart and reordered, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_kernels import case_of_body, check_values
from support_values import random_array

HEAD = """
i = tl.arange(0, 8)
j = tl.arange(0, 16)
at = i[:, None] * 16 + j[None, :]
a = tl.load(x + at)
"""
X = random_array((8, 16), "fp32", 1)
INDEX = (np.arange(16)[None, :] * 3 + np.arange(8)[:, None]) % 16

MATRICES: list[tuple[str, Array]] = [
    ("tl.flip(a)", X[:, ::-1]),
    ("a.flip(0)", X[::-1]),
    ("tl.sort(a)", np.sort(X, 1)),
    ("tl.sort(a, dim=1, descending=True)", -np.sort(-X, 1)),
    ("tl.trans(tl.sort(tl.trans(a)))", np.sort(X, 0)),
    ("tl.bitonic_merge(tl.cat(tl.sort(a.reshape(16, 8)), tl.sort(a.reshape(16, 8), descending=True), dim=1))",
     np.sort(np.repeat(X.reshape(16, 8), 2, 1), 1)),
    ("tl.gather(a, (j[None, :] * 3 + i[:, None]) % 16, 1)", np.take_along_axis(X, INDEX, 1)),
    ("tl.gather(a, tl.broadcast_to((i[:, None] + 3) % 8, (8, 16)), 0)", np.roll(X, -3, 0)),
    ("tl.interleave(*tl.split(tl.reshape(a, (8, 8, 2))))", X),
    ("tl.cat(*tl.split(tl.reshape(a, (8, 8, 2))), dim=1)", np.concatenate([X[:, ::2], X[:, 1::2]], 1)),
    (
        "tl.cat(*tl.split(tl.permute(tl.reshape(a, (4, 2, 16)), (0, 2, 1))))",
        np.concatenate([X[::2], X[1::2]], 0),
    ),
    ("tl.join(tl.ravel(a), tl.ravel(a) * 2).reshape(16, 16).to(tl.float32)", np.stack([X, X * 2], -1).reshape(16, 16)),
    ("tl.permute(tl.reshape(a, (2, 4, 2, 4, 2)), 4, 2, 0, 3, 1).reshape(8, 16)",
     X.reshape(2, 4, 2, 4, 2).transpose(4, 2, 0, 3, 1).reshape(8, 16)),
    ("tl.sum(tl.expand_dims(a, (0, 2, 4)) + tl.zeros((2, 1, 3, 1, 1), tl.float32), 0).reshape(8, 3, 16).sum(1)",
     X * 6),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), MATRICES, ids=[e for e, _ in MATRICES])
def test_a_block_in_another_order(expression: str, expected: Array) -> None:
    """The expression stands for a block of the loaded one."""
    rows, columns = expected.shape
    body = f"b = {expression}\nt = tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]\n"
    arguments = {"x": X, "o": np.zeros((rows, columns), np.float32)}
    check_values(case_of_body(HEAD + body + "tl.store(o + t, b)", arguments), {"o": expected})


def test_the_largest_lanes_of_each_row() -> None:
    """topk gives the greatest first; with descending=False the smallest."""
    body = "k = i[:, None] * 4 + tl.arange(0, 4)[None, :]\ntl.store(o + k, tl.topk(a, 4))\n"
    body += "tl.store(p + k, tl.topk(a, 4, descending=False))"
    arguments = {"x": X, "o": np.zeros((8, 4), np.float32), "p": np.zeros((8, 4), np.float32)}
    expected = {"o": -np.sort(-X, 1)[:, :4], "p": np.sort(X, 1)[:, :4]}
    check_values(case_of_body(HEAD + body, arguments), expected)


def test_two_scalars_make_a_block_and_come_out_of_it() -> None:
    body = """
both = tl.join(tl.sum(a, None), tl.max(a, None))
tl.store(o + tl.arange(0, 2), both)
s, m = tl.split(both * 2)
tl.store(o + 2, s + m)
"""
    total, largest = X.sum(), X.max()
    arguments = {"x": X, "o": np.zeros(3, np.float32)}
    expected = np.array([total, largest, 2 * (total + largest)], np.float32)
    check_values(case_of_body(HEAD + body, arguments), {"o": expected})


@pytest.mark.parametrize(("kind", "wide"), [("u8", "int32"), ("bf16", "float32"), ("i64", "int64")])
def test_lanes_are_left_out_in_32_bits(kind: str, wide: str) -> None:
    """topk of a narrow type is of a type of 32 bits, unless it leaves nothing out."""
    body = f"""
few, all = tl.topk(a, 4), tl.topk(a, 16)
tl.static_assert(few.dtype == tl.{wide} and all.dtype == a.dtype)
tl.store(o + i[:, None] * 4 + tl.arange(0, 4)[None, :], few)
"""
    x = random_array((8, 16), kind, 1)
    expected = np.flip(np.sort(x.astype(np.float32), 1), 1)[:, :4].astype(x.dtype)
    check_values(case_of_body(HEAD + body, {"x": x, "o": random_array((8, 4), kind, 2)}), {"o": expected}, ("auto",))


@pytest.mark.parametrize("masked", [False, True])
def test_a_histogram_counts_what_lies_in_its_bins(masked: bool) -> None:
    """Numbers below 0, from the number of bins on, and masked off lanes are not counted."""
    x = np.random.default_rng(1).integers(-4, 12, 64).astype(np.int32)
    mask = ", mask=i % 3 != 0" if masked else ""
    body = f"i = tl.arange(0, 64)\ntl.store(o + tl.arange(0, 8), tl.histogram(tl.load(x + i), 8{mask}))"
    counted = x[np.arange(64) % 3 != 0] if masked else x
    expected = np.array([(counted == n).sum() for n in range(8)], np.int32)
    check_values(case_of_body(body, {"x": x, "o": np.zeros(8, np.int32)}), {"o": expected})


TYPES: list[tuple[str, str, Callable[[Array], Any]]] = [
    ("u8", "tl.sort(a - 4)", lambda x: np.sort(x - np.uint8(4), 1)),
    ("i8", "tl.sort(a)", lambda x: np.sort(x, 1)),
    ("bf16", "tl.sort(a)", lambda x: np.sort(x.astype(np.float32), 1).astype(x.dtype)),
    ("fp16", "tl.flip(a)", lambda x: x[:, ::-1]),
    ("i64", "tl.flip(a, 0) + tl.gather(a, i[:, None] + j[None, :] * 0, 1)",
     lambda x: x[::-1] + np.take_along_axis(x, np.repeat(np.arange(8)[:, None], 16, 1), 1)),
    ("i1", "tl.interleave(*tl.split(tl.reshape(a, (8, 8, 2)))) ^ True", lambda x: ~x),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "expression", "twin"), TYPES, ids=[f"{k}: {e}" for k, e, _ in TYPES])
def test_types(kind: str, expression: str, twin: Any) -> None:
    """Lanes move as they are, whatever their type; unsigned numbers are sorted as such."""
    x = random_array((8, 16), kind, 1)
    arguments = {"x": x, "o": random_array((8, 16), kind, 2)}
    check_values(case_of_body(f"{HEAD}tl.store(o + at, {expression})", arguments), {"o": twin(x)}, ("auto",))


def test_a_nan_is_sorted_behind_all_numbers() -> None:
    x = np.array([3, float("nan"), -1, float("inf")], np.float32)
    body = "i = tl.arange(0, 4)\ntl.store(o + i, tl.sort(tl.load(x + i)))"
    expected = np.array([-1, 3, float("inf"), float("nan")], np.float32)
    check_values(case_of_body(body, {"x": x, "o": np.zeros(4, np.float32)}), {"o": expected}, ("primitive",))
