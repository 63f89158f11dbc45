"""`ahbmc bisect`: which pass changed the values of a workload, or its latency, and at which line of the kernel."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from ..backend_sim.analysis.report import ns, plain_table, text
from ..dialects.errors import Place, Sources, fail
from ..passes import PIPELINE_TEXT, build_pipeline
from ..passes.pipeline_text import single_passes
from .ablation import Passes, Step
from .command_line import word_place
from .launches import bind_all
from .outermost import CHECK_FAILED
from .output import check_folder, write
from .prepare import prepare
from .progress import counted
from .study_tables import explanation
from .value_bisect import Culprit, Witness, bisect_values
from .variants import Measured, Trials
from .workload import load, read_text

SCHEMA = 1
_LINES = 8  # lines of the kernel shown
_LEAST = "the least"
_Lines = Mapping[tuple[str, int], Mapping[str, int]]


class LineParts(msgspec.Struct, frozen=True):
    """What a line of a kernel holds of the latency, by parts."""

    file: str
    line: int
    parts_ps: dict[str, int]


class LatencyAfter(msgspec.Struct, frozen=True):
    """The latency once a pass is among those that run."""

    name: str = msgspec.field(name="pass")
    latency_ps: int
    lines: list[LineParts]

    @property
    def by_line(self) -> _Lines:
        return {(each.file, each.line): each.parts_ps for each in self.lines}


class Latencies(msgspec.Struct, frozen=True):
    """What --json writes and --against reads: the passes that `the least` has, and a row for it and each added one."""

    schema: int
    least: list[str]
    rows: list[LatencyAfter]

    @property
    def by_pass(self) -> dict[str, LatencyAfter]:
        return {row.name: row for row in self.rows}


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc bisect`. Returns 3 where a pass changed the values, or the latency from what --against says."""
    sources: Sources = arguments.sources
    if arguments.pipeline:
        sources.add(PIPELINE_TEXT, arguments.pipeline)
        build_pipeline(arguments.pipeline)
    if arguments.on == "latency":
        return _on_latency(arguments, sources)
    if arguments.json or arguments.against:
        flag = "--json" if arguments.json else "--against"
        raise fail(f"{flag} goes with --on latency", word_place(sources, flag), hint="values are held against the tl "
                   "level of the kernel itself")  # fmt: skip
    return _on_values(arguments, sources)


def _on_values(arguments: argparse.Namespace, sources: Sources) -> int:
    workload = load(arguments.workload, tuple(arguments.set), sources)
    prepared = prepare(workload, arguments.machine, arguments.pipeline)
    bindings = bind_all(workload, prepared.machine, prepared.kernels, values=True)
    status = 0
    for request, launch in zip(prepared.requests, bindings.launches, strict=True):
        if request.kernel.is_commands:
            hint = "bisect a kernel of text: it has a tl level that says what is right"
            raise fail(f"`{request.kernel.name}` is written as commands", request.kernel.place, hint=hint)
        count = len(build_pipeline(request.pipeline, request.options, request.pipeline_place))
        with counted("passes", count) as advance:
            found = bisect_values(request, launch, prepared.machine, advance)
        print(f"{Path(request.kernel.file).name}::{request.kernel.name}, pipeline {request.pipeline}")
        if found.culprit is None:
            print(f"no pass changes the values: {len(found.right)} passes and the simulation keep them")
        else:
            status = CHECK_FAILED
            kept = f"{len(found.right)} passes before it keep them" if found.right else "it is the first"
            print(f"{found.culprit.name} changes the values; {kept}\n  {found.culprit.reason}")
            _print_witnesses(found.culprit, sources)
    return status


def _print_witnesses(culprit: Culprit, sources: Sources) -> None:
    told = (
        (culprit.missing, "computed before it, and no more after it"),
        (culprit.new, "computed after it, and not before"),
    )
    for witness, what in told:
        if witness is not None:
            print(f"first value that is {what}:\n{_shown(witness, sources)}")


