"""Programs that a PE takes up at once: values are right, times are the same in both modes, and the GEMM engine does not
stand still between programs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ahbmc.backend_sim.oplog import OpLog, busy_intervals
from ahbmc.driver.run import Outcome, run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"
# Eight PEs with unequal programs; several groups on one PE, causal, so that no two programs are alike.
CASES = {
    "matmul": ("args.M=300", "args.N=200", "args.K=136", "map.kind=cyclic"),
    "flash_attention": ("args.S=190", "const.BLOCK_M=16", "const.BLOCK_N=32"),
}


def run(name: str, *overrides: str, at_once: int | None = 8, values: bool = False, exact: bool = False) -> Outcome:
    if at_once is not None:
        overrides = (*overrides, f"options.overlap-programs.programs={at_once}")
    path = EXAMPLES / f"{name}.yaml"
    return run_workload(path, overrides=overrides, pipeline="pipelined", timing_only=not values, exact=exact)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("at_once", [2, 5, None])
def test_values_and_times_hold(name: str, at_once: int) -> None:
    """The results are right in groups that come out even and that do not; alike groups take the same time when each is
    simulated; and it is sooner than in turn.
    """
    outcome = run(name, *CASES[name], at_once=at_once, values=True)
    assert outcome.run.check == "pass"
    log = outcome.executed.execution.oplog
    exact = run(name, *CASES[name], at_once=at_once, exact=True).executed.execution.oplog
    in_turn = run(name, *CASES[name], at_once=1).executed.execution.oplog
    assert exact.latency_ps == log.latency_ps < in_turn.latency_ps
    assert log.program_count == in_turn.program_count == len(in_turn.programs["pe"]) > len(log.programs["pe"])
    assert log.commands() == in_turn.commands()


def test_the_next_program_starts_beside_the_end_of_this_one() -> None:
    """Prefill in four programs: in turn the GEMM engine waits 901 ns for the loads and the first scores of each, with
    the next program beside it there is always a tile.
    """

    def largest_gap_ps(at_once: int) -> int:
        log = run("prefill", at_once=at_once).executed.execution.oplog
        starts, ends = busy_intervals(log, "gemm")[0]
        return max((int(start - end) for start, end in zip(starts[1:], ends[:-1], strict=True)), default=0)

    assert largest_gap_ps(1) > 500_000
    assert largest_gap_ps(4) < 20_000


def test_programs_share_scratch_that_has_no_room_for_two() -> None:
    """Half of the scratch is too small for a program: the next one waits for the bytes, and the values are right."""
    small = (*CASES["flash_attention"], "machine.pe.tcm.scratch_bytes=40960")
    assert run("flash_attention", *small, values=True).run.check == "pass"


def starts_and_ends(log: OpLog) -> dict[int, tuple[int, int]]:
    """Of each program on one PE, when its first command is issued and when its last one has ended, in ps."""
    found: dict[int, tuple[int, int]] = {}
    rows = zip(*(log.programs[name].tolist() for name in ("start", "first", "rows")), strict=True)
    for row, (begin, first, count) in enumerate(rows):
        for record in range(first, first + count):
            [program] = log.programs_of(np.array([row]), np.array([record])).tolist()
            start, end = (begin + int(log.records[name][record]) for name in ("issue_start", "end"))
            known = found.get(program, (start, end))
            found[program] = min(known[0], start), max(known[1], end)
    return found


@pytest.mark.parametrize("queries", [64, 16])
def test_every_program_begins_before_the_last_one_has_ended(queries: int) -> None:
    """16 and 64 programs on one PE: each is there, in its turn, and overlaps with the one before, also the ninth."""
    sizes = ("args.S=1024", "const.HEAD_DIM=32", f"const.BLOCK_M={queries}", "const.BLOCK_N=128", "const.CAUSAL=false")
    log = run("flash_attention", *sizes, at_once=None).executed.execution.oplog
    times = starts_and_ends(log)
    assert list(times) == list(range(1024 // queries)) and len(log.programs["pe"]) == 1
    assert all(times[n + 1][0] < times[n][1] for n in range(len(times) - 1))


def test_a_large_launch_is_simulated_in_groups() -> None:
    """100,000 programs of vector_add: what runs alike is simulated once, and each program is still told apart."""
    sizes = ("args.n_elements=102400000", "const.BLOCK_SIZE=1024")
    execution = run("vector_add", *sizes, at_once=None).executed.execution
    log = execution.oplog
    assert log.program_count == 100_000
    assert 100_000 / 4096 < len(log.programs["pe"]) < 1000
    assert execution.events < 100_000
