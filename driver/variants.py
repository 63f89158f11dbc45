"""Variants of one workload, run and measured: what `study` and `bisect` compare.

A variant is a pipeline and settings (`path=value`). One that does not compile or run is a result too, with the reason;
of several that compile to the same commands one is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..backend_sim.analysis.attribution import by_line
from ..dialects.errors import AhbmcError, Sources
from ..dialects.text import print_module
from .execution import compile_all
from .outermost import caught
from .prepare import Prepared, prepare
from .run import run_compiled
from .workload import load

_LONG = ("attribution_commands", "slices", "links", "remarks")


@dataclass(frozen=True)
class Measured:
    """Figures of a run: the object of `run --json` without its lists, and the parts of the latency in ps, which add up
    to it; `lines` has them by line of the kernel, (file, line) -> part -> ps.
    """

    summary: Mapping[str, Any]
    parts: Mapping[str, int]
    lines: Mapping[tuple[str, int], Mapping[str, int]]

    @property
    def latency_ps(self) -> int:
        return sum(self.parts.values())

    @property
    def is_right(self) -> bool:
        """Whether no check failed."""
        return self.summary["check"] != "fail"

    def change_from(self, before: Measured) -> dict[str, int]:
        """By how many ps each part differs from `before`; they add up to the difference of the latencies."""
        return {part: ps - before.parts[part] for part, ps in self.parts.items()}


@dataclass(frozen=True)
class Variant:
    """What became of one variant: `measured`, or the `error` that says why it has no figures."""

    pipeline: str
    settings: tuple[str, ...]
    measured: Measured | None
    error: AhbmcError | None = None

    @property
    def ran(self) -> bool:
        """Whether it ran and left the right values."""
        return self.measured is not None and self.measured.is_right

    @property
    def refusal(self) -> str:
        """Why it has no figures, in a line; nothing if it has."""
        return str(self.error).splitlines()[0] if self.error is not None else ""


class Trials:
    """Runs variants of the workload file `path`; with `timing_only` no values are computed."""

    def __init__(
        self, path: str, machine: str | None = None, sources: Sources | None = None, *, timing_only: bool = False
    ):
        self.path = path
        self.machine = machine
        self.sources = sources or Sources()
        self.timing_only = timing_only
        self._prepared: dict[tuple[str, ...], Prepared] = {}
        self._variants: dict[tuple[str | None, tuple[str, ...]], Variant] = {}
        self._measured: dict[tuple[tuple[str, ...], str], Measured] = {}

    def prepared(self, settings: tuple[str, ...] = ()) -> Prepared:
        """The workload with `settings` laid over it. Raises AhbmcError."""
        if settings not in self._prepared:
            self._prepared[settings] = prepare(load(self.path, settings, self.sources), self.machine, None)
        return self._prepared[settings]

    def pipeline(self, settings: tuple[str, ...] = ()) -> str | None:
        """The pipeline that the workload names; None if its launches have several."""
        named = {request.pipeline for request in self.prepared(settings).requests}
        return named.pop() if len(named) == 1 else None

    def run(self, pipeline: str | None, settings: tuple[str, ...] = ()) -> Variant:
        """Run a variant; without `pipeline` each launch takes that of the file."""
        if (pipeline, settings) not in self._variants:
            self._variants[pipeline, settings] = self._variant(pipeline, settings)
        return self._variants[pipeline, settings]

    def _variant(self, pipeline: str | None, settings: tuple[str, ...]) -> Variant:
        found: list[Measured] = []
        error = caught("ahbmc", lambda: found.append(self._run(pipeline, settings)))
        shown = pipeline or ("" if error else ", ".join(dict.fromkeys(self._pipelines(settings))))
        return Variant(shown, settings, found[0] if found else None, error)

    def _pipelines(self, settings: tuple[str, ...]) -> list[str]:
        return [request.pipeline for request in self.prepared(settings).requests]

    def _run(self, pipeline: str | None, settings: tuple[str, ...]) -> Measured:
        prepared = self.prepared(settings)
        if pipeline is not None:
            requests = tuple(replace(r, pipeline=pipeline, pipeline_place=None) for r in prepared.requests)
            prepared = replace(prepared, requests=requests)
        compiled = compile_all(prepared.requests)
        key = settings, "\n".join(print_module(c.module, locations=True) for c in compiled)
        if key not in self._measured:
            outcome = run_compiled(prepared, compiled, timing_only=self.timing_only)
            analysis = outcome.executed.analysis
            lines = by_line(analysis.log, analysis.attribution)
            summary = {name: value for name, value in outcome.summary().items() if name not in _LONG}
            self._measured[key] = Measured(summary, analysis.attribution.parts, lines)
        return self._measured[key]
