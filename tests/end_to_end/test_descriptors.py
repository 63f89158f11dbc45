"""Tensor descriptors: blocks at the edges of a tensor, rows by number, and descriptors that are arguments."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects.errors import AhbmcError
from ahbmc.frontend import compile_kernel
from ahbmc.passes import run_pipeline
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
COPY = (
    HEAD
    + """def k(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN]{padding})
    b = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    v = a.load([m - 3, n])
    tl.static_assert(a.block_shape[0] == BM and a.dtype == tl.float32)
    b.store([m, n], v * 2)
"""
)
ROWS = (
    HEAD
    + """def k(x, rows, o, M, N, B: tl.constexpr, BN: tl.constexpr):
    r = tl.load(rows + tl.arange(0, B))
    a = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    b = tl.make_tensor_descriptor(o, [M, N], [N, 1], [1, BN])
    b.scatter(a.gather(r, 8) + 1, tl.arange(0, B), 0)
"""
)
HOST = (
    HEAD
    + """def k(a, b, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    for n in range(0, a.shape[1], BN):
        b.store([m, n], a.load([m, n]) + 1)
"""
)


@pytest.mark.parametrize("pipeline", ["primitive", "composite", "auto"])
def test_blocks_at_the_edges(pipeline: str) -> None:
    """Lanes outside read 0, before the first row too, and are not written."""
    x, o = random_array([37, 50], "fp32", 1), random_array([37, 50], "fp32", 2)
    arguments = {"x": x, "o": o, "M": 37, "N": 50}
    case = case_of_text(COPY.format(padding=""), "k", arguments, {"BM": 16, "BN": 32}, (3, 2))
    wanted = np.zeros_like(x)
    wanted[3:] = x[:-3] * 2
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, pipeline)


def test_padding_with_nan() -> None:
    """`padding_option="nan"` fills the lanes outside."""
    x, o = random_array([37, 50], "fp32", 1), random_array([37, 50], "fp32", 2)
    text = COPY.format(padding=', padding_option="nan"')
    case = case_of_text(text, "k", {"x": x, "o": o, "M": 37, "N": 50}, {"BM": 16, "BN": 32}, (3, 2))
    got = reference_values(case)["o"]
    assert np.isnan(got[:3]).all() and (got[3:] == x[:-3] * 2).all()
    check_every_pass(case, "composite")


def test_rows_by_number() -> None:
    """gather and scatter take a block of row numbers and a column to start at."""
    x, o = random_array([37, 50], "fp32", 1), random_array([37, 50], "fp32", 2)
    rows = np.array([5, 0, 36, 5, 40, 11, 1, 2], np.int32)
    arguments = {"x": x, "rows": rows, "o": o, "M": 37, "N": 50}
    case = case_of_text(ROWS, "k", arguments, {"B": 8, "BN": 16}, (1,))
    wanted = o.copy()
    picked = np.where((rows < 37)[:, None], x[np.minimum(rows, 36), 8:24], 0)
    wanted[:8, :16] = picked + 1
    assert_close(reference_values(case), {"o": wanted}, "by numpy")
    check_every_pass(case, "composite")


def test_a_descriptor_as_an_argument() -> None:
    """It is a pointer, and its sizes and strides follow behind the other arguments."""
    kind = "tensordesc<fp32[16,32]>"
    module = compile_kernel(HOST, "k.py", "k", {"a": kind, "b": kind}, {"BM": 16, "BN": 32})
    x, o = random_array([37, 50], "fp32", 1), random_array([37, 50], "fp32", 2)
    wanted = x + 1
    run_reference(module, [x, o, 37, 50, 50, 37, 50, 50], (3,))
    assert_close({"o": o}, {"o": wanted}, "by numpy")
    run_pipeline(module, "composite")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tl.make_tensor_descriptor(x, [M], [1], [16, 16])", "'shape' has 1 entries, 'block_shape' has 2"),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 2], [16, 16])", "the last axis of a descriptor has stride 1, not 2"),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 1], [16, 12])", "must be a power of two, and 12 is none"),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 1], [16, 16], padding_option='one')", "is none of 'zero' and 'nan'"),
        ("tl.make_tensor_descriptor(M, [M, 8], [8, 1], [16, 16])", "a pointer or a block of pointers is needed"),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 1], [16, 16]).load([0])", "1 offsets for a descriptor of rank 2"),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 1], [2, 8]).gather(tl.arange(0, 8), 0)", "a block shape [1, n]"),
        (
            "tl.make_tensor_descriptor(x, [M, 8], [8, 1], [2, 8]).store([0, 0], tl.arange(0, 8))",
            "does not fill a block",
        ),
        ("tl.make_tensor_descriptor(x, [M, 8], [8, 1], [2, 8]).lode([0, 0])", "has no 'lode'"),
        ("tl.load_tensor_descriptor(x, [0, 0])", "a tensor descriptor is needed"),
    ],
)
def test_what_a_descriptor_cannot_be(body: str, message: str) -> None:
    """Each misuse is an error at its place."""
    with pytest.raises(AhbmcError) as caught:
        compile_kernel(f"{HEAD}def k(x, M):\n    {body}\n", "k.py", "k", {"x": "*fp32", "M": "i32"}, {})
    assert message in str(caught.value)
    assert str(caught.value).startswith("k.py:7:")
