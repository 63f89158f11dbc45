"""`run --ideal`: the latency of a program on machines on which a cost is nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ahbmc.backend_sim.target.ideal import IDEAL
from ahbmc.backend_sim.target.machine_file import load_machine, shipped_machines
from ahbmc.driver.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SOFTMAX = [str(EXAMPLES / "softmax.yaml"), "--set", "args.n_rows=3", "--set", "args.n_cols=100"]
MATMUL = [str(EXAMPLES / "matmul.yaml"), "--set", "args.M=100", "--set", "args.N=77", "--set", "args.K=90"]
ALL = ",".join(IDEAL)
Capture = pytest.CaptureFixture[str]


def result(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["run", *arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("pipeline", "workload"), [("primitive", MATMUL), ("composite", MATMUL), ("auto", SOFTMAX)])
def test_without_any_cost_a_run_takes_no_time(pipeline: str, workload: list[str], capsys: Capture) -> None:
    """So nothing is forgotten: every picosecond belongs to one of the costs."""
    found = result(capsys, *workload, "--pipeline", pipeline, "--ideal", ALL)
    assert found["latency_ns"] > 0 and found["ideal"][ALL] == 0
    assert list(found["ideal"]) == [*IDEAL, ALL]


def test_commands_in_turn_lose_exactly_what_the_cost_held(capsys: Capture) -> None:
    """Every command of this program waits for the one before, so its parts are what an ideal machine saves."""
    found = result(capsys, *SOFTMAX, "--ideal", "issue,math,gemm")
    latency, parts, ideal = found["latency_ns"], found["attribution"], found["ideal"]
    assert ideal["issue"] == pytest.approx(latency - parts["issue"], abs=1e-6)
    assert ideal["math"] == pytest.approx(latency - parts["math"], abs=1e-6)
    assert ideal["gemm"] == latency  # there is none
    assert ideal["issue,math,gemm"] == pytest.approx(latency - parts["issue"] - parts["math"], abs=1e-6)


def test_the_program_is_that_of_the_real_machine(capsys: Capture) -> None:
    """Figures other than the latencies are of the real machine, and `auto` decides by its costs."""
    plain, found = result(capsys, *MATMUL), result(capsys, *MATMUL, "--ideal", "gemm")
    assert "ideal" not in plain
    same = ("latency_ns", "commands", "issue_cycles", "engines", "attribution", "roofline")
    assert {k: plain[k] for k in same} == {k: found[k] for k in same}
    assert found["ideal"]["gemm"] < found["latency_ns"]


def test_the_report_sets_them_beside_the_latency(capsys: Capture) -> None:
    assert main(["run", *SOFTMAX, "--ideal", "issue, math"]) == 0
    out = capsys.readouterr().out
    table = out[out.index("If a cost were nothing") :].splitlines()
    assert table[2].startswith("as it is") and table[3].startswith("no issue ") and table[4].startswith("no math ")
    assert table[5].startswith("no issue, math ") and table[5].rstrip().endswith("%")


def test_a_cost_that_there_is_not(capsys: Capture) -> None:
    assert main(["run", *SOFTMAX, "--ideal", "issue,fetsh"]) == 1
    err = capsys.readouterr().err
    assert "`fetsh` is no cost that can be ideal; there are issue, fetch, gemm, math, store, hbm, noc" in err
    assert err.startswith("<command line>:1:") and "hint: did you mean `fetch`?" in err


@pytest.mark.parametrize("name", shipped_machines())
def test_every_machine_can_be_ideal(name: str) -> None:
    machine = load_machine(name)
    for ideal in IDEAL.values():
        assert ideal.without(machine).pes == machine.pes
