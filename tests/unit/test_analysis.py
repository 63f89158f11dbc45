"""Views of an op-log: attribution, roofline, summary, report. Made by hand, so that every figure is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.analysis.busy import busy_over_time
from ahbmc.backend_sim.analysis.oplog_text import lines
from ahbmc.backend_sim.analysis.report import by_line, report, text
from ahbmc.backend_sim.analysis.roofline import roofline
from ahbmc.backend_sim.analysis.summary import Analysis, Run, gemm_windows, summary
from ahbmc.backend_sim.analysis.verdict import verdict
from ahbmc.backend_sim.oplog import PARTS
from ahbmc.dialects.errors import Place, Sources
from ahbmc.dialects.remarks import Remark
from support_oplog import MACHINE, RUN, Log, one_product, run_on


def test_attribution_walks_the_causes_and_adds_up() -> None:
    """The path leads over the second load, the gemm, the wait and the store; the first load's service is not on it."""
    found = attribute(one_product().build())
    expected = {
        "issue": 9000 + 9000 + 1510 + 10000 + 1010 + 9000 + 1510,
        "dma_read": 29000,
        "gemm": 16384,
        "wait": 8000,
        "dma_write": 21000,
    }
    assert found.parts == {**dict.fromkeys(PARTS, 0), **expected}
    assert found.total_ps == 115414
    assert [(share.part, share.record, share.ps) for share in found.shares[:3]] == [
        ("dma_read", 1, 29000),
        ("dma_write", 4, 21000),
        ("gemm", 2, 16384),
    ]
    assert (found.shares[0].pe, found.shares[0].number, found.shares[0].programs) == (0, 1, 1)


def test_segments_divide_the_time_of_a_composite() -> None:
    """A composite's parts come from its segments, also those of another record's tiles."""
    log = Log()
    site = log.site("composite", 4)
    log.record(site, (0, 43000), -1, (44510, 100000), 0, flops=1)
    for part, ps in (("issue", 1510), ("dma_read", 29000), ("fetch", 16000), ("gemm", 10490)):
        log.add("segments", record=0, of=0, part=PARTS.index(part), ps=ps)
    log.program(0, 0, 100000)
    parts = attribute(log.build()).parts
    assert {part: ps for part, ps in parts.items() if ps} == {
        "issue": 44510,
        "dma_read": 29000,
        "fetch": 16000,
        "gemm": 10490,
    }


def test_programs_in_turn_share_their_walk_and_gaps_are_idle() -> None:
    """Two equal programs of a PE, 1 ns apart, then one of a second launch on another PE."""
    log = one_product()
    log.program(0, 116414, 231828, first=0, rows=5)
    log.program(3, 231828, 347242, first=0, rows=5, launch=1)
    found = attribute(log.build())
    assert found.total_ps == 347242
    assert found.parts["idle"] == 1000
    assert found.parts["gemm"] == 3 * 16384
    gemms = [(share.pe, share.programs, share.ps) for share in found.shares if share.part == "gemm"]
    assert gemms == [(0, 2, 2 * 16384), (3, 1, 16384)]


def test_time_that_another_pe_holds_a_server_is_queue() -> None:
    """`queue` and `entry` of a record are not its service."""
    log = Log()
    site = log.site("dma_read", 2)
    log.record(site, (0, 9000), -1, (10510, 50000), 0, entry=1510, queue=10490)
    log.program(0, 0, 50000)
    parts = attribute(log.build()).parts
    assert (parts["issue"], parts["queue"], parts["dma_read"]) == (10510, 10490, 29000)


def test_an_empty_log() -> None:
    """No command at all: nothing to attribute, a bound of 0, a report that says so."""
    log = Log()
    log.program(0, 0, 0)
    analysis = Analysis(log.build(), MACHINE)
    assert analysis.attribution.total_ps == 0
    assert (analysis.roofline.bound, analysis.roofline.fraction) == ("issue", 0.0)
    assert "Nothing was issued" in text(report(analysis, RUN))
    assert summary(analysis, RUN)["commands"] == {"total": 0}


