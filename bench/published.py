"""Prints `ours | published | difference` for the figures that were published for this machine.

Every row is a workload that the product compiles and runs; only the probe's rows are closed forms of the network. The
figures of the published side are those of the reference simulator, with as many digits as it printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ahbmc.backend_sim.oplog import OpLog
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.backend_sim.target.transfer import device_to_host_ps, write_ack_ps, write_commit_ps
from ahbmc.dialects import ahbm
from ahbmc.driver.run import Outcome, run_workload

ROOT = Path(__file__).parents[1]
LOAD_REF, REF_REF = "examples/gemm_load_ref.yaml", "examples/gemm_ref_ref.yaml"
FULL, TILED = "examples/gemm_async_full.yaml", "examples/gemm_async_tiled.yaml"
MOVE, ATTENTION = "bench/move.yaml", "examples/flash_attention.yaml"
PROBE_BYTES = 32768

Figure = Callable[[Outcome], float]


@dataclass(frozen=True)
class Row:
    """One figure: the workload with its overrides, what is taken from the run, and what was published."""

    name: str
    workload: str
    overrides: tuple[str, ...]
    figure: Figure
    published: float
    unit: str


def extents(m: int, k: int, n: int, section: str = "args") -> tuple[str, ...]:
    """The overrides that give a GEMM these extents."""
    return f"{section}.M={m}", f"{section}.K={k}", f"{section}.N={n}"


def tflops(run: Outcome) -> float:
    return run.summary()["gemm"]["tflops"]


def percent_of_peak(run: Outcome) -> float:
    return 100 * run.summary()["gemm"]["mac_utilization"]


def latency_ns(run: Outcome) -> float:
    return run.executed.execution.latency_ps / 1000


def busy_ns(engine: str) -> Figure:
    return lambda run: run.summary()["engines"][engine]["busy_ns"]


def commands(*kinds: str) -> Figure:
    """How many commands of these kinds were issued."""
    return lambda run: sum(run.executed.execution.oplog.commands().get(kind, 0) for kind in kinds)


def record_ns(kind: str) -> Figure:
    """How long the first command of a kind took, from when its engine took it up."""
    return lambda run: _first(run.executed.execution.oplog, kind, "end", "start") / 1000


def issue_cycles(kind: str) -> Figure:
    """Cycles that PE_CPU paid for the first command of a kind (it has 1 GHz)."""
    return lambda run: _first(run.executed.execution.oplog, kind, "issue_end", "issue_start") / 1000


def _first(log: OpLog, kind: str, end: str, start: str) -> int:
    row = next(i for i, site in enumerate(log.records["site"]) if log.sites[int(site)].kind == kind)
    return int(log.records[end][row] - log.records[start][row])


def composite_bytes(run: Outcome) -> float:
    """Logical bytes of the largest composite."""
    return max(site.logical_bytes for site in run.executed.execution.oplog.sites if site.kind == "composite")


def composite_ops(run: Outcome) -> float:
    """Op specs of the longest composite."""
    modules = (compiled.module for compiled in run.executed.compiled)
    return max(len(op.specs) for module in modules for op in module.walk() if isinstance(op, ahbm.CompositeOp))


def neighbour(size: int) -> tuple[str, ...]:
    """Overrides with which PE 1 moves `size` bytes from its own slice to that of PE 0."""
    return f"const.ELEMENTS={size // 2}", "map.pes=sip0.cube0.pe1"


WALLS = "32x3072x32 load_ref"
ROWS = (
    Row("load_ref 32x3072x32", LOAD_REF, (), tflops, 7.18, "TFLOP/s"),
    Row("load_ref 32x32x32", LOAD_REF, extents(32, 32, 32), percent_of_peak, 7.70, "% of peak"),
    Row("load_ref 32x64x32", LOAD_REF, extents(32, 64, 32), percent_of_peak, 15.40, "% of peak"),
    Row("load_ref 128x8x128", LOAD_REF, extents(128, 8, 128), tflops, 0.662, "TFLOP/s"),
    Row("ref_ref 32x3072x32", REF_REF, (), tflops, 3.83, "TFLOP/s"),
    Row("ref_ref 32x32x32", REF_REF, extents(32, 32, 32), percent_of_peak, 6.69, "% of peak"),
    Row("ref_ref 32x64x32", REF_REF, extents(32, 64, 32), percent_of_peak, 13.39, "% of peak"),
    Row("ref_ref 128x8x128", REF_REF, extents(128, 8, 128), tflops, 0.402, "TFLOP/s"),
    Row(f"FETCH busy, {WALLS}", LOAD_REF, (), busy_ns("fetch"), 785, "ns"),
    Row(f"GEMM busy, {WALLS}", LOAD_REF, (), busy_ns("gemm"), 785, "ns"),
    Row("async_full 32x3072x32", FULL, (), tflops, 3.91, "TFLOP/s"),
    Row("async_full 128x8x128", FULL, extents(128, 8, 128, "const"), tflops, 1.21, "TFLOP/s"),
    Row("async_tiled 32x3072x32, depth 2", TILED, (), tflops, 2.522, "TFLOP/s"),
    Row("async_tiled 32x3072x32, all", TILED, ("const.DEPTH=all",), tflops, 2.544, "TFLOP/s"),
    Row("async_tiled 128x8x128", TILED, extents(128, 8, 128, "const"), tflops, 1.21, "TFLOP/s"),
    Row("async_tiled: dma_read", TILED, (), commands("dma_read"), 96, "commands"),
    Row("async_tiled: gemm", TILED, (), commands("gemm"), 48, "commands"),
    Row("async_tiled: math", TILED, (), commands("math"), 47, "commands"),
    Row("async_tiled: dma_write", TILED, (), commands("dma_write"), 1, "commands"),
    Row("async_tiled: together", TILED, (), commands("dma_read", "gemm", "math", "dma_write"), 192, "commands"),
    Row("dma_read of 32 KiB, own slice", MOVE, (), record_ns("dma_read"), 141.00, "ns"),
    Row("dma_write of 32 KiB, own slice", MOVE, (), record_ns("dma_write"), 141.00, "ns"),
    Row("one-op composite", LOAD_REF, (), composite_bytes, 54, "bytes"),
    Row("one-op composite", LOAD_REF, (), issue_cycles("composite"), 43, "cycles"),
    Row("softmax_merge composite", ATTENTION, (), composite_ops, 10, "ops"),
    Row("softmax_merge composite", ATTENTION, (), composite_bytes, 322, "bytes (~)"),
    Row("PE 1 to PE 0, raw, 128 B", MOVE, neighbour(128), latency_ns, 51.58, "ns"),
    Row("PE 1 to PE 0, raw, 1024 B", MOVE, neighbour(1024), latency_ns, 60.08, "ns"),
    Row("PE 1 to PE 0, raw, 10240 B", MOVE, neighbour(10240), latency_ns, 132.08, "ns"),
)

PE, HOST = "sip0.cube0.pe0.pe_dma", "sip0.io0.pcie_ep"
PROBES = (
    ("PE to its own slice", write_ack_ps, PE, "sip0.cube0.hbm_ctrl.0", 141.00),
    ("PE to a slice of the same half", write_ack_ps, PE, "sip0.cube0.hbm_ctrl.1", 147.87),
    ("PE to a slice of the other half", write_ack_ps, PE, "sip0.cube0.hbm_ctrl.4", 161.17),
    ("PE to the nearest cube", write_ack_ps, PE, "sip0.cube1.hbm_ctrl.0", 330.52),
    ("PE to the farthest cube", write_ack_ps, PE, "sip0.cube15.hbm_ctrl.0", 677.12),
    ("host to cube 0", write_commit_ps, HOST, "sip0.cube0.hbm_ctrl.0", 289.53),
    ("host to cube 4", write_commit_ps, HOST, "sip0.cube4.hbm_ctrl.0", 326.04),
    ("cube 0 to host", device_to_host_ps, HOST, "sip0.cube0.hbm_ctrl.0", 571.20),
    ("cube 4 to host", device_to_host_ps, HOST, "sip0.cube4.hbm_ctrl.0", 635.72),
)


def results() -> Iterator[tuple[str, float, float, str]]:
    """(name, ours, published, unit) of every row. Each workload runs once, and its check must pass or be absent."""
    runs: dict[tuple[str, tuple[str, ...]], Outcome] = {}
    for row in ROWS:
        key = row.workload, row.overrides
        if key not in runs:
            pipeline = "fused" if row.workload == ATTENTION else None
            runs[key] = run_workload(ROOT / row.workload, overrides=row.overrides, pipeline=pipeline)
            assert not runs[key].failures, f"{row.name}: the numbers are wrong"
        yield row.name, row.figure(runs[key]), row.published, row.unit
    machine = load_machine("ahbm-2sip")
    for name, closed_form, source, target, published in PROBES:
        yield f"{name}, 32 KiB", closed_form(machine, PROBE_BYTES, source, target) / 1000, published, "ns"


def main() -> int:
    print(f"{'figure':<38}{'ours':>10}  {'published':>9}  {'difference':>10}")
    for name, ours, published, unit in results():
        print(f"{name:<38}{ours:>10,.3f}  {published:>9,g}  {ours / published - 1:>+10.2%}  {unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
