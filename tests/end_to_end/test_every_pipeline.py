"""Every example under every pipeline: complete attribution, a trace that agrees with the engines; `auto` no slower
than what it chooses from; PEs that share the work.
"""

from __future__ import annotations

import json
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from ahbmc.backend_sim.analysis.trace import write_trace
from ahbmc.driver.run import Outcome, run_workload
from ahbmc.passes.pipelines import PIPELINES
from support_trace import busy_by_engine

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
KERNELS = ("vector_add", "softmax", "matmul", "flash_attention")
# The unrolled kernel takes seconds to compile, and pipelines that only differ in composites treat it alike.
RUNS = [(n, p) for n in NAMES for p in PIPELINES if n != "gemm_async_tiled" or p in ("primitive", "auto")]


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


@pytest.mark.parametrize("name", KERNELS)
def test_auto_is_no_slower_than_what_it_chooses_from(name: str) -> None:
    """Within 2% of single ops everywhere and of composites everywhere."""
    fastest = min(latency_ps(name, pipeline) for pipeline in ("primitive", "composite"))
    assert latency_ps(name, "auto") <= 1.02 * fastest


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
    """Composites are faster than single ops, and recipes faster than composites."""
    primitive, composite, fused = (latency_ps("flash_attention", p) for p in ("primitive", "composite", "fused"))
    assert fused < composite < primitive


def test_eight_pes_share_the_matmul() -> None:
    """Operands in every slice: the eight PEs of the example are at least six times as fast as one of them."""
    alone = run_workload(
        EXAMPLES / "matmul.yaml", overrides=("map.pes=sip0.cube0.pe0",), pipeline="auto", timing_only=True
    )
    assert alone.executed.execution.latency_ps > 6 * latency_ps("matmul", "auto")