def test_the_roofline_counts_useful_work_of_the_busiest_pe() -> None:
    """7096 of 8192 bytes asked for and 2048 written: 35.719 ns; issue of 45 ns is the highest floor."""
    found = roofline(one_product().build(), MACHINE)
    assert found.floors_ps == {"gemm": 16384, "math": 0, "hbm": 35719, "noc": 0, "issue": 45000}
    assert (found.bound, found.floor_ps) == ("issue", 45000)
    assert found.fraction == pytest.approx(45000 / 115414)


def test_a_slice_that_several_pes_use_is_a_floor() -> None:
    """Three PEs read 4096 B each out of slice 0, half of it padding: 24 ns of useful service, more than a PE's 8 ns."""
    log = Log()
    site = log.site("dma_read", 1)
    for pe in range(3):
        log.record(site, (0, 0), -1, (0, 100000), 0, bytes_read=4096, useful_read=2048)
        run_on(log, pe, "hbm", 16000 * pe, 16000, unit=0)
        log.program(pe, 0, 100000, first=pe)
    assert roofline(log.build(), MACHINE).floors_ps["hbm"] == 24000


def test_the_floor_of_a_link_counts_each_program_once_whether_or_not_it_shares_records() -> None:
    """Three programs hold a link for 1 ns, a third of it useful; a program without commands begins where they do."""
    floors: list[int] = []
    for shared in (True, False):
        log = Log(links=["a>b"])
        site = log.site("dma_read", 1)
        for number in range(1 if shared else 3):
            log.record(site, (0, 0), -1, (0, 100000), 0, bytes_read=768, useful_read=256)
            log.add("loads", record=number, link=0, ps=1000)
        for number in range(3):
            log.program(0, 100000 * number, 100000 * (number + 1), first=0 if shared else number, rows=1)
        log.program(0, 300000, 300000, first=0, rows=0)
        floors.append(roofline(log.build(), MACHINE).floors_ps["noc"])
    assert floors == [1000, 1000]


def test_a_link_that_several_pes_use_is_a_floor() -> None:
    """Three PEs of cube 1 read over one link, half of it padding, and wait for each other there."""
    link = "sip0.cube1.ucie_w>sip0.cube0.ucie_e"
    log = Log(links=[link])
    site = log.site("dma_read", 1)
    for pe in range(3):
        ran, held = (10000, 40000 + 30000 * pe), 30000 * pe
        log.record(site, (0, 9000), -1, ran, 0, entry=1000, queue=held, bytes_read=4096, useful_read=2048)
        run_on(log, pe, "hbm", 15000 + 30000 * pe, 16000, unit=0)
        run_on(log, pe, "noc", 10000 + 30000 * pe, 30000, unit=0)
        log.program(8 + pe, 0, ran[1], first=pe, rows=1)
    analysis = Analysis(log.build(), MACHINE)
    assert analysis.roofline.floors_ps["noc"] == 45000 > analysis.roofline.floors_ps["hbm"]
    found = verdict(analysis, "primitive")
    assert found.bound.startswith(f"Bound by the link {link}: its useful work alone needs 45.00 ns")
    assert any(f"queue, 60%: PEs share links, {link} is busy for 90%" in advice for advice in found.advice)


def test_what_has_one_cure_is_one_piece_of_advice() -> None:
    """Reads and queues of PEs behind one busy link: neither earlier loads nor larger blocks would help them."""
    link = "sip0.cube1.ucie_w>sip0.cube0.ucie_e"
    log = Log(links=[link])
    site = log.site("dma_read", 1)
    log.record(site, (0, 0), -1, (0, 100000), 0, queue=40000, bytes_read=4096, useful_read=4096)
    for pe in (8, 9):
        log.program(pe, 0, 100000, first=0, rows=1)
    run_on(log, 0, "hbm", 0, 16000, unit=0)
    run_on(log, 0, "noc", 0, 45000, unit=0)
    (advice,) = verdict(Analysis(log.build(), MACHINE), "composite").advice[-1:]
    assert advice.startswith(
        f"dma_read, 60%, queue, 40%: PEs share links, {link} is busy for 90%; place tensors nearer"
    )


