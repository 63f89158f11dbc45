"""Prints `ours | goal`: medians of CPU seconds for what must be quick. Printed, not asserted: computers differ.

A whole process counts with its start; work within this process is measured after everything is imported and warm. The
last row is for scale: what importing the libraries alone costs on this computer at this moment.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from statistics import median

from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.simulate import simulate
from ahbmc.backend_sim.target.machine_file import DEFAULT, load_machine
from ahbmc.backend_sim.target.routing import route
from ahbmc.backend_sim.target.topology import pe_node, slice_node
from ahbmc.driver.launches import BoundLaunch
from ahbmc.driver.lowering import Compiled, compile_request
from ahbmc.driver.prepare import Prepared, prepare
from ahbmc.driver.workload import load

ROOT = Path(__file__).parents[1]
ADD, ATTENTION = ROOT / "examples/vector_add.yaml", ROOT / "examples/flash_attention.yaml"
REPEATS = 7
PROGRAMS = 100_000
LIBRARIES = "import numpy, xdsl.dialects.arith"


def ahbmc(*arguments: str) -> float:
    """Median CPU seconds of `ahbmc ARGUMENTS` as a whole process."""
    return whole_process("-m", "ahbmc.driver.main", *arguments)


def whole_process(*arguments: str) -> float:
    """Median CPU seconds of `python ARGUMENTS` from start to end; it must succeed."""
    command = [sys.executable, *arguments]
    # As a user has it: the bytecode of the run before is there.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once()  # writes the bytecode and warms the files
    return median(once() for _ in range(REPEATS))


def here(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU seconds of `work` in this process, warm."""
    work()
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return median(seconds)


def prepared(path: Path, overrides: Sequence[str] = (), pipeline: str | None = None) -> Prepared:
    return prepare(load(path, tuple(overrides), None), None, pipeline)


def simulating(work: Prepared, compiled: Compiled) -> Callable[[], object]:
    """The simulation of the one launch of a workload, for its time alone."""
    bound: BoundLaunch = work.bindings.launches[0]
    launch = Launch(compiled.function, work.machine, tuple(bound.values.values()), bound.grid, bound.programs)
    return lambda: simulate([launch], values=False)


def starting_up() -> Callable[[], object]:
    """A machine like the default one that nothing is known of yet: its file, the graph of a SIP, its first routes."""
    numbers = count()

    def start() -> None:
        machine = load_machine(DEFAULT, [f"about=number {next(numbers)}"])
        for pe in (0, 7, 8, machine.pes - 1):  # own slice, cube, SIP and another SIP
            route(machine, pe_node(machine, 0), slice_node(machine, pe))

    return start


def rows() -> list[tuple[str, float, float | None]]:
    """(what, our seconds, the goal if there is one)."""
    attention = prepared(ATTENTION, pipeline="fused")
    add = prepared(ADD, [f"args.n_elements={PROGRAMS * 1024}"])
    request = attention.requests[0]
    lowered = compile_request(request)
    many = compile_request(add.requests[0])
    return [
        ("the default machine: file, graph, first routes", here(starting_up()), 0.05),
        ("flash attention, text to lowered IR", here(lambda: compile_request(request)), 0.3),
        ("ahbmc --help", ahbmc("--help"), 0.4),
        ("ahbmc passes", ahbmc("passes"), 0.4),
        ("ahbmc run examples/vector_add.yaml", ahbmc("run", str(ADD)), 1.0),
        ("flash attention, simulated", here(simulating(attention, lowered)), 0.5),
        (f"{PROGRAMS:,} programs of vector_add, simulated", here(simulating(add, many), 3), 3.0),
        (f"python -c '{LIBRARIES}'", whole_process("-c", LIBRARIES), None),
    ]


def main() -> int:
    # As the command line does: compiling makes many small objects that live long.
    gc.set_threshold(200_000, 20, 100)
    print(f"{'CPU seconds':<48}{'ours':>7}  {'goal':>5}")
    for what, ours, goal in rows():
        told = "" if goal is None else f"{goal:>5.2f}" if ours <= goal else f"{goal:>5.2f}  over the goal"
        print(f"{what:<48}{ours:>7.3f}  {told}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
