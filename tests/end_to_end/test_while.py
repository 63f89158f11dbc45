"""`while` loops over blocks, whose end is computed from what they load: by numpy and after every pass."""

from __future__ import annotations

import numpy as np
import pytest
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
# A linked list of rows: each names the next one.
CHAIN = (
    HEAD
    + """def k(x, following, o, n, B: tl.constexpr):
    at = tl.program_id(0)
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    while at >= 0:
        total += tl.load(x + at * n + i, mask=i < n, other=0.0)
        at = tl.load(following + at)
    tl.store(o + tl.program_id(0) * n + i, total, mask=i < n)
"""
)
# The condition reads memory; two blocks change places in every round.
SWAP = (
    HEAD
    + """def k(x, following, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(x + n + i, mask=i < n, other=0.0)
    while tl.load(following + at) >= 0:
        a, b = b, a + b
        at = tl.load(following + at)
    tl.store(o + tl.program_id(0) * n + i, a - 2 * b, mask=i < n)
"""
)
# A float and a block decide; a product in the body.
HALVES = (
    HEAD
    + """def k(x, following, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = tl.load(x + i[:, None] * B + i[None, :])
    size = tl.sum(tl.abs(m))
    rounds = tl.load(following)
    while (size > 1.0) & (rounds < 9):
        m = tl.dot(m, m) / (size * size)
        size = tl.sum(tl.abs(m)) * 3.0
        rounds += 1
    tl.store(o + i[:, None] * B + i[None, :], m + rounds)
"""
)
# Inside a `for`, with a branch in the body.
NESTED = (
    HEAD
    + """def k(x, following, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in range(4):
        at = start
        while at >= 0:
            row = tl.load(x + at * n + i, mask=i < n, other=0.0)
            if at > 2:
                total = tl.maximum(total, row)
            else:
                total += row
            at = tl.load(following + at)
    tl.store(o + tl.program_id(0) * n + i, total, mask=i < n)
"""
)
FOLLOWING = np.array([3, 4, -1, 5, 2, 4, 1], np.int32)


def _chain(start: int) -> list[int]:
    found: list[int] = []
    while start >= 0:
        found.append(start)
        start = int(FOLLOWING[start])
    return found


@pytest.mark.parametrize("pipeline", ["primitive", "composite", "auto"])
def test_a_list_in_memory(pipeline: str) -> None:
    """The number of rounds is known only while it runs; different programs have different ones."""
    x, o = random_array([7, 13], "fp32", 1), random_array([7, 13], "fp32", 2)
    case = case_of_text(CHAIN, "k", {"x": x, "following": FOLLOWING, "o": o, "n": 13}, {"B": 16}, (7,))
    wanted = np.stack([x[_chain(p)].sum(axis=0) for p in range(7)])
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_blocks_that_change_places(pipeline: str) -> None:
    """What a round swaps needs a copy, and gets the right one."""
    x, o = random_array([7, 13], "fp32", 1), random_array([7, 13], "fp32", 2)
    case = case_of_text(SWAP, "k", {"x": x, "following": FOLLOWING, "o": o, "n": 13}, {"B": 16}, (7,))
    wanted = np.empty_like(o)
    for p in range(7):
        a, b = x[0], x[1]
        for _ in _chain(p)[1:]:
            a, b = b, a + b
        wanted[p] = a - 2 * b
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize("pipeline", ["primitive", "composite", "auto"])
def test_a_condition_from_a_block(pipeline: str) -> None:
    """The condition is a sum over a block that the body makes with a product."""
    x, o = random_array([16, 16], "fp32", 1), random_array([16, 16], "fp32", 2)
    case = case_of_text(HALVES, "k", {"x": x, "following": FOLLOWING, "o": o, "n": 13}, {"B": 16}, (1,))
    m, rounds, size = x, 3, np.abs(x).sum()
    while size > 1.0 and rounds < 9:
        m = m @ m / (size * size)
        size = np.abs(m).sum() * np.float32(3)
        rounds += 1
    assert rounds > 3
    assert_close(reference_values(case), {"o": m + np.float32(rounds)}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_a_while_in_a_for(pipeline: str) -> None:
    """Loops in loops, with a branch on what was loaded."""
    x, o = random_array([7, 13], "fp32", 1), random_array([2, 13], "fp32", 2)
    case = case_of_text(NESTED, "k", {"x": x, "following": FOLLOWING, "o": o, "n": 13}, {"B": 16}, (2,))
    total = np.zeros(13, np.float32)
    for start in range(4):
        for at in _chain(start):
            total = np.maximum(total, x[at]) if at > 2 else total + x[at]
    assert_close(reference_values(case), {"o": np.stack([total, total])}, "by numpy")
    check_every_pass(case, pipeline)
