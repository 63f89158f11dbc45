"""What a study draws: figures of `run --json` over the points of the study, a line for whatever else varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..backend_sim.analysis.plots import Figure
from ..backend_sim.analysis.summary import GEMM_FIGURES
from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail
from .study_result import Study
from .variants import Measured, Variant


def figures(study: Study) -> list[Figure]:
    """A figure for each key of the plan's `y`; none if the study has one point."""
    x = study.plan.x
    if x is None:
        return []
    points = tuple(dict.fromkeys(v.at(x) for v in study.variants))
    lines: dict[str, dict[str, Variant]] = {}
    for variant in study.variants:
        lines.setdefault(study.label(variant, without=x), {})[variant.at(x)] = variant
    return [
        Figure(y, x, points, {name: tuple(_value(found.get(p), y) for p in points) for name, found in lines.items()})
        for y in study.plan.y
    ]


def _value(variant: Variant | None, key: str) -> float | None:
    """A figure of a variant; None if it did not run, or has no such figure."""
    return numbers(variant.measured).get(key) if variant is not None and variant.measured is not None else None


def numbers(measured: Measured) -> dict[str, float]:
    """The figures of a run that are numbers, by key: `latency_ns`, `gemm.tflops`, `attribution.issue`, ..."""
    return dict(_numbers(measured.summary, ""))


def _numbers(value: object, path: str) -> list[tuple[str, float]]:
    if isinstance(value, Mapping):
        below = cast("Mapping[str, Any]", value)
        return [pair for name, each in below.items() for pair in _numbers(each, f"{path}.{name}" if path else name)]
    return [(path, value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def check_keys(keys: Sequence[str], measured: Measured, place: Place | None) -> None:
    """Raise AhbmcError for a key that no run has; that of GEMMs may be missing from a run without one."""
    known = list(dict.fromkeys((*numbers(measured), *(f"gemm.{name}" for name in GEMM_FIGURES))))
    for key in keys:
        if key not in known:
            close = closest(key, known)
            hint = f"did you mean `{close}`?" if close else "take a key of `ahbmc run --json`, as gemm.mac_utilization"
            raise fail(f"`{key}` is no figure of a run", place, hint=hint)
