"""The figures published for this machine, reached by compiling and running the examples through the command line."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.oplog import OpLog
from ahbmc.backend_sim.oplog_files import read_oplog
from ahbmc.dialects import ahbm
from ahbmc.driver.main import main
from ahbmc.driver.run import run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"
TOLERANCE = 0.005


@cache
def run_json(workload: str, *arguments: str) -> dict[str, Any]:
    """The object of `ahbmc run EXAMPLE --json -`; the run must end well."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = main(["run", str(EXAMPLES / f"{workload}.yaml"), "--json", "-", *arguments])
    assert status == 0
    return json.loads(out.getvalue())


def settings(m: int, k: int, n: int, section: str = "args") -> tuple[str, ...]:
    """The arguments that give a GEMM of an example these extents."""
    return "--set", f"{section}.M={m}", "--set", f"{section}.K={k}", "--set", f"{section}.N={n}"


@pytest.mark.parametrize(
    ("workload", "m", "k", "n", "figure", "published"),
    [
        ("gemm_load_ref", 32, 3072, 32, "tflops", 7.18),
        ("gemm_load_ref", 32, 32, 32, "mac_utilization", 0.0770),
        ("gemm_load_ref", 32, 64, 32, "mac_utilization", 0.1540),
        ("gemm_load_ref", 128, 8, 128, "tflops", 0.662),
        ("gemm_ref_ref", 32, 3072, 32, "tflops", 3.83),
        ("gemm_ref_ref", 32, 32, 32, "mac_utilization", 0.0669),
        ("gemm_ref_ref", 32, 64, 32, "mac_utilization", 0.1339),
        ("gemm_ref_ref", 128, 8, 128, "tflops", 0.402),
    ],
)
def test_a_k_loop_as_one_composite(workload: str, m: int, k: int, n: int, figure: str, published: float) -> None:
    """A plain K loop, A staged or both operands streamed: throughput, and one composite that leaves right numbers."""
    found = run_json(workload, *settings(m, k, n))
    assert found["gemm"][figure] == pytest.approx(published, rel=TOLERANCE)
    assert found["commands"]["composite"] == 1
    assert found["check"] == "pass"


