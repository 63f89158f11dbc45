"""A study as JSON and as CSV.

The object of `study --json`; times are ns:

    schema  workload (the file or files of the study)
    variants [{workload, point, pipeline, settings {path: value}, refused, and the keys of `run --json` but for
        attribution_commands, slices, links and remarks}]; `refused` says why a variant has no figures, else it is null
    figures [{y, x, points, lines {name: [value or null]}}], if the study has several points
    ablation {least {pipeline, latency_ns, check}, left_out [step], added [step]}, if passes were studied; a step is
        {pass, pipeline, latency_ns, check, change_ns, parts_ns {part: ns}, refused}

CSV has a line per variant, with the columns workload and point (of a study of several), pipeline, the settings by path,
refused, latency_ns, check, issue_cycles, issue_cycles_max, and commands.*, bytes.*, attribution.*, gemm.* and
utilization.ENGINE; or a line per step, with way (left out or added), pass, latency_ns, check, change_ns, refused and
change.PART.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from .ablation import Ablation, Step
from .study_figures import figures
from .study_result import Study
from .variants import Variant

SCHEMA = 1


def as_object(study: Study) -> dict[str, Any]:
    """The object of `study --json`."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": study.workload,
        "variants": [_entry(variant) for variant in study.variants],
    }
    if drawn := figures(study):
        found["figures"] = [
            {"y": f.y, "x": f.x, "points": list(f.points), "lines": {n: list(v) for n, v in f.lines.items()}}
            for f in drawn
        ]
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
    return {
        **summary,
        "workload": variant.workload,
        "point": variant.point or None,
        "pipeline": variant.pipeline,
        "settings": settings,
        "refused": variant.refusal or None,
    }


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


_NESTED = ("commands", "bytes", "attribution", "gemm")


def as_csv(study: Study) -> str:
    """One line per variant, or per pass left out and added; nested figures are columns such as `attribution.issue`."""
    rows = list(_steps(study.ablation)) if study.ablation is not None else [_flat(v, study) for v in study.variants]
    columns = dict.fromkeys(name for row in rows for name in row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(variant: Variant, study: Study) -> dict[str, Any]:
    entry = _entry(variant)
    names = {"workload": study.has_several_workloads, "point": study.has_named_points}
    row = {name: entry[name] for name, wanted in names.items() if wanted}
    row |= {"pipeline": entry["pipeline"], **entry["settings"], "refused": entry["refused"]}
    if variant.measured is None:
        return row
    row |= {name: entry[name] for name in ("latency_ns", "check", "issue_cycles", "issue_cycles_max")}
    row |= {f"{name}.{key}": value for name in _NESTED for key, value in entry.get(name, {}).items()}
    engines: Mapping[str, Mapping[str, float]] = entry["engines"]
    return row | {f"utilization.{name}": engine["utilization"] for name, engine in engines.items()}


def _steps(ablation: Ablation) -> Iterator[dict[str, Any]]:
    for way, steps in (("left out", ablation.left_out), ("added", ablation.added)):
        for step in steps:
            entry = {name: value for name, value in _step(step).items() if name not in ("parts_ns", "pipeline")}
            change = step.change or {}
            yield {"way": way, **entry, **{f"change.{part}": ps / 1000 for part, ps in change.items()}}
