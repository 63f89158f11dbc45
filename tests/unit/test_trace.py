"""The trace: valid for Perfetto and Chrome, in order, complete; what it merges it says."""

from __future__ import annotations

import json
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from ahbmc.backend_sim.analysis import trace
from ahbmc.backend_sim.analysis.summary import Analysis, summary
from ahbmc.backend_sim.analysis.trace import merged, slices, write_trace
from ahbmc.backend_sim.oplog import OpLog
from support_oplog import MACHINE, RUN, Log, one_product, run_on
from support_trace import check_structure


def written(log: OpLog) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The trace of a log and the notes about it, its structure checked."""
    out = StringIO()
    notes = write_trace(log, MACHINE, out)
    found = json.loads(out.getvalue())
    check_structure(found)
    return found, notes


def many(pes: int, products: int = 1) -> OpLog:
    """`one_product` on several PEs, several times in turn, each load over a link between two cubes of its SIP or to
    the next SIP."""
    log = one_product()
    log.links = ["sip0.cube0.ucie_e>sip0.cube1.ucie_w", "sip1.cube0.r0c0>sip1.cube0.r0c1", "switch>sip0.io0.pcie_ep"]
    for record, link in ((0, 0), (1, 0), (1, 1), (4, 2)):
        run_on(log, record, "noc", 12000 + 20000 * record, 1000 + 100 * link, count=2, unit=link)
    log.rows["programs"].clear()
    log.rows["runs"].sort(key=lambda row: row["record"])
    for i in range(pes * products):
        # PEs start one after the other, so that no link or slice is held twice.
        pe, start = i % pes, 115414 * i
        log.program(pe * 37, start, start + 115414, first=0, rows=5)
    log.rows["programs"].sort(key=lambda row: (row["pe"], row["start"]))
    return log.build()


def test_slices_of_an_engine_never_overlap_and_add_up_to_its_busy_time() -> None:
    """The two overlapping loads make two slices that touch; every engine's sum is the summary's busy time."""
    log = one_product(pe=9).build()
    found = slices(log, "dma_read")
    assert (found.start.tolist(), found.end.tolist()) == ([10510, 39510], [39510, 48510])
    assert (found.record.tolist(), found.owner.tolist()) == ([0, 1], [9, 9])
    out = StringIO()
    write_trace(log, MACHINE, out)
    trace = json.loads(out.getvalue())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    busy: dict[str, int] = {}
    for event in trace:
        if event["ph"] == "X":
            engine = names[event["pid"], event["tid"]]
            busy[engine] = busy.get(engine, 0) + event["args"]["dur_ps"]
            assert event["dur"] * 1e6 == pytest.approx(event["args"]["dur_ps"])
    engines = summary(Analysis(log, MACHINE), RUN)["engines"]
    assert busy == {name: round(row["busy_ns"] * 1000) for name, row in engines.items() if row["busy_ns"]}
    assert [e["args"]["name"] for e in trace if e["name"] == "process_name"] == ["sip0.cube1.pe1"]


def test_services_of_one_command_that_touch_are_one_slice() -> None:
    """48 tiles back to back: one slice of 48 services; a later tile makes another."""
    log = Log()
    site = log.site("composite", 1)
    log.record(site, (0, 43000), -1, (43000, 900000), 0)
    run_on(log, 0, "gemm", 43000, 16384, count=48)
    run_on(log, 0, "gemm", 880000, 16384)
    log.program(0, 0, 900000)
    found = slices(log.build(), "gemm")
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == [
        (43000, 43000 + 48 * 16384),
        (880000, 896384),
    ]


def test_processes_come_in_the_order_of_sip_cube_and_pe_then_links() -> None:
    """A process per PE and per SIP's links, named and ordered; engines and links are their threads, in order too."""
    found, notes = written(many(pes=4))
    assert notes == ()
    events = found["traceEvents"]
    names = {(e["name"], e["pid"], e["tid"]): e["args"] for e in events if e["ph"] == "M"}
    processes = [(names["process_sort_index", p, 0]["sort_index"], args["name"])
        for (name, p, _), args in names.items() if name == "process_name"]  # fmt: skip
    assert [name for _, name in sorted(processes)] == [
        "sip0.cube0.pe0",
        "sip0.cube4.pe5",
        "sip0.cube9.pe2",
        "sip0.cube13.pe7",
        "links",
        "sip0 links",
        "sip1 links",
    ]
    threads = {args["name"] for (name, p, _), args in names.items() if name == "thread_name" and p == 38}
    assert threads == {"pe_cpu", "dma_read", "dma_write", "gemm"}
    crossing = [e for e in events if e["ph"] == "X" and names["process_name", e["pid"], 0]["name"].endswith("links")]
    assert {e["args"]["issued_by"] for e in crossing} == {name for _, name in processes if ".pe" in name}
    assert {e["name"] for e in crossing} == {"dma_read (64, 32)", "dma_write (64, 32)"}


