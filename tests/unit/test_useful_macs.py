"""Multiply-adds that the result needs: said by the workload or those of its GEMMs; use of the engine beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ahbmc.driver.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
CAUSAL, GEMM = EXAMPLES / "prefill_causal.yaml", EXAMPLES / "gemm_load_ref.yaml"
PEAK_MACS_PER_NS = 4000  # 8 TFLOP/s
Capture = pytest.CaptureFixture[str]


def run_json(capsys: Capture, workload: Path, *arguments: str) -> dict[str, Any]:
    assert main(["run", str(workload), "--timing-only", "--json", "-", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_of_a_causal_prefill_half_of_the_scores_is_needed(capsys: Capture) -> None:
    """Both products, scores up to the diagonal; the engine is busy with whole blocks."""
    found = run_json(capsys, CAUSAL, "--set", "args.S=512")
    gemm, size, depth = found["gemm"], 512, 128
    assert gemm["useful_macs"] == 2 * depth * sum(range(1, size + 1))
    assert gemm["useful_utilization"] == pytest.approx(gemm["useful_macs"] / PEAK_MACS_PER_NS / found["latency_ns"])
    assert gemm["engine_utilization"] == found["engines"]["gemm"]["utilization"]
    # Blocks of 256 queries see 256 and 512 keys.
    done = 2 * depth * 256 * (256 + 512)
    assert gemm["engine_utilization"] == pytest.approx(done / PEAK_MACS_PER_NS / found["latency_ns"])
    assert main(["run", str(CAUSAL), "--timing-only", "--set", "args.S=512"]) == 0
    said = f"needed {gemm['useful_macs']:,} multiply-adds, {gemm['useful_utilization']:.2%} of peak over the latency"
    assert said in " ".join(capsys.readouterr().out.split())


def test_without_a_word_the_gemms_are_needed_but_for_padding(capsys: Capture) -> None:
    sizes = [f"--set=args.{name}={value}" for name, value in (("M", 100), ("K", 130), ("N", 70))]
    gemm = run_json(capsys, GEMM, *sizes)["gemm"]
    assert gemm["useful_macs"] == 100 * 130 * 70
    assert gemm["engine_utilization"] > 1.3 * gemm["useful_utilization"]
    assert main(["run", str(GEMM), "--timing-only"]) == 0
    assert "multiply-adds" not in capsys.readouterr().out


def test_each_launch_has_its_own(tmp_path: Path, capsys: Capture) -> None:
    """One that says so, and one whose GEMMs count."""
    text = GEMM.read_text().replace("kernel: gemm.py", f"- kernel: {EXAMPLES}/gemm.py")
    entry = "\n  ".join(line for line in text.splitlines() if not line.startswith(("pipeline", "options")))
    file = tmp_path / "two.yaml"
    file.write_text(f"pipeline: composite\nlaunches:\n{entry}\n  useful_macs: M * 7\n{entry}\n")
    assert run_json(capsys, file)["gemm"]["useful_macs"] == 32 * 7 + 32 * 3072 * 32


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0", "`useful_macs` is 0; at least 1 is needed"),
        ("M * Q", "`Q` is no argument and no constant"),
        ("[1]", "`useful_macs` must be an integer or text or nothing; found a list"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(value: str, said: str, capsys: Capture) -> None:
    assert main(["run", str(GEMM), "--timing-only", "--set", f"useful_macs={value}"]) == 1
    err = capsys.readouterr().err
    assert said in err and "--set:1:1" in err
