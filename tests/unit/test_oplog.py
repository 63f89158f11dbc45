"""The op-log as files of each format, its hash, and its busy intervals."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runline
from ahbmc.backend_sim import oplog_files
from ahbmc.backend_sim.oplog import SCHEMA_VERSION, TABLES, OpLog, busy_intervals
from ahbmc.backend_sim.oplog_files import check_writable, read_oplog, write_oplog
from ahbmc.dialects.errors import AhbmcError
from ahbmc.driver.main import main
from support_engine import Gemm, read, run, write

A, B = (0, 100), (100, 200)


NAMES = ("log.ahbmlog", "log.jsonl", "log.parquet")


def small() -> OpLog:
    """A program with all tables, as a simulation makes it."""
    log = run([read(A, 4096), Gemm(64, 300, 64).command(), write(B, 300)])
    return replace(log, header={"schema": SCHEMA_VERSION, "links": ["a>b"]})


@pytest.mark.parametrize("name", NAMES)
def test_a_written_op_log_reads_back(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Header, sites and every column survive each format, written in blocks of a few rows; the hash is the same."""
    monkeypatch.setattr(oplog_files, "_ROWS", 3)
    log = small()
    write_oplog(log, tmp_path / name)
    again = read_oplog(tmp_path / name)
    assert again.hash() == log.hash()
    assert again.sites == log.sites and again.header == log.header
    for table, columns in TABLES.items():
        for column in columns:
            assert getattr(again, table)[column].tolist() == getattr(log, table)[column].tolist()
            assert getattr(again, table)[column].dtype == np.int64


@pytest.mark.parametrize("name", NAMES)
def test_an_op_log_without_commands_reads_back(name: str, tmp_path: Path) -> None:
    """Empty tables are tables."""
    log = run({0: [[]]})
    log = replace(log, header={"schema": SCHEMA_VERSION}, sites=())
    write_oplog(log, tmp_path / name)
    assert read_oplog(tmp_path / name).hash() == log.hash()


def test_parquet_streams_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of rows is a row group, so that neither writer nor reader needs the whole table."""
    monkeypatch.setattr(oplog_files, "_ROWS", 2)
    log = small()
    write_oplog(log, tmp_path / "log.parquet")
    parquet: Any = import_module("pyarrow.parquet")
    file = parquet.ParquetFile(tmp_path / "log.parquet" / "runs.parquet")
    assert file.num_row_groups == -(-len(log.runs["record"]) // 2) > 1


def test_json_lines_say_what_they_are(tmp_path: Path) -> None:
    """One header, then one object per row, with its table and its columns by name."""
    log = small()
    write_oplog(log, tmp_path / "log.jsonl")
    head, *rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert head["header"] == log.header and head["rows"]["records"] == 3
    assert [row["kind"] for row in rows if row["table"] == "sites"] == [site.kind for site in log.sites]
    ends = [row["end"] for row in rows if row["table"] == "records"]
    assert ends == log.records["end"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_op_log_is_refused(name: str, tmp_path: Path) -> None:
    """A file that is not there, another file, an op-log that is cut off, an op-log of another version: one error."""
    path = tmp_path / name
    with pytest.raises(AhbmcError, match="cannot read"):
        read_oplog(path)
    write_oplog(small(), path)
    cut = path / "runs.parquet" if path.is_dir() else path
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(AhbmcError, match="is no op-log, or a part of one"):
        read_oplog(path)
    write_oplog(replace(small(), header={"schema": 1}), path)
    with pytest.raises(AhbmcError, match="is an op-log of version 1; this is version 3"):
        read_oplog(path)
    head = path / "header.json" if path.is_dir() else path
    head.write_text("[1, 2]\n")
    with pytest.raises(AhbmcError, match="is no op-log, or a part of one"):
        read_oplog(path)


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra and the format that needs none; other formats do not ask."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(AhbmcError, match="needs the library pyarrow") as caught:
        check_writable(Path("log.parquet"))
    assert caught.value.faults[0].hint == (
        "install it with `pip install 'ahbmc[parquet]'`, or give a name that ends in .jsonl"
    )
    check_writable(Path("log.jsonl"))


PAGE = (Path(__file__).parents[2] / "docs" / "oplog.md").read_text(encoding="utf-8")


def test_the_page_has_every_table_with_its_columns() -> None:
    """In their order."""
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", PAGE, flags=re.MULTILINE))
    columns = {name: re.findall(r"`(\w+)`", text) for name, text in rows.items()}
    assert columns == {"sites": list(oplog_files._SITE_COLUMNS), **{name: [*of] for name, of in TABLES.items()}}  # pyright: ignore[reportPrivateUsage]


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reads an op-log and prints its latency first."""
    monkeypatch.chdir(tmp_path)
    log = small()
    write_oplog(log, Path("run.jsonl"))
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.startswith(f"{log.latency_ps} {log.commands()}")


def test_the_schedule_of_the_page_is_as_it_checks(tmp_path: Path) -> None:
    """The kernel and the launch of the page, run as its RUN line says."""
    for language, name in (("mlir", "early.mlir"), ("yaml", "launch.yaml")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
        (tmp_path / name).write_text(block)
    (command,) = runline.run_lines((tmp_path / "early.mlir").read_text())
    result = runline.run(command, tmp_path / "early.mlir", {"ahbmc": lambda words: main(words)}, tmp_path)
    assert result.code == 0, result.err


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
