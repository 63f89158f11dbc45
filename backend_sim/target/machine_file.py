"""Machine files: found by name or path, extended (`base:`), overridden (`--set machine.PATH=VALUE`) and checked.

Every fault names the line of the file (or of `--set`, whose n-th override is line n) that it lies on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...dialects.errors import Place, fail
from .decoding import decode
from .document import Node, closest, parse, with_value
from .machine import Machine
from .machine_checks import faults_of
from .quantities import quantity_schema

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

DEFAULT = "ahbm-2sip"
SET = "--set"
_FOLDER = Path(__file__).parent / "machines"


def shipped_machines() -> tuple[str, ...]:
    """The names of the machines that come with the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def load_machine(
    name: str, overrides: Sequence[str] = (), folder: Path | None = None, place: Place | None = None
) -> Machine:
    """The machine called `name`, or in the file `name` (relative to `folder`), with `PATH=VALUE` overrides.

    The same texts give the same object. Raises AhbmcError; `place` is where the name was given.
    """
    chain = _read_chain(name, folder or Path(), place)
    return _machine(chain, tuple(overrides))


def machine_of(module: ModuleOp) -> Machine:
    """The machine that a module names in `ahbm.machine`, with the overrides of `ahbm.machine_set`; else the default."""
    from xdsl.dialects.builtin import ArrayAttr, StringAttr  # slow to load, and the listings need none of it

    name, overrides = module.attributes.get("ahbm.machine"), module.attributes.get("ahbm.machine_set")
    items = cast("ArrayAttr[StringAttr]", overrides).data if isinstance(overrides, ArrayAttr) else ()
    texts = [item.data for item in items]
    return load_machine(name.data if isinstance(name, StringAttr) else DEFAULT, texts)


def machine_schema() -> dict[str, Any]:
    """The JSON Schema of machine files. A file that extends another may leave out what its base gives, at any depth:
    so only the keys at the top are required, and loading finds what is missing below them.
    """
    schema = msgspec.json.schema(Machine, schema_hook=quantity_schema)
    root = schema["$defs"]["Machine"]
    for part in schema["$defs"].values():
        if part is not root:
            part.pop("required", None)
    root["properties"]["base"] = {"type": "string", "description": "machine name or file that this file extends"}
    needed = [key for key in root.pop("required") if key != "name"]  # the name is the file's unless it gives one
    root["anyOf"] = [{"required": ["base"]}, {"required": needed}]
    return schema


def path_of(name: str, folder: Path | None = None, place: Place | None = None) -> Path:
    """The file of the machine called `name`, or `name` itself, relative to `folder`. Raises AhbmcError."""
    folder = folder or Path()
    if name in shipped_machines():
        return _FOLDER / f"{name}.yaml"
    path = folder / name
    if path.is_file():
        return path
    close = closest(name, shipped_machines())
    hint = f"did you mean `{close}`?" if close else "give the name of a shipped machine or the path of a machine file"
    raise fail(
        f"there is no machine `{name}`; shipped: {', '.join(shipped_machines())}; and no file {path}", place, hint=hint
    )


def _read_chain(name: str, folder: Path, place: Place | None) -> tuple[tuple[str, str], ...]:
    """Path and text of the machine file and of those that it extends, in that order."""
    chain: dict[str, str] = {}
    while True:
        path = path_of(name, folder, place)
        if any(path.samefile(read) for read in chain):
            raise fail(f"`base: {name}` leads back to this file", place, hint="let one file of the circle extend none")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise fail(f"cannot read machine file {path}: {error}", place) from None
        chain[str(path)] = text
        base = _document(str(path), text).at("base")
        if base.keys is not None or not isinstance(base.value, str):
            if base.keys is None:
                raise fail(f"`base` must be the name or file of a machine; found {base.kind}", base.place)
            return tuple(chain.items())
        name, folder, place = base.value, path.parent, base.place


@lru_cache(maxsize=32)
def _document(path: str, text: str) -> Node:
    root = parse(text, path)
    if not isinstance(root.value, dict):
        raise fail(f"a machine file is a mapping; found {root.kind}", root.place)
    return root


@lru_cache(maxsize=64)
def _machine(chain: tuple[tuple[str, str], ...], overrides: tuple[str, ...]) -> Machine:
    root = _document(*chain[-1])
    for path, text in reversed(chain[:-1]):
        root = _extend(root, _document(path, text))
    values = {key: value for key, value in _mapping(root).items() if key != "base"}
    values.setdefault("name", Node(Path(chain[0][0]).stem, root.place))
    root = replace(root, value=values)
    for line, text in enumerate(overrides, 1):
        root = _override(root, text, line)
    return decode(root, Machine, lambda machine: faults_of(machine, root))


def _mapping(node: Node) -> dict[str, Node]:
    assert isinstance(node.value, dict)
    return node.value


def _extend(base: Node, node: Node) -> Node:
    """`node` over `base`: mappings key by key, anything else as a whole."""
    if not isinstance(base.value, dict) or not isinstance(node.value, dict):
        return node
    values = dict(base.value)
    for key, value in node.value.items():
        values[key] = _extend(base.value[key], value) if key in base.value else value
    return Node(values, node.place, keys={**(base.keys or {}), **(node.keys or {})})


_ABOVE = "machine."  # what a path has before it in a workload, and may have here


def _override(root: Node, text: str, line: int) -> Node:
    path, equals, value = text.partition("=")
    above = _ABOVE if text.startswith(_ABOVE) else ""
    steps = path.removeprefix(above).split(".")
    if not equals or not all(steps):
        raise fail(
            f"an override is PATH=VALUE; found `{text}`", Place(SET, line, 1), hint="for example pe.gemm.peak_tflops=16"
        )
    places: list[Place] = []
    column = len(above) + 1
    for step in steps:
        places.append(Place(SET, line, column, column + len(step)))
        column += len(step) + 1
    return with_value(root, tuple(steps), parse(value, SET, line, column), tuple(places))
