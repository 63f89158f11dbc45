"""The tables of a study: variants side by side, or passes with what each changes and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..backend_sim.analysis.plots import Figure
from ..backend_sim.analysis.report import ns, plain_table
from ..backend_sim.oplog import PARTS
from .ablation import Ablation, Step
from .study_figures import figures
from .study_result import Study
from .variants import POINT, Measured, Variant

_NAMED = 5  # parts named in an explanation


def report(study: Study) -> RenderableType:
    """The whole report, a verdict last."""
    parts: list[RenderableType] = list(tables(study))
    verdict = _ablation_verdict(study.ablation) if study.ablation is not None else _verdict(study)
    return Group(*(item for part in [*parts, Text(verdict)] for item in (part, Text(""))))


def tables(study: Study) -> list[Table]:
    """The tables of the report."""
    if study.ablation is not None:
        added = [_added(study.ablation)] if study.ablation.added else []
        return [_left_out(study.ablation), *added]
    return [*map(over_points, figures(study)), _figures(study), _parts(study), _engines(study)]


def over_points(figure: Figure) -> Table:
    """A figure with a row for each point and a column for each line."""
    table = plain_table(figure.y, (figure.x, "right"), *((name, "right") for name in figure.lines))
    for i, point in enumerate(figure.points):
        table.add_row(point, *(_shown(figure.y, line[i]) for line in figure.lines.values()))
    return table


def _shown(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if key.endswith("_ns") else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _table(title: str, study: Study, *columns: tuple[str, str]) -> Table:
    """A table whose first columns tell variants apart."""
    return plain_table(title, *((name, side) for name, side, _ in _identity(study)), *columns)


def _cells(variant: Variant, study: Study) -> list[str]:
    return [value(variant) for _, _, value in _identity(study)]


def _identity(study: Study) -> list[tuple[str, str, Callable[[Variant], str]]]:
    """The columns that tell variants apart: name, side and what stands in them."""
    columns: list[tuple[str, str, Callable[[Variant], str]]] = []
    if study.has_several_workloads:
        columns.append(("workload", "left", lambda v: v.workload))
    if study.has_named_points:
        columns.append((POINT, "left", lambda v: v.point))
    paths = [setting.partition("=")[0] for setting in study.plan.points[0].settings]
    if study.has_several_pipelines or not (columns or paths):
        columns.insert(len(columns) - study.has_named_points, ("pipeline", "left", lambda v: v.pipeline))
    return [*columns, *((path, "right", partial(Variant.at, axis=path)) for path in paths)]


def _figures(study: Study) -> Table:
    names = ("latency ns", "change", "commands", "issue cycles", "HBM read B", "HBM written B")
    table = _table("Variants", study, *((name, "right") for name in names), ("check", "left"))
    first: dict[object, int] = {}  # what others are compared with: at each point, or of all points if there is one line
    for variant in study.variants:
        measured = variant.measured
        if measured is None:
            table.add_row(*_cells(variant, study), *[""] * len(names), Text(f"does not run: {variant.refusal}"))
            continue
        found = measured.summary
        point = (variant.point, variant.settings) if study.has_several_lines else None
        table.add_row(
            *_cells(variant, study),
            ns(measured.latency_ps),
            _relative(measured.latency_ps, first.setdefault(point, measured.latency_ps)),
            f"{found['commands']['total']:,}",
            f"{found['issue_cycles']:,}",
            f"{found['bytes']['hbm_read']:,}",
            f"{found['bytes']['hbm_write']:,}",
            found["check"],
        )
    return table


def _relative(now: int, before: int) -> str:
    return f"{now / before - 1:+.1%}" if before and now != before else "0.0%"


def _parts(study: Study) -> Table:
    ran = [(v, v.measured) for v in study.variants if v.measured is not None]
    shown = [part for part in PARTS if any(m.parts[part] for _, m in ran)]
    columns = ((part, "right") for part in (*shown, "total"))
    table = _table("Where the time went, in ns", study, *columns)
    for variant, measured in ran:
        cells = (ns(measured.parts[part]) for part in shown)
        table.add_row(*_cells(variant, study), *cells, ns(measured.latency_ps))
    return table


def _engines(study: Study) -> Table:
    ran = [(v, v.measured.summary["engines"]) for v in study.variants if v.measured is not None]
    shown = [name for name in ran[0][1] if any(engines[name]["busy_ns"] for _, engines in ran)]
    table = _table("How busy the engines are", study, *((name, "right") for name in shown))
    for variant, engines in ran:
        table.add_row(*_cells(variant, study), *(f"{engines[name]['utilization']:.1%}" for name in shown))
    return table


def _verdict(study: Study) -> str:
    right = [(v.measured.latency_ps, i, v) for i, v in enumerate(study.variants) if v.ran and v.measured is not None]
    if not right:
        return "No variant leaves the right values."
    if study.plan.x is not None and study.has_several_lines:
        return _fastest_by_point(study, study.plan.x)
    latency, _, best = min(right)
    slowest, _, worst = max(right, key=lambda entry: (entry[0], -entry[1]))
    if slowest == latency:
        return f"All take {ns(latency)} ns."
    slower = f"{study.label(worst)} takes {slowest / latency:.2f} times as long" if latency else ""
    return f"Fastest: {study.label(best)}, {ns(latency)} ns; {slower}."


def _fastest_by_point(study: Study, x: str) -> str:
    """Which line has the least latency at which points of the axis `x`, or which lines share it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for variant in study.variants:
        if variant.ran and variant.measured is not None:
            line = study.label(variant, without=x)
            found.setdefault(variant.at(x), []).append((variant.measured.latency_ps, line))
    points: dict[tuple[str, ...], list[str]] = {}
    for at, lines in found.items():
        least = min(latency for latency, _ in lines)
        points.setdefault(tuple(line for latency, line in lines if latency == least), []).append(at)
    said = [f"{' and '.join(lines)} at {', '.join(at)}" for lines, at in points.items()]
    return f"Fastest over {x}: {'; '.join(said)}."


