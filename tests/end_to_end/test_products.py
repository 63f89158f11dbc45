"""Products with all that `tl.dot` and `tl.dot_scaled` take, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_kernels import case_of_body, check_values, commands_of
from support_values import Case, check_every_pass, random_array

BATCH = """
i = tl.arange(0, 16)
k = tl.arange(0, 32)
n = tl.arange(0, 4)[:, None, None]
a = tl.load(x + n * 512 + i[None, :, None] * 32 + k[None, None, :])
b = tl.load(y + n * 512 + k[None, :, None] * 16 + i[None, None, :])
at = o + n * 256 + i[None, :, None] * 16 + i[None, None, :]
"""


def batch_case(body: str, kind: str = "fp16", out: str = "fp32") -> tuple[Case, Array, Array]:
    """Four products of 16 x 32 by 32 x 16."""
    a, b = random_array((4, 16, 32), kind, 1), random_array((4, 32, 16), kind, 2)
    arguments = {"x": a, "y": b, "o": random_array((4, 16, 16), out, 3), "steps": 3}
    return case_of_body(BATCH + body, arguments), a.astype(np.float32), b.astype(np.float32)


BATCHES: list[tuple[str, Callable[[Array, Array], Array]]] = [
    ("tl.store(at, tl.dot(a, b))", lambda a, b: a @ b),
    ("tl.store(at, tl.dot(a, b, tl.load(at)))", lambda a, b: a @ b + random_array((4, 16, 16), "fp32", 3)),
    ("tl.store(at, tl.dot(tl.trans(b), tl.trans(a)))", lambda a, b: b.swapaxes(1, 2) @ a.swapaxes(1, 2)),
    (
        "c = tl.zeros((4, 16, 16), tl.float32)\nfor t in range(steps):\n    c += tl.dot(a, b)\n"
        "tl.store(at, c, mask=i[None, :, None] < 11)",
        lambda a, b: np.where(np.arange(16)[:, None] < 11, 3 * (a @ b), random_array((4, 16, 16), "fp32", 3)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "twin"), BATCHES, ids=[b for b, _ in BATCHES])
def test_a_batch_of_products(body: str, twin: Any) -> None:
    """Blocks of three axes: one GEMM for each pair of matrices, whatever the pipeline."""
    case, a, b = batch_case(body)
    check_values(case, {"o": twin(a, b)}, ("primitive", "composite", "auto"))


def test_each_product_of_a_batch_is_a_command() -> None:
    case, _, _ = batch_case("tl.store(at, tl.dot(a, b))")
    for pipeline in ("primitive", "auto"):
        commands = commands_of(check_every_pass(case, pipeline))
        assert commands.count("gemm") + commands.count("composite") == 4


SUMS = """
i = tl.arange(0, 16)
n = tl.arange(0, 4)[:, None, None]
c = tl.zeros((4, 16, 16), tl.float32)
for t in range(0, 32, 16):
    a = tl.load(x + n * 512 + i[None, :, None] * 32 + (t + i)[None, None, :])
    b = tl.load(y + n * 512 + (t + i)[None, :, None] * 16 + i[None, None, :])
    c += tl.dot(a, b)
