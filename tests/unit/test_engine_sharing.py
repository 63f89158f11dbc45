"""Several PEs and several programs: slices that are shared, the rule for ties, programs that run alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.engine.commands import Command, Range
from ahbmc.backend_sim.engine.network import Network
from ahbmc.backend_sim.engine.way import Way
from ahbmc.backend_sim.oplog import ENGINES, OpLog, busy_intervals
from hypothesis import given, settings
from hypothesis import strategies as st
from support_engine import MACHINE, Gemm, column, gemm, hbm, math, read, run, wait, write

A, B, C = (0, 100), (100, 200), (200, 300)
SHARED = dict.fromkeys(range(8), (0,))


def ends(log: OpLog) -> dict[int, int]:
    """End of the last program of each PE."""
    found: dict[int, int] = {}
    for pe, end in zip(log.programs["pe"].tolist(), log.programs["end"].tolist(), strict=True):
        found[pe] = max(end, found.get(pe, 0))
    return found


def by_pe(log: OpLog, name: str) -> list[int]:
    """A column of the first record of each program, by PE."""
    return [int(log.records[name][first]) for first in log.programs["first"].tolist()]


def test_private_slices_do_not_interfere() -> None:
    """Eight PEs on their own slices take as long as one."""
    one = run([read(A, 65536)])
    eight = run({pe: [[read(A, 65536, owner=pe)]] for pe in range(8)}, slices={pe: (pe,) for pe in range(8)})
    assert set(ends(eight).values()) == {one.latency_ps}


def test_a_shared_slice_is_served_in_the_order_of_arrival() -> None:
    """PE 0 is nearest to its slice; requests of others arrive later and queue, which their attribution says."""
    log = run({0: [[read(A, 65536)]], 4: [[read(A, 65536)]]}, slices=SHARED)
    alone = run({4: [[read(A, 65536)]]}, slices=SHARED)
    queue = log.records["queue"].tolist()
    assert queue[0] == 0 and queue[1] > 0
    assert ends(log)[4] == alone.latency_ps + queue[1]
    assert attribute(log).parts["queue"] == queue[1]
    assert sum(int((b - a).sum()) for a, b in busy_intervals(log, "hbm").values()) == 2 * 256_000


def request_ps(pe: int) -> int:
    """From the sending of a read until it arrives at slice 0."""
    network = Network(MACHINE)
    return Way(network, pe, network.slice_of(0)).request_ps


@pytest.mark.parametrize(("late", "queue"), [(0, [0, 16_000]), (-1, [15_999, 0]), (1, [0, 15_999])])
def test_ties_go_to_the_lower_pe(late: int, queue: list[int]) -> None:
    """Of two requests that arrive at one instant the lower PE's is served first; a picosecond decides otherwise."""
    issue = 20_000 + request_ps(0) - request_ps(1) + late
    log = run({0: [[read(A, 4096, issue=20_000)]], 1: [[read(A, 4096, issue=issue)]]}, slices=SHARED)
    assert by_pe(log, "queue") == queue


def test_reads_come_before_writes_at_the_same_instant() -> None:
    """A read of a higher PE that arrives with a write of a lower one is served first."""
    head_at_slice = 20_000 + 1000 + 2000
    reading = read(A, 4096, issue=head_at_slice - request_ps(1))
    log = run({0: [[write(A, 256, issue=20_000)]], 1: [[reading]]}, slices=SHARED)
    assert by_pe(log, "queue") == [16_000, 0]


def test_composites_of_two_pes_share_a_slice() -> None:
    """All reads of a group arrive together: the first PE's group is served before the second's."""
    one, two = Gemm(32, 640, 32, out_hbm=False), Gemm(32, 640, 32, out_hbm=False)
    log = run({0: [[one.command()]], 1: [[two.command()]]}, slices=SHARED)
    alone = run([one.command()])
    assert ends(log)[0] == alone.latency_ps
    assert ends(log)[1] > alone.latency_ps + 9 * 16_000
    assert attribute(log).parts["queue"] > 0


def test_programs_of_a_pe_run_in_turn() -> None:
    """Each program starts when the last command of the one before has ended."""
    log = run({0: [[read(A, 4096)], [read(B, 256), math(4000, [B], C)], []]})
    programs = log.programs
    assert programs["start"].tolist()[1:] == programs["end"].tolist()[:-1]
    assert programs["number"].tolist() == [0, 1, 3]


def test_alike_programs_share_their_records() -> None:
    """Equal programs are run once; counts, times and busy intervals are those of running each."""
    commands = [read(A, 4096), read(B, 4096), gemm(5000, [A, B], C), write(C, 2048)]
    once = run({0: [commands] * 50}, keys=True)
    each = run({0: [commands] * 50})
    assert len(once.records["site"]) == 4 and len(each.records["site"]) == 200
    assert once.commands() == each.commands()
    assert once.programs["end"].tolist() == each.programs["end"].tolist()
    assert once.total("bytes_read") == each.total("bytes_read") == 50 * 8192
    assert attribute(once).parts == attribute(each).parts
    for engine in ENGINES:
        some, other = busy_intervals(once, engine), busy_intervals(each, engine)
        assert list(some) == list(other)
        assert all(np.array_equal(x, y) for pe in some for x, y in zip(some[pe], other[pe], strict=True))


