"""Variants of one workload, run and measured: what `study` and `bisect` compare.

A variant is a pipeline and settings (`path=value`). One that does not compile or run is a result too, with the reason;
of several that compile to the same commands one is run.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ..backend_sim.analysis.attribution import by_line
from ..backend_sim.target.document import closest, parse
from ..backend_sim.target.machine_file import SET
from ..dialects.errors import AhbmcError, Place, Sources, fail
from .command_key import command_key
from .command_line import word_place
from .execution import compile_all
from .forms import AUTO, settled
from .outermost import caught
from .prepare import Prepared, prepare
from .run import run_compiled
from .shared_passes import SharedPasses
from .workload import load, read_text
from .workload_schema import WorkloadFile

POINT = "point"
"""The axis of the points of a study that have names."""

_KEYS = tuple(field.name for field in msgspec.structs.fields(WorkloadFile))
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
    """What became of one variant: `measured`, or the `error` that says why it has no figures.

    `workload` and `point` are the names that a study gives them.
    """

    pipeline: str
    settings: tuple[str, ...]
    measured: Measured | None
    error: AhbmcError | None = None
    workload: str = ""
    point: str = ""

    @property
    def ran(self) -> bool:
        """Whether it ran and left the right values."""
        return self.measured is not None and self.measured.is_right

    def at(self, axis: str) -> str:
        """Where it lies on an axis: the name of its point for `POINT`, else the value of a setting."""
        if axis == POINT:
            return self.point
        return next((s.partition("=")[2] for s in self.settings if s.partition("=")[0] == axis), "")

    @property
    def refusal(self) -> str:
        """Why it has no figures, in a line; nothing if it has."""
        return str(self.error).splitlines()[0] if self.error is not None else ""


def in_order(settings: Sequence[str]) -> tuple[str, ...]:
    """Settings in the order in which places of `SET` count them: those of the machine come first."""
    machine = [text for text in settings if text.strip().startswith("machine.")]
    return (*machine, *(text for text in settings if text not in machine))


class Trials:
    """Runs variants of the workload file `path`; with `timing_only` no values are computed.

    `shared` is for pipelines that differ by a pass or two: what passes make of the kernels is kept. The path of a
    setting may be the bare name of a parameter: `M` is `args.M` or `const.M`, as the file has it.
    """

    def __init__(
        self,
        path: str,
        machine: str | None = None,
        sources: Sources | None = None,
        *,
        timing_only: bool = False,
        shared: bool = False,
    ):
        self.path = path
        self.machine = machine
        self.sources = sources or Sources()
        self.timing_only = timing_only
        self._shared = SharedPasses() if shared else None
        self._prepared: dict[tuple[str, ...], Prepared] = {}
        self._variants: dict[tuple[str | None, tuple[str, ...]], Variant] = {}
        self._measured: dict[tuple[tuple[str, ...], Hashable], Measured] = {}

    def prepared(self, settings: tuple[str, ...] = ()) -> Prepared:
        """The workload with `settings` laid over it. Raises AhbmcError."""
        if settings not in self._prepared:
            paths = self._paths(settings)
            self._prepared[settings] = prepare(load(self.path, paths, self.sources), self.machine, None)
        return self._prepared[settings]

    def _paths(self, settings: tuple[str, ...]) -> tuple[str, ...]:
        """The settings with whole paths. Raises AhbmcError for a name that the file does not have."""
        ordered = in_order(settings)
        self.sources.add(SET, "\n".join(ordered))
        return tuple(self._with_section(setting, line) for line, setting in enumerate(ordered, 1))

    def _with_section(self, setting: str, line: int) -> str:
        name = setting.partition("=")[0].strip()
        if "." in name or name in _KEYS:
            return setting
        found = next((section for section, names in self._parameters.items() if name in names), None)
        if found is not None:
            return f"{found}.{setting.strip()}"
        known = [each for names in self._parameters.values() for each in names]
        close = closest(name, known)
        hint = (
            f"did you mean `{close}`?" if close else "write a whole path, such as const.BLOCK or launches.0.const.BLOCK"
        )
        message = f"`{name}` is neither in `args` nor in `const` of {self.path}; they have {', '.join(known)}"
        raise fail(message, Place(SET, line, 1, 1 + len(name)), hint=hint)

    @cached_property
    def _parameters(self) -> Mapping[str, Sequence[str]]:
        """The names in `args` and in `const` of the file."""
        document = parse(read_text(Path(self.path), "workload file", word_place(self.sources, self.path)), self.path)
        sections = document.value if isinstance(document.value, dict) else {}
        found = {name: sections[name].value for name in ("args", "const") if name in sections}
        return {name: list(value) for name, value in found.items() if isinstance(value, dict)}

    def pipeline(self, settings: tuple[str, ...] = ()) -> str | None:
        """The pipeline that the workload names; None if its launches have several."""
        named = {request.pipeline for request in self.prepared(settings).requests}
        return named.pop() if len(named) == 1 else None

    def form(self, pipeline: str, settings: tuple[str, ...] = ()) -> str:
        """The pipeline whose passes run under the name `auto`, where all launches come to the same; else as it is."""
        if pipeline != AUTO:
            return pipeline
        requests = [replace(r, pipeline=AUTO, pipeline_place=None) for r in self.prepared(settings).requests]
        forms = {settled(request).pipeline for request in requests}
        return forms.pop() if len(forms) == 1 else AUTO

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
        compiled = (self._shared.compile_all if self._shared is not None else compile_all)(prepared.requests)
        key = settings, tuple(command_key(c.module) for c in compiled)
        if key not in self._measured:
            outcome = run_compiled(prepared, compiled, timing_only=self.timing_only)
            analysis = outcome.executed.analysis
            lines = by_line(analysis.log, analysis.attribution)
            summary = {name: value for name, value in outcome.summary().items() if name not in _LONG}
            self._measured[key] = Measured(summary, analysis.attribution.parts, lines)
        return self._measured[key]
