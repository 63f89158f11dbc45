"""Prints how long the decode of `decode.mlir` takes to simulate, beside the goals: CPU seconds, medians. Printed, not
asserted: computers differ.

Private: each PE reads K and V in its own slice. Shared: tile t of PE p lies on slice (p + t) % 8 of its cube. Each row
is measured in a process of its own, for its memory; `exact` must give the latency of `fast`.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median

from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.simulate import simulate
from ahbmc.driver.lowering import compile_request
from ahbmc.driver.prepare import prepare
from ahbmc.driver.workload import load

BENCH = Path(__file__).parent
REPEATS = 5
K, M = 1024, 1024 * 1024
MIB_GOAL = 300
FAST_GOAL = 3.0  # how many times `fast` is faster than `exact`, private
TILES_PER_KEY = 128 / 1024  # two composites of 64 tiles for each 1,024 keys
TENSORS = "qkvoml"


@dataclass(frozen=True)
class Case:
    """One decode: how many PEs, whether they share slices, how long the context is, and its goal in CPU seconds."""

    pes: int
    shared: bool
    context: int
    goal: float | None = None

    @property
    def name(self) -> str:
        length = f"{self.context // M}M" if self.context >= M else f"{self.context // K}K"
        return f"{self.pes} PEs, {length}, {'shared' if self.shared else 'private'}"

    @property
    def tiles(self) -> int:
        return int(self.context * TILES_PER_KEY)

    def overrides(self) -> list[str]:
        """`--set` of the workload file: 64 PEs are what it has, 512 are all of `ahbm-4sip`."""
        if self.pes == 64:
            return [f"args.context={self.context}"]
        return [
            f"args.context={self.context}",
            f"const.PROGRAMS={self.pes}",
            "machine=ahbm-4sip",
            "map.pes=[sip0-3.cube0-15.pe0-7]",
            *[f"args.{tensor}.place.num_cubes=16" for tensor in TENSORS],
            *[f"args.{tensor}.place.num_sips=4" for tensor in TENSORS],
            *[f"args.{tensor}.place.sip=row_wise" for tensor in TENSORS[1:]],
        ]


CASES = (
    Case(64, False, 128 * K, 0.15),
    Case(64, True, 128 * K, 0.6),
    Case(64, True, M, 3.0),
    Case(512, True, M, 10.0),
)
CONTEXTS = (128 * K, 512 * K, 2 * M, 8 * M)


@dataclass(frozen=True)
class Measured:
    """CPU seconds (median), latency, and the largest resident memory of the process."""

    seconds: float
    latency_ps: int
    mib: float


def measure(case: Case, exact: bool, repeats: int) -> Measured:
    """Simulate a case for its time alone, in this process."""
    gc.set_threshold(200_000, 20, 100)  # as the command line does
    prepared = prepare(load(BENCH / f"decode{'_shared' * case.shared}.yaml", case.overrides(), None), None, None)
    bound = prepared.bindings.launches[0]
    function = compile_request(prepared.requests[0]).function
    launch = Launch(function, prepared.machine, tuple(bound.values.values()), bound.grid, bound.programs)
    seconds: list[float] = []
    latency_ps = 0
    for _ in range(repeats):
        start = time.process_time()
        latency_ps = simulate([launch], values=False, exact=exact).latency_ps
        seconds.append(time.process_time() - start)
    return Measured(median(seconds), latency_ps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def apart(case: Case, exact: bool, repeats: int) -> Measured:
    """`measure` in a process of its own."""
    given = [str(case.pes), str(int(case.shared)), str(case.context), str(int(exact)), str(repeats)]
    done = subprocess.run([sys.executable, __file__, "--measure", *given], check=True, capture_output=True, text=True)
    return Measured(*json.loads(done.stdout))


def against(value: float, goal: float | None, digits: int = 2) -> str:
    if goal is None:
        return ""
    return f"{goal:.{digits}f}" if value <= goal else f"{goal:.{digits}f} missed"


def print_cases(cases: Sequence[Case], repeats: int) -> None:
    print(f"{'CPU seconds':<26}{'fast':>8}  {'goal':<12}{'exact':>8}{'ratio':>7}  {'latency ns':>13}  {'MiB':>5}")
    for case in cases:
        fast, exact = apart(case, False, repeats), apart(case, True, repeats)
        ratio = exact.seconds / fast.seconds
        notes = [] if fast.latency_ps == exact.latency_ps else [f"EXACT GIVES {exact.latency_ps / 1000:,.2f} ns"]
        if not case.shared and ratio < FAST_GOAL:
            notes.append(f"fast is not {FAST_GOAL:.0f} times faster")
        if fast.mib > MIB_GOAL:
            notes.append(f"over {MIB_GOAL} MiB")
        print(
            f"{case.name:<26}{fast.seconds:>8.3f}  {against(fast.seconds, case.goal):<12}{exact.seconds:>8.3f}"
            f"{ratio:>7.1f}  {fast.latency_ps / 1000:>13,.2f}  {fast.mib:>5.0f}  {'; '.join(notes)}".rstrip()
        )


def print_growth(shared: bool) -> None:
    """CPU seconds over tiles, `fast`: an exponent of 1 is linear."""
    cases = [Case(64, shared, context) for context in CONTEXTS]
    found = [apart(case, False, 1) for case in cases]
    for case, each in zip(cases, found, strict=True):
        per_tile = each.seconds / case.tiles * 1e6
        print(f"{case.name:<26}{each.seconds:>8.3f}  {per_tile:>8.2f} us per tile  {each.mib:>5.0f} MiB")
    logs = [[math.log(case.tiles) for case in cases], [math.log(each.seconds) for each in found]]
    print(f"seconds grow as tiles to the power of {linear_regression(*logs).slope:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--measure", nargs=5, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        pes, shared, context, exact, repeats = arguments.measure
        found = measure(Case(pes, bool(shared), context), bool(exact), repeats)
        print(json.dumps([found.seconds, found.latency_ps, found.mib]))
        return 0
    print_cases(CASES, arguments.repeats)
    for shared in (False, True):
        print()
        print_growth(shared)
    return 0


if __name__ == "__main__":
    sys.exit(main())
