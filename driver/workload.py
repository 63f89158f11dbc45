"""Workload files as they are read: `load` decodes one strictly (`workload_schema.py` says what it may hold).

Reading fills no tensor and opens no kernel: it gives the launches of the file with the place of every value, so that
later steps (`launches.py`, `checks.py`) can report faults where the user wrote them. `--set path=value` is laid over
the file before it is decoded, so both have the same paths, types and errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..backend_sim.target.decoding import decode
from ..backend_sim.target.document import Node, parse, with_value
from ..backend_sim.target.machine_file import SET
from ..dialects.errors import AhbmcError, Fault, Place, Sources, fail
from .command_line import word_place
from .workload_schema import Argument, Constant, LaunchEntry, Map, Options, WorkloadFile


@dataclass(frozen=True)
class LaunchSpec:
    """One launch as the file says it, defaults of the top filled in. `path` leads to its entry in the document.

    `config` has constants that the file leaves out: those of a configuration of the kernel's autotuner.
    """

    file: WorkloadFile
    entry: LaunchEntry
    path: tuple[str | int, ...]
    kernel_file: Path
    kernel_name: str
    config: Mapping[str, Constant] = field(default_factory=dict[str, "Constant"])

    @property
    def args(self) -> Mapping[str, Argument]:
        return {**self.file.args, **self.entry.args} if self.path else self.entry.args

    @property
    def const(self) -> Mapping[str, Constant]:
        return {**self.config, **self.file.const, **self.entry.const}

    @property
    def grid(self) -> tuple[int | str, ...]:
        return self.entry.grid if self.entry.grid is not None else self.file.grid

    @property
    def map(self) -> Map:
        return self.entry.map or self.file.map

    @property
    def pipeline(self) -> str:
        return self.entry.pipeline or self.file.pipeline

    @property
    def useful_macs(self) -> int | str | None:
        return self.entry.useful_macs if self.entry.useful_macs is not None else self.file.useful_macs

    @property
    def options(self) -> Options:
        merged = {name: dict(values) for name, values in self.file.options.items()}
        for name, values in self.entry.options.items():
            merged[name] = {**merged.get(name, {}), **values}
        return merged


@dataclass(frozen=True)
class Workload:
    """A decoded workload: its launches in turn, the machine with its overrides, and the document for places."""

    path: Path
    file: WorkloadFile
    launches: tuple[LaunchSpec, ...]
    machine_set: tuple[str, ...]
    document: Node
    sources: Sources

    @property
    def folder(self) -> Path:
        """What the paths in the file are relative to."""
        return self.path.parent

    def node(self, launch: LaunchSpec, *path: str | int) -> Node:
        """Where the value of a launch is written: in its entry of `launches:`, else at the top of the file."""
        entry = self.document.at(*launch.path)
        below = entry.at(*path[:1])
        if launch.path and (below is entry or (len(path) > 1 and below.at(path[1]) is below)):
            return self.document.at(*path)
        return entry.at(*path)

    def place(self, launch: LaunchSpec, *path: str | int) -> Place:
        return self.node(launch, *path).place

    def key_place(self, launch: LaunchSpec, *path: str) -> Place:
        """Where the key that ends `path` is written."""
        return self.node(launch, *path[:-1]).key_place(path[-1])


def load(path: str | Path, overrides: Sequence[str] = (), sources: Sources | None = None) -> Workload:
    """The workload in the YAML file `path` with `overrides` (`path=value`) laid over it.

    `sources` receives the texts that places point into. Raises AhbmcError with every fault of the file.
    """
    path = Path(path)
    sources = sources or Sources()
    at = word_place(sources, str(path))
    if path.suffix == ".py":
        hint = f"`ahbmc init {path}::NAME -o w.yaml` writes one; docs/workload.md is their page"
        raise fail(f"{path} is a kernel file; a workload file (.yaml) is needed", at, hint=hint)
    text = read_text(path, "workload file", at)
    sources.add(str(path), text)
    document = parse(text, str(path))
    if not isinstance(document.value, dict):
        raise fail(f"a workload file is a mapping of keys; found {document.kind}", document.place)
    if "workloads" in document.value:
        hint = f"`ahbmc study {path}` runs it"
        raise fail(f"{path} is a study file; a workload file is needed", document.key_place("workloads"), hint=hint)
    document, machine_set = _with_overrides(document, overrides, sources)
    return _workload(path, document, machine_set, sources)


def _workload(path: Path, document: Node, machine_set: tuple[str, ...], sources: Sources) -> Workload:
    file = decode(document, WorkloadFile)
    if file.launches is None:
        assert file.kernel is not None  # held by WorkloadFile
        entry = LaunchEntry(kernel=file.kernel, args=file.args, check=file.check)
        entries = [(entry, ())]
    else:
        entries = [(entry, ("launches", i)) for i, entry in enumerate(file.launches)]
    faults: list[Fault] = []
    launches: list[LaunchSpec] = []
    for entry, where in entries:
        node = document.at(*where, "kernel")
        try:
            kernel_file, name = split_kernel(entry.kernel, node.place, path.parent)
            launches.append(LaunchSpec(file, entry, where, kernel_file, name))
        except AhbmcError as error:
            faults += error.faults
    if faults:
        raise AhbmcError(*faults)
    return Workload(path, file, tuple(launches), machine_set, document, sources)


def read_text(path: Path, what: str, place: Place | None = None) -> str:
    """The text of a file that a user named. Raises AhbmcError at `place` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise fail(f"there is no {what} {path}", place, hint=f"paths start in {Path.cwd()}") from None
    except UnicodeDecodeError:
        raise fail(f"the {what} {path} is not UTF-8 text", place, hint="save it as UTF-8") from None
    except OSError as error:
        message = f"the {what} {path} cannot be read: {error.strerror}"
        raise fail(message, place, hint="give a file that can be read") from None