def test_counters_are_the_busy_share_of_slices_and_links() -> None:
    """The mean of each counter over the run is the busy time of its slice or link."""
    log = many(pes=2)
    found, _ = written(log)
    points: dict[str, list[tuple[float, float]]] = {}
    for event in found["traceEvents"]:
        if event["ph"] == "C":
            points.setdefault(event["name"], []).append((event["ts"] * 1e6, event["args"]["busy"]))
    area = {
        name: sum(value * (after[0] - at) for (at, value), after in pairwise(given)) / 100
        for name, given in points.items()
    }
    assert area == {
        "hbm busy %": pytest.approx(2 * (16000 + 16000 + 8000), rel=0.01),
        log.links[0]: pytest.approx(2 * 2 * (1000 + 1000), rel=0.01),
        log.links[1]: pytest.approx(2 * 2 * 1100, rel=0.01),
        log.links[2]: pytest.approx(2 * 2 * 1200, rel=0.01),
    }


def test_a_trace_that_would_be_too_large_is_merged_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer slices than the limit; number and time of all stays are kept; the file and the caller are told."""
    log = many(pes=3, products=40)
    whole, _ = written(log)
    monkeypatch.setattr(trace, "MOST_SLICES", 300)
    found, notes = written(log)
    of = {name: [e["args"] for e in t["traceEvents"] if e["ph"] == "X"] for name, t in (("all", whole), ("few", found))}
    assert len(of["few"]) <= 300 < len(of["all"])
    assert sum(args.get("stays", 1) for args in of["few"]) == len(of["all"])
    assert sum(args["dur_ps"] for args in of["few"]) == sum(args["dur_ps"] for args in of["all"])
    assert len(notes) == 1 and f"{len(of['all']):,} stays" in notes[0] and f"{len(of['few']):,} slices" in notes[0]
    assert found["otherData"]["notes"] == list(notes)
    assert found["otherData"]["latency_ps"] == log.latency_ps


def test_slices_longer_than_the_interval_stay_as_they_are() -> None:
    """Only what begins within one interval is merged: the loads at 10.51 and at 39.51 ns begin in two."""
    given = slices(one_product().build(), "dma_read")
    assert merged(given, 20000).busy.tolist() == [29000, 9000]
    assert merged(given, 100000).busy.tolist() == [38000]
    assert merged(given, 100000).stays.tolist() == [2]


def test_the_busiest_links_have_a_counter_and_the_trace_says_that_others_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Link 1 is busy for less than the others."""
    monkeypatch.setattr(trace, "_MOST_LINKS", 2)
    log = many(pes=2)
    found, notes = written(log)
    counted = {e["name"] for e in found["traceEvents"] if e["ph"] == "C"}
    assert counted == {"hbm busy %", log.links[0], log.links[2]}
    assert notes == ("the 2 busiest of 3 links have a counter",)


def test_a_run_without_commands_has_an_empty_trace() -> None:
    """It is a trace all the same."""
    log = Log()
    log.program(0, 0, 0)
    found, notes = written(log.build())
    assert (found["traceEvents"], notes) == ([], ())
