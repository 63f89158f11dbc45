"""Programs that a PE takes up at once: values are right, times are the same in both modes, and the GEMM engine does not
stand still between programs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.backend_sim.oplog import busy_intervals
from ahbmc.driver.run import Outcome, run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"
# Eight PEs with unequal programs; several groups on one PE, causal, so that no two programs are alike.
CASES = {
    "matmul": ("args.M=300", "args.N=200", "args.K=136", "map.kind=cyclic"),
    "flash_attention": ("args.S=190", "const.BLOCK_M=16", "const.BLOCK_N=32"),
}


def run(name: str, *overrides: str, at_once: int = 8, values: bool = False, exact: bool = False) -> Outcome:
    overrides = (*overrides, f"options.overlap-programs.programs={at_once}")
    return run_workload(EXAMPLES / f"{name}.yaml", overrides=overrides, timing_only=not values, exact=exact)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("at_once", [2, 5])
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