def _shown(witness: Witness, sources: Sources) -> str:
    line = sources.line(witness.place) if witness.place is not None else None
    where = f"  {witness.place}" if witness.place is not None else ""
    text = "\n".join(f"    {each}" for each in witness.lines)
    return f"{where}\n    {line.strip()}\n{text}" if line else text


def _on_latency(arguments: argparse.Namespace, sources: Sources) -> int:
    if arguments.json:
        check_folder(arguments.json, word_place(sources, arguments.json))
    trials = Trials(arguments.workload, arguments.machine, sources, timing_only=True, shared=True)
    settings = tuple(arguments.set)
    pipeline = arguments.pipeline or trials.pipeline(settings)
    if pipeline is None:
        message = "the launches of this workload have several pipelines; bisect takes one"
        raise fail(message, word_place(sources, arguments.workload), hint="name one: --pipeline auto")
    texts = single_passes(trials.form(pipeline, settings))
    against = _read(arguments.against, sources) if arguments.against else None
    with counted("runs", 3 * len(texts)) as advance:
        passes = Passes(trials, texts, settings, advance)
        passes.whole()
        least = passes.least() if against is None else _least_of(against, passes.names, arguments, sources)
        base, steps = passes.added(least)
    assert base.measured is not None
    rows: list[tuple[str, Measured]] = [(_LEAST, base.measured)]
    rows += [(step.name, step.variant.measured) for step in steps if step.variant.measured is not None]
    if arguments.json:
        found = Latencies(SCHEMA, [passes.names[i] for i in least], [_row(*row) for row in rows])
        made = json.dumps(msgspec.to_builtins(found), indent=1) + "\n"
        write(arguments.json, made, word_place(sources, arguments.json))
    unlike = _first_unlike(base.measured, steps, against) if against is not None else None
    if arguments.json != "-":
        sys.stdout.write(text(_table(rows, against), width=200))
        for step in steps:
            if step.variant.error is not None:
                print(f"with {step.name} it does not run: {step.variant.refusal}")
        if against is None:
            _print_largest(rows, sources)
        else:
            _print_unlike(unlike, sources)
    return 0 if unlike is None else CHECK_FAILED


def _table(rows: Sequence[tuple[str, Measured]], against: Latencies | None) -> Any:
    earlier = against.by_pass if against is not None else {}
    names = ("latency ns", "change ns", *(("earlier",) if against is not None else ()))
    table = plain_table("Latency after each pass", ("pass", "left"), *((n, "right") for n in names), ("why", "left"))
    before: Measured | None = None
    for name, measured in rows:
        change = measured.latency_ps - before.latency_ps if before is not None else 0
        cells = [ns(measured.latency_ps), _signed(change) if change else ""]
        if against is not None:
            cells.append(ns(earlier[name].latency_ps) if name in earlier else "-")
        table.add_row(name, *cells, explanation(before, measured) if before is not None else "")
        before = measured
    return table


def _print_largest(rows: Sequence[tuple[str, Measured]], sources: Sources) -> None:
    changes = [(now.latency_ps - before.latency_ps, name, before, now) for (_, before), (name, now) in pairwise(rows)]
    changed = [each for each in changes if each[0]]
    if not changed:
        print("\nno pass changes the latency")
        return
    change, name, before, now = max(changed, key=lambda each: abs(each[0]))
    print(f"\n{name} changes the latency most, by {_signed(change)} ns:")
    _print_lines(before.lines, now.lines, sources)
    slower = [f"{each[1]} ({_signed(each[0])} ns)" for each in changed if each[0] > 0]
    if slower:
        print(f"made it slower: {', '.join(slower)}")


@dataclass(frozen=True)
class _Unlike:
    """The first pass with which it is not as in an earlier result, and the figures there and now; None if nothing runs
    with it any more.
    """

    name: str
    before: LatencyAfter
    now: Measured | None