def test_reads_of_other_slices_are_told_from_those_of_the_own() -> None:
    """Half the bytes and more come from slice 0 to PE 1, over no link that is busy: the way itself is long."""
    log = Log()
    site = log.site("dma_read", 1)
    log.record(site, (0, 0), -1, (0, 100000), 0, bytes_read=4096, useful_read=4096)
    run_on(log, 0, "hbm", 0, 16000, unit=0)
    log.program(1, 0, 100000, first=0, rows=1)
    (advice,) = verdict(Analysis(log.build(), MACHINE), "composite").advice[-1:]
    assert advice.startswith("dma_read, 100%: it waits for transfers from other slices; place tensors nearer")


def test_padded_tiles_of_a_composite_are_no_useful_work() -> None:
    """Four tiles of 16.384 ns, half of them valid."""
    log = Log()
    site = log.site("composite", 4)
    log.record(site, (0, 0), -1, (0, 65536), 0, flops=2 * 2 * 32 * 64 * 32)
    run_on(log, 0, "gemm", 0, 16384, count=4)
    log.program(0, 0, 65536)
    assert roofline(log.build(), MACHINE).floors_ps["gemm"] == 2 * 16384


def test_the_summary_has_the_keys_of_the_contract() -> None:
    """Every key, with the figures of the hand-made log; parts and engines add up."""
    found = summary(Analysis(one_product().build(), MACHINE), RUN)
    names = "schema kernel machine pipeline latency_ns check commands issue_cycles issue_cycles_max bytes engines"
    names += " attribution roofline outputs wall_s events gemm remarks attribution_commands critical_pe scratch_peak"
    assert set(f"{names} slices links launches".split()) == set(found)
    assert found["latency_ns"] == 115.414
    assert found["commands"] == {"dma_read": 2, "gemm": 1, "wait": 1, "dma_write": 1, "total": 5}
    assert (found["issue_cycles"], found["issue_cycles_max"]) == (45, 45)
    assert found["bytes"] == {"hbm_read": 8192, "hbm_read_useful": 7096, "hbm_write": 2048, "ipcq": 0, "noc": 0}
    assert sum(found["attribution"].values()) == pytest.approx(115.414, abs=1e-9)
    first = found["attribution_commands"][0]
    assert (first["part"], first["ns"], first["command"]) == ("dma_read", 29.0, "sip0.cube0.pe0#1")
    assert (first["what"], first["place"]) == ("dma_read (64, 32)", "k.py:3:5")
    share = pytest.approx(38 / 115.414)
    one = {"busy_ns": 38.0, "servers": 1, "utilization": share, "min": share, "median": share, "max": share}
    assert found["engines"]["dma_read"] == one
    assert (found["critical_pe"], found["links"], found["launches"]) == ("sip0.cube0.pe0", [], [])
    assert found["roofline"]["bound"] == "issue"
    assert json.loads(json.dumps(found)) == found


def test_sums_over_pes() -> None:
    """Two PEs, the second reading from the first one's slice: its bytes crossed the network."""
    log = one_product()
    first = len(log.rows["records"])
    site = log.site("dma_read", 9)
    log.record(site, (0, 9000), -1, (10510, 45000), 0, entry=1510, bytes_read=4096, useful_read=4096)
    run_on(log, first, "dma_read", 10510, 34490)
    run_on(log, first, "hbm", 50000, 16000, unit=0)
    log.program(1, 0, 45000, first=first)
    found = summary(Analysis(log.build(), MACHINE), RUN)
    assert found["bytes"]["noc"] == 4096
    assert found["engines"]["hbm"]["servers"] == 1
    assert (found["issue_cycles"], found["issue_cycles_max"]) == (54, 45)
    assert found["engines"]["dma_read"] == {
        "busy_ns": 72.49,
        "utilization": pytest.approx(72.49 / 230.828),
        "servers": 2,
        "min": pytest.approx(34.49 / 115.414),
        "median": pytest.approx(36.245 / 115.414),
        "max": pytest.approx(38 / 115.414),
    }


