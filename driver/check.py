"""`ahbmc check`: which kernels of files, folders and wheels compile down to commands, and why the others do not."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..backend_sim.target.machine_file import DEFAULT, load_machine
from ..dialects.errors import Fault, Sources, fail
from ..passes import PIPELINE_TEXT, all_passes, build_pipeline
from .check_kernel import Outcome, check
from .check_rows import Row, rows_of_files, rows_of_specs
from .command_line import word_place
from .kernel_files import files_of
from .output import write
from .progress import counted
from .workers import Lost, pool
from .workload import read_text

BELOW_RATE = 3
_SLOWEST = 10


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc check`. Returns 3 where fewer compile than `--fail-under` asks for."""
    sources: Sources = arguments.sources
    machine = arguments.machine or DEFAULT
    load_machine(machine, place=word_place(sources, machine))
    sources.add(PIPELINE_TEXT, arguments.pipeline)
    build_pipeline(arguments.pipeline)
    for load in all_passes().values():
        load()  # before the workers are forked
    files = [f for path in arguments.paths for f in files_of(path, word_place(sources, path))]
    if arguments.specs:
        text = read_text(Path(arguments.specs), "specs file", word_place(sources, arguments.specs))
        sources.add(arguments.specs, text)
        rows = rows_of_specs(arguments.specs, text, files)
    else:
        rows = rows_of_files(files)
    if not rows:
        raise fail("there is no jit kernel in what was given", hint="give Python files, folders or wheels with kernels")
    outcomes = checked(rows, machine, arguments.pipeline, arguments.jobs or os.cpu_count() or 1, arguments.timeout)
    if arguments.json:
        text = json.dumps([_entry(r, o) for r, o in zip(rows, outcomes, strict=True)], indent=1)
        write(arguments.json, f"{text}\n", word_place(sources, arguments.json))
    if arguments.json != "-":
        _print(rows, outcomes)
    return BELOW_RATE if _rate(outcomes) < arguments.fail_under else 0


def checked(rows: Sequence[Row], machine: str, pipeline: str, jobs: int, limit_s: float) -> list[Outcome]:
    """The outcome of each row, in the order of the rows."""
    groups: dict[str | None, list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row.file, []).append(number)
    outcomes: list[Outcome | None] = [None] * len(rows)

    def work(number: int) -> Outcome:
        return check(rows[number], machine, pipeline)

    with pool(work, list(groups.values()), jobs, limit_s) as workers, counted("kernels", len(rows)) as advance:
        for number, result in workers.results():
            lost = isinstance(result, Lost)
            outcomes[number] = Outcome("failed", Fault(result.reason), limit_s * 1000) if lost else result
            advance()
    return [o for o in outcomes if o is not None]


def _rate(outcomes: Sequence[Outcome]) -> float:
    """The share of those found that compile."""
    count = Counter(o.status for o in outcomes)
    return count["compiled"] / max(1, len(outcomes) - count["missing"])


def _entry(row: Row, outcome: Outcome) -> dict[str, Any]:
    fault = outcome.fault
    place = fault.place if fault is not None else None
    return {
        "path": row.path,
        "function": row.function,
        "status": outcome.status,
        "reason": f"{fault.message} [{fault.category}]" if fault is not None else None,
        "line": place.line if place is not None else None,
        "ms": round(outcome.ms, 1),
        "file": place.file if place is not None else row.file,
        "hint": fault.hint if fault is not None else None,
    }


_SPECIFIC = re.compile(r"'[^']*'|`[^`]*`|<\[[^<>]*>|\[[\d, ]*\]|\b\d[\d.,]*\b")


def _kind(fault: Fault) -> str:
    """A reason without what belongs to one kernel alone. What is not supported keeps its name: that is the reason."""
    if fault.message.startswith("not supported in a kernel"):
        return f"{fault.message} [{fault.category}]"
    return f"{_SPECIFIC.sub('…', fault.message)} [{fault.category}]"


def _print(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> None:
    reasons: dict[str, list[int]] = {}
    for number, outcome in enumerate(outcomes):
        if outcome.fault is not None:
            reasons.setdefault(_kind(outcome.fault), []).append(number)
    for kind, numbers in sorted(reasons.items(), key=lambda item: -len(item[1])):
        first = numbers[0]
        fault = outcomes[first].fault
        where = f"{fault.place}" if fault is not None and fault.place is not None else rows[first].path
        print(f"{len(numbers):5}  {kind}\n       first {where} ({rows[first].function})")
    ms = sorted(((o.ms, n) for n, o in enumerate(outcomes) if o.status != "missing"), reverse=True)
    if ms:
        median, high = ms[len(ms) // 2][0], ms[len(ms) // 100][0]
        print(f"\nCPU time per kernel: median {median:.0f} ms, 99% within {high:.0f} ms; the slowest:")
        for each, number in ms[:_SLOWEST]:
            print(f"{each:9.0f} ms  {rows[number].path} {rows[number].function}")
    count = Counter(o.status for o in outcomes)
    found = len(outcomes) - count["missing"]
    print(
        f"\n{count['compiled']} of {found} kernels compile ({100 * _rate(outcomes):.1f}%); "
        f"{count['failed']} failed, {count['refused']} refused, {count['missing']} missing"
    )