@st.composite
def commands(draw: st.DrawFn) -> Command:
    """Any command: scratch ranges that overlap or not, addresses in two tensors, two slices."""

    def tcm() -> Range:
        start = 50 * draw(st.integers(0, 12))
        return start, start + 100

    size = draw(st.sampled_from((1, 100, 256, 300, 4096, 70_000)))
    owner, at = draw(st.integers(0, 1)), 1000 * draw(st.integers(0, 9))
    match draw(st.sampled_from(("read", "write", "gemm", "math", "wait", "composite"))):
        case "read":
            return read(tcm(), size, owner=owner, at=at)
        case "write":
            return write(tcm(), size, owner=owner, at=at)
        case "gemm":
            return gemm(7000, [tcm(), tcm()], tcm())
        case "math":
            return math(4000, [tcm()], tcm())
        case "wait":
            return wait([tcm()])
        case _:
            m, k, base = draw(st.integers(1, 70)), draw(st.integers(1, 300)), draw(st.integers(0, 2)) << 20
            out_hbm, out_math = draw(st.booleans()), draw(st.sampled_from((0, 4000)))
            return Gemm(m, k, 40, a=tcm(), out=tcm(), out_hbm=out_hbm, base=base, out_math_ps=out_math).command()


SATURATED = [read(A, 4096), read(B, 4096), math(4000, [A, B], A), write(A, 4096)]


def same_times(fast: OpLog, exact: OpLog) -> None:
    """Every program starts and ends at the same time, engines are busy at the same times, and it has the same
    reasons.
    """
    for name in ("launch", "pe", "program", "start", "end", "number"):
        assert fast.programs[name].tolist() == exact.programs[name].tolist(), name
    assert fast.commands() == exact.commands()
    assert attribute(fast).parts == attribute(exact).parts
    for engine in ENGINES:
        some, other = busy_intervals(fast, engine), busy_intervals(exact, engine)
        assert [(a.tolist(), b.tolist()) for a, b in some.values()] == [
            (a.tolist(), b.tolist()) for a, b in other.values()
        ]


def test_programs_that_fall_into_step_are_not_run_again() -> None:
    """Eight PEs that saturate one slice: most programs are skipped, at the times at which they would have run."""
    given = {pe: [SATURATED] * 300 + [[read(A, 100)]] for pe in range(8)}
    fast = run(given, slices=SHARED, keys=True)
    assert len(fast.records["site"]) < 8 * 300
    same_times(fast, run(given, slices=SHARED, exact=True))


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_skipping_changes_no_time(data: st.DataObject) -> None:
    """Random programs, repeated in random patterns, on PEs that share slices."""
    kinds = data.draw(st.lists(st.lists(commands(), min_size=1, max_size=4), min_size=1, max_size=2))
    given = {
        pe: [kinds[k] for k in data.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=3))] * 20
        for pe in range(data.draw(st.integers(1, 3)))
    }
    slices = dict.fromkeys(given, (0, 1))
    same_times(run(given, slices=slices, keys=True), run(given, slices=slices, exact=True))


PROGRAMS = st.lists(commands(), min_size=1, max_size=9)


@settings(max_examples=50, deadline=None)
@given(st.lists(PROGRAMS, min_size=1, max_size=3))
def test_invariants_of_any_op_log(programs: list[list[Command]]) -> None:
    """Random commands on one to three PEs: exclusive servers, causality, bytes, a complete attribution, determinism."""
    given = {pe: [p] for pe, p in enumerate(programs)}
    slices = dict.fromkeys(given, (0, 1))
    log = run(given, slices=slices)
    assert log.hash() == run(given, slices=slices).hash()
    records = log.records
    assert (records["issue_start"] <= records["issue_end"]).all()
    assert (records["issue_end"] <= records["start"]).all() and (records["start"] <= records["end"]).all()
    for start, end, first, rows in zip(
        *(log.programs[n].tolist() for n in ("start", "end", "first", "rows")), strict=True
    ):
        assert rows == 0 or int(records["end"][first : first + rows].max()) == end - start
    check_servers(log)
    moved = sum(
        int(n) * int(service)
        for n, service, engine in zip(log.runs["count"], log.runs["service"], log.runs["engine"], strict=True)
        if engine == ENGINES.index("hbm")
    )
    assert moved == pytest.approx(
        (log.total("bytes_read") + log.total("bytes_written")) * 1000 / 256, abs=len(log.runs["count"])
    )


def check_servers(log: OpLog) -> None:
    """Single servers never serve two at once; FETCH and STORE are two servers each, DMA takes any number."""
    for engine, servers in (("gemm", 1), ("math", 1), ("hbm", 1), ("fetch", 2), ("store", 2)):
        spans: dict[int, list[tuple[int, int]]] = {}
        rows = np.flatnonzero(log.runs["engine"] == ENGINES.index(engine))
        for row in rows.tolist():
            run_ = {name: int(values[row]) for name, values in log.runs.items()}
            after = run_["record"] - log.programs["first"]
            program = int(np.flatnonzero((after >= 0) & (after < log.programs["rows"]))[0])
            owner = run_["unit"] if run_["unit"] >= 0 else int(log.programs["pe"][program])
            start = int(log.programs["start"][program]) + run_["start"]
            spans.setdefault(owner, []).extend(
                (start + k * run_["period"], start + k * run_["period"] + run_["service"]) for k in range(run_["count"])
            )
        for found in spans.values():
            edges = sorted([(a, 1) for a, _ in found] + [(b, -1) for _, b in found], key=lambda e: (e[0], e[1]))
            depth = np.cumsum([d for _, d in edges])
            assert depth.max() <= servers, engine
            assert all(a <= b for (a, _), (b, _) in pairwise(edges))


def test_hbm_ranges_of_helpers_do_not_overlap() -> None:
    """The helper's addresses are what the hazards of these tests rest on."""
    assert hbm(0, 10)[1] == hbm(10)[0]
    assert column(run([read(A, 256)]), "bytes_read") == [256]