def window_ns(m: int, k: int, n: int, *, a_streamed: bool) -> float:
    """The window of a composite by the published rules alone: servers in series, each first come first served.

    All reads are requested at 0, those of A before those of B. A request is at the slice after 2 ns, holds it for 16
    and its data is in 27 ns after it began; a written tile is there 3 ns after it left, holds the slice for 8, commits
    8 later, and 2 more are the way back of its acknowledgement.
    """
    tiles = list(product(range(-(-m // 32)), range(-(-n // 32)), range(-(-k // 64))))
    slice_free = 2.0
    ready = [0.0] * len(tiles)
    for _ in range(2 if a_streamed else 1):
        for tile in range(len(tiles)):
            ready[tile] = max(ready[tile], slice_free + 27)
            slice_free += 16
    free = {"port": 0.0, "bus": 0.0, "gemm": 0.0, "store": 0.0, "drain": 0.0}

    def serve(server: str, arrival: float, service: float) -> float:
        free[server] = max(free[server], arrival) + service
        return free[server]

    acknowledged = 0.0
    for tile, (_, _, at_k) in enumerate(tiles):
        done = serve("gemm", serve("bus", serve("port", ready[tile], 16), 16), 16.384)
        if at_k == -(-k // 64) - 1:
            sent = serve("drain", serve("store", done, 4), 4)
            slice_free = max(slice_free, sent + 3) + 8
            acknowledged = slice_free + 8 + 2
    return acknowledged


def test_the_rules_give_the_worked_example() -> None:
    """29 + 32 + 48 x 16.384 + 8 + 21 ns: the independent evaluation is that of the documented example."""
    assert window_ns(32, 3072, 32, a_streamed=False) == pytest.approx(876.432)


@pytest.mark.parametrize(("m", "k", "n"), [(64, 1024, 64), (32, 256, 128), (96, 96, 96), (100, 130, 70)])
@pytest.mark.parametrize("workload", ["gemm_load_ref", "gemm_ref_ref"])
def test_other_extents_follow_the_rules(workload: str, m: int, k: int, n: int) -> None:
    """Sizes for which nothing was published, one with padded tiles on every side, against the rules by hand."""
    found = run_json(workload, *settings(m, k, n))
    expected = window_ns(m, k, n, a_streamed=workload == "gemm_ref_ref")
    assert found["gemm"]["window_ns"] == pytest.approx(expected, rel=TOLERANCE)
    assert found["gemm"]["tflops"] == pytest.approx(2 * m * n * k / expected / 1000, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("workload", "arguments", "published"),
    [
        ("gemm_async_full", (), 3.91),
        ("gemm_async_full", settings(128, 8, 128, "const"), 1.21),
        ("gemm_async_tiled", (), 2.52),
        ("gemm_async_tiled", ("--set", "const.DEPTH=all"), 2.54),
        ("gemm_async_tiled", settings(128, 8, 128, "const"), 1.21),
    ],
)
def test_single_op_commands_by_hand(workload: str, arguments: tuple[str, ...], published: float) -> None:
    """Loads that run ahead of the dots, under `primitive`."""
    found = run_json(workload, "--pipeline", "primitive", *arguments)
    assert found["gemm"]["tflops"] == pytest.approx(published, rel=TOLERANCE)
    assert found["check"] == "pass"


@pytest.mark.parametrize("depth", ["2", "all"])
def test_commands_of_the_tiled_kernel(depth: str) -> None:
    """192 commands beside the wait for A, whichever depth B is loaded ahead with."""
    arguments = () if depth == "2" else ("--set", f"const.DEPTH={depth}")
    commands = dict(run_json("gemm_async_tiled", "--pipeline", "primitive", *arguments)["commands"])
    total, waits = commands.pop("total"), commands.pop("wait")
    assert commands == {"dma_read": 96, "gemm": 48, "math": 47, "dma_write": 1}
    assert total - waits == 192


MOVE = """\
import triton
import triton.language as tl
import ahbmc.language as al

@triton.jit
def move(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(al.ref(y_ptr, (N,), (1,)), tl.load(al.ref(x_ptr, (N,), (1,))))
"""
MOVE_WORKLOAD = """\
kernel: move.py::move
pipeline: primitive
args:
  x_ptr: {shape: [N], dtype: fp16, init: {normal: {seed: 3}}, place: {num_cubes: 1}}
  y_ptr: {shape: [N], dtype: fp16, init: zeros}
const: {N: 16384}
check: {y_ptr: {reference: x_ptr, rtol: 0.0, atol: 0.0}}
"""


def oplog_of(workload: Path, folder: Path, *arguments: str) -> OpLog:
    """The op-log that `ahbmc run --oplog` writes."""
    file = folder / "oplog"
    with redirect_stdout(io.StringIO()):
        assert main(["run", str(workload), "--oplog", str(file), *arguments]) == 0
    return read_oplog(file)


@pytest.fixture
def move(tmp_path: Path) -> Path:
    """A workload that reads 32 KiB and writes them elsewhere."""
    (tmp_path / "move.py").write_text(MOVE)
    (tmp_path / "move.yaml").write_text(MOVE_WORKLOAD)
    return tmp_path / "move.yaml"


def test_records_of_32_kib_in_the_own_slice(move: Path, tmp_path: Path) -> None:
    """A read, and a write with its acknowledgement: 141.00 ns each; 9 cycles of issue and 1.51 ns of entry outside."""
    log = oplog_of(move, tmp_path)
    kinds = [log.sites[int(site)].kind for site in log.records["site"]]
    columns = {name: values.tolist() for name, values in log.records.items()}
    assert kinds == ["dma_read", "dma_write"]
    assert [end - start for start, end in zip(columns["start"], columns["end"], strict=True)] == [141_000, 141_000]
    assert [e - s for s, e in zip(columns["issue_start"], columns["issue_end"], strict=True)] == [9_000, 9_000]
    assert columns["start"] == [9_000 + 1_510, 151_510 + 9_000 + 1_510]
    assert log.latency_ps == 2 * (9_000 + 1_510 + 141_000)


@pytest.mark.parametrize(("size", "published"), [(128, 51.58), (1024, 60.08), (4096, 84.08), (10240, 132.08)])
def test_bytes_to_the_neighbour(move: Path, tmp_path: Path, size: int, published: float) -> None:
    """PE 1 reads its own copy and writes into the slice of PE 0: the published transfers between neighbours."""
    log = oplog_of(move, tmp_path, "--set", f"const.N={size // 2}", "--set", "map.pes=sip0.cube0.pe1")
    assert log.latency_ps == round(published * 1000)


def test_issue_of_a_composite_of_one_op() -> None:
    """54 logical bytes, 43 cycles: 40 and a sixteenth per byte, rounded half to even."""
    log = run_workload(EXAMPLES / "gemm_load_ref.yaml", timing_only=True).executed.execution.oplog
    sites = [log.sites[int(site)] for site in log.records["site"]]
    (row,) = [i for i, site in enumerate(sites) if site.kind == "composite"]
    assert sites[row].logical_bytes == 54
    assert log.records["issue_end"][row] - log.records["issue_start"][row] == 43_000


def test_the_composite_of_softmax_merge() -> None:
    """Under `fused` the step of flash attention is 8 MATH ops, a GEMM and an add, under the cap of 1024 bytes."""
    executed = run_workload(EXAMPLES / "flash_attention.yaml", pipeline="fused", timing_only=True).executed
    (module,) = [compiled.module for compiled in executed.compiled]
    longest = max((op for op in module.walk() if isinstance(op, ahbm.CompositeOp)), key=lambda op: len(op.specs))
    kinds = [spec.kind.data for spec in longest.specs]
    assert len(kinds) == 10
    assert kinds[8:] == ["gemm", "add"]
    assert 54 < longest.logical_bytes < 1024
    issued = [site.logical_bytes for site in executed.execution.oplog.sites if site.kind == "composite"]
    assert longest.logical_bytes in issued
    assert np.count_nonzero(executed.execution.oplog.records["flops"]) > 0
