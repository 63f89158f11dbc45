"""`ahbmc bisect`: which pass changed the values of a workload, or its latency, and at which line of the kernel."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from ..backend_sim.analysis.report import ns, plain_table, text
from ..dialects.errors import Place, Sources, fail
from ..passes import PIPELINE_TEXT, build_pipeline
from ..passes.pipeline_text import single_passes
from .ablation import Passes
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
        hint = "name one: --pipeline auto"
        raise fail("the launches of this workload have several pipelines; bisect takes one", hint=hint)
    texts = single_passes(pipeline)
    against = _read(arguments.against, sources) if arguments.against else None
    with counted("runs", 3 * len(texts)) as advance:
        passes = Passes(trials, texts, settings, advance)
        passes.whole()
        least = passes.least() if against is None else _least_of(against, passes.names, arguments, sources)
        base, steps = passes.added(least)
    assert base.measured is not None
    rows: list[tuple[str, Measured]] = [("the least", base.measured)]
    rows += [(step.name, step.variant.measured) for step in steps if step.variant.measured is not None]
    if arguments.json:
        found = {"schema": SCHEMA, "least": [passes.names[i] for i in least], "rows": [_row(*row) for row in rows]}
        write(arguments.json, json.dumps(found, indent=1) + "\n", word_place(sources, arguments.json))
    if arguments.json != "-":
        sys.stdout.write(text(_table(rows, against), width=200))
        for step in steps:
            if step.variant.error is not None:
                print(f"with {step.name} it does not run: {step.variant.refusal}")
    if against is None:
        return _largest(rows, sources)
    return _first_unlike(rows, against, sources)


def _table(rows: Sequence[tuple[str, Measured]], against: Mapping[str, Any] | None) -> Any:
    earlier = _latencies(against) if against is not None else {}
    names = ("latency ns", "change ns", *(("earlier",) if against is not None else ()))
    table = plain_table("Latency after each pass", ("pass", "left"), *((n, "right") for n in names), ("why", "left"))
    before: Measured | None = None
    for name, measured in rows:
        change = measured.latency_ps - before.latency_ps if before is not None else 0
        cells = [ns(measured.latency_ps), _signed(change) if change else ""]
        if against is not None:
            cells.append(ns(earlier[name]) if name in earlier else "-")
        table.add_row(name, *cells, explanation(before, measured) if before is not None else "")
        before = measured
    return table


def _largest(rows: Sequence[tuple[str, Measured]], sources: Sources) -> int:
    changes = [(now.latency_ps - before.latency_ps, name, before, now) for (_, before), (name, now) in pairwise(rows)]
    changed = [each for each in changes if each[0]]
    if not changed:
        print("\nno pass changes the latency")
        return 0
    change, name, before, now = max(changed, key=lambda each: abs(each[0]))
    print(f"\n{name} changes the latency most, by {_signed(change)} ns:")
    _print_lines(before.lines, now.lines, sources)
    slower = [f"{each[1]} ({_signed(each[0])} ns)" for each in changed if each[0] > 0]
    if slower:
        print(f"made it slower: {', '.join(slower)}")
    return 0


def _first_unlike(rows: Sequence[tuple[str, Measured]], against: Mapping[str, Any], sources: Sources) -> int:
    earlier = _latencies(against)
    lines = {row["pass"]: _lines_of(row) for row in against["rows"]}
    for name, measured in rows:
        if name in earlier and measured.latency_ps != earlier[name]:
            change = measured.latency_ps - earlier[name]
            print(f"\n{name} is the first pass after which the latency is another than in the earlier result, by"
                  f" {_signed(change)} ns:")  # fmt: skip
            _print_lines(lines[name], measured.lines, sources)
            return CHECK_FAILED
    print("\nafter every pass the latency is that of the earlier result")
    return 0


_Lines = Mapping[tuple[str, int], Mapping[str, int]]


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


def _row(name: str, measured: Measured) -> dict[str, Any]:
    lines = [
        {"file": file, "line": line, "parts_ps": dict(parts)} for (file, line), parts in sorted(measured.lines.items())
    ]
    return {"pass": name, "latency_ps": measured.latency_ps, "lines": lines}


def _latencies(result: Mapping[str, Any]) -> dict[str, int]:
    return {row["pass"]: row["latency_ps"] for row in result["rows"]}


def _lines_of(row: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, int]]:
    return {(each["file"], each["line"]): each["parts_ps"] for each in row["lines"]}


def _read(file: str, sources: Sources) -> dict[str, Any]:
    """An earlier result. Raises AhbmcError where the file holds none."""
    place = word_place(sources, file)
    try:
        found = json.loads(read_text(Path(file), "result", place))
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or "rows" not in found or "least" not in found:
        hint = "give a file that `ahbmc bisect WORKLOAD --on latency --json F` wrote"
        raise fail(f"{file} is no result of bisect", place, hint=hint)
    return cast("dict[str, Any]", found)


def _least_of(
    against: Mapping[str, Any], names: Sequence[str], arguments: argparse.Namespace, sources: Sources
) -> list[int]:
    """The passes that the earlier result began with, by number."""
    lost = [name for name in against["least"] if name not in names]
    if lost:
        message = f"the earlier result is of another pipeline: it begins with {', '.join(against['least'])}"
        raise fail(message, word_place(sources, arguments.against), hint="give the same --pipeline")
    return [number for number, name in enumerate(names) if name in against["least"]]
