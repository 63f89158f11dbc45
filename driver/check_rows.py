"""The rows of `ahbmc check`: which kernels to compile, under which signature and constants."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import msgspec

from ..dialects.errors import AhbmcError, Fault, Place, fail
from ..frontend import syntax
from ..frontend.module import Module
from ..frontend.scopes import walk
from ..frontend.values import JitFunction
from .guess import guessed
from .kernel_files import module_in, text_of
from .kernels import kernel_of
from .workload_schema import Constant

# In a row of --specs this text stands for a type that the caller chooses: Triton's own checks take float32.
_SOME_TYPE = "DTYPE"
# A call that no `def` and no dot stands before, and a launch.
_CALLED = re.compile(r"(?<!def )(?<![\w.])(\w+)\(")
_LAUNCHED = re.compile(r"\b(\w+)\s*\[")


class Spec(msgspec.Struct, frozen=True):
    """A line of a --specs file; it may have more keys. A `signature` gives constexprs the type "constexpr"."""

    path: str
    function: str
    signature: dict[str, str]
    constexprs: dict[str, bool | int | float | str | list[bool | int | float | str | None] | None] = {}


@dataclass(frozen=True)
class Row:
    """One kernel to compile: `path` as the user gave it, `file` where its text lies. No file: it was not found.

    `function` may be in others (`outer.kernel`). `fault` is what is wrong before anything is compiled.
    """

    path: str
    function: str
    file: str | None = None
    signature: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, Constant] = field(default_factory=dict[str, "Constant"])
    fault: Fault | None = None


def rows_of_specs(name: str, text: str, files: Sequence[str]) -> list[Row]:
    """A row per line of a --specs file, each with its file among `files`. Raises AhbmcError at a line that is none."""
    by_name: dict[str, list[str]] = {}
    for file in files:
        by_name.setdefault(PurePath(file).name, []).append(file)
    decoder = msgspec.json.Decoder(Spec)
    rows: list[Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            spec = decoder.decode(line)
        except msgspec.DecodeError as error:
            hint = 'a line is one JSON object: {"path": ..., "function": ..., "signature": {...}, "constexprs": {...}}'
            raise fail(f"no kernel on this line: {error}", Place(name, number, 1), hint=hint) from None
        signature = {n: t for n, t in spec.signature.items() if t != "constexpr" and n not in spec.constexprs}
        constants = {n: _constant(v) for n, v in spec.constexprs.items()}
        constants |= {n: None for n, t in spec.signature.items() if t == "constexpr" and n not in constants}
        rows.append(Row(spec.path, spec.function, _file_of(spec, by_name), signature, constants))
    return rows


def _constant(value: bool | int | float | str | list[bool | int | float | str | None] | None) -> Constant:
    if isinstance(value, list):
        return tuple(value)
    return "float32" if value == _SOME_TYPE else value


def _file_of(spec: Spec, by_name: Mapping[str, Sequence[str]]) -> str | None:
    """The file whose path ends with the row's, or the other way round. Of several the first that has the kernel with
    these parameters: forks of one project share their paths.
    """
    wanted = PurePath(spec.path).parts
    found: list[str] = []
    for file in by_name.get(wanted[-1] if wanted else "", ()):
        parts = PurePath(file.rpartition(".whl/")[2]).parts
        common = min(len(parts), len(wanted))
        if parts[-common:] == wanted[-common:]:
            found.append(file)
    fitting = (file for file in found if len(found) > 1 and _has_kernel(file, spec))
    return next(fitting, found[0] if found else None)


def _has_kernel(file: str, spec: Spec) -> bool:
    if f"def {spec.function.rpartition('.')[2]}(" not in text_of(file):
        return False
    try:
        function = module_in(file).function(spec.function)
    except AhbmcError:
        return False
    return function is not None and fits(function, spec.signature)


def fits(function: JitFunction, given: Collection[str]) -> bool:
    """Whether a function can be called with arguments of these names."""
    parameters = function.tree.parameters
    names = {p.name for p in parameters}
    return names.issuperset(given) and all(p.name in given or p.default is not None for p in parameters)


def rows_of_files(files: Sequence[str]) -> list[Row]:
    """A row per jit kernel of the files, under a guessed signature; a file that falls apart is a row of its own."""
    rows: list[Row] = []
    for file in files:
        if "jit" not in text_of(file):
            continue
        try:
            names = _launched(module_in(file))
            rows += [row for name in names if (row := _guessed_row(file, name)) is not None]
        except AhbmcError as error:
            rows.append(Row(file, "", file, fault=error.faults[0]))
    return rows


def _launched(module: Module) -> list[str]:
    """The jit functions without those that others call and nobody launches (`f[grid]`)."""
    text = module.text.content
    called = set(_CALLED.findall(text)) - set(_LAUNCHED.findall(text))
    return [name for name in module.kernels if name not in called]


def _guessed_row(file: str, name: str) -> Row | None:
    """The row of a jit function; None for one that returns something: it is there to be called by kernels."""
    try:
        module = module_in(file)
        function = module.function(name)
        assert function is not None
        if any(isinstance(n, syntax.Return) and n.value is not None for n in walk(function.tree.body)):
            return None
        guess = guessed(module, kernel_of(module, name))
    except AhbmcError as error:
        return Row(file, name, file, fault=error.faults[0])
    return Row(file, name, file, guess.signature, guess.constants)
