"""Addresses as numbers: pointers to other elements, and pointers that lie in memory."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.dialects.errors import AhbmcError
from ahbmc.frontend import compile_kernel
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
WORDS = (
    HEAD
    + """def k(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    words = x.to(tl.pointer_type(tl.uint32))
    tl.store(o.to(tl.pointer_type(tl.uint32), bitcast=True) + i, tl.load(words + i, mask=i < n), mask=i < n)
"""
)
# `table` holds how far from x the parts lie, in bytes: what a table of pointers is, less the base.
TABLE = (
    HEAD
    + """def k(x, table, o, n, B: tl.constexpr):
    p = tl.program_id(0)
    address = x.to(tl.int64) + tl.load(table + p)
    i = tl.arange(0, B)
    part = address.to(tl.pointer_type(tl.float32))
    tl.store(o + p * B + i, tl.load(part + i, mask=i < n, other=7.0))
"""
)
LANES = (
    HEAD
    + """def k(x, table, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    address = x.to(tl.int64) + tl.load(table + i)
    tl.store(o + i, tl.load(address.to(tl.pointer_type(tl.float32)), mask=i < n, other=7.0))
"""
)
CHOSEN = (
    HEAD
    + """def k(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    rows = tl.arange(0, 4)[:, None]
    far = y + tl.load(n + rows) + i[None, :]
    p = tl.where((i[None, :] + rows) % 3 == 0, x + rows * B + i[None, :], far)
    q = tl.where(rows < 2, p, y + i[None, :])
    tl.store(o + rows * B + i[None, :], tl.load(q))
"""
)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_pointers_of_two_tensors(pipeline: str) -> None:
    """`tl.where` of two blocks of pointers takes each lane from its own tensor."""
    x, y = random_array([4, 16], "fp32", 1), random_array([64], "fp32", 2)
    n, o = np.array([3, 40, 0, 17], np.int32), random_array([4, 16], "fp32", 3)
    case = case_of_text(CHOSEN, "k", {"x": x, "y": y, "o": o, "n": n}, {"B": 16}, (1,))
    lanes, rows = np.arange(16)[None, :], np.arange(4)[:, None]
    p = np.where((lanes + rows) % 3 == 0, x, y[n[:, None] + lanes])
    assert_close(reference_values(case), {"o": np.where(rows < 2, p, y[lanes])}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_a_pointer_to_other_elements(pipeline: str) -> None:
    """Halves are copied as words."""
    x, o = random_array([64], "fp16", 1), random_array([64], "fp16", 2)
    case = case_of_text(WORDS, "k", {"x": x, "o": o, "n": 32}, {"B": 16}, (2,))
    assert_close(reference_values(case), {"o": x}, "by numpy")
    check_every_pass(case, pipeline)


def _parts(x: Array, offsets: list[int], n: int, size: int) -> Array:
    found = np.full((len(offsets), size), 7, np.float32)
    for row, offset in zip(found, offsets, strict=True):
        row[:n] = x[offset // 4 : offset // 4 + n]
    return found.reshape(-1)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_a_pointer_from_memory(pipeline: str) -> None:
    """Each program reads through an address that it has loaded."""
    x, table = random_array([128], "fp32", 1), np.array([256, 0, 40, 8], np.int64)
    o = random_array([64], "fp32", 2)
    case = case_of_text(TABLE, "k", {"x": x, "table": table, "o": o, "n": 11}, {"B": 16}, (4,))
    assert_close(reference_values(case), {"o": _parts(x, table.tolist(), 11, 16)}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize("pipeline", ["primitive", "composite"])
def test_a_block_of_addresses(pipeline: str) -> None:
    """Every lane has its own."""
    x, table = random_array([128], "fp32", 1), np.arange(16, dtype=np.int64)[::-1].copy() * 28
    o = random_array([16], "fp32", 2)
    case = case_of_text(LANES, "k", {"x": x, "table": table, "o": o, "n": 11}, {"B": 16}, (1,))
    wanted = np.where(np.arange(16) < 11, x[table // 4], np.float32(7))
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, pipeline)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x.to(tl.int32)", "cannot be cast to i32"),
        ("tl.load(x).to(tl.pointer_type(tl.int8))", "fp32 cannot be cast to pointer<i8>"),
        ("(x + tl.arange(0, 8)).to(tl.int64)", "cannot be cast to i64"),
    ],
)
def test_what_is_no_address(body: str, message: str) -> None:
    """An address has 64 bits, and a block of pointers is offsets from one."""
    with pytest.raises(AhbmcError) as caught:
        compile_kernel(f"{HEAD}def k(x):\n    {body}\n", "k.py", "k", {"x": "*fp32"}, {})
    assert message in str(caught.value)
