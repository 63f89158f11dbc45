"""Ops between the load of an operand and its product (a cast, a dequantisation, a scale), in a loop over K and alone:
values through every pass, and what is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.dialects import ahbm
from ahbmc.driver.run import run_workload
from support_kernels import case_of_body, check_values
from support_values import check_every_pass, random_array

M, N, K = 20, 50, 150
LOOP = """
rm = tl.arange(0, 32)
rn = tl.arange(0, 64)
rk = tl.arange(0, 64)
col = tl.load(s + rn, mask=rn < N, other=0.0)
row = tl.load(s + rm, mask=rm < M, other=0.0)
f = tl.load(s)
acc = tl.zeros((32, 64), tl.float32)
for k in range(0, K, 64):
    kk = k + rk
    x = tl.load(a + rm[:, None] * K + kk[None, :], mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0)
    y = tl.load(b + kk[:, None] * N + rn[None, :], mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0)
    lane = tl.load(s + kk, mask=kk < K, other=0.0)
    {0}
tl.store(o + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
"""
OPS: dict[str, tuple[str, str, Callable[[Array, Array, Array], Array]]] = {
    "cast": ("i8", "acc += tl.dot(x, y.to(tl.float16))", lambda a, b, s: a @ b),
    "from an 8-bit float": ("fp8e5", "acc += tl.dot(x, y.to(tl.float16))", lambda a, b, s: a @ b),
    "zero and scale per column": (
        "i8",
        "acc += tl.dot(x, (y.to(tl.float32) * col[None, :] - 2).to(tl.float16))",
        lambda a, b, s: a @ (b * s[:N] - 2),
    ),
    "factor and scale per row of both": (
        "fp16",
        "acc += tl.dot((x * row[:, None]).to(tl.float16), y * f.to(tl.float16))",
        lambda a, b, s: (a * s[:M, None]) @ (b * s[0]),
    ),
    "scale per lane of K": (
        "i8",
        "acc += tl.dot(x * lane.to(tl.float16)[None, :], y.to(tl.float16) * lane.to(tl.float16)[:, None])",
        lambda a, b, s: (a * s) @ (b * s[:, None]),
    ),
    "where on the edge": (
        "i8",
        "acc += tl.dot(x, tl.where(kk[:, None] < 110, y, 0).to(tl.float16))",
        lambda a, b, s: a[:, :110] @ b[:110],
    ),
    "of a transpose": (
        "i8",
        "acc += tl.dot(x, tl.trans(tl.trans(y * 2).to(tl.float16)))",
        lambda a, b, s: 2 * (a @ b),
    ),
    "high bits of a byte": (
        "i8",
        "acc += tl.dot(x, ((y >> 1) & 3).to(tl.float16))",
        lambda a, b, s: a @ ((b.astype(np.int64) >> 1) & 3),
    ),
}


def operands(kind: str) -> tuple[Array, Array, Array]:
    """a, b and scales that are powers of two, so that nothing is rounded on the way."""
    s = np.exp2(random_array((K,), "i8", 3) // 4).astype(np.float32)
    return random_array((M, K), "fp16", 1), random_array((K, N), kind, 2), s


@pytest.mark.parametrize("name", OPS)
def test_ops_on_operands_of_a_loop_over_k(name: str) -> None:
    """Fused into the composite or done before it, with an operand staged or none: the same values."""
    kind, body, twin = OPS[name]
    a, b, s = operands(kind)
    arguments = {"a": a, "b": b, "s": s, "o": random_array((M, N), "fp32", 4), "M": M, "N": N, "K": K}
    expected = twin(a.astype(np.float64), b.astype(np.float64), s.astype(np.float64)).astype(np.float32)
    case = case_of_body(LOOP.format(body), arguments)
    check_values(case, {"o": expected}, ("composite", "auto"))


def specs(module: Any) -> list[list[str]]:
    return [[s.kind.data for s in op.specs] for op in module.walk() if isinstance(op, ahbm.CompositeOp)]


RAGGED = """
rm = tl.arange(0, 32)
rn = tl.arange(0, 64)
rk = tl.arange(0, 64)
acc = tl.zeros((32, 64), tl.float32)
for k in range(0, K, 64):
    kk = k + rk
    x = tl.load(a + rm[:, None] * K + kk[None, :])
    y = tl.load(b + kk[:, None] * N + rn[None, :])
    x = tl.where((rm[:, None] < M) & (kk[None, :] < K), x, 0.0)
    y = tl.where((kk[:, None] < K) & (rn[None, :] < N), y, 0.0)
    acc += tl.dot(x, y)
tl.store(o + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
"""


def test_edges_that_a_select_cuts_off_are_bounds_of_the_gemm() -> None:
    """Memory is read up to the edges; with the lanes beyond them in the tensors, all of the loop is one composite."""
    a, b = random_array((40, K), "fp16", 1), random_array((200, N), "fp16", 2)
    arguments = {"a": a, "b": b, "o": random_array((M, N), "fp32", 4), "M": M, "N": N, "K": K}
    case = case_of_body(RAGGED, arguments)
    expected = a[:M].astype(np.float32) @ b[:K].astype(np.float32)
    check_values(case, {"o": expected}, ("composite",))
    assert specs(check_every_pass(case, "composite")) == [["gemm"]]


def test_a_loop_with_a_conversion_is_one_composite() -> None:
    a, b, s = operands("i8")
    arguments = {"a": a, "b": b, "s": s, "o": random_array((M, N), "fp32", 4), "M": M, "N": N, "K": K}
    case = case_of_body(LOOP.format(OPS["cast"][1]), arguments)
    assert ["cast", "gemm"] in specs(check_every_pass(case, "composite"))


TRANSPOSED = """
i = tl.arange(0, 32)
d = tl.arange(0, 64)
x = tl.load(a + i[:, None] * 64 + d[None, :])
for t in range(0, 3):
    y = tl.load(b + (t * 32 + i)[:, None] * 64 + d[None, :])
    tl.store(o + i[:, None] * 96 + (t * 32 + i)[None, :], tl.dot(x, tl.trans(y.to(tl.float16))))
"""


def test_a_transpose_behind_a_cast_is_the_order_of_a_region() -> None:
    a, b = random_array((32, 64), "fp16", 1), random_array((96, 64), "i8", 2)
    case = case_of_body(TRANSPOSED, {"a": a, "b": b, "o": random_array((32, 96), "fp32", 3)})
    check_values(case, {"o": a.astype(np.float32) @ b.astype(np.float32).T}, ("auto",))
    assert specs(check_every_pass(case, "composite")) == [["cast", "gemm"]]


def test_a_narrow_operand_is_read_narrow(tmp_path: Path) -> None:
    """Of b in int8 half of the bytes of f16 are read, by as many commands."""
    lines = "\n".join(
        f"    {line}" for line in RAGGED.replace("tl.dot(x, y)", "tl.dot(x, y.to(tl.float16))").splitlines()
    )
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    (tmp_path / "narrow.py").write_text(f"{head}def narrow(a, b, o, M, N, K):\n{lines}\n")
    (tmp_path / "narrow.yaml").write_text(
        """
kernel: narrow.py::narrow
args:
  a: {shape: [M, K], dtype: fp16}
  b: {shape: [K, N], dtype: i8}
  o: {shape: [M, N], dtype: fp32}
  M: 32
  N: 64
  K: 1024
"""
    )
    found = {
        kind: run_workload(
            tmp_path / "narrow.yaml", overrides=(f"args.b.dtype={kind}",), pipeline="composite", timing_only=True
        ).summary()
        for kind in ("i8", "fp16")
    }
    a_bytes, b_lanes = 32 * 1024 * 2, 1024 * 64
    assert {kind: each["bytes"]["hbm_read"] - a_bytes for kind, each in found.items()} == {
        "i8": b_lanes,
        "fp16": 2 * b_lanes,
    }
    assert found["i8"]["commands"] == found["fp16"]["commands"]
    assert found["i8"]["latency_ns"] < 1.1 * found["fp16"]["latency_ns"]
