"""`ahbmc probe`: the latency of single messages on a machine, with its terms; invariants; text, JSON and a plot."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..backend_sim.analysis.probe.ends import End, pairs_between, parse_end
from ..backend_sim.analysis.probe.invariants import Invariant, invariants
from ..backend_sim.analysis.probe.rows import measure
from ..backend_sim.analysis.probe.suite import Job, Measured, Suite, pair_jobs, whole_suite
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import SET, load_machine
from ..backend_sim.target.quantities import Bytes, quantity
from ..dialects.errors import Sources, fail
from .command_line import word_place
from .outermost import CHECK_FAILED, INTERRUPTED, WRONG_USAGE
from .output import write, write_bytes

if TYPE_CHECKING:
    Plot = Callable[[Machine, Sequence[Measured], str], bytes]

_PLOTS = ("svg", "png")
_WIDTH = 130  # least width of the report: a row of a table is a line


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc probe`. Returns 3 where an invariant is broken; 130 after a user's interrupt, with what was measured."""
    sources: Sources = arguments.sources
    alone = {"h2d": arguments.target, "d2h": arguments.source}.get(arguments.path)  # the host is at the other end
    if (arguments.source is None) != (arguments.target is None) and not alone:
        print("ahbmc probe: error: --from and --to go together (but for --path h2d and d2h)", file=sys.stderr)
        return WRONG_USAGE
    if [arguments.json, arguments.plot].count("-") > 1:
        print("ahbmc probe: error: only one output can be -", file=sys.stderr)
        return WRONG_USAGE
    sources.add(SET, "\n".join(arguments.set))
    machine = load_machine(arguments.machine, arguments.set, place=word_place(sources, arguments.machine))
    suite = _suite(arguments, machine, sources)
    kind, plot = _plot(arguments.plot, sources) if arguments.plot else ("", None)
    measured, complete = _measure(machine, suite.jobs)
    found = invariants([row for _, row in measured])
    if arguments.json:
        rows = [row.described() for _, row in measured]
        write(arguments.json, f"{json.dumps(rows, indent=1)}\n", word_place(sources, arguments.json))
    if plot and measured:
        write_bytes(arguments.plot, plot(machine, measured, kind), word_place(sources, arguments.plot))
    if "-" not in (arguments.json, arguments.plot):
        _print_report(machine, measured, found, suite)
    if not complete:
        print(f"ahbmc probe: interrupted: {len(measured)} of {len(suite.jobs)} rows were measured", file=sys.stderr)
        return INTERRUPTED
    broken = [f"{invariant.name}: {text}" for invariant in found for text in invariant.broken]
    for text in broken:
        print(f"invariant broken: {text}", file=sys.stderr)
    return CHECK_FAILED if broken else 0


def _suite(arguments: argparse.Namespace, machine: Machine, sources: Sources) -> Suite:
    sizes = _sizes(arguments.bytes, sources) if arguments.bytes is not None else None
    if arguments.source or arguments.target:
        source, target = _ends(arguments, machine, sources)
        place = word_place(sources, arguments.target or arguments.source)
        return Suite(pair_jobs(pairs_between(arguments.path, source, target, place), sizes), ())
    suite = whole_suite(machine, arguments.path, sizes)
    if not suite.jobs:
        place, why = word_place(sources, arguments.path), "; ".join(suite.left_out)
        hint = "leave --path out for what the machine has, or name two ends with --from and --to"
        raise fail(f"machine {machine.name} has nothing for path {arguments.path}: {why}", place, hint=hint)
    return suite


def _ends(arguments: argparse.Namespace, machine: Machine, sources: Sources) -> tuple[End, End]:
    """From where to where. An end that is left out (of h2d and d2h it may be) is the host of the other's SIP."""
    source, target = (
        parse_end(machine, text, word_place(sources, text)) if text else None
        for text in (arguments.source, arguments.target)
    )
    if source and target:
        return source, target
    device = source or target
    assert device is not None
    host = parse_end(machine, f"sip{device.sip}.host", word_place(sources, arguments.path))
    return source or host, target or host


def _sizes(text: str, sources: Sources) -> list[int]:
    """The sizes of `--bytes`: each once, in rising order."""
    sizes: set[int] = set()
    for word in text.split(","):
        word = word.strip()
        try:
            sizes.add(quantity(Bytes, int(word) if word.isdecimal() else word))
        except ValueError:
            hint = "give sizes with commas between them, such as 256,4096 or 32KiB"
            raise fail(f"`{word}` is no positive size in bytes", word_place(sources, text), hint=hint) from None
    return sorted(sizes)


def _plot(file: str, sources: Sources) -> tuple[str, Plot]:
    """The kind of picture and what draws it: asked for before anything is measured. Raises AhbmcError without it."""
    place, kind = word_place(sources, file), "svg" if file == "-" else Path(file).suffix.removeprefix(".")
    if kind not in _PLOTS:
        raise fail(f"a plot is a file .svg or .png; found {file}", place, hint="name it latency.svg or latency.png")
    try:
        from ..backend_sim.analysis.probe.plot import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        hint = "install it with `pip install 'ahbmc[plot]'` or `pip install matplotlib`"
        raise fail("a plot needs matplotlib, which is not installed", place, hint=hint) from None
    return kind, draw


def _measure(machine: Machine, jobs: Sequence[Job]) -> tuple[list[Measured], bool]:
    """The rows of `jobs`, and whether they are all there: a user's interrupt keeps what was measured before it."""
    measured: list[Measured] = []
    try:
        for job in jobs:
            measured.append((job.group, measure(machine, job.pair, job.size)))
    except KeyboardInterrupt:
        return measured, False
    return measured, True


def _print_report(machine: Machine, measured: Sequence[Measured], found: Sequence[Invariant], suite: Suite) -> None:
    from rich.console import Console

    from ..backend_sim.analysis.probe.report import report
    from ..backend_sim.analysis.report import text

    parts = report(machine, measured, found, suite.left_out)
    if sys.stdout.isatty():
        Console(width=max(_WIDTH, Console().width)).print(parts)
    else:
        sys.stdout.write(text(parts, width=_WIDTH))