tl.store(o + n * 256 + i[None, :, None] * 16 + i[None, None, :], c * 0.5)
"""


def test_sums_of_a_batch_are_a_composite_for_each_product() -> None:
    """A loop over K of batches is as many GEMMs over all of K."""
    x, y = random_array((4, 16, 32), "fp16", 1), random_array((4, 32, 16), "fp16", 2)
    case = case_of_body(SUMS, {"x": x, "y": y, "o": random_array((4, 16, 16), "fp32", 3)})
    check_values(case, {"o": x.astype(np.float32) @ y.astype(np.float32) * 0.5}, ("composite",))
    assert commands_of(check_every_pass(case, "composite")).count("composite") == 4


MATRICES = """
i = tl.arange(0, 32)
at = i[:, None] * 32 + i[None, :]
a = tl.load(x + at)
b = tl.load(y + at)
"""


@pytest.mark.parametrize(
    ("kinds", "out", "dot"),
    [
        (("fp8e5", "fp8e4nv"), "fp32", "tl.dot(a, b)"),
        (("fp8e4nv", "fp8e5"), "fp16", "tl.dot(a, b, out_dtype=tl.float16)"),
        (("i8", "i8"), "i32", "tl.dot(a, b)"),
        (("fp32", "fp32"), "fp32", "tl.dot(a, b, input_precision='TF32x3', max_num_imprecise_acc=0)"),
        (("bf16", "bf16"), "fp32", "tl.dot(a, b, allow_tf32=False, out_dtype=tl.float32)"),
    ],
)
def test_options_of_a_product(kinds: tuple[str, str], out: str, dot: str) -> None:
    """Two formats of 8-bit floats go together; precisions are promises that the machine keeps."""
    a, b = random_array((32, 32), kinds[0], 1), random_array((32, 32), kinds[1], 2)
    o = random_array((32, 32), out, 3)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(o.dtype)
    case = case_of_body(f"{MATRICES}tl.store(o + at, {dot})", {"x": a, "y": b, "o": o})
    check_values(case, {"o": expected})


# Numbers of 4 bits by their codes.
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
SCALED = """
i = tl.arange(0, 32)
g = tl.arange(0, 2)
a = tl.load(x + i[:, None] * {ka} + tl.arange(0, {ka})[None, :])
b = tl.load(y + tl.arange(0, {kb})[:, None] * {nb} + tl.arange(0, {nb})[None, :])
sa = tl.load(s + i[:, None] * 2 + g[None, :])
sb = tl.load(t + i[:, None] * 2 + g[None, :])
tl.store(o + i[:, None] * 32 + i[None, :], {dot})
"""


def packed(codes: Array, axis: int) -> Array:
    """Codes of 4 bits, two to a byte along an axis, the first in the lower bits."""
    pairs = np.moveaxis(codes, axis, -1)
    even, odd = (np.moveaxis(pairs[..., start::2], -1, axis) for start in (0, 1))
    return np.ascontiguousarray(even | odd << 4).astype(np.uint8)


def scaled_case(dot: str, x: Array, y: Array) -> tuple[Case, Array, Array]:
    """A product of 32 x 64 by 64 x 32 in groups of 32 along K, and the two scales spread over K."""
    rng = np.random.default_rng(7)
    s, t = (rng.integers(124, 131, (32, 2)).astype(np.uint8) for _ in range(2))
    sizes = {"ka": x.shape[1], "kb": y.shape[0], "nb": y.shape[1]}
    arguments = {"x": x, "y": y, "s": s, "t": t, "o": np.zeros((32, 32), np.float32)}
    spread = [np.repeat(2.0 ** (scale.astype(np.float32) - 127), 32, 1) for scale in (s, t)]
    return case_of_body(SCALED.format(dot=dot, **sizes), arguments), spread[0], spread[1].T


def codes(shape: tuple[int, int], seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 16, shape).astype(np.uint8)


def test_numbers_of_four_bits() -> None:
    """Every code of both operands, packed along K."""
    a, b = codes((32, 64), 1), codes((64, 32), 2)
    case, sa, sb = scaled_case("tl.dot_scaled(a, sa, 'e2m1', b, sb, 'e2m1')", packed(a, 1), packed(b, 0))
    check_values(case, {"o": (FP4[a] * sa) @ (FP4[b] * sb)})


def test_numbers_packed_along_another_axis_than_k() -> None:
    a, b = codes((32, 64), 1), codes((64, 32), 2)
    dot = "tl.dot_scaled(a, None, 'e2m1', b, sb, 'e2m1', rhs_k_pack=False)"
    case, _, sb = scaled_case(dot, packed(a, 1), packed(b, 1))
    check_values(case, {"o": FP4[a] @ (FP4[b] * sb)}, ("primitive",))


@pytest.mark.parametrize(
    ("form", "kind", "bits"),
    [("e4m3", "float8_e4m3fn", np.uint8), ("e5m2", "float8_e5m2", np.uint8), ("bf16", "bfloat16", None)],
)
def test_formats_of_the_second_operand(form: str, kind: str, bits: Any) -> None:
    """8-bit floats come as themselves or as their bits; the accumulator is added."""
    a = codes((32, 64), 1)
    b = np.random.default_rng(2).normal(size=(64, 32)).astype(getattr(ml_dtypes, kind))
    dot = (
        f"tl.dot_scaled(a, sa, 'e2m1', b, {'sb' if bits else 'None'}, '{form}', acc=tl.full((32, 32), 2.5, tl.float32))"
    )
    case, sa, sb = scaled_case(dot, packed(a, 1), b.view(bits) if bits else b)
    right = b.astype(np.float32) * (sb if bits else 1)
    check_values(case, {"o": (FP4[a] * sa) @ right + 2.5}, ("primitive",))


def test_halves_keep_their_bits() -> None:
    """fp16 has more bits than bf16, so both operands are multiplied in fp32."""
    a, b = codes((32, 64), 1), random_array((64, 32), "fp16", 2)
    case, sa, _ = scaled_case("tl.dot_scaled(a, sa, 'e2m1', b, None, 'fp16')", packed(a, 1), b)
    check_values(case, {"o": (FP4[a] * sa) @ b.astype(np.float32)}, ("auto",))
