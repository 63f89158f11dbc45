"""The views of real op-logs agree with one another: attribution with the latency, the trace with the engines."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from ahbmc.backend_sim.analysis.oplog_text import lines
from ahbmc.backend_sim.analysis.report import report, text
from ahbmc.backend_sim.analysis.trace import write_trace
from ahbmc.backend_sim.oplog import ENGINES, busy_intervals, busy_ps
from ahbmc.driver.run import Outcome, run_workload
from support_trace import busy_by_engine, check_structure

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=["vector_add", "gemm_ref_ref", "softmax"])
def outcome(request: pytest.FixtureRequest) -> Outcome:
    """An example, run for its time alone."""
    return run_workload(EXAMPLES / f"{request.param}.yaml", timing_only=True, links=True)


def test_the_attribution_is_the_whole_latency(outcome: Outcome) -> None:
    """Parts add up to the latency, the instances behind them too, and idle is under 2%."""
    attribution = outcome.executed.analysis.attribution
    latency_ps = outcome.executed.execution.latency_ps
    assert sum(attribution.parts.values()) == latency_ps
    assert sum(share.ps for share in attribution.shares) + attribution.parts["idle"] == latency_ps
    assert attribution.parts["idle"] < 0.02 * latency_ps


def test_the_trace_has_the_busy_time_of_every_engine(outcome: Outcome) -> None:
    """The durations of all slices of an engine add up to `engines[...]["busy_ns"]`."""
    out = StringIO()
    write_trace(outcome.executed.execution.oplog, outcome.executed.machine, out)
    engines = {name: row["busy_ns"] for name, row in outcome.summary()["engines"].items() if row["busy_ns"]}
    assert busy_by_engine(json.loads(out.getvalue())) == pytest.approx(engines)


SIZES = ("args.M=600", "args.N=500", "args.K=192")


@pytest.fixture(scope="module")
def many_pes() -> Outcome:
    """A kernel on all PEs of eight cubes, which share the slices of one: they wait for each other."""
    overrides = ("map.pes=sip0.cube0-7.pe0-7", *SIZES)
    return run_workload(EXAMPLES / "matmul.yaml", overrides=overrides, timing_only=True, links=True)


def test_the_attribution_of_many_pes_is_the_whole_latency(many_pes: Outcome) -> None:
    """To the picosecond, with time in which other PEs hold a slice among the parts."""
    attribution = many_pes.executed.analysis.attribution
    assert len(many_pes.executed.analysis.pes) == 64
    assert sum(attribution.parts.values()) == many_pes.executed.execution.latency_ps
    assert attribution.parts["queue"] > 0
    assert sum(share.ps for share in attribution.shares) + attribution.parts["idle"] == attribution.total_ps


def test_the_trace_of_many_pes_is_in_order(many_pes: Outcome) -> None:
    """Every event is what the format wants; all 64 PEs are there."""
    out, log = StringIO(), many_pes.executed.execution.oplog
    notes = write_trace(log, many_pes.executed.machine, out)
    assert notes == (f"the 64 busiest of {len(log.links):,} links have a counter",)
    found = json.loads(out.getvalue())
    check_structure(found)
    names = [event["args"]["name"] for event in found["traceEvents"] if event["name"] == "process_name"]
    assert len(names) == 65 and names[-1] == "sip0 links"


def test_busy_time_and_busy_intervals_agree(many_pes: Outcome) -> None:
    """Of engines whose time is a sum and of those whose intervals overlap (on links packets may take turns)."""
    log = many_pes.executed.execution.oplog
    for engine in (name for name in ENGINES if name != "noc"):
        intervals = busy_intervals(log, engine)
        assert busy_ps(log, engine) == {owner: int((end - start).sum()) for owner, (start, end) in intervals.items()}


def test_the_report_of_many_pes_is_no_longer_than_that_of_one(many_pes: Outcome) -> None:
    """It sums PEs up and names the critical one and the busiest slices; these are ten lines and their heads."""
    said = text(report(many_pes.executed.analysis, many_pes.run))
    alone = run_workload(EXAMPLES / "matmul.yaml", overrides=("map.pes=sip0.cube0.pe0", *SIZES), timing_only=True)
    lines_alone = text(report(alone.executed.analysis, alone.run)).splitlines()
    assert len(said.splitlines()) <= len(lines_alone) + 20 and max(map(len, said.splitlines())) <= 110
    assert f"critical PE {many_pes.summary()['critical_pe']}" in said
    for row in many_pes.summary()["engines"].values():
        assert 0 <= row["min"] <= row["median"] <= row["max"] <= 1
    assert "over 64 PEs" in said and many_pes.summary()["slices"][0]["slice"] in said


def test_no_server_is_busy_for_longer_than_the_run(outcome: Outcome) -> None:
    """Utilizations lie between 0 and 1, and the floor under the latency is one."""
    found = outcome.summary()
    assert all(0 <= row["utilization"] <= 1 for row in found["engines"].values())
    assert 0 < found["roofline"]["fraction"] <= 1


def test_report_and_text_name_the_kernel_and_every_command(outcome: Outcome) -> None:
    """The report ends in a verdict; the text of the op-log has the issue of each command instance."""
    said = text(report(outcome.executed.analysis, outcome.run))
    assert said.startswith(outcome.run.kernel)
    assert "Bound by" in said.partition("Verdict")[2]
    log = outcome.executed.execution.oplog
    issues = [line for line in lines(log, outcome.executed.machine) if "  pe_cpu  " in line]
    assert len(issues) == log.commands()["total"]
