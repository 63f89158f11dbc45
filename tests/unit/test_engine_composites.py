"""Composites on the engine, against the latency model evaluated tile by tile here, and against themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.engine.commands import Once
from ahbmc.backend_sim.engine.composite import CompositeFlow
from ahbmc.backend_sim.oplog import OpLog, busy_intervals
from ahbmc.backend_sim.target.machine_file import load_machine
from hypothesis import given, settings
from hypothesis import strategies as st
from support_engine import Gemm, column, gemm, math, read, run


def window(log: OpLog, record: int = 0) -> int:
    return int(log.records["end"][record] - log.records["window"][record])


def by_hand(case: Gemm) -> int:
    """The window of one composite in ps, tile by tile from the latency model's text (one group of tiles, own slice)."""
    m, k, n = case.across
    tiles = m * k * n
    operand, out = 2048 * case.element, 1024 * case.out_element
    held, fetch, store = operand * 1000 // 256, 2 * operand * 1000 // 512, out * 1000 // 512
    slice_free, ready = 2000, [0] * tiles
    for _ in range(case.stream_a + case.stream_b):  # all of A, then all of B
        for i in range(tiles):
            slice_free += held
            ready[i] = slice_free + 8000 + 2000 + 1000
    servers: dict[str, int] = {}

    def serve(name: str, time: int, service: int) -> int:
        if not service:
            return time
        servers[name] = max(time, servers.get(name, 0)) + service
        return servers[name]

    end = 0
    for i in range(tiles):
        time = serve("f2", serve("f1", ready[i], fetch), fetch)
        time = serve("math", time, case.before_ps)
        time = serve("gemm", time, 16384 * case.element // 2)
        time = serve("math", time, case.k_math_ps)
        if i % k == k - 1:
            time = serve("s2", serve("s1", serve("math", time, case.out_math_ps), store), store)
            if case.out_hbm:
                start = max(time + 3000, slice_free)
                slice_free = start + out * 1000 // 256
                time = max(slice_free, time + out * 1000 // 256 + 3000) + 8000 + 2000
            end = max(end, time)
    return end


@pytest.mark.parametrize(
    ("shape", "stream_a", "tflops"),
    [
        ((32, 3072, 32), False, 7.178),
        ((32, 3072, 32), True, 3.826),
        ((32, 32, 32), False, 0.0770 * 8),
        ((32, 64, 32), False, 0.1540 * 8),
        ((128, 8, 128), False, 0.662),
        ((32, 32, 32), True, 0.0669 * 8),
        ((32, 64, 32), True, 0.1339 * 8),
        ((128, 8, 128), True, 0.402),
    ],
)
def test_published_throughput(shape: tuple[int, int, int], stream_a: bool, tflops: float) -> None:
    """The published figures of composites, within their print rounding."""
    m, k, n = shape
    log = run([Gemm(m, k, n, stream_a=stream_a).command()])
    assert 2 * m * k * n / window(log) == pytest.approx(tflops, rel=1e-3)


def test_worked_example() -> None:
    """32x3072x32 with A staged: 876.432 ns, and where they go."""
    log = run([Gemm(32, 3072, 32).command()])
    assert window(log) == 876_432
    parts = {k: v for k, v in attribute(log).parts.items() if v}
    assert parts == {
        "issue": 44_510,
        "dma_read": 29_000,
        "fetch": 32_000,
        "gemm": 786_432,
        "store": 8_000,
        "dma_write": 21_000,
    }


def test_walls_of_stages() -> None:
    """The engines' busy times in the worked example: 781, 784 and 786.4 ns."""
    log = run([Gemm(32, 3072, 32).command()])
    busy = {
        e: sum(int((b - a).sum()) for a, b in busy_intervals(log, e).values()) for e in ("dma_read", "fetch", "gemm")
    }
    assert busy == {"dma_read": 781_000, "fetch": 784_000, "gemm": 786_432}


CASES = st.builds(
    Gemm,
    st.integers(1, 130),
    st.integers(1, 400),
    st.integers(1, 130),
    stream_a=st.booleans(),
    stream_b=st.booleans(),
    out_hbm=st.booleans(),
    element=st.sampled_from((2, 4)),
    out_element=st.sampled_from((2, 4)),
)
MATHS = st.sampled_from(({}, {"before_ps": 20000}, {"k_math_ps": 4000}, {"k_math_ps": 30000}, {"out_math_ps": 9000}))


@settings(max_examples=60, deadline=None)
@given(CASES, MATHS)
def test_any_composite_takes_what_the_model_says(case: Gemm, maths: dict[str, int]) -> None:
    """Random extents, staging, types and MATH per tile: the engine gives what the recurrence written out here gives."""
    case = replace(case, **maths)
    log = run([case.command()])
    assert window(log) == by_hand(case)


def without_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompositeFlow, "plain", property(lambda _: False, lambda _, value: None), raising=False)


@settings(max_examples=30, deadline=None)
@given(CASES, MATHS, st.sampled_from((7, 64, 1024)))
def test_trains_and_single_requests_agree(case: Gemm, maths: dict[str, int], group: int) -> None:
    """A pass over trains and a request per stage and tile give the same records, segments and busy times."""
    case, machine = replace(case, **maths), load_machine("ahbm-2sip", (f"pe.sched.stream_tiles={group}",))
    fast = run([case.command()], machine=machine)
    with pytest.MonkeyPatch.context() as patch:
        without_trains(patch)
        exact = run([case.command()], machine=machine)
    for table in ("records", "segments"):
        for name, values in getattr(fast, table).items():
            assert values.tolist() == getattr(exact, table)[name].tolist(), (table, name)
    for engine in ("fetch", "gemm", "math", "store", "hbm", "dma_read", "dma_write"):
        some, other = busy_intervals(fast, engine), busy_intervals(exact, engine)
        assert [(a.tolist(), b.tolist()) for a, b in some.values()] == [
            (a.tolist(), b.tolist()) for a, b in other.values()
        ]


def test_groups_of_tiles_follow_each_other() -> None:
    """The reads of the second group leave when the last tile of the first has left FETCH."""
    log = run([Gemm(32, 64 * 1025, 32).command()])
    # 1024 tiles: GEMM-bound; FETCH is done 16 ns after the last of them came in.
    sent = 44_510
    first_done = sent + 13_000 + 1024 * 16_000 + 16_000 + 16_000
    reads = log.runs["start"][log.runs["engine"] == 1].tolist()
    assert reads == [sent, first_done]


def test_staged_operand_is_awaited_by_pe_cpu() -> None:
    """A composite is issued when the load of its staged operand has ended; its streams do not count."""
    log = run([read((0, 1000), 65536), Gemm(32, 64, 32).command()])
    assert column(log, "issue_start")[1] == column(log, "end")[0]


def test_result_of_a_composite_is_awaited_in_pe_sched() -> None:
    """A second composite that takes the first's result is issued at once; its FETCH waits, its reads do not."""
    first = Gemm(32, 256, 32, out_hbm=False, out=(2000, 3000))
    second = Gemm(32, 64, 32, a=(2000, 3000), out=(4000, 5000), base=1 << 34)
    log = run([first.command(), second.command()])
    assert column(log, "issue_start") == [0, 43_000]
    assert column(log, "start")[1] == 86_000 + 1510
    assert column(log, "end")[1] == column(log, "end")[0] + 32_000 + 16_384 + 8_000 + 21_000
    assert column(log, "cause")[1] == 1


def test_single_op_consumer_waits_for_the_whole_composite() -> None:
    """MATH on a composite's result is issued when the composite has ended."""
    log = run([Gemm(64, 256, 64, out_hbm=False).command(), math(1000, [(2500, 2600)], (9000, 9100))])
    assert column(log, "issue_start")[1] == column(log, "end")[0]


def test_output_in_use_delays_only_the_store() -> None:
    """A composite that writes what a load still fills stores when the load has ended; its GEMM runs before."""
    slow = read((2000, 3000), 1 << 20)
    log = run([slow, Gemm(32, 64, 32, stream_b=False, out_hbm=False).command()])
    assert column(log, "end")[1] == column(log, "end")[0] + 8_000


def test_streamed_bytes_that_are_being_written_are_awaited() -> None:
    """A composite reads from HBM what the one before writes there only when that has been acknowledged."""
    first = Gemm(32, 64, 32)
    second = Gemm(32, 64, 32, base=1 << 30)  # its B lies where the output of the first does
    log = run([first.command(), second.command()])
    assert log.records["window"][1] == log.records["end"][0]


def test_reads_of_the_next_composite_overlap() -> None:
    """Without hazards the second composite's reads queue at the slice behind the first's, and the GEMM stays busy."""
    one = Gemm(32, 64 * 20, 32, out_hbm=False)
    two = replace(one, out=(5000, 6000))
    log = run([one.command(), two.command()])
    alone = run([one.command()])
    gemm_end = int(busy_intervals(log, "gemm")[0][1][-1])
    assert len(busy_intervals(log, "gemm")[0][0]) == 1
    assert gemm_end == int(busy_intervals(alone, "gemm")[0][1][-1]) + 20 * 16_384


def test_servers_take_what_is_ready_first() -> None:
    """MATH serves a later composite before an op of an earlier one that is not ready yet."""
    slow = Once(4000, ((0, 100),), ((100, 200),))
    quick = Once(4000, ((500, 600),), ((600, 700),))
    first = replace(Gemm(32, 64, 32, out_hbm=False, once=(slow,), a=(7000, 7100)), issue=43_000).command()
    second = Gemm(32, 64, 32, out_hbm=False, once=(quick,), a=(8000, 8100), out=(8200, 8300), base=1 << 34).command()
    producer = Gemm(32, 2048, 32, out_hbm=False, a=(9000, 9100), out=(0, 100), base=1 << 35).command()
    log = run([producer, first, second])
    assert log.records["start"][1] == log.records["end"][0]
    assert log.records["start"][2] == log.records["issue_end"][2] + 1010


def test_reads_follow_the_ops_before_the_gemm() -> None:
    """A composite's streamed reads leave when its last op before the GEMM has ended."""
    ops = (Once(4000, (), ((100, 200),)), Once(5000, ((100, 200),), ((200, 300),)))
    log = run([Gemm(32, 64, 32, out_hbm=False, once=ops).command()])
    assert log.records["start"][0] == 43_000 + 1010
    assert log.records["window"][0] == 43_000 + 1010 + 9000


def test_single_ops_and_tiles_share_the_gemm_engine() -> None:
    """A gemm command is served between the tiles of a composite in flight, which then wait for it."""
    tiles = Gemm(32, 64 * 10, 32, out_hbm=False)
    log = run([tiles.command(), gemm(100_000, [], (9000, 9100))])
    alone = run([tiles.command()])
    assert log.records["end"][0] > alone.records["end"][0]
    starts, ends = busy_intervals(log, "gemm")[0]
    assert int((ends - starts).sum()) == 10 * 16_384 + 100_000


def test_order_of_hbm_requests_is_by_arrival() -> None:
    """A store's write to a slice full of queued reads is served after those that arrived before it."""
    log = run([Gemm(128, 8, 128).command()])
    busy = busy_intervals(log, "hbm")[0]
    assert [int(x) for x in (busy[1] - busy[0])] == [256_000 + 16 * 8_000]
