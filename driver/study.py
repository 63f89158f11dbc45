"""`ahbmc study`: variants of a workload side by side (pipelines, values of settings), or each of its passes on its own.

Tables are made by `study_tables.py`, the page by `study_page.py`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..backend_sim.target.machine_file import SET
from ..dialects.errors import Sources, fail
from ..passes import PIPELINE_TEXT, build_pipeline
from ..passes.pipeline_text import single_passes
from ..passes.pipelines import PIPELINES
from .ablation import Ablation, Passes, Step, ablate
from .command_line import word_place
from .grid import combinations
from .outermost import CHECK_FAILED, WRONG_USAGE
from .output import check_folder, write
from .progress import counted
from .variants import Trials, Variant

SCHEMA = 1


@dataclass(frozen=True)
class Study:
    """The variants of a workload, or (`ablation`) what each pass of its pipeline does; then `variants` is the whole
    pipeline alone.
    """

    workload: str
    variants: tuple[Variant, ...]
    ablation: Ablation | None = None


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc study`. Returns 3 where a variant left wrong values."""
    files = [name for name in (arguments.json, arguments.csv, arguments.html) if name is not None]
    if files.count("-") > 1:
        print("ahbmc study: error: only one output can be -", file=sys.stderr)
        return WRONG_USAGE
    sources: Sources = arguments.sources
    for name in files:
        check_folder(name, word_place(sources, name))
    study = study_of(
        arguments.workload,
        pipelines=_pipelines(arguments, sources),
        settings=arguments.set,
        ablated=arguments.ablate,
        machine=arguments.machine,
        timing_only=arguments.timing_only,
        sources=sources,
    )
    if arguments.json:
        write(arguments.json, json.dumps(as_object(study), indent=1) + "\n", word_place(sources, arguments.json))
    if arguments.csv:
        write(arguments.csv, as_csv(study), word_place(sources, arguments.csv))
    if arguments.html:
        from .study_page import page

        write(arguments.html, "".join(page(study)), word_place(sources, arguments.html))
    if "-" not in files:
        from ..backend_sim.analysis.report import text
        from .study_tables import report

        sys.stdout.write(text(report(study), width=200))
    wrong = [v for v in study.variants if v.measured is not None and not v.measured.is_right]
    return CHECK_FAILED if wrong else 0


def study_of(
    workload: str,
    *,
    pipelines: Sequence[str] = (),
    settings: Sequence[str] = (),
    ablated: bool = False,
    machine: str | None = None,
    timing_only: bool = False,
    sources: Sources,
) -> Study:
    """Run a study: `pipelines` are names or lists of passes, `settings` are `path=1,2,4`. Raises AhbmcError where no
    variant runs.
    """
    sources.add(SET, "\n".join(settings))
    points = combinations(settings)
    trials = Trials(workload, machine, sources, timing_only=timing_only)
    if ablated:
        return _ablation(trials, pipelines, points, sources)
    chosen: Sequence[str | None] = pipelines or (list(PIPELINES) if len(points) == 1 else [None])
    with counted("variants", len(points) * len(chosen)) as advance:
        variants: list[Variant] = []
        for point in points:
            for pipeline in chosen:
                variants.append(trials.run(pipeline, point))
                advance()
    if all(v.error is not None for v in variants):
        assert variants[-1].error is not None
        raise variants[-1].error  # its settings are those that places of --set point into
    return Study(workload, tuple(variants))


def _pipelines(arguments: argparse.Namespace, sources: Sources) -> list[str]:
    """The pipelines that are asked for; each must be one. Names come in a list, a list of passes alone."""
    named = [name.strip() for name in arguments.pipelines.split(",")] if arguments.pipelines else []
    for name in named:
        if name not in PIPELINES:
            hint = "a list of passes is given by --pipeline, which may stand more than once"
            place = word_place(sources, arguments.pipelines)
            raise fail(f"there is no pipeline `{name}`; there are {', '.join(PIPELINES)}", place, hint=hint)
    for text in arguments.pipeline:
        sources.add(PIPELINE_TEXT, text)
        build_pipeline(text)
    return [*named, *arguments.pipeline]


