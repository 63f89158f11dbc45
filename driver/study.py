"""`ahbmc study`: variants of workloads side by side (pipelines, values of settings), or each pass of one on its own.

What is run is told by `study_plan.py`, what came out is `study_result.py`. JSON and CSV are made by `study_files.py`,
tables by `study_tables.py`, figures over the points of a study by `study_figures.py`, the page by `study_page.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, Sources, fail
from ..passes import PIPELINE_TEXT, build_pipeline
from ..passes.pipeline_text import single_passes
from ..passes.pipelines import PIPELINES
from .ablation import Passes, ablate
from .command_line import word_place
from .outermost import CHECK_FAILED, WRONG_USAGE
from .output import check_folder, write
from .progress import counted
from .study_figures import check_keys
from .study_plan import Entry, Plan, Point, plan_of
from .study_result import Study
from .variants import Trials, Variant


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc study`. Returns 3 where a variant left wrong values."""
    files = [f for f in (arguments.json, arguments.csv, arguments.html, arguments.plot) if f is not None]
    if files.count("-") > 1:
        print("ahbmc study: error: only one output can be -", file=sys.stderr)
        return WRONG_USAGE
    sources: Sources = arguments.sources
    for name in files:
        check_folder(name, word_place(sources, name))
    if arguments.plot not in (None, "-") and Path(arguments.plot).suffix != ".svg":
        message = f"a plot of a study is a file .svg; found {arguments.plot}"
        raise fail(message, word_place(sources, arguments.plot), hint="name it study.svg")
    study = study_of(
        arguments.workloads,
        pipelines=_pipelines(arguments, sources),
        settings=arguments.set,
        ablated=arguments.ablate,
        machine=arguments.machine,
        timing_only=arguments.timing_only,
        x=arguments.x,
        y=arguments.y.split(",") if arguments.y else (),
        drawn=word_place(sources, arguments.plot) if arguments.plot else None,
        sources=sources,
    )
    _write(study, arguments, sources)
    if "-" not in files:
        from ..backend_sim.analysis.report import text
        from .study_tables import report

        sys.stdout.write(text(report(study), width=200))
    wrong = [v for v in study.variants if v.measured is not None and not v.measured.is_right]
    return CHECK_FAILED if wrong else 0


def _write(study: Study, arguments: argparse.Namespace, sources: Sources) -> None:
    """The files that were asked for."""
    from ..backend_sim.analysis.plots import picture
    from .study_figures import figures
    from .study_files import as_csv, as_object
    from .study_page import page

    made = (
        (arguments.json, lambda: json.dumps(as_object(study), indent=1) + "\n"),
        (arguments.csv, lambda: as_csv(study)),
        (arguments.html, lambda: "".join(page(study))),
        (arguments.plot, lambda: picture(figures(study))),
    )
    for file, content in made:
        if file:
            write(file, content(), word_place(sources, file))


def study_of(
    files: Sequence[str],
    *,
    pipelines: Sequence[str] = (),
    settings: Sequence[str] = (),
    ablated: bool = False,
    machine: str | None = None,
    timing_only: bool = False,
    x: str | None = None,
    y: Sequence[str] = (),
    drawn: Place | None = None,
    sources: Sources,
) -> Study:
    """Run a study of workload files, or that of a study file: `pipelines` are names or lists of passes, `settings` are
    `path=1,2,4`, `y` are the figures over the axis `x`. `drawn`: where it is asked for a plot, which needs several
    points. Raises AhbmcError where no variant runs.
    """
    plan = plan_of(files, pipelines=pipelines, settings=settings, x=x, y=y, sources=sources)
    if drawn is not None and (plan.x is None or ablated):
        hint = "leave --ablate out" if ablated else "give one --set PATH=V,V"
        raise fail("a plot needs a study with several points", drawn, hint=hint)
    trials = {e.file: Trials(e.file, machine, sources, timing_only=timing_only, shared=ablated) for e in plan.entries}
    if ablated:
        return _ablation(plan, trials, sources)
    variants: list[Variant] = []
    runs = [(point, entry, pipeline) for point in plan.points for entry, pipeline in _columns(plan)]
    with counted("variants", len(runs)) as advance:
        for point, entry, pipeline in runs:
            variants.append(found := _variant(plan, trials[entry.file], point, entry, pipeline))
            if found.measured is not None:
                check_keys(plan.y, found.measured, plan.y_place)
            advance()
    if all(v.error is not None for v in variants):
        assert variants[-1].error is not None
        raise variants[-1].error  # its settings are those that places of --set point into
    return Study(plan, tuple(variants))


def _columns(plan: Plan) -> list[tuple[Entry, str | None]]:
    """What runs at each point: a workload and a pipeline, or None for that of its file."""
    everything = len(plan.entries) == len(plan.points) == 1
    default: Sequence[str | None] = plan.pipelines or (list(PIPELINES) if everything else [None])
    return [(e, p) for e in plan.entries for p in ([e.pipeline] if e.pipeline is not None else default)]


def _variant(plan: Plan, trials: Trials, point: Point, entry: Entry, pipeline: str | None) -> Variant:
    settings = (*entry.settings, *point.named, *point.settings)
    found = trials.run(pipeline, settings)
    error = plan.located(found.error, settings) if found.error is not None else None
    return replace(found, settings=point.settings, error=error, workload=entry.name, point=point.name)


def _pipelines(arguments: argparse.Namespace, sources: Sources) -> list[str]:
    """The pipelines that are asked for; each must be one. Names come in a list, a list of passes alone."""
    named = [name.strip() for name in arguments.pipelines.split(",")] if arguments.pipelines else []
    for name in named:
        if name not in PIPELINES:
            close = closest(name, PIPELINES)
            more = "a list of passes is given by --pipeline, which may stand more than once"
            hint = f"did you mean `{close}`?" if close else more
            place = word_place(sources, arguments.pipelines)
            raise fail(f"there is no pipeline `{name}`; there are {', '.join(PIPELINES)}", place, hint=hint)
    for text in arguments.pipeline:
        sources.add(PIPELINE_TEXT, text)
        build_pipeline(text)
    return list(dict.fromkeys((*named, *arguments.pipeline)))


def _ablation(plan: Plan, trials: dict[str, Trials], sources: Sources) -> Study:
    entry, point = plan.entries[0], plan.points[0]
    counts = {"workloads": plan.entries, "values of --set": plan.points, "pipelines": plan.pipelines}
    for what, several in counts.items():
        if len(several) > 1:
            what = (
                f"--ablate studies one workload, one pipeline and one value for each setting; several {what} were given"
            )
            raise fail(what, word_place(sources, "--ablate"), hint="run it once for each")
    settings = (*entry.settings, *point.named, *point.settings)
    chosen = entry.pipeline or next(iter(plan.pipelines), None) or trials[entry.file].pipeline(settings)
    if chosen is None:
        message = "the launches of this workload have several pipelines; --ablate studies one"
        raise fail(message, word_place(sources, "--ablate"), hint="name one: --pipelines auto")
    passes = single_passes(trials[entry.file].form(chosen, settings))
    with counted("runs", 3 * len(passes)) as advance:
        ablation = ablate(Passes(trials[entry.file], passes, settings, advance))
    whole = Variant(chosen, point.settings, ablation.whole.measured, workload=entry.name, point=point.name)
    return Study(plan, (whole,), ablation)
