"""The same op-log, byte for byte, in two runs, two processes and two hash seeds; the same times in both modes; and what
a PE does does not depend on what other PEs do elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.oplog import ENGINES, OpLog, busy_intervals
from ahbmc.driver.compile_cache import forget
from ahbmc.driver.run import run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"
# 64 PEs of eight cubes that wait for each other at the slices of one, more than one program on some.
MANY = ("map.pes=sip0.cube0-7.pe0-7", "args.M=900", "args.N=400", "args.K=192")
# Programs in turn on one PE, with composites, alike in part.
ALONE = ("args.S=512",)
CASES = [("matmul", MANY), ("flash_attention", ALONE)]


def log_of(
    name: str, overrides: tuple[str, ...], *, exact: bool = False, timing_only: bool = True, links: bool = False
) -> OpLog:
    path = EXAMPLES / f"{name}.yaml"
    forget()  # compiling is to be the same too
    outcome = run_workload(path, overrides=overrides, timing_only=timing_only, exact=exact, links=links)
    return outcome.executed.execution.oplog


@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_two_runs_leave_the_same_op_log(name: str, overrides: tuple[str, ...]) -> None:
    """Byte for byte, with and without values."""
    logs = [b"".join(log_of(name, overrides, timing_only=t).chunks()) for t in (True, True, False)]
    assert logs[0] == logs[1] == logs[2]


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "seed"), [("fast", "1"), ("fast", "2"), ("exact", "1")])
def test_the_op_log_does_not_depend_on_process_and_hash_seed(mode: str, seed: str, tmp_path: Path) -> None:
    """Processes with different hash seeds write the bytes that this one does, the hash of the IR in them included."""
    name, overrides = CASES[mode == "exact"]
    file = tmp_path / "log"
    command = [sys.executable, "-m", "ahbmc.driver.main", "run", str(EXAMPLES / f"{name}.yaml"), "--timing-only"]
    command += ["--simulate", mode, "--oplog", str(file), *(word for o in overrides for word in ("--set", o))]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
    written = file.read_bytes()
    assert written == b"".join(log_of(name, overrides, exact=mode == "exact", links=True).chunks())
    assert len(written) > 10_000


@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_exact_and_fast_leave_the_same_records(name: str, overrides: tuple[str, ...]) -> None:
    """Every program, command instance and busy interval; `fast` keeps those of alike programs once."""
    fast, exact = log_of(name, overrides), log_of(name, overrides, exact=True)
    assert list(instances(fast)) == list(instances(exact))
    assert attribute(fast).parts == attribute(exact).parts
    for engine in ENGINES:
        some, other = busy_intervals(fast, engine), busy_intervals(exact, engine)
        names = [log.links if engine == "noc" else range(256) for log in (fast, exact)]
        assert {names[0][k]: (a.tolist(), b.tolist()) for k, (a, b) in some.items()} == {
            names[1][k]: (a.tolist(), b.tolist()) for k, (a, b) in other.items()
        }


# (cubes, PEs of each, slices of each that hold the data): what PEs do alone, and the same beside others.
BESIDE = [
    pytest.param((1, 4, 4), (1, 8, 8), id="other slices of the cube"),
    pytest.param((1, 8, 8), (3, 8, 8), id="other cubes"),
    pytest.param((1, 8, 1), (3, 8, 1), id="PEs that share a slice, beside other cubes that do"),
]


@pytest.mark.parametrize("mode", ["fast", "exact"])
@pytest.mark.parametrize(("alone", "beside"), BESIDE)
def test_unrelated_work_of_other_pes_changes_nothing(
    alone: tuple[int, int, int], beside: tuple[int, int, int], mode: str, tmp_path: Path
) -> None:
    """A launch on some PEs, and one on more of them whose data lie on slices that the first do not use: the records of
    the first are the same."""
    logs = [vector_add(tmp_path, *size, exact=mode == "exact") for size in (alone, beside)]
    found = [instances_of(log, logs[0]) for log in logs]
    assert len(logs[1].programs["pe"]) > len(logs[0].programs["pe"])
    assert found[0] == found[1]
    assert len(found[0]) == logs[0].commands()["total"] > 0


def test_related_work_of_other_pes_does_change_something(tmp_path: Path) -> None:
    """PEs that use the same slice: what the test above compares is not equal anyhow."""
    logs = [vector_add(tmp_path, *size, exact=False) for size in ((1, 4, 1), (1, 8, 1))]
    assert instances_of(logs[0], logs[0]) != instances_of(logs[1], logs[0])


def vector_add(folder: Path, cubes: int, pes: int, slices: int, *, exact: bool) -> OpLog:
    """Four programs per PE on the first PEs of some cubes; the data of a cube lie on the first of its slices."""
    place = f"{{cube: row_wise, num_cubes: {cubes}, pe: row_wise, num_pes: {slices}}}"
    tensors = "".join(
        f"  {name}: {{shape: [n], dtype: fp32, place: {place}}}\n" for name in ("a_ptr", "b_ptr", "c_ptr")
    )
    (folder / "add.yaml").write_text(
        f"kernel: {EXAMPLES}/vector_add.py::vector_add_kernel\n"
        f"args:\n{tensors}  n_elements: n\n  n: {cubes * pes * 4 * 512}\n"
        "const: {BLOCK_SIZE: 512}\n"
        f"grid: [{cubes * pes * 4}]\n"
        f"map: {{kind: block, pes: sip0.cube0-{cubes - 1}.pe0-{pes - 1}}}\n"
    )
    return run_workload(folder / "add.yaml", timing_only=True, exact=exact).executed.execution.oplog


def instances_of(log: OpLog, few: OpLog) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The command instances in `log` of the PEs that ran programs in `few`."""
    pes = set(few.programs["pe"].tolist())
    return [row for row in instances(log) if row[0]["pe"] in pes]


def instances(log: OpLog) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every command instance: its program (without what says where its records are), and its record."""
    programs = {name: column.tolist() for name, column in log.programs.items() if name != "first"}
    records = {name: column.tolist() for name, column in log.records.items()}
    for program, record, _ in log.instances():
        yield (
            {name: column[program] for name, column in programs.items()},
            {name: column[record] for name, column in records.items()},
        )
