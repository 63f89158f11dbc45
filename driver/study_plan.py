"""What a study runs: workloads, points, pipelines, and what is drawn; from the command line or from a study file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from ..backend_sim.target.decoding import decode
from ..backend_sim.target.document import Node, parse
from ..backend_sim.target.machine_file import SET
from ..dialects.errors import AhbmcError, Fault, Place, Sources, fail
from ..passes import build_pipeline
from .command_line import word_place
from .grid import axes
from .study_schema import StudyFile, StudyWorkload
from .variants import POINT, in_order
from .workload import read_text


@dataclass(frozen=True)
class Entry:
    """A workload under study. With a `pipeline` it runs under that alone; `settings` hold at every point."""

    name: str
    file: str
    pipeline: str | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point:
    """Values of settings (`path=value`), by a name if the study gives one."""

    settings: tuple[str, ...]
    name: str = ""
    named: tuple[str, ...] = ()  # settings that the name stands for


@dataclass(frozen=True)
class Plan:
    """Every entry at every point, under each of `pipelines`, or without them under that of its file.

    `x` is the axis over which the figures `y` are drawn; None if there is one point. `places` says where a study file
    has a setting, `y_place` where the figures are named.
    """

    title: str
    entries: tuple[Entry, ...]
    points: tuple[Point, ...]
    pipelines: tuple[str, ...]
    x: str | None
    y: tuple[str, ...]
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    y_place: Place | None = None

    def located(self, error: AhbmcError, settings: Sequence[str]) -> AhbmcError:
        """The error with places in the study file in place of those in `settings`, which were laid over a workload."""
        lines = in_order(settings)

        def moved(fault: Fault) -> Fault:
            at = fault.place
            if at is None or at.file != SET or not 1 <= at.line <= len(lines):
                return fault
            return replace(fault, place=self.places.get(lines[at.line - 1], at))

        return AhbmcError(*map(moved, error.faults))


def plan_of(
    files: Sequence[str],
    *,
    pipelines: Sequence[str] = (),
    settings: Sequence[str] = (),
    x: str | None = None,
    y: Sequence[str] = (),
    sources: Sources,
) -> Plan:
    """The plan of workload files, or of one study file; `pipelines`, `x` and `y` go over those of the file, a setting
    over all values of its path. Raises AhbmcError.
    """
    sources.add(SET, "\n".join(settings))
    given = axes(settings)
    found = _study_file(files, sources)
    if found is None:
        plan = Plan(", ".join(files), _entries(files, sources), _points({}, given), tuple(pipelines), None, ())
        return _with_axis(plan, given, x, tuple(y) or ("latency_ns",), Node(None, Place(SET, 1, 1)), sources)
    path, document = found
    study = decode(document, StudyFile)
    reader = _Reader(path, document, {})
    entries = reader.entries(study)
    if pipelines and all(entry.pipeline is not None for entry in entries):
        hint = "change the study file, or study one of its workloads"
        named = word_place(sources, ",".join(pipelines)) or word_place(sources, pipelines[0])
        raise fail(f"every workload of {path} names the pipeline that it runs under", named, hint=hint)
    named = {name: reader.texts(values, "points", name) for name, values in study.points.items()}
    grid = given | {p: v for p, v in reader.grid(study).items() if p not in given}
    plan = Plan(str(path), entries, _points(named, grid), tuple(pipelines) or study.pipelines, None, (), reader.places)
    chosen = tuple(y) or ((study.plot.y,) if isinstance(study.plot.y, str) else study.plot.y)
    return _with_axis(plan, grid, x or study.plot.x, chosen, document.at("plot"), sources)


def _study_file(files: Sequence[str], sources: Sources) -> tuple[Path, Node] | None:
    """The study file among the files, if there is one: a mapping with `workloads`. It stands alone."""
    for file in files:
        path, at = Path(file), word_place(sources, file)
        if path.suffix not in (".yaml", ".yml"):
            continue
        text = read_text(path, "workload file", at)
        sources.add(str(path), text)
        document = parse(text, str(path))
        if isinstance(document.value, dict) and "workloads" in document.value:
            if len(files) > 1:
                raise fail(f"{file} is a study file, which stands alone", at, hint="give one study file")
            return path, document
    return None


def _entries(files: Sequence[str], sources: Sources) -> tuple[Entry, ...]:
    names = [Path(file).stem for file in files]
    for i, name in enumerate(names):
        if name in names[:i]:
            hint = "a study file gives names to workloads"
            raise fail(f"two workloads have the name `{name}`", word_place(sources, files[i]), hint=hint)
    return tuple(Entry(name, file) for name, file in zip(names, files, strict=True))


def _points(named: Mapping[str, tuple[str, ...]], grid: Mapping[str, Sequence[str]]) -> tuple[Point, ...]:
    """Every named point with every combination of the grid, whose last path varies fastest."""
    combined = product(*([f"{path}={value}" for value in values] for path, values in grid.items()))
    if not named:
        return tuple(Point(settings) for settings in combined)
    return tuple(Point(s, name, values) for (name, values), s in product(named.items(), combined))


def _with_axis(
    plan: Plan,
    grid: Mapping[str, Sequence[str]],
    x: str | None,
    y: tuple[str, ...],
    drawn: Node,
    sources: Sources,
) -> Plan:
    """The plan with what is drawn. `drawn` is the `plot` of a study file, in which x and y may be written."""
    several = [path for path, values in grid.items() if len(values) > 1]
    possible = ([POINT] if any(p.name for p in plan.points) else []) + several
    if x is not None and x not in possible:
        hint = f"the axes are {', '.join(possible)}" if possible else "run it at several points: --set PATH=V,V"
        place = word_place(sources, x) or drawn.at("x").place
        raise fail(f"`{x}` does not vary in this study", place, hint=hint)
    chosen = x or (POINT if POINT in possible else several[-1] if several else None)
    return replace(plan, x=chosen, y=y, y_place=word_place(sources, ",".join(y)) or drawn.at("y").place)


@dataclass(frozen=True)
class _Reader:
    """Reads the parts of a study file; `places` receives where each setting is written."""

    path: Path
    document: Node
    places: dict[str, Place]

    def entries(self, study: StudyFile) -> tuple[Entry, ...]:
        """The workloads. Raises AhbmcError with every file that is not there and every pipeline that is none."""
        faults: list[Fault] = []
        entries: list[Entry] = []
        if not study.workloads:
            faults.append(Fault("a study has one workload or more", self.document.at("workloads").place,
                                hint="write `workloads: {matmul: matmul.yaml}`"))  # fmt: skip
        for key, name, each in self._named(study):
            node = self.document.at("workloads", key)
            if any(entry.name == name for entry in entries):
                hint = "give them names: `workloads: {one: ..., other: ...}`"
                faults.append(Fault(f"two workloads have the name `{name}`", node.place, hint=hint))
            file = self.path.parent / each.file
            if not file.is_file():
                hint = f"the path is relative to {self.path.parent}/"
                faults.append(Fault(f"there is no workload file {file}", node.at("file").place, hint=hint))
            if each.pipeline is not None:
                faults += _pipeline_faults(each.pipeline, node.at("pipeline"))
            entries.append(Entry(name, str(file), each.pipeline, self.texts(each.set, "workloads", key, "set")))
        for i, pipeline in enumerate(study.pipelines):
            faults += _pipeline_faults(pipeline, self.document.at("pipelines", i))
        if faults:
            raise AhbmcError(*faults)
        return tuple(entries)

    def _named(self, study: StudyFile) -> list[tuple[str | int, str, StudyWorkload]]:
        """(key in the file, name, workload) of each workload; those of a list are named after their files."""
        given = study.workloads
        if isinstance(given, tuple):
            return [(i, Path(file).stem, StudyWorkload(file)) for i, file in enumerate(given)]
        return [(k, k, each if isinstance(each, StudyWorkload) else StudyWorkload(each)) for k, each in given.items()]

    def texts(self, values: Mapping[str, Any], *where: str | int) -> tuple[str, ...]:
        """Values by path as `path=value`."""
        return tuple(self._text(path, value, self.document.at(*where, path)) for path, value in values.items())

    def grid(self, study: StudyFile) -> dict[str, list[str]]:
        """The values of each path of `set`, as texts."""
        found: dict[str, list[str]] = {}
        for path, values in study.set.items():
            node = self.document.at("set", path)
            several: list[Any] = cast("list[Any]", values) if isinstance(values, list) else [values]
            if not several:
                raise fail(f"`{path}` has no values", node.place, hint="write one or a list of them")
            nodes: Iterable[Node] = node.value if isinstance(node.value, list) else [node]
            texts = [self._text(path, value, at) for value, at in zip(several, nodes, strict=True)]
            found[path] = [text.partition("=")[2] for text in texts]
        return found

    def _text(self, path: str, value: Any, node: Node) -> str:
        text = f"{path}={_as_text(value)}"
        self.places.setdefault(text, node.place)
        return text


def _pipeline_faults(pipeline: str, node: Node) -> list[Fault]:
    try:
        build_pipeline(pipeline, origin=node.place)
    except AhbmcError as error:
        return list(error.faults)
    return []


def _as_text(value: Any) -> str:
    """A value as a setting has it: YAML, in one line."""
    if isinstance(value, str):
        try:
            if parse(value, "").value == value:
                return value
        except AhbmcError:
            pass
    return json.dumps(value)