def _ablation(trials: Trials, pipelines: Sequence[str], points: list[tuple[str, ...]], sources: Sources) -> Study:
    if len(points) > 1 or len(pipelines) > 1:
        what = "values of --set" if len(points) > 1 else "pipelines"
        message = f"--ablate studies one pipeline with one value for each setting; several {what} were given"
        raise fail(message, word_place(sources, "--ablate"), hint="run it once for each")
    pipeline = pipelines[0] if pipelines else trials.pipeline(points[0])
    if pipeline is None:
        hint = "name one: --pipelines auto"
        raise fail("the launches of this workload have several pipelines; --ablate studies one", hint=hint)
    passes = single_passes(pipeline)
    with counted("runs", 3 * len(passes)) as advance:
        ablation = ablate(Passes(trials, passes, points[0], advance))
    return Study(trials.path, (Variant(pipeline, points[0], ablation.whole.measured),), ablation)


def as_object(study: Study) -> dict[str, Any]:
    """The object of `study --json`; times are ns."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": study.workload,
        "variants": [_entry(variant) for variant in study.variants],
    }
    if study.ablation is not None:
        ablation = study.ablation
        found["ablation"] = {
            "least": {"pipeline": ablation.least.pipeline, **_figures(ablation.least)},
            "left_out": [_step(step) for step in ablation.left_out],
            "added": [_step(step) for step in ablation.added],
        }
    return found


def _entry(variant: Variant) -> dict[str, Any]:
    settings = dict(s.split("=", 1) for s in variant.settings)
    summary = dict(variant.measured.summary) if variant.measured is not None else {}
    return {**summary, "pipeline": variant.pipeline, "settings": settings, "refused": variant.refusal or None}


def _figures(variant: Variant) -> dict[str, Any]:
    if variant.measured is None:
        return {"latency_ns": None, "check": None}
    return {"latency_ns": variant.measured.latency_ps / 1000, "check": variant.measured.summary["check"]}


def _step(step: Step) -> dict[str, Any]:
    change = step.change
    return {
        "pass": step.name,
        "pipeline": step.variant.pipeline,
        **_figures(step.variant),
        "change_ns": sum(change.values()) / 1000 if change is not None else None,
        "parts_ns": {part: ps / 1000 for part, ps in change.items()} if change is not None else None,
        "refused": step.variant.refusal or None,
    }


_NESTED = ("commands", "bytes", "attribution")


def as_csv(study: Study) -> str:
    """One line per variant, or per pass left out and added; nested figures are columns such as `attribution.issue`."""
    rows = list(_steps(study.ablation)) if study.ablation is not None else [_flat(v) for v in study.variants]
    columns = dict.fromkeys(name for row in rows for name in row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(variant: Variant) -> dict[str, Any]:
    entry = _entry(variant)
    row = {"pipeline": entry["pipeline"], **entry["settings"], "refused": entry["refused"]}
    if variant.measured is None:
        return row
    row |= {name: entry[name] for name in ("latency_ns", "check", "issue_cycles", "issue_cycles_max")}
    row |= {f"{name}.{key}": value for name in _NESTED for key, value in entry[name].items()}
    engines: Mapping[str, Mapping[str, float]] = entry["engines"]
    return row | {f"utilization.{name}": engine["utilization"] for name, engine in engines.items()}


def _steps(ablation: Ablation) -> Iterator[dict[str, Any]]:
    for way, steps in (("left out", ablation.left_out), ("added", ablation.added)):
        for step in steps:
            entry = {name: value for name, value in _step(step).items() if name not in ("parts_ns", "pipeline")}
            change = step.change or {}
            yield {"way": way, **entry, **{f"change.{part}": ps / 1000 for part, ps in change.items()}}