def split_kernel(text: str, place: Place | None, folder: Path) -> tuple[Path, str]:
    """`FILE.py::NAME` as the file, which must exist in `folder`, and the name."""
    file, separator, name = text.partition("::")
    if not separator or not file or not name.isidentifier():
        raise fail(f"`{text}` names no kernel", place, hint="write FILE.py::NAME, for example matmul.py::matmul_kernel")
    path = folder / file
    if not path.is_file():
        hint = f"the path is relative to {folder}/" if not Path(file).is_absolute() else None
        raise fail(f"there is no kernel file {path}", place, hint=hint)
    return path, name


def _with_overrides(document: Node, overrides: Sequence[str], sources: Sources) -> tuple[Node, tuple[str, ...]]:
    """The document with every `path=value` put in, and those of the machine apart.

    Line n of the text `--set` is the n-th override; those of the machine come first, as `machine_file.py` counts them.
    """
    machine_set = tuple(t.strip() for t in overrides if t.strip().startswith("machine."))
    others = [t for t in overrides if not t.strip().startswith("machine.")]
    sources.add(SET, "\n".join((*machine_set, *others)))
    faults: list[Fault] = []
    for line, text in enumerate(others, len(machine_set) + 1):
        path, separator, value = text.partition("=")
        steps = tuple(path.strip().split("."))
        if not separator or not all(steps):
            faults.append(Fault(f"`{text}` is not path=value", Place(SET, line, 1), hint="write const.BLOCK=64"))
            continue
        column = len(path) + 2
        try:
            node = parse(value, SET, line, column) if value.strip() else Node("", Place(SET, line, column))
            document = with_value(document, steps, node, _step_places(line, steps))
        except AhbmcError as error:
            faults += error.faults
    if faults:
        raise AhbmcError(*faults)
    return document, machine_set


def _step_places(line: int, steps: tuple[str, ...]) -> tuple[Place, ...]:
    places: list[Place] = []
    column = 1
    for step in steps:
        places.append(Place(SET, line, column, column + len(step)))
        column += len(step) + 1
    return tuple(places)
