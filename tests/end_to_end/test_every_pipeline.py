"""Every example under every pipeline: complete attribution, a trace that agrees with the engines; `auto` no slower
than what it chooses from; PEs that share the work.
"""

from __future__ import annotations

import json
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from ahbmc.backend_sim.analysis.trace import write_trace
from ahbmc.backend_sim.oplog import ENGINES
from ahbmc.driver.run import Outcome, run_workload
from ahbmc.passes.pipelines import PIPELINES
from support_trace import busy_by_engine

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
# The unrolled kernels take seconds to compile. Pipelines that only differ in composites treat them alike, and kernels
# whose commands are written out.
ALIKE = (
    "gemm_async_tiled",
    "flash_decode_tiled",
    *(n for n in NAMES if "written" in n or n.startswith("decode_tile_")),
)
RUNS = [(n, p) for n in NAMES for p in PIPELINES if n not in ALIKE or p in ("primitive", "auto")]


@cache
def timed(name: str, pipeline: str) -> Outcome:
    """An example, run for its time alone."""
    return run_workload(EXAMPLES / f"{name}.yaml", pipeline=pipeline, timing_only=True, links=True)


def latency_ps(name: str, pipeline: str) -> int:
    return timed(name, pipeline).executed.execution.latency_ps


@pytest.mark.parametrize(("name", "pipeline"), RUNS)
def test_the_views_of_a_run_agree(name: str, pipeline: str) -> None:
    """Parts add up to the latency to the picosecond, and idle is under 2%; the durations of the slices of each engine
    in the trace add up to `engines`, as a query in Perfetto would have it.
    """
    run, out = timed(name, pipeline), StringIO()
    parts, latency, found = run.executed.analysis.attribution.parts, latency_ps(name, pipeline), run.summary()
    assert sum(parts.values()) == latency > 0
    assert parts["idle"] < 0.02 * latency
    assert sum(found["attribution"].values()) == pytest.approx(found["latency_ns"])

    write_trace(run.executed.execution.oplog, run.executed.machine, out)
    drawn = busy_by_engine(json.loads(out.getvalue()))
    engines = {name: row["busy_ns"] for name, row in found["engines"].items() if row["busy_ns"]}
    # Packets that take turns on a link are drawn over each other.
    assert 0.9 * engines["noc"] <= drawn.pop("noc") <= engines.pop("noc") + 1
    assert drawn == pytest.approx(engines)


@pytest.mark.parametrize("name", NAMES)
def test_auto_is_no_slower_than_the_best_pipeline(name: str) -> None:
    """Within 2% of every named pipeline that this example runs under."""
    assert latency_ps(name, "auto") <= 1.02 * min(latency_ps(n, p) for n, p in RUNS if n == name)


@pytest.mark.parametrize("pes", ["pe0-1", "pe0-7"])
def test_auto_reckons_with_slices_that_pes_share(pes: str) -> None:
    """All tensors in the slice of PE 0: with two PEs composites are faster, with eight single ops, which read less."""
    lone = [f"args.{name}_ptr.place.num_pes=1" for name in "abc"]
    sizes = ["args.M=256", "args.N=256", "args.K=260"]

    def run(pipeline: str) -> int:
        overrides = (*lone, *sizes, f"map.pes=sip0.cube0.{pes}")
        found = run_workload(EXAMPLES / "matmul.yaml", overrides=overrides, pipeline=pipeline, timing_only=True)
        return found.executed.execution.latency_ps

    primitive, composite = run("primitive"), run("composite")
    assert (composite < primitive) == (pes == "pe0-1")
    assert run("auto") <= 1.02 * min(primitive, composite)


def test_flash_attention_gains_with_each_pipeline() -> None:
    """Composites are faster than single ops, recipes than composites, and iterations that overlap than all of these."""
    slowest_first = ("primitive", "composite", "fused", "pipelined")
    found = [latency_ps("flash_attention", pipeline) for pipeline in slowest_first]
    assert found == sorted(found, reverse=True) and len(set(found)) == len(found)


def test_flash_decode_runs_at_the_rate_of_the_slice() -> None:
    """4,096 keys of one KV head: K and V are 2 MiB, which the slice gives in 8,192 ns. Tiles padded from 8 rows to 32
    take 8,389 ns of the GEMM engine, single ops a quarter of that.
    """
    floor_ps = 2 * 4096 * 128 * 2 * 1000 // 256
    assert latency_ps("flash_decode", "fused") <= 1.30 * floor_ps
    assert latency_ps("flash_decode", "pipelined") <= 1.10 * floor_ps
    assert latency_ps("flash_decode", "auto") <= 1.06 * floor_ps


@pytest.mark.parametrize("pipeline", ["fused", "pipelined", "auto"])
def test_query_heads_of_one_group_read_keys_and_values_once(pipeline: str) -> None:
    """With 32 heads instead of 8 more queries are read, and nothing else."""

    def read(heads: int) -> int:
        overrides = (f"const.G={heads}",)
        found = run_workload(
            EXAMPLES / "flash_decode.yaml", overrides=overrides, pipeline=pipeline, timing_only=True
        ).summary()
        return found["bytes"]["hbm_read"]

    assert read(32) - read(8) == 24 * 128 * 2


