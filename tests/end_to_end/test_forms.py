"""Ten spellings of each of the four kernels run on the modelled machine, under every pipeline, and are right.

Recognition of one spelling is not support: names, order of statements, block sizes, types, `+=` and `acc=`, advanced
and recomputed pointers all differ, and no size divides a block.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import ahbmc
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]

KERNELS = Path(__file__).parent / "kernels"
TYPES = {"fp32": np.dtype(np.float32), "fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
TOLERANCE = {"fp32": (1e-4, 1e-4), "fp16": (1e-2, 4e-3), "bf16": (4e-2, 3e-2)}


def random(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(TYPES[dtype])


def expect_close(found: Array, expected: Array, dtype: str, scale: float = 1.0) -> None:
    """`scale` is the size of the largest partial sum, in whose units rounding errors are made."""
    rtol, atol = TOLERANCE[dtype]
    assert np.any(found), "nothing was written"
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=rtol, atol=atol * scale)


VECTOR_ADDS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("renamed", "fp32", 1000, {"BLOCK": 256}),
    ("pointers_first", "fp16", 777, {"BLOCK": 64}),
    ("several_blocks", "fp32", 1531, {"BLOCK": 128}),
    ("advanced", "bf16", 999, {"BLOCK": 32, "STEPS": 5}),
    ("as_matrix", "fp32", 1001, {"ROWS": 16, "COLS": 32}),
    ("with_helper", "fp16", 515, {"BLOCK": 128}),
    ("in_fp32", "bf16", 1023, {"BLOCK": 256}),
    ("accumulated", "fp32", 130, {"BLOCK": 128}),
    ("guarded", "fp32", 300, {"BLOCK": 64, "MASKED": True}),
    ("backward", "fp16", 611, {"BLOCK": 128}),
]


@pytest.mark.parametrize(
    ("form", "dtype", "n", "constants"), VECTOR_ADDS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_vector_add(form: str, dtype: str, n: int, constants: dict[str, Any]) -> None:
    """A vector addition is right in every form, under the pipelines with and without composites."""
    kernel = getattr(ahbmc.load(KERNELS / "vector_add_forms.py"), form)
    block = int(np.prod([v for v in constants.values() if not isinstance(v, bool)]))
    x, y = random((n,), dtype, 1), random((n,), dtype, 2)
    for pipeline in ("primitive", "composite"):
        z = np.zeros_like(x)
        programs = 3 if form == "several_blocks" else ceil(n / block)
        kernel[(programs,)](x, y, z, n, pipeline=pipeline, **constants)
        expect_close(z, (x + y).astype(np.float64), dtype)


SOFTMAXES: list[tuple[str, str, int, int, dict[str, Any]]] = [
    ("renamed", "fp32", 7, 100, {"BLOCK": 128}),
    ("base_two", "fp16", 5, 333, {"BLOCK": 512}),
    ("row_blocks", "bf16", 13, 77, {"ROWS": 4, "BLOCK": 128}),
    ("keep_dims", "fp32", 10, 50, {"ROWS": 8, "BLOCK": 64}),
    ("two_passes", "fp16", 3, 301, {"BLOCK": 64}),
    ("persistent", "fp32", 11, 90, {"BLOCK": 128}),
    ("with_helper", "bf16", 6, 200, {"BLOCK": 256}),
    ("unmasked", "fp16", 4, 64, {"BLOCK": 64}),
    ("by_logarithm", "fp32", 9, 130, {"BLOCK": 256}),
    ("masked_after", "fp16", 5, 111, {"BLOCK": 128}),
]


@pytest.mark.parametrize(
    ("form", "dtype", "rows", "cols", "constants"), SOFTMAXES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_softmax(form: str, dtype: str, rows: int, cols: int, constants: dict[str, Any]) -> None:
    """A row-wise softmax is right in every form, with rows of the input wider than what is read."""
    kernel = getattr(ahbmc.load(KERNELS / "softmax_forms.py"), form)
    x = random((rows, cols + 3), dtype, 1)
    e = np.exp(x[:, :cols].astype(np.float64) - x[:, :cols].astype(np.float64).max(1, keepdims=True))
    takes_rows = form in ("row_blocks", "keep_dims", "persistent")
    sizes = [*([rows] if takes_rows else []), *([] if form == "unmasked" else [cols])]
    grid = 3 if form == "persistent" else ceil(rows / constants.get("ROWS", 1))
    for pipeline in ("primitive", "composite"):
        out = np.zeros((rows, cols), TYPES[dtype])
        kernel[(grid,)](out, x, cols + 3, cols, *sizes, pipeline=pipeline, **constants)
        expect_close(out, e / e.sum(1, keepdims=True), dtype)


MATMULS: list[tuple[str, str, tuple[int, int, int], dict[str, Any]]] = [
    ("plus_equals", "fp16", (70, 50, 90), {"BM": 32, "BN": 32, "BK": 32}),
    ("recomputed", "bf16", (33, 65, 100), {"BM": 64, "BN": 32, "BK": 16}),
    ("carried_offsets", "fp32", (40, 40, 130), {"BM": 32, "BN": 64, "BK": 64}),
    ("carried_remainder", "fp16", (77, 91, 123), {"BM": 32, "BN": 32, "BK": 32}),
    ("even_k", "fp16", (50, 70, 96), {"BM": 32, "BN": 32, "BK": 32, "EVEN": True}),
    ("from_one", "fp32", (31, 17, 75), {"BM": 16, "BN": 16, "BK": 32}),
    ("biased", "fp16", (65, 33, 65), {"BM": 64, "BN": 32, "BK": 64}),
    ("persistent", "bf16", (100, 60, 70), {"BM": 32, "BN": 32, "BK": 32}),
    ("transposed", "fp16", (48, 57, 81), {"BM": 32, "BN": 32, "BK": 32}),
    ("clamped", "fp16", (35, 35, 35), {"BM": 32, "BN": 32, "BK": 32}),
]


@pytest.mark.parametrize("pipeline", ("primitive", "composite", "auto"))
@pytest.mark.parametrize(
    ("form", "dtype", "sizes", "constants"), MATMULS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_matmul(form: str, dtype: str, sizes: tuple[int, int, int], constants: dict[str, Any], pipeline: str) -> None:
    """A matrix product is right in every form, with A row-major and B column-major."""
    kernel = getattr(ahbmc.load(KERNELS / "matmul_forms.py"), form)
    (m, n, k), (bm, bn) = sizes, (constants["BM"], constants["BN"])
    a, bt, c = random((m, k), dtype, 1), random((n, k), dtype, 2), np.zeros((m, n), TYPES[dtype])
    grid = {"even_k": (ceil(m / bm) * ceil(n / bn),), "persistent": (3,)}.get(form, (ceil(m / bm), ceil(n / bn)))
    result = kernel[grid](a, bt, c, m, n, k, k, 1, 1, k, n, 1, pipeline=pipeline, **constants)
    expected = a.astype(np.float64) @ bt.T.astype(np.float64)
    if form == "biased":
        expected = 0.5 * np.maximum(expected + 1.0, 0.0)
    expect_close(c, expected, dtype, scale=k**0.5)
    assert result.latency_ns > 0


@pytest.mark.parametrize(("form", "constants"), [(f[0], f[3]) for f in MATMULS], ids=[f[0] for f in MATMULS])
def test_every_matmul_is_raised(form: str, constants: dict[str, Any]) -> None:
    """The K loop of every form becomes one GEMM, so that its K loop is no loop of PE_CPU."""
    pointers = ("x", "y", "z") if form == "plus_equals" else ("a_ptr", "b_ptr", "c_ptr")
    strides = (
        ("sxm", "sxk", "syk", "syn", "szm", "szn")
        if form == "plus_equals"
        else ("sam", "sak", "sbk", "sbn", "scm", "scn")
    )
    signature = {**dict.fromkeys(pointers, "*fp16"), **dict.fromkeys(("M", "N", "K", *strides), "i32")}
    kernel = getattr(ahbmc.load(KERNELS / "matmul_forms.py"), form)
    text = kernel.compile(signature, constants, pipeline="composite")
    loops = text.count("scf.for") + text.count("scf.while")
    assert text.count("ahbm.composite") == 1
    assert loops == (1 if form == "persistent" else 0)


FLASH_ATTENTIONS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("natural_base", "fp16", 150, {"D": 32, "BM": 32, "BN": 32}),
    ("scaled_query", "fp16", 100, {"D": 64, "BM": 32, "BN": 64}),
    ("scale_in_exponent", "bf16", 77, {"D": 32, "BM": 16, "BN": 32}),
    ("additive_mask", "fp32", 90, {"D": 16, "BM": 32, "BN": 16}),
    ("sum_after_cast", "fp16", 130, {"D": 32, "BM": 64, "BN": 32}),
    ("two_loops", "fp16", 111, {"D": 32, "BM": 32, "BN": 16}),
    ("carried_offsets", "bf16", 95, {"D": 16, "BM": 32, "BN": 32}),
    ("with_helper", "fp32", 70, {"D": 32, "BM": 16, "BN": 16}),
    ("normalised", "fp16", 85, {"D": 32, "BM": 32, "BN": 32}),
    ("reordered", "fp16", 101, {"D": 64, "BM": 32, "BN": 32}),
]


@pytest.mark.parametrize(
    ("pipeline", "causal"),
    [("primitive", True), ("composite", False), ("fused", True), ("fused", False), ("auto", True)],
)
@pytest.mark.parametrize(
    ("form", "dtype", "s", "constants"), FLASH_ATTENTIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_flash_attention(form: str, dtype: str, s: int, constants: dict[str, Any], causal: bool, pipeline: str) -> None:
    """Attention is right in every form, causal and not, with rows that are longer than the head."""
    kernel = getattr(ahbmc.load(KERNELS / "flash_attention_forms.py"), form)
    d, scale = constants["D"], 0.3
    q, k, v = (random((s, d + 8), dtype, seed)[:, :] for seed in (1, 2, 3))
    out = np.zeros((s, d), TYPES[dtype])
    result = kernel[(ceil(s / constants["BM"]),)](
        q, k, v, out, scale, d + 8, d + 8, d + 8, d, s, CAUSAL=causal, pipeline=pipeline, **constants
    )
    scores = scale * q[:, :d].astype(np.float64) @ k[:, :d].T.astype(np.float64)
    scores = np.where(np.tri(s) > 0, scores, -np.inf) if causal else scores
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expect_close(out, weights / weights.sum(1, keepdims=True) @ v[:, :d].astype(np.float64), dtype, scale=2.0)
    assert result.latency_ns > 0


@pytest.mark.parametrize("form", [f[0] for f in FLASH_ATTENTIONS])
def test_the_recipe_is_matched(form: str) -> None:
    """The online-softmax step is one composite in every form but that which normalises in the loop."""
    constants = next(f[3] for f in FLASH_ATTENTIONS if f[0] == form)
    signature = {**dict.fromkeys(("Q", "K", "V", "Out"), "*fp16"), "scale": "fp32"}
    signature |= dict.fromkeys(("sq", "sk", "sv", "so", "S"), "i32")
    kernel = getattr(ahbmc.load(KERNELS / "flash_attention_forms.py"), form)
    text = kernel.compile(signature, {**constants, "CAUSAL": True}, pipeline="fused")
    matched = text.count('outcome = "matched"')
    assert matched == {"normalised": 0, "two_loops": 2}.get(form, 1)
