"""The report of a probe for a reader: a table for each kind of probe, saturation by size, invariants, routing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...target.describe import routing_note
from ...target.machine import Machine
from ..report import ns, plain_table
from .invariants import Invariant
from .rows import Row
from .suite import SATURATION, Measured


def report(
    machine: Machine, measured: Sequence[Measured], found: Sequence[Invariant], left_out: Sequence[str]
) -> RenderableType:
    """The whole report; `analysis/report.py` makes text of it."""
    groups: dict[str, list[Row]] = {}
    for group, row in measured:
        groups.setdefault(group, []).append(row)
    parts: list[RenderableType] = [Text(f"Probe of {machine.name}: single messages on an idle machine, by closed form")]
    for group, rows in groups.items():
        parts += _saturation(rows) if group == SATURATION else [_latencies(group, rows)]
    if left_out:
        parts.append(Text("\n- ".join(("Left out, because of", *left_out))))
    parts.append(_invariants(found))
    parts.append(Text(routing_note(machine)))
    return Group(*(item for part in parts for item in (part, Text(""))))


def _latencies(title: str, rows: Sequence[Row]) -> Table:
    figures = (
        "bytes",
        "hops",
        "latency\nns",
        "overhead\nns",
        "drain\nns",
        "wire\nns",
        "bottleneck\nGB/s",
        "utilization",
    )
    made = plain_table(
        title, ("case", "left"), ("from", "left"), ("to", "left"), *((name, "right") for name in figures)
    )
    for row in rows:
        made.add_row(
            row.pair.case,
            str(row.pair.source),
            str(row.pair.target),
            f"{row.size:,}",
            f"{row.hops}",
            ns(row.latency_ps),
            ns(row.overhead_ps),
            ns(row.drain_ps),
            ns(row.wire_ps),
            f"{float(row.slowest):g}",
            f"{float(row.utilization):.1%}",
        )
    return made


def _saturation(rows: Sequence[Row]) -> list[RenderableType]:
    """Cases down, sizes across: the published rule, and what a message of that size reaches."""
    sizes = sorted({row.size for row in rows})
    cases = {row.pair.case: {r.size: r for r in rows if r.pair == row.pair} for row in rows}
    columns = [(f"{size:,} B", "right") for size in sizes]
    rule = plain_table(
        "Saturation by size: drain / (drain + X), as published", ("case", "left"), ("X ns", "right"), *columns
    )
    reached = plain_table("Utilization by size: bytes / latency / bottleneck", ("case", "left"), *columns)
    for case, of_size in cases.items():
        found = [of_size.get(size) for size in sizes]
        constant_ps = next(iter(of_size.values())).constant_ps
        assert constant_ps is not None
        rule.add_row(case, ns(constant_ps), *(f"{float(r.saturation or 0):.1%}" if r else "" for r in found))
        reached.add_row(case, *(f"{float(r.utilization):.1%}" if r else "" for r in found))
    return [rule, reached]


def _invariants(found: Sequence[Invariant]) -> Table:
    made = plain_table("Invariants", ("invariant", "left"), ("compared", "right"), ("", "left"))
    for invariant in found:
        outcome = "failed" if invariant.broken else "passed" if invariant.compared else "nothing to compare"
        style = "bold red" if invariant.broken else ""
        made.add_row(
            invariant.name, f"{invariant.compared}", Text("\n".join((outcome, *invariant.broken)), style=style)
        )
    return made
