"""The tables of a study: variants side by side, or passes with what each changes and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..backend_sim.analysis.report import ns, plain_table
from ..backend_sim.oplog import PARTS
from .ablation import Ablation, Step
from .study import Study
from .variants import Measured, Variant

_NAMED = 5  # parts named in an explanation


def report(study: Study) -> RenderableType:
    """The whole report, a verdict last."""
    parts: list[RenderableType] = list(tables(study))
    verdict = _ablation_verdict(study.ablation) if study.ablation is not None else _verdict(study)
    return Group(*(item for part in [*parts, Text(verdict)] for item in (part, Text(""))))


def tables(study: Study) -> list[Table]:
    """The tables of the report."""
    if study.ablation is not None:
        return [_left_out(study.ablation), _added(study.ablation)]
    return [_figures(study.variants), _parts(study.variants), _engines(study.variants)]


def label(variant: Variant, variants: Sequence[Variant]) -> str:
    """What tells a variant apart from the others."""
    columns = zip(*(v.settings for v in variants), strict=True)
    differing = [len(set(column)) > 1 for column in columns]
    settings = [setting for setting, differs in zip(variant.settings, differing, strict=True) if differs]
    return " ".join([variant.pipeline, *settings] if _several_pipelines(variants) or not settings else settings)


def _several_pipelines(variants: Sequence[Variant]) -> bool:
    return len({v.pipeline for v in variants}) > 1 or not variants[0].settings


def _table(title: str, variants: Sequence[Variant], *columns: tuple[str, str]) -> Table:
    """A table whose first columns tell variants apart."""
    paths = [setting.partition("=")[0] for setting in variants[0].settings]
    first = [("pipeline", "left")] if _several_pipelines(variants) else []
    return plain_table(title, *first, *((path, "right") for path in paths), *columns)


def _cells(variant: Variant, variants: Sequence[Variant]) -> list[str]:
    values = [setting.partition("=")[2] for setting in variant.settings]
    return [variant.pipeline, *values] if _several_pipelines(variants) else values


def _figures(variants: Sequence[Variant]) -> Table:
    names = ("latency ns", "change", "commands", "issue cycles", "HBM read B", "HBM written B")
    table = _table("Variants", variants, *((name, "right") for name in names), ("check", "left"))
    first = next(v.measured for v in variants if v.measured is not None)
    for variant in variants:
        measured = variant.measured
        if measured is None:
            table.add_row(*_cells(variant, variants), *[""] * len(names), Text(f"does not run: {variant.refusal}"))
            continue
        found = measured.summary
        table.add_row(
            *_cells(variant, variants),
            ns(measured.latency_ps),
            _relative(measured.latency_ps, first.latency_ps),
            f"{found['commands']['total']:,}",
            f"{found['issue_cycles']:,}",
            f"{found['bytes']['hbm_read']:,}",
            f"{found['bytes']['hbm_write']:,}",
            found["check"],
        )
    return table


def _relative(now: int, before: int) -> str:
    return f"{now / before - 1:+.1%}" if before and now != before else "0.0%"


def _parts(variants: Sequence[Variant]) -> Table:
    ran = [(v, v.measured) for v in variants if v.measured is not None]
    shown = [part for part in PARTS if any(m.parts[part] for _, m in ran)]
    columns = ((part, "right") for part in (*shown, "total"))
    table = _table("Where the time went, in ns", variants, *columns)
    for variant, measured in ran:
        cells = (ns(measured.parts[part]) for part in shown)
        table.add_row(*_cells(variant, variants), *cells, ns(measured.latency_ps))
    return table


def _engines(variants: Sequence[Variant]) -> Table:
    ran = [(v, v.measured.summary["engines"]) for v in variants if v.measured is not None]
    shown = [name for name in ran[0][1] if any(engines[name]["busy_ns"] for _, engines in ran)]
    table = _table("How busy the engines are", variants, *((name, "right") for name in shown))
    for variant, engines in ran:
        table.add_row(*_cells(variant, variants), *(f"{engines[name]['utilization']:.1%}" for name in shown))
    return table


def _verdict(study: Study) -> str:
    right = [(v.measured.latency_ps, i, v) for i, v in enumerate(study.variants) if v.ran and v.measured is not None]
    if not right:
        return "No variant leaves the right values."
    latency, _, best = min(right)
    slowest, _, worst = max(right, key=lambda entry: (entry[0], -entry[1]))
    variants = study.variants
    if slowest == latency:
        return f"All take {ns(latency)} ns."
    slower = f"{label(worst, variants)} takes {slowest / latency:.2f} times as long" if latency else ""
    return f"Fastest: {label(best, variants)}, {ns(latency)} ns; {slower}."


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
