"""Loads and stores as kernels write them: which become regions of which kind, with values kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_tl_passes import Passed, random, through_passes

AFFINE, FOLDED, INDEXED = ("affine", "affine"), ("folded", "affine"), ("indexed", "affine")


def copied(body: str, m: int = 50, n: int = 20, grid: tuple[int, int] = (4, 2)) -> Passed:
    """A kernel that reads x [m, n] in blocks of 16 by 16 and writes y: rows `r`, columns `c`, mask `box`."""
    arguments: dict[str, tuple[str, Any]] = {
        "x": ("*fp32", random(50, 20, seed=1)),
        "y": ("*fp32", np.zeros((50, 20), np.float32)),
        "m": ("i32", m),
        "n": ("i32", n),
    }
    head = """\
        r = tl.program_id(0) * B + tl.arange(0, B)
        c = tl.program_id(1) * B + tl.arange(0, B)
        box = (r[:, None] < m) & (c[None, :] < n)
        out = y + r[:, None] * n + c[None, :]
        """
    lines = "\n".join(line.removeprefix("        ") for line in (head + body).splitlines())
    passed = through_passes("x, y, m, n, B: tl.constexpr", lines, arguments, {"B": 16}, grid)
    assert np.abs(passed.outputs[1]).max() > 0
    return passed


LOAD = "v = tl.load(x + r[:, None] * n + c[None, :], mask={mask}, other=3.0)\ntl.store(out, v + 1, mask=box)\n"
BOXES = {
    "bounds in one order": "(r[:, None] < m) & (c[None, :] < n)",
    "bounds in the other order": "(c[None, :] < n) & (r[:, None] < m)",
    "a nested where": "tl.where(r[:, None] < m, c[None, :] < n, False)",
    "differences and >=": "(m - r[:, None] > 0) & (n - 1 >= c[None, :])",
    "a condition of the program": "box & (tl.program_id(0) < 2)",
    "one row": "(r[:, None] == 7) & (c[None, :] < n)",
    "a multiple of the row": "(r[:, None] * 2 < m) & (c[None, :] < n)",
    "a comparison of truth values": "box & ((tl.program_id(0) < 2) == (tl.program_id(1) < 5))",
    "a bound from below": "box & (r[:, None] >= 3)",
}


@pytest.mark.parametrize("mask", BOXES.values(), ids=BOXES.keys())
def test_a_conjunction_of_bounds_becomes_the_bounds_of_a_region(mask: str) -> None:
    passed = copied(LOAD.format(mask=mask))
    assert passed.axes == [AFFINE, AFFINE]
    assert passed.difference == 0
    assert "tl.select" not in passed.text


def test_a_window_that_begins_outside_of_the_tensor_has_lower_bounds() -> None:
    passed = copied(
        "s = r - 3\ninside = (s[:, None] >= 0) & (s[:, None] < m) & (c[None, :] < n)\n"
        "tl.store(out, tl.load(x + s[:, None] * n + c[None, :], mask=inside, other=7.0), mask=box)\n"
    )
    assert passed.axes == [AFFINE, AFFINE]
    assert passed.difference == 0


ADDRESSES = {
    "rows modulo m": ("x + (r % m)[:, None] * n + c[None, :]", FOLDED),
    "rows modulo m with hints": (
        "x + tl.max_contiguous(tl.multiple_of(r % m, B), B)[:, None] * n + c[None, :]",
        FOLDED,
    ),
    "groups of eight rows": ("x + (r // 8)[:, None] * n + c[None, :]", FOLDED),
    "rows held back by where": ("x + tl.where(r < m, r, 0)[:, None] * n + c[None, :]", INDEXED),
    "rows held back by minimum": ("x + tl.minimum(r, m - 1)[:, None] * n + c[None, :]", INDEXED),
    "one row for all": ("x + r[:, None] * 0 + c[None, :]", AFFINE),
    "rows in 64 bits": ("x + r.to(tl.int64)[:, None] * n + c[None, :]", AFFINE),
}


@pytest.mark.parametrize(("address", "axes"), ADDRESSES.values(), ids=ADDRESSES.keys())
@pytest.mark.parametrize("m", [50, 1], ids=["50 rows", "1 row"])
def test_an_address_that_is_separable_by_axis_becomes_a_region(address: str, axes: tuple[str, ...], m: int) -> None:
    passed = copied(f"tl.store(out, tl.load({address}, mask=c[None, :] < n) * 2, mask=box)\n", m=m, grid=(3, 2))
    assert passed.axes == [axes, AFFINE]
    assert passed.difference == 0


def test_rows_read_backwards_have_a_negative_stride() -> None:
    passed = copied("tl.store(out, tl.load(x + (m - 1 - r)[:, None] * n + c[None, :], mask=box), mask=box)\n")
    assert passed.axes == [AFFINE, AFFINE]
    assert passed.difference == 0


def test_flat_division_and_remainder_are_one_folded_axis() -> None:
    passed = copied(
        "p = tl.program_id(0) * B + tl.arange(0, B)\n"
        "tl.store(y + p, tl.load(x + (p % n) + (p // n) * n, mask=p < m * n) * 2, mask=p < m * n)\n",
        grid=(63, 1),
    )
    assert passed.axes == [("folded",), ("affine",)]
    assert passed.difference == 0


def test_a_transposed_read_is_a_region_with_its_strides_exchanged() -> None:
    passed = copied(
        "t = tl.load(x + r[None, :] * n + c[:, None], mask=(r[None, :] < m) & (c[:, None] < n))\n"
        "tl.store(out, tl.trans(t), mask=box)\n"
    )
    assert passed.axes == [AFFINE, AFFINE]
    assert passed.difference == 0


def test_pointers_from_a_condition_are_followed_where_both_branches_agree_or_the_base_differs() -> None:
    passed = copied(
        "b = x\nif tl.program_id(0) == 1:\n    b = x + n\n"
        "tl.store(out, tl.load(b + r[:, None] * n + c[None, :], mask=box), mask=box)\n"
    )
    assert passed.axes == [AFFINE, AFFINE]
    assert passed.difference == 0


KEPT = {
    "an address over both axes": (
        "q = (r[:, None] * 3 + c[None, :]) // 5\nv = tl.load(x + q, mask=box)\n",
        "not separable",
    ),
    "a mask with or": (
        "v = tl.load(x + r[:, None] * n + c[None, :], mask=box & ((r[:, None] < 5) | (c[None, :] == 3)), other=1.0)\n",
        "'or'",
    ),
    "a mask with !=": (
        "v = tl.load(x + r[:, None] * n + c[None, :], mask=box & (r[:, None] != 5), other=1.0)\n",
        "'!='",
    ),
    "a bound over both axes": (
        "v = tl.load(x + r[:, None] * n + c[None, :], mask=box & (r[:, None] >= c[None, :]), other=1.0)\n",
        "two axes",
    ),
}


@pytest.mark.parametrize(("load", "reason"), KEPT.values(), ids=KEPT.keys())
def test_what_is_not_separable_stays_a_load_and_says_why(load: str, reason: str) -> None:
    passed = copied(load + "tl.store(out, v * 2, mask=box)\n")
    assert passed.axes == [AFFINE]
    assert [o for o, why in passed.notes("raise-regions") if reason in why] == ["gathered"]
    assert passed.difference == 0


def test_rows_by_a_block_of_numbers_keep_their_other_axis_affine() -> None:
    arguments: dict[str, tuple[str, Any]] = {
        "x": ("*fp32", random(9, 16, seed=2)),
        "t": ("*i32", np.array([3, 8, 0, 5, 5, 1, 2, 7], np.int32)),
        "y": ("*fp32", np.zeros((8, 16), np.float32)),
    }
    body = """\
    r = tl.arange(0, 8)
    c = tl.arange(0, 16)
    rows = tl.load(t + r)
    tl.store(y + r[:, None] * 16 + c[None, :], tl.load(x + rows[:, None] * 16 + c[None, :]))
    """
    passed = through_passes("x, t, y", body, arguments, {}, (1,))
    assert passed.axes == [("affine",), INDEXED, AFFINE]
    assert passed.difference == 0


def test_accesses_that_follow_a_pointer_through_three_loops_are_affine() -> None:
    arguments: dict[str, tuple[str, Any]] = {
        "x": ("*fp32", random(512, seed=3)),
        "y": ("*fp32", np.zeros(512, np.float32)),
        "n": ("i32", 3),
    }
    body = """\
    p = x + tl.arange(0, 8)
    q = y + tl.arange(0, 8)
    for i in range(0, n):
        for j in range(0, 2):
            for k in range(0, n):
                tl.store(q, tl.load(p) * 2)
                p += 8
                q += 8
            p += 16
            q += 16
    """
    passed = through_passes("x, y, n", body, arguments, {}, (1,))
    assert passed.axes == [("affine",), ("affine",)]
    assert passed.difference == 0
    # Nothing but the counters is left in the loops.
    assert "iter_args" not in passed.text
