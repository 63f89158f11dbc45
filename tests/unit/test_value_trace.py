"""Blocks that two forms of a program compute are told apart by sums that layout, padding and rounding keep."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.driver.value_trace import ValueTrace, tolerance_of
from support_values import random_array
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64

OPS = [arith.ConstantOp(IntegerAttr(n, i64)) for n in range(3)]
BLOCK = random_array([13, 7], "fp32", 1)


def trace(*blocks: np.ndarray, integers: bool = False) -> ValueTrace:
    made = ValueTrace(integers)
    for op, block in zip(OPS, blocks, strict=False):
        made.add(op, block)
    return made


@pytest.mark.parametrize(
    "same",
    [
        BLOCK.T,
        np.pad(BLOCK, ((0, 3), (0, 1))),
        BLOCK.astype(np.float16),
        np.flip(BLOCK.reshape(-1)),
        np.where(np.pad(BLOCK, 1) == 0, -np.inf, np.pad(BLOCK, 1)),
    ],
    ids=["transposed", "padded", "rounded", "in another order", "padded with infinities"],
)
def test_the_same_values_in_another_form(same: np.ndarray) -> None:
    assert trace(same).unlike(trace(BLOCK), tolerance_of(BLOCK.astype(np.float16))) is None


@pytest.mark.parametrize(
    "other", [-BLOCK, BLOCK * 1.01, BLOCK + 0.05, BLOCK[:-1], np.abs(BLOCK)], ids=["negated", "scaled", "moved",
    "cut", "without signs"],
)  # fmt: skip
def test_other_values_are_found_at_their_op(other: np.ndarray) -> None:
    found = trace(BLOCK * 2, other, BLOCK * 3)
    known = trace(BLOCK * 3, BLOCK, BLOCK * 2)
    assert found.unlike(known, 1e-3) is OPS[1]
    assert known.unlike(found, 1e-3) is OPS[1]


def test_integers_are_left_out_unless_they_are_all_there_is() -> None:
    indices = np.arange(64)
    assert trace(indices).unlike(trace(BLOCK), 1e-3) is None
    assert trace(indices, integers=True).unlike(trace(BLOCK), 1e-3) is OPS[0]
    assert trace(indices > 3).unlike(trace(indices > 4), 1e-3) is OPS[0]


def test_what_is_written_counts_whatever_it_is() -> None:
    """A number alone, integers, infinities and NaNs; in a block the latter two are what fills it up."""
    for right, wrong in (([1], [2]), ([1.0, 2.0], [1.0, np.inf]), ([1.0, np.nan], [1.0, np.inf])):
        traces = ValueTrace(), ValueTrace()
        for made, contents in zip(traces, (right, wrong), strict=True):
            made.add(OPS[0], np.array([3.0, np.nan]))
            made.add_written(OPS[1], np.array(contents))
        assert traces[1].unlike(traces[0], 1e-3) is OPS[1]
        assert traces[1].unlike(traces[1], 1e-3) is None


def test_the_tolerance_is_that_of_the_type() -> None:
    """Four units of the last place, and what another order of sums makes of fp32."""
    wanted = {"fp16": 2**-8, "bf16": 2**-5, "fp32": 1e-4, "fp64": 1e-4, "i32": 0.0, "fp8e5": 1.0}
    assert {name: tolerance_of(random_array([2], name, 1)) for name in wanted} == wanted
