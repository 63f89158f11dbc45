"""Which operand of a GEMM waits in TCM: the choice by cost against every other, as the simulator has it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import ahbmc
import numpy as np
import pytest
from ahbmc.backend_sim.oplog import busy_intervals
from ahbmc.driver.run import run_workload
from support_kernels import case_of_body, check_values
from support_values import random_array

KERNELS = Path(__file__).parent / "kernels"
MATMUL = Path(__file__).parents[2] / "examples" / "matmul.yaml"
# (M, N, K), (BLOCK_M, BLOCK_N): square and flat blocks, edges of all kinds, one row.
SHAPES = [
    ((128, 128, 512), (128, 128)),
    ((100, 90, 300), (64, 64)),
    ((33, 130, 333), (64, 128)),
    ((64, 256, 1024), (64, 128)),
    ((1, 128, 512), (16, 64)),
]


@cache
def summary(sizes: tuple[int, int, int], blocks: tuple[int, int], pipeline: str, stage: str) -> dict[str, Any]:
    """A matrix product on one PE, run for its time alone."""
    settings = dict(
        zip(("args.M", "args.N", "args.K", "const.BLOCK_M", "const.BLOCK_N"), (*sizes, *blocks), strict=True)
    )
    overrides = [*(f"{k}={v}" for k, v in settings.items()), "map.pes=sip0.cube0.pe0"]
    overrides.append(f"options.form-composites.stage={stage}")
    return run_workload(MATMUL, overrides=tuple(overrides), timing_only=True, pipeline=pipeline).summary()


@pytest.mark.parametrize(("sizes", "blocks"), SHAPES)
def test_the_choice_is_the_fastest(sizes: tuple[int, int, int], blocks: tuple[int, int]) -> None:
    """Within 2% of the best of both operands staged in turn and none, whether loops load ahead or not."""
    named = [summary(sizes, blocks, "composite", stage)["latency_ns"] for stage in ("a", "b", "none")]
    for pipeline in ("composite", "auto"):
        assert summary(sizes, blocks, pipeline, "auto")["latency_ns"] <= 1.02 * min(named)


def test_both_operands_in_pieces_are_faster_than_either_staged() -> None:
    """Streams of a 128 x 128 block read every operand four times; pieces that are loaded ahead read both once."""
    streamed = summary((128, 128, 512), (128, 128), "composite", "auto")
    pieces = summary((128, 128, 512), (128, 128), "auto", "auto")
    assert pieces["latency_ns"] < 0.9 * streamed["latency_ns"]
    assert pieces["bytes"]["hbm_read"] == 2 * 128 * 512 * 2


@pytest.mark.parametrize(("stage", "times_a", "times_b"), [("none", 2, 4), ("a", 1, 4), ("b", 2, 1)])
def test_a_stream_is_read_again_for_every_tile_of_the_other_operand(stage: str, times_a: int, times_b: int) -> None:
    """A block of 128 x 64 has 4 x 2 tiles of the output: A is read N / 32 times and B M / 32 times."""
    read = summary((128, 64, 512), (128, 64), "composite", stage)["bytes"]["hbm_read"]
    assert read == (times_a * 128 * 512 + times_b * 512 * 64) * 2


TWO_OF_ONE = """
om = tl.arange(0, 64)
on = tl.arange(0, 64)
ok = tl.arange(0, 64)
u = tl.zeros((64, 64), tl.float32)
w = tl.zeros((64, 64), tl.float32)
for k in range(0, K, 64):
    kk = k + ok
    x = tl.load(a + om[:, None] * K + kk[None, :], mask=(om[:, None] < M) & (kk[None, :] < K), other=0.0)
    at = kk[:, None] * N + on[None, :]
    inside = (kk[:, None] < K) & (on[None, :] < N)
    u = tl.dot(x, tl.load(b + at, mask=inside, other=0.0), u)
    w = tl.dot(x, tl.load(c + at, mask=inside, other=0.0), w)
tl.store(o + om[:, None] * N + on[None, :], u - 2 * w, mask=(om[:, None] < M) & (on[None, :] < N))
"""


def test_two_products_of_one_operand_in_pieces() -> None:
    """Values through every pass, the last piece being shorter than the others."""
    m, n, k = 60, 50, 300
    a, b, c = random_array([m, k], "fp16", 1), random_array([k, n], "fp16", 2), random_array([k, n], "fp16", 3)
    arguments = {"a": a, "b": b, "c": c, "o": np.zeros((m, n), np.float32), "M": m, "N": n, "K": k}
    case = case_of_body(TWO_OF_ONE, arguments)
    wanted = a.astype(np.float32) @ (b.astype(np.float32) - 2 * c.astype(np.float32))
    check_values(case, {"o": wanted}, ("auto",))


def test_tiles_in_a_loop_hide_the_first_read_of_each_other() -> None:
    """A persistent kernel: from tile to tile the GEMM engine pauses for all of an operand that is staged, as PE_CPU
    waits for it (64 rows of 512 lanes are 256 ns at 256 GB/s); in pieces of K it never pauses for as long.
    """
    m, n, k = 128, 128, 512
    a, bt = random_array([m, k], "fp16", 1), random_array([n, k], "fp16", 2)
    kernel = ahbmc.load(KERNELS / "matmul_forms.py").persistent
    blocks = {"BM": 64, "BN": 64, "BK": 64}
    pause_ps: dict[str, int] = {}
    for pipeline in ("composite", "auto"):
        c = np.zeros((m, n), np.float16)
        log = kernel[(1,)](a, bt, c, m, n, k, k, 1, 1, k, n, 1, pipeline=pipeline, **blocks).oplog
        starts, ends = busy_intervals(log, "gemm")[0]
        pause_ps[pipeline] = int((starts[1:] - ends[:-1]).max())
        np.testing.assert_allclose(c, a.astype(np.float32) @ bt.T.astype(np.float32), rtol=1e-2, atol=0.1)
    read_ps = 64 * k * 2 * 1000 // 256
    assert pause_ps["auto"] < read_ps < pause_ps["composite"]