def shared_links() -> Log:
    """`one_product` on PEs 0 and 9; 9 reads over link 1 and then link 0, writes over link 0; both are of slice 8."""
    log = one_product()
    log.links = ["sip0.cube1.ucie_w>sip0.cube0.ucie_e", "sip0.cube1.r0c0>sip0.cube1.ucie_w.conn0"]
    first = len(log.rows["records"])
    load, store = log.site("dma_read", 9), log.site("dma_write", 10)
    log.record(load, (0, 9000), -1, (10510, 45000), 0, bytes_read=4096, useful_read=4096)
    log.record(store, (45000, 54000), 1, (54000, 90000), 2, bytes_written=4096)
    run_on(log, first, "hbm", 20000, 16000, unit=8)
    run_on(log, first, "noc", 15000, 8000, unit=1)
    run_on(log, first, "noc", 25000, 4000, count=2, unit=0)
    run_on(log, first + 1, "hbm", 70000, 16000, unit=8)
    run_on(log, first + 1, "noc", 60000, 10000, unit=0)
    log.program(9, 0, 90000, first=first)
    return log


def test_the_busiest_slices_and_links_come_first() -> None:
    """By the time that they are busy, with their share of the latency, also in the report."""
    analysis = Analysis(shared_links().build(), MACHINE)
    found = summary(analysis, RUN)
    assert [(row["link"], row["busy_ns"]) for row in found["links"]] == [
        ("sip0.cube1.ucie_w>sip0.cube0.ucie_e", 18.0),
        ("sip0.cube1.r0c0>sip0.cube1.ucie_w.conn0", 8.0),
    ]
    assert found["links"][0]["utilization"] == pytest.approx(18 / 115.414)
    assert [(row["slice"], row["busy_ns"]) for row in found["slices"]] == [
        ("sip0.cube0.hbm0", 40.0),
        ("sip0.cube1.hbm0", 32.0),
    ]
    assert found["engines"]["noc"]["servers"] == 2
    said = text(report(analysis, RUN))
    rows = [line.split() for line in said.partition("Busiest slices and links\n")[2].splitlines()]
    assert ["sip0.cube1.ucie_w>sip0.cube0.ucie_e", "18.00", "15.6%"] in rows
    assert ["sip0.cube0.hbm0", "40.00", "34.7%"] in rows
    assert "critical PE sip0.cube0.pe0" in said


def test_the_report_of_one_pe_has_no_rows_for_several() -> None:
    """Neither a spread over PEs nor a list of slices."""
    said = text(report(Analysis(one_product().build(), MACHINE), RUN))
    assert "Busiest" not in said and "median" not in said and "critical PE" not in said