@pytest.mark.parametrize("setting", ["const.G=16", "const.G=1", "const.BLOCK_N=128", "const.BLOCK_N=512"])
def test_auto_takes_the_faster_way_of_an_iteration(setting: str) -> None:
    """Few rows or long steps favour single ops, many rows or short steps composites; `auto` is within 2% of both."""

    def run(pipeline: str) -> int:
        return run_workload(
            EXAMPLES / "flash_decode.yaml", overrides=(setting,), pipeline=pipeline, timing_only=True
        ).executed.execution.latency_ps

    assert run("auto") <= 1.02 * min(run(pipeline) for pipeline in PIPELINES)


@pytest.mark.parametrize("rows", [8, 64])
def test_auto_dequantises_beside_the_product_before(rows: int) -> None:
    """A product of a loop over K that makes its tiles of b ready while the one that it is added to still runs."""
    sizes = {
        "args.M": rows,
        "args.N": 190,
        "args.K": 512,
        "const.BLOCK_M": rows,
        "const.BLOCK_N": 64,
        "const.BLOCK_K": 64,
    }
    overrides = tuple(f"{path}={size}" for path, size in sizes.items())

    def run(pipeline: str) -> int:
        found = run_workload(
            EXAMPLES / "quantised_matmul.yaml", overrides=overrides, pipeline=pipeline, timing_only=True
        )
        return found.executed.execution.latency_ps

    assert run("auto") <= 1.02 * min(run(pipeline) for pipeline in PIPELINES)


def test_auto_issues_composites_beside_a_recipe() -> None:
    """Of scores of 64 x 16 alone a single GEMM is done sooner, but it would hold PE_CPU, which issues the softmax."""

    def run(pipeline: str) -> int:
        return run_workload(
            EXAMPLES / "flash_attention.yaml",
            overrides=("const.BLOCK_N=16", "const.HEAD_DIM=32", "const.CAUSAL=false", "args.S=128"),
            pipeline=pipeline,
            timing_only=True,
        ).executed.execution.latency_ps

    assert run("auto") <= 1.02 * min(run(pipeline) for pipeline in PIPELINES)


GELU = """\
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, w_ptr, y_ptr, BM: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    lanes = tl.arange(0, K)
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * K + lanes[None, :])
    t = tl.dot(x, tl.load(w_ptr + lanes[:, None] * N + columns[None, :]))
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], 0.5 * t * (1 + tl.erf(t * 0.70710678)))
"""
GELU_WORKLOAD = """\
kernel: gelu.py::gelu_kernel
args:
  x_ptr: {shape: [256, K], dtype: fp16}
  w_ptr: {shape: [K, N], dtype: fp16}
  y_ptr: {shape: [256, N], dtype: fp32}
const: {BM: 64, K: 128, N: 64}
grid: [4]
"""


def test_auto_weighs_the_rows_of_a_recipe_that_a_composite_takes_in(tmp_path: Path) -> None:
    """The product alone is done sooner as a single GEMM; with GELU on its tiles the composite is."""
    (tmp_path / "gelu.py").write_text(GELU)
    (tmp_path / "gelu.yaml").write_text(GELU_WORKLOAD)

    def run(pipeline: str) -> int:
        return run_workload(tmp_path / "gelu.yaml", pipeline=pipeline, timing_only=True).executed.execution.latency_ps

    assert run("auto") <= 1.02 * min(run(pipeline) for pipeline in PIPELINES)


def test_what_fits_fits_with_iterations_that_overlap() -> None:
    """Heads of 256 and scores of 256 x 256: no room for a second buffer of scores, so nothing is started early."""

    def run(pipeline: str) -> int:
        return run_workload(
            EXAMPLES / "prefill.yaml",
            overrides=("const.HEAD_DIM=256", "const.BLOCK_N=256"),
            pipeline=pipeline,
            timing_only=True,
        ).executed.execution.latency_ps

    assert run("auto") <= 1.02 * run("fused")


def test_flash_decode_keeps_the_gemm_engine_busy() -> None:
    """From the first tile to the last one tiles follow each other: the scores of a later step fill the time of the
    first softmax, and every other softmax is done while the product of the step before still runs.
    """
    log = timed("flash_decode", "pipelined").executed.execution.oplog
    rows = log.runs["engine"] == ENGINES.index("gemm")
    start, service, period, count = (log.runs[name][rows] for name in ("start", "service", "period", "count"))
    starts = sorted(s + n * p for s, p, c in zip(start, period, count, strict=True) for n in range(c))
    assert len(starts) == 2 * 16 * 16 and len(set(service)) == 1  # two products of 16 tiles in each of 16 steps
    gaps = [after - before - service[0] for before, after in pairwise(starts)]
    assert 0 <= max(gaps) < 20_000


def test_prefill_uses_the_gemm_engine() -> None:
    """One head, 1,024 queries and keys: at least 88% of the MACs that the engine could do."""
    macs_ps = 2 * 1024 * 1024 * 128 * 2 * 1000 // 8000
    assert macs_ps >= 0.88 * latency_ps("prefill", "pipelined")


def test_eight_pes_share_the_matmul() -> None:
    """Operands in every slice: the eight PEs of the example are at least six times as fast as one of them."""
    alone = run_workload(
        EXAMPLES / "matmul.yaml", overrides=("map.pes=sip0.cube0.pe0",), pipeline="auto", timing_only=True
    )
    assert alone.executed.execution.latency_ps > 6 * latency_ps("matmul", "auto")