def _left_out(ablation: Ablation) -> Table:
    assert ablation.whole.measured is not None
    title = f"Each pass left out of the pipeline, which takes {ns(ablation.whole.measured.latency_ps)} ns"
    return _step_table(title, "left out", ablation.left_out)


def _added(ablation: Ablation) -> Table:
    assert ablation.least.measured is not None
    title = f"Passes added one after another to {ablation.least.pipeline}: {ns(ablation.least.measured.latency_ps)} ns"
    return _step_table(title, "added", ablation.added)


def _step_table(title: str, way: str, steps: Sequence[Step]) -> Table:
    table = plain_table(title, (way, "left"), ("latency ns", "right"), ("change ns", "right"), ("why", "left"))
    for step in steps:
        if step.variant.measured is None or step.change is None:
            table.add_row(step.name, "", "", Text(f"does not run: {step.variant.refusal}"))
            continue
        change = sum(step.change.values())
        wrong = "" if step.variant.ran else "WRONG VALUES; "
        signed = f"{'+' if change > 0 else ''}{ns(change)}" if change else ""
        why = wrong + explanation(step.before, step.variant.measured)
        table.add_row(step.name, ns(step.variant.measured.latency_ps), signed, Text(why))
    return table


def explanation(before: Measured, after: Measured) -> str:
    """Why a latency differs: the parts of the difference, the largest first, and what was issued and moved."""
    change = {part: ps for part, ps in after.change_from(before).items() if ps}
    ordered = sorted(change, key=lambda part: -abs(change[part]))
    said = [f"{part} {_signed(change[part])}" for part in ordered[:_NAMED]]
    if rest := ordered[_NAMED:]:
        said.append(f"{len(rest)} more {_signed(sum(change[part] for part in rest))}")
    counts = (
        ("commands", after.summary["commands"]["total"] - before.summary["commands"]["total"]),
        ("B read", after.summary["bytes"]["hbm_read"] - before.summary["bytes"]["hbm_read"]),
        ("B written", after.summary["bytes"]["hbm_write"] - before.summary["bytes"]["hbm_write"]),
    )
    moved = [f"{count:+,} {what}" for what, count in counts if count]
    return "; ".join(filter(None, (", ".join(said), ", ".join(moved)))) or "nothing changes"


def _signed(ps: int) -> str:
    return f"{'+' if ps > 0 else ''}{ns(ps)}"


def _ablation_verdict(ablation: Ablation) -> str:
    needed = [step.name for step in ablation.left_out if step.variant.error is not None]
    wrong = [step.name for step in ablation.left_out if step.variant.error is None and not step.variant.ran]
    lines = [f"Cannot be left out: {', '.join(needed)}."] if needed else []
    if wrong:
        lines.append(f"Without them the values are wrong: {', '.join(wrong)}.")
    gains = [(sum(step.change.values()), step.name) for step in ablation.left_out if step.change is not None]
    most = max(gains, default=(0, ""))
    if most[0] > 0:
        lines.append(f"Worth most: {most[1]}, {ns(most[0])} ns.")
    for change, name in sorted(gains):
        if change < 0:
            lines.append(f"Makes this workload slower: {name}, by {ns(-change)} ns.")
    return "\n".join(lines)
