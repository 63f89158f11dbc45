"""Single-op commands on the engine: issue, entry, blocking, hazards, and the figures of the latency model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.engine.commands import Dma, Fill, Hold
from ahbmc.backend_sim.oplog import ENGINES, busy_intervals
from ahbmc.backend_sim.target.machine_file import load_machine
from support_engine import CYCLES, column, gemm, math, read, run, wait, write

A, B, C, D = (0, 100), (100, 200), (200, 300), (300, 400)


@pytest.mark.parametrize("command", [read(A, 32768), write(A, 32768)], ids=["read", "write"])
def test_local_transfer_of_32_kib_takes_141_ns(command: Dma) -> None:
    """A transfer with the PE's own slice: 32 KiB / 256 GB/s + 13 ns, after 9 ns of issue and 1.51 ns of entry."""
    log = run([command])
    assert column(log, "start") == [10510]
    assert log.records["end"][0] - log.records["start"][0] == 141_000
    assert column(log, "entry") == [1510]


@pytest.mark.parametrize(("owner", "ns"), [(0, 141.00), (1, 147.87), (4, 161.17)])
def test_remote_write_of_32_kib(owner: int, ns: float) -> None:
    """Probe of the PE's DMA: own slice, same half and other half of the cube."""
    log = run([write(A, 32768, owner=owner)], slices={0: [owner]})
    assert (log.records["end"][0] - log.records["start"][0]) / 1000 == pytest.approx(ns, abs=0.006)


def test_loads_do_not_block_and_a_consumer_waits_before_its_issue() -> None:
    """Two loads go out 9 ns apart; the gemm's issue begins when the later of its operands is there."""
    log = run([read(A, 4096), read(B, 4096), gemm(5000, [A, B], C)])
    assert column(log, "issue_start") == [0, 9000, 55510]
    # The second read arrives at the slice behind the first: 16 ns later, not 9.
    assert column(log, "end") == [39510, 55510, 55510 + 10000 + 1010 + 5000]
    assert column(log, "issue_cause")[2] == 2 * 1 + 1


def test_a_store_blocks_until_its_ack() -> None:
    """The command after a store is issued when the ack is back."""
    log = run([write(A, 2048), math(4000, [], B)])
    assert column(log, "end")[0] == 10510 + 21000
    assert column(log, "issue_start")[1] == 31510


def test_gemm_and_math_block() -> None:
    """Each single-op compute command holds PE_CPU until its end: issue, entry, service in turn."""
    log = run([gemm(16384, [], A), math(4000, [A], B), math(4000, [B], C)])
    assert column(log, "end") == [27394, 27394 + 15010, 27394 + 2 * 15010]


def test_write_after_read_waits_at_the_engine() -> None:
    """A load into bytes that a load in flight fills is issued at once but leaves only when the first has ended."""
    log = run([read(A, 4096), read(A, 4096, at=1 << 20)])
    assert column(log, "issue_start") == [0, 9000]
    assert column(log, "start") == [10510, 39510]
    assert column(log, "cause")[1] == 1


def test_partly_overlapping_ranges_conflict() -> None:
    """Hazards go by bytes: a range that begins inside another's conflicts, one that touches its end does not."""
    inside = run([read((0, 100), 4096), math(1000, [(99, 120)], D)])
    outside = run([read((0, 100), 4096), math(1000, [(100, 120)], D)])
    assert column(inside, "issue_start")[1] == 39510
    assert column(outside, "issue_start")[1] == 9000


def test_store_of_bytes_that_a_load_still_reads_waits() -> None:
    """A write to HBM waits for a load in flight of the same bytes, at the DMA engine."""
    same = run([read(A, 65536, at=0), write(B, 256, at=100)])
    other = run([read(A, 65536, at=0), write(B, 256, at=1 << 20)])
    assert column(same, "start")[1] == column(same, "end")[0]
    assert column(other, "start")[1] == 18000 + 1510


