"""Query heads that share a head of K and V, as kernels write them: one stream of K and V for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.driver.run import run_workload
from hypothesis import given, settings
from hypothesis import strategies as st
from support_kernels import case_of_body, check_values
from support_values import random_array

T, D, S = 4, 32, 150
HEAD = """
g = tl.arange(0, G)
t = tl.arange(0, 4)
n = tl.arange(0, 64)
d = tl.arange(0, 32)
at = g[:, None, None] * 128 + t[None, :, None] * 32 + d[None, None, :]
q = tl.load(q_ptr + at) * scale
"""
LOADS = """
for s in range(0, S, 64):
    k = tl.load(k_ptr + (s + n)[None, :] * 32 + d[:, None], mask=(s + n)[None, :] < S, other=0.0)
    v = tl.load(v_ptr + (s + n)[:, None] * 32 + d[None, :], mask=(s + n)[:, None] < S, other=0.0)
"""
RESHAPED = f"""{HEAD}
q = tl.reshape(q.to(tl.float16), (G * 4, 32))
m = tl.full((G * 4,), -float("inf"), tl.float32)
l = tl.zeros((G * 4,), tl.float32)
acc = tl.zeros((G * 4, 32), tl.float32)
{LOADS}
    qk = tl.where((s + n)[None, :] < S, tl.dot(q, k), -float("inf"))
    m_new = tl.maximum(m, tl.max(qk, 1))
    p = tl.exp(qk - m_new[:, None])
    alpha = tl.exp(m - m_new)
    l = l * alpha + tl.sum(p, 1)
    acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
    m = m_new
tl.store(o_ptr + at, tl.reshape((acc / l[:, None]).to(tl.float16), (G, 4, 32)))
"""
BATCHED = f"""{HEAD}
q = q.to(tl.float16)
m = tl.full((G, 4), -float("inf"), tl.float32)
l = tl.zeros((G, 4), tl.float32)
acc = tl.zeros((G, 4, 32), tl.float32)
{LOADS}
    qk = tl.where((s + n)[None, None, :] < S, tl.dot(q, tl.broadcast_to(k[None], (G, 32, 64))), -float("inf"))
    m_new = tl.maximum(m, tl.max(qk, 2))
    p = tl.exp(qk - m_new[:, :, None])
    alpha = tl.exp(m - m_new)
    l = l * alpha + tl.sum(p, 2)
    acc = tl.dot(p.to(tl.float16), tl.broadcast_to(v[None], (G, 64, 32)), acc * alpha[:, :, None])
    m = m_new
tl.store(o_ptr + at, (acc / l[:, :, None]).to(tl.float16))
"""
FORMS = {"reshaped": RESHAPED, "batched": BATCHED}
PARAMETERS = "q_ptr, k_ptr, v_ptr, o_ptr, scale, S, G: tl.constexpr"


def attention(q: Array, k: Array, v: Array, scale: float) -> Array:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    p = np.exp(q @ k.T * scale - (q @ k.T * scale).max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


@pytest.mark.parametrize("form", FORMS)
def test_values_of_grouped_heads(form: str) -> None:
    """One block of rows for all heads, under every pass of the pipelines that fold and match recipes."""
    q, k, v = random_array((4, T, D), "fp16", 1), random_array((S, D), "fp16", 2), random_array((S, D), "fp16", 3)
    arguments: dict[str, Any] = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": random_array((4, T, D), "fp16", 4)}
    case = case_of_body(FORMS[form], {**arguments, "scale": 0.25, "S": S}, G=4)
    check_values(case, {"o_ptr": attention(q, k, v, 0.25).astype(np.float16)}, ("auto",))


@pytest.mark.parametrize("form", FORMS)
def test_reads_of_k_and_v_do_not_grow_with_the_heads(form: str, tmp_path: Path) -> None:
    """Of what is read only the queries grow: K and V are read once, whatever the number of heads."""
    lines = "\n".join(f"    {line}" for line in FORMS[form].strip().splitlines())
    (tmp_path / "heads.py").write_text(
        f"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef heads({PARAMETERS}):\n{lines}\n"
    )
    (tmp_path / "heads.yaml").write_text(
        """
kernel: heads.py::heads
args:
  q_ptr: {shape: [G, 4, 32], dtype: fp16}
  k_ptr: {shape: [S, 32], dtype: fp16}
  v_ptr: {shape: [S, 32], dtype: fp16}
  o_ptr: {shape: [G, 4, 32], dtype: fp16}
  scale: 0.25
  S: 150
const: {G: 1}
"""
    )
    queries = T * D * 2
    moved = {
        heads: run_workload(tmp_path / "heads.yaml", overrides=(f"const.G={heads}",), timing_only=True).summary()[
            "bytes"
        ]
        for heads in (1, 2, 4, 8)
    }
    assert moved[1]["hbm_read"] == 2 * S * D * 2 + queries
    assert {h: found["hbm_read"] - moved[1]["hbm_read"] for h, found in moved.items()} == {
        h: (h - 1) * queries for h in moved
    }
    assert {h: found["hbm_write"] for h, found in moved.items()} == {h: h * queries for h in moved}


FOLDED = Path(__file__).parents[2] / "examples" / "flash_decode.yaml"


@pytest.mark.parametrize("pipeline", ["composite", "fused", "pipelined", "auto"])
@settings(max_examples=5, deadline=None, derandomize=True)
@given(steps=st.integers(3, 6), rest=st.integers(0, 63), dim=st.sampled_from((32, 64)))
def test_k_and_v_are_read_once_for_any_number_of_rows(pipeline: str, steps: int, rest: int, dim: int) -> None:
    """One row of tiles or eight, whole blocks of keys or not: beside the queries all numbers of rows read the same."""
    keys = steps * 64 - rest
    sizes = (f"args.S={keys}", "const.BLOCK_N=64", f"const.HEAD_DIM={dim}", "const.EVEN_N=false")
    for rows in (8, 32, 64, 128, 256):
        run = run_workload(FOLDED, overrides=(f"const.G={rows}", *sizes), timing_only=True, pipeline=pipeline)
        # A stream moves whole tiles, a load the lanes that are valid.
        whole = steps * 64 if rows <= 32 else keys
        read = run.summary()["bytes"]["hbm_read"] - rows * dim * 2
        assert 2 * keys * dim * 2 <= read <= 2 * max(whole, keys) * max(dim, 64) * 2, (rows, read)
