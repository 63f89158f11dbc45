"""A study as one HTML page: figures over its points, bars of where the time went or of what passes change, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..backend_sim.analysis.charts import bars, changes
from ..backend_sim.analysis.html import END, begin, section, table_in_html
from ..backend_sim.analysis.plots import plot
from .ablation import Step
from .study_figures import figures
from .study_result import Study
from .study_tables import tables


def page(study: Study) -> Iterator[str]:
    """The page, piece by piece."""
    yield begin(f"Study of {study.workload}")
    if study.ablation is None:
        for figure in figures(study):
            note = "A line, or a colour, for what else varies."
            yield section(f"{figure.y} over {figure.x}", note) + plot(figure) + "\n"
        ran = [(study.label(v), v.measured.parts) for v in study.variants if v.measured is not None]
        yield section("Latency of the variants", "Each bar is a variant, divided by the parts of its critical path.")
        yield bars(ran) + "\n"
    else:
        note = "To the right: the workload takes longer without the pass."
        yield section("Passes left out", note) + changes(_changes(study.ablation.left_out)) + "\n"
        if study.ablation.added:
            note = "To the left: the pass makes the workload faster. Each is added to all above it."
            yield section("Passes added", note) + changes(_changes(study.ablation.added)) + "\n"
    for table in tables(study):
        yield table_in_html(table)
    yield END


def _changes(steps: Sequence[Step]) -> list[tuple[str, int]]:
    return [(step.name, sum(step.change.values())) for step in steps if step.change is not None]