def test_wait_costs_its_own_issue_and_counts_as_wait() -> None:
    """`wait` pays 8 cycles after what it waits for; the parts say so."""
    log = run([read(A, 4096), wait([A])])
    assert log.latency_ps == 39510 + 8000
    parts = attribute(log).parts
    assert (parts["wait"], parts["dma_read"], parts["issue"]) == (8000, 29000, 10510)


def test_cycles_hold_pe_cpu_exactly() -> None:
    """`cycles` costs what it says and nothing more."""
    log = run([Hold(CYCLES, 123_000), math(1000, [], A)])
    assert column(log, "issue_start") == [0, 123_000]


def test_fill_is_free_but_waits_for_users() -> None:
    """A filled buffer may be read at once, unless a load in flight still writes it."""
    free = run([Fill((A,)), math(1000, [A], B)])
    held = run([read(A, 4096), Fill((A,)), math(1000, [A], B)])
    assert free.latency_ps == 12010
    assert column(held, "issue_start")[1] == 39510


def test_nothing_to_move_ends_at_once() -> None:
    """A transfer whose lanes are all masked off pays its issue and entry only."""
    log = run([read(A, 0)])
    assert log.latency_ps == 10510
    assert column(log, "bytes_read") == [0]


def test_busy_time_of_engines() -> None:
    """Each engine is busy while it serves, DMA while a transfer is in flight."""
    log = run([read(A, 4096), read(B, 4096), gemm(5000, [A, B], C), write(C, 2048)])
    busy = {e: sum(int((b - a).sum()) for a, b in busy_intervals(log, e).values()) for e in ENGINES}
    assert busy["dma_read"] == 45000
    assert busy["hbm"] == 16000 + 16000 + 8000
    assert (busy["gemm"], busy["dma_write"], busy["pe_cpu"]) == (5000, 21000, 37000)


def test_copies_of_one_op_log_are_equal_byte_for_byte() -> None:
    """Two runs of the same commands give the same op-log."""
    commands = [read(A, 4096), read(B, 300), gemm(5000, [A, B], C), write(C, 2048)]
    assert run(commands).hash() == run(commands).hash()


BURSTS = load_machine("ahbm-2sip", ("hbm.strided=bursts",))


def by_bursts(command: Dma, channels: tuple[int, ...]) -> Dma:
    ((owner, size, _),) = command.shares
    return replace(command, shares=((owner, size, channels),))


@pytest.mark.parametrize("command", [read(A, 32768), write(A, 32768)], ids=["read", "write"])
def test_contiguous_bursts_cost_what_packed_costs(command: Dma) -> None:
    """128 bursts round the eight channels: 141 ns, as one server."""
    log = run([by_bursts(command, (16,) * 8)], machine=BURSTS)
    assert log.records["end"][0] - log.records["start"][0] == 141_000


def test_bursts_on_one_channel_follow_each_other() -> None:
    """32 runs on one channel: 32 x 8 ns, then the last flit's way of 2 ns (the head has paid the router); a read on
    another channel does not wait."""
    slow, other = by_bursts(read(A, 4096), (32, *[0] * 7)), by_bursts(read(B, 256), (0, 1, *[0] * 6))
    log = run([slow, other], machine=BURSTS)
    assert column(log, "end") == [10_510 + 2000 + 256_000 + 2000, 18_000 + 1510 + 14_000]


def test_reads_and_writes_share_a_channel() -> None:
    """A write behind a read on the same channel waits for its bursts, and its time goes on from the read's."""
    log = run(
        [by_bursts(read(A, 4096), (32, *[0] * 7)), by_bursts(write(B, 256, at=1 << 20), (1, *[0] * 7))], machine=BURSTS
    )
    assert column(log, "end")[1] == 10_510 + 2000 + 256_000 + 8_000 + 2_000
    assert column(log, "cause")[1] == 1