def test_busy_over_time_is_the_share_of_each_bin() -> None:
    """Link 0 is busy from 25 to 33 ns and from 60 to 70 ns; the bins are a tenth of the latency, 11.5414 ns."""
    found = busy_over_time(shared_links().build(), "noc", 10)
    assert found.busiest == (0, 1)
    assert found.edges_ps.tolist() == [115414 * i // 10 for i in range(11)]
    busy_ps = (found.share[0] * np.diff(found.edges_ps)).tolist()
    assert busy_ps == pytest.approx([0, 0, 8000, 0, 0, 69248 - 60000, 70000 - 69248, 0, 0, 0])
    assert found.mean(4).tolist() == pytest.approx(((found.share[0] + found.share[1]) / 4).tolist())


def test_busy_over_time_of_short_and_empty_runs() -> None:
    """No more bins than picoseconds; none at all without commands."""
    log = Log()
    site = log.site("gemm", 1)
    log.record(site, (0, 0), -1, (1, 3), 0)
    run_on(log, 0, "gemm", 1, 2)
    log.program(0, 0, 3)
    assert busy_over_time(log.build(), "gemm", 10).share[0].tolist() == [0.0, 1.0, 1.0]
    empty = Log()
    empty.program(0, 0, 0)
    found = busy_over_time(empty.build(), "gemm", 10)
    assert (found.edges_ps.tolist(), found.busiest, found.mean(1).tolist()) == ([0], (), [])


def test_the_gemm_window_of_single_commands_opens_behind_the_last_staged_wait() -> None:
    """load A, wait, load B, gemm, store: it opens with the request of B and closes with the ack."""
    log = Log()
    load, wait, gemm, store = (log.site(kind, 1) for kind in ("dma_read", "wait", "gemm", "dma_write"))
    log.record(load, (0, 9000), -1, (10510, 40000), 0, bytes_read=1)
    log.record(wait, (40000, 48000), 1, (48000, 48000), 2)
    log.record(load, (48000, 57000), 2, (58510, 90000), 4, bytes_read=1)
    log.record(gemm, (90000, 100000), 5, (101010, 120000), 6, flops=65536)
    log.record(store, (120000, 129000), 7, (130510, 151510), 8, bytes_written=1)
    log.program(0, 0, 151510)
    assert gemm_windows(log.build()) == [(58510, 151510)]
    assert summary(Analysis(log.build(), MACHINE), RUN)["gemm"]["tflops"] == pytest.approx(65536 / 93000)


def test_the_gemm_window_of_a_composite_opens_with_its_first_request() -> None:
    """Staging before it is outside; without a write it closes with the last stage; no GEMM, no window."""
    log = Log()
    load, composite = log.site("dma_read", 1), log.site("composite", 2)
    log.record(load, (0, 9000), -1, (10510, 40000), 0, bytes_read=1)
    log.record(composite, (40000, 83000), 1, (84510, 200000), 2, window=84510, flops=1 << 20)
    log.program(0, 0, 200000)
    log.program(0, 200000, 240000, first=0, rows=1, launch=1)
    assert gemm_windows(log.build()) == [(84510, 200000)]


def test_the_report_says_where_the_time_went_and_why() -> None:
    """Latency, parts with command instances and lines, engines, remarks with reasons, outputs, verdict."""
    remarks = (
        Remark("raise-k-loops", "dot", "raised", "", Place("k.py", 5, 5)),
        Remark("match-recipes", "recipe", "refused", "P is stored", Place("k.py", 6, 5)),
    )
    output = {"shape": [32, 32], "dtype": "fp16", "max_abs_err": 1e-3, "max_rel_err": 2e-3, "ok": True}
    run = Run("k.py::kernel", "primitive", "pass", {"c": output}, {}, 7, remarks)
    analysis = Analysis(one_product().build(), MACHINE)
    said = text(report(analysis, run))
    assert summary(analysis, run)["remarks"][1]["reason"] == "P is stored"
    for part in (
        "latency 115.41 ns",
        "check pass",
        "29.00 dma_read (64, 32) at k.py:3 (sip0.cube0.pe0 #1)",
        "5 (dma_read 2, gemm 1, wait 1, dma_write 1)",
        "8,192 B (7,096 asked for)",
        "1 raised",
        "k.py:6: P is stored",
        "32x32",
        "Bound by PE_CPU",
    ):
        assert part in said, said


def test_the_kernel_is_shown_with_what_each_line_holds() -> None:
    """In the order of the text, a line that issues nothing between two that do as well."""
    sources = Sources()
    sources.add("k.py", "\n\na = tl.load(p)\n\nc = tl.dot(a, b)\n")
    found = by_line(Analysis(one_product().build(), MACHINE), sources)
    said = text(found, 180)
    assert said.startswith("Latency by line of k.py\n")
    rows = [[str(cell) for cell in cells] for cells in zip(*(c.cells for c in found.columns), strict=True)]
    assert [row[:4] for row in rows] == [
        ["3", "48.51", "42.0%", "2"],
        ["4", "", "", ""],
        ["5", "27.39", "23.7%", "1"],
        ["6", "8.00", "6.9%", "1"],
        ["7", "31.51", "27.3%", "1"],
    ]
    assert [row[4] for row in rows] == ["8,192", "", "", "", ""]
    assert rows[2][6].startswith("c = tl.dot(a, b)\ngemm 16.38")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("issue", "composite or fused issues fewer"),
        ("dma_read", "the useful bytes move"),
        ("dma_write", "waits for the ack of each store"),
    ],
)
def test_the_verdict_names_what_to_change(part: str, words: str) -> None:
    """One piece of advice for each part that is a tenth of the latency or more."""
    advice = verdict(Analysis(one_product().build(), MACHINE), "primitive").advice
    log = one_product()
    log.rows["records"][1]["useful_read"] = 1000
    padded = verdict(Analysis(log.build(), MACHINE), "primitive").advice
    assert any(words in line and line.startswith(f"{part},") for line in (*advice, *padded)), (advice, padded)


