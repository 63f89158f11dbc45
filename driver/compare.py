"""`ahbmc compare`: two files of `run --json` held against each other; with `--fail-if` a gate against regressions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rich.table import Table

from ..backend_sim.analysis.summary import SCHEMA
from ..backend_sim.oplog import PART_OF_KIND
from ..dialects.errors import Place, Sources, fail
from .command_line import word_place
from .conditions import Figure, check_key, parse, word
from .outermost import CHECK_FAILED
from .workload import read_text

_NAMES = ("kernel", "machine", "pipeline")
_GROUPS = (
    *("latency_ns", "check", "commands", "issue_cycles", "issue_cycles_max", "bytes", "scratch_peak", "engines"),
    *("critical_pe", "attribution", "roofline", "gemm", "outputs", "ideal"),
)
"""What is compared. `wall_s` and `events` differ from run to run of ahbmc itself: only conditions see them."""
_UNSEEN = ("wall_s", "events")
_SINGLE = ("servers", "min", "median", "max")  # of engines
_LONGEST = 24  # characters of a text in the table
_ABSENT_IS_ZERO = "commands."
_KINDS = tuple(f"{_ABSENT_IS_ZERO}{kind}" for kind in PART_OF_KIND)


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc compare`. Returns 3 where a condition of --fail-if holds."""
    sources: Sources = arguments.sources
    conditions = [parse(text, word_place(sources, text)) for text in arguments.fail_if]
    results = [_read(file, sources) for file in (arguments.before, arguments.after)]
    before, after = _figures(results)
    for condition in conditions:
        if condition.key in _KINDS:
            for figures in (before, after):
                figures.setdefault(condition.key, 0)
        check_key(condition, before, after, word_place(sources, condition.text))
    _print(results, before, after, everything=arguments.all)
    held = [c for c in conditions if c.holds(before[c.key], after[c.key])]
    for condition in held:
        print(f"fails: {condition.text} ({_change(before[condition.key], after[condition.key])})", file=sys.stderr)
    return CHECK_FAILED if held else 0


def _read(file: str, sources: Sources) -> dict[str, Any]:
    """The object of a result file. Raises AhbmcError where it is none."""
    place = word_place(sources, file)
    hint = "give files that `ahbmc run --json F` wrote"
    text = read_text(Path(file), "result", place)
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        sources.add(file, text)
        message = f"not the JSON of a result: {error.msg.lower()}"
        raise fail(message, Place(file, error.lineno, error.colno), hint=hint) from None
    if not isinstance(found, dict) or "latency_ns" not in found or "attribution" not in found:
        raise fail(f"{file} is no result of a run", place, hint=hint)
    found = cast("dict[str, Any]", found)
    if found.get("schema") != SCHEMA:
        message = f"{file} has schema {found.get('schema')}; this ahbmc writes and reads {SCHEMA}"
        raise fail(message, place, hint="write it again with `ahbmc run --json F`")
    return found


def _figures(results: list[dict[str, Any]]) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """The figures of two results by path. A kind of command that one of them never issued it issued 0 times."""
    before, after = (_flat({n: result[n] for n in (*_GROUPS, *_UNSEEN) if n in result}) for result in results)
    for one, other in ((before, after), (after, before)):
        for key in other:
            if key.startswith(_ABSENT_IS_ZERO):
                one.setdefault(key, 0)
    return before, after


def _flat(value: object, path: str = "") -> dict[str, Figure]:
    if isinstance(value, Mapping):
        found: dict[str, Figure] = {}
        for name, below in cast("Mapping[str, object]", value).items():
            if not (path.startswith("engines") and name in _SINGLE):
                found |= _flat(below, f"{path}.{name}" if path else name)
        return found
    return {path: value} if path and (value is None or isinstance(value, int | float | str | bool)) else {}


def _print(
    results: list[dict[str, Any]], before: Mapping[str, Figure], after: Mapping[str, Figure], *, everything: bool
) -> None:
    from ..backend_sim.analysis.report import plain_table, text

    for name in _NAMES:
        one, other = (result.get(name) for result in results)
        print(f"{name} {one}" if one == other else f"{name} {one} -> {other}")
    right, columns = "right", ("before", "after", "change")
    table: Table = plain_table("Figures that differ", ("figure", "left"), *((name, right) for name in columns))
    differing = 0
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if key.split(".")[0] in _UNSEEN:
            continue
        differing += one != other
        if one != other or everything:
            table.add_row(key, _shown(one), _shown(other), _change(one, other) if one != other else "")
    if everything:
        table.title = "Figures"
    if table.row_count:
        sys.stdout.write("\n" + text(table))
    if not differing:
        print("\nno figure differs")


def _shown(figure: Figure) -> str:
    match figure:
        case None:
            return "-"
        case bool() | str():
            text = word(figure)  # why a check failed can be long
            return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
        case int():
            return f"{figure:,}"
        case float():
            return f"{figure:,.3f}" if abs(figure) >= 1 else f"{figure:.4g}"


def _change(before: Figure, after: Figure) -> str:
    if isinstance(before, int | float) and isinstance(after, int | float):
        if isinstance(before, bool) or not before:
            return f"{_shown(before)} -> {_shown(after)}"
        return f"{(after - before) / abs(before):+.2%}"
    return f"{_shown(before)} -> {_shown(after)}"