def _first_unlike(base: Measured, steps: Sequence[Step], against: Latencies) -> _Unlike | None:
    """A pass that the earlier result has not is held against the pass before it: there it changed nothing."""
    earlier = against.by_pass
    before = earlier.get(_LEAST)
    for name, measured in ((_LEAST, base), *((step.name, step.variant.measured) for step in steps)):
        if measured is None and name in earlier:
            return _Unlike(name, earlier[name], None)
        if measured is not None:
            before = earlier.get(name, before)
            if before is not None and measured.latency_ps != before.latency_ps:
                return _Unlike(name, before, measured)
    return None


def _print_unlike(unlike: _Unlike | None, sources: Sources) -> None:
    if unlike is None:
        print("\nafter every pass the latency is that of the earlier result")
    elif unlike.now is None:
        print(f"\n{unlike.name} is the first pass after which it is not as in the earlier result: it ran there")
    else:
        change = unlike.now.latency_ps - unlike.before.latency_ps
        print(f"\n{unlike.name} is the first pass after which the latency is another than in the earlier result, by"
              f" {_signed(change)} ns:")  # fmt: skip
        _print_lines(unlike.before.by_line, unlike.now.lines, sources)


def _print_lines(before: _Lines, now: _Lines, sources: Sources) -> None:
    """The difference of two latencies by lines of the kernel and parts, the largest first."""
    changes: list[tuple[int, tuple[str, int], str]] = []
    for line in dict.fromkeys((*before, *now)):
        one, other = before.get(line, {}), now.get(line, {})
        parts = {p: other.get(p, 0) - one.get(p, 0) for p in dict.fromkeys((*one, *other))}
        said = ", ".join(f"{p} {_signed(c)}" for p, c in sorted(parts.items(), key=lambda e: -abs(e[1])) if c)
        if said:
            changes.append((sum(parts.values()), line, said))
    changes.sort(key=lambda each: -abs(each[0]))
    for change, (file, line), said in changes[:_LINES]:
        code = sources.line(Place(file, line, 1)) if line else None
        where = f"{Path(file).name}:{line}" if line else "(no line)"
        print(f"  {where}  {_signed(change)} ns  ({said})" + (f"\n      {code.strip()}" if code else ""))
    if rest := changes[_LINES:]:
        print(f"  and {_signed(sum(each[0] for each in rest))} ns at {len(rest)} more lines")


def _signed(ps: int) -> str:
    return f"{'+' if ps > 0 else ''}{ns(ps)}"


def _row(name: str, measured: Measured) -> LatencyAfter:
    lines = [LineParts(file, line, dict(parts)) for (file, line), parts in sorted(measured.lines.items())]
    return LatencyAfter(name, measured.latency_ps, lines)


def _read(file: str, sources: Sources) -> Latencies:
    """An earlier result. Raises AhbmcError where the file holds none."""
    place = word_place(sources, file)
    hint = "give a file that `ahbmc bisect WORKLOAD --on latency --json F` wrote"
    try:
        found = msgspec.json.decode(read_text(Path(file), "result", place), type=Latencies)
    except msgspec.MsgspecError:
        raise fail(f"{file} is no result of bisect", place, hint=hint) from None
    if found.schema != SCHEMA:
        message = f"{file} has schema {found.schema}; this ahbmc writes and reads {SCHEMA}"
        raise fail(message, place, hint="write it again")
    return found


def _least_of(against: Latencies, names: Sequence[str], arguments: argparse.Namespace, sources: Sources) -> list[int]:
    """The passes that the earlier result began with, by number."""
    lost = [name for name in against.least if name not in names]
    if lost:
        message = f"the earlier result is of another pipeline: it begins with {', '.join(against.least)}"
        raise fail(message, word_place(sources, arguments.against), hint="give the same --pipeline")
    return [number for number, name in enumerate(names) if name in against.least]