def test_the_text_of_the_op_log_is_the_schedule() -> None:
    """Issues and executions in the order of time, with causes, bytes and what is under way; equal programs are written
    out, each in its own time.
    """
    log = one_product()
    log.program(0, 115414, 230828, first=0, rows=5)
    said = list(lines(log.build(), MACHINE))
    assert len(said) == 1 + 2 * (1 + 5 + 4)  # a wait has no execution
    assert [line.partition("sip0.cube0.pe0  ")[2] for line in said[1:11]] == [
        "          program 0",
        "pe_cpu    #0 dma_read (64, 32)  k.py:3:5  at the start",
        "pe_cpu    #1 dma_read (64, 32)  k.py:3:5  after the issue of #0",
        "dma_read  #0 dma_read (64, 32), 4,096 B read  k.py:3:5  after its issue",
        "dma_read  #1 dma_read (64, 32), 4,096 B read, 3,000 B of them asked for  k.py:3:5  after its issue  beside #0",
        "pe_cpu    #2 gemm  k.py:5:5  after #1",
        "gemm      #2 gemm, 131,072 flops  k.py:5:5  after its issue",
        "pe_cpu    #3 wait  k.py:6:5  after #2",
        "pe_cpu    #4 dma_write (64, 32)  k.py:7:5  after the issue of #3",
        "dma_write #4 dma_write (64, 32), 2,048 B written  k.py:7:5  after its issue",
    ]
    assert said[2].startswith("       0.000 -        9.000  sip0.cube0.pe0  pe_cpu ")
    assert said[11].startswith("     115.414 -      230.828  sip0.cube0.pe0            program 0")
    assert said[16].strip().startswith("163.924 -      173.924  sip0.cube0.pe0  pe_cpu    #7 gemm  k.py:5:5  after #6")


def test_the_text_of_the_op_log_merges_pes_by_time() -> None:
    """Lines that begin together go by PE; a composite has a line for each engine that it used."""
    log = Log()
    site = log.site("composite", 3)
    log.record(site, (0, 43_000), -1, (44_510, 200_000), 0, bytes_read=8192, useful_read=8192)
    run_on(log, 0, "fetch", 90_000, 16_000, count=2)
    run_on(log, 0, "fetch", 106_000, 16_000, count=2)
    run_on(log, 0, "gemm", 122_000, 16_384, count=2)
    log.program(0, 0, 200_000)
    log.program(3, 50_000, 250_000, first=0, rows=1)
    said = [line.split() for line in lines(log.build(), MACHINE)][1:]
    assert [(words[0], words[3], words[4]) for words in said] == [
        ("0.000", "sip0.cube0.pe0", "program"),
        ("0.000", "sip0.cube0.pe0", "pe_cpu"),
        ("44.510", "sip0.cube0.pe0", "pe_sched"),
        ("50.000", "sip0.cube0.pe3", "program"),
        ("50.000", "sip0.cube0.pe3", "pe_cpu"),
        ("90.000", "sip0.cube0.pe0", "fetch"),
        ("94.510", "sip0.cube0.pe3", "pe_sched"),
        ("122.000", "sip0.cube0.pe0", "gemm"),
        ("140.000", "sip0.cube0.pe3", "fetch"),
        ("172.000", "sip0.cube0.pe3", "gemm"),
    ]
    assert (said[5][2], said[7][2]) == ("138.000", "154.768")
    assert "beside" not in " ".join(map(" ".join, said))


def test_many_commands_beside_a_line_are_counted() -> None:
    """Nine loads in flight are more than a line names."""
    log = Log()
    load = log.site("dma_read", 3)
    for i in range(10):
        log.record(load, (9 * i, 9 * i + 9), 2 * i - 2 if i else -1, (100 + 9 * i, 1000), 2 * i)
    log.program(0, 0, 1000)
    said = list(lines(log.build(), MACHINE))
    assert said[-2].endswith("after its issue  beside #0, #1, #2, #3, #4, #5, #6, #7")
    assert said[-1].endswith("after its issue  beside 9 from #0 to #8")
