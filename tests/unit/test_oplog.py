"""The op-log as a file, its hash, and its busy intervals."""

from __future__ import annotations

from io import BytesIO

from ahbmc.backend_sim.oplog import TABLES, busy_intervals, read_oplog
from support_engine import Gemm, read, run, write

A, B = (0, 100), (100, 200)


def test_a_written_op_log_reads_back() -> None:
    """Header, sites and every column survive the file; the hash is that of the bytes."""
    log = run([read(A, 4096), Gemm(64, 300, 64).command(), write(B, 300)])
    file = BytesIO()
    log.write(file)
    file.seek(0)
    again = read_oplog(file)
    assert again.hash() == log.hash()
    assert again.sites == log.sites and again.header == log.header
    for table, columns in TABLES.items():
        for column in columns:
            assert getattr(again, table)[column].tolist() == getattr(log, table)[column].tolist()


def test_the_hash_tells_op_logs_apart() -> None:
    """A picosecond more of issue is another op-log."""
    assert run([read(A, 4096)]).hash() != run([read(A, 4096, issue=9001)]).hash()


def test_busy_intervals_are_unions() -> None:
    """Transfers in flight that overlap are one interval; those apart are two."""
    together = run([read(A, 4096), read(B, 4096)])
    apart = run([write(A, 256), write(B, 256)])
    assert [x.tolist() for x in busy_intervals(together, "dma_read")[0]] == [[10_510], [55_510]]
    starts, ends = (x.tolist() for x in busy_intervals(apart, "dma_write")[0])
    assert len(starts) == 2 and ends[0] < starts[1]


def test_an_empty_program_has_no_records() -> None:
    """A program without commands takes no time."""
    log = run({0: [[]]})
    assert log.latency_ps == 0 and log.commands() == {"total": 0}
    assert busy_intervals(log, "gemm") == {}
