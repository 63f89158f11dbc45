"""The text of a live function: `@ahbmc.jit` takes a function's source, as an editor shows it, and never calls it.

A kernel may use names of its surroundings: imports, constants, helper functions. They are looked up in the live
function's globals and closure and written into the text, so that it stands alone. Functions keep their lines, so that
places in errors are those of the file.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .. import language
from ..dialects.errors import fail

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class LiveText:
    """The text that stands for a live function, and the file that its places name."""

    def __init__(self, function: Callable[..., Any]):
        self.name = function.__name__
        self.file = _file_of(function)
        self._lines: list[str] = []
        self._rest: list[str] = []
        self._done: set[str] = set()
        self._add(function)
        self.text = "\n".join([*self._lines, *self._rest]) + "\n"

    def _add(self, function: Callable[..., Any]) -> None:
        """Put in the function's lines and whatever it names."""
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            hint = "define it in a file or a notebook cell; or keep the kernel in a file and use ahbmc.load"
            raise fail(f"the source text of `{function.__name__}` is not to be had", hint=hint) from None
        lines = [line.rstrip("\n") for line in lines]
        self._done.add(function.__name__)
        last = first - 1 + len(lines)
        if _file_of(function) == self.file and not any(self._lines[first - 1 : last]):
            self._lines += [""] * (last - len(self._lines))
            self._lines[first - 1 : last] = lines
        else:
            self._rest += lines
        surroundings = _surroundings(function)
        for word in dict.fromkeys(_WORD.findall("\n".join(lines))):
            if word in surroundings and word not in self._done:
                self._done.add(word)
                self._name(word, surroundings[word])

    def _name(self, name: str, value: object) -> None:
        """Put in what a name of the surroundings stands for, where a kernel can use it."""
        inner = getattr(value, "__wrapped__", value)
        if isinstance(value, ModuleType):
            self._rest.append(f"import {value.__name__} as {name}")
        elif isinstance(inner, FunctionType) and not _is_of_language(inner):
            self._add(inner)
            if inner.__name__ != name:
                self._rest.append(f"{name} = {inner.__name__}")
        elif (member := _member_of_language(value)) is not None:
            self._rest.append(f"from {language.__name__} import {member} as {name}")
        elif (text := _literal(value.value if isinstance(value, language.constexpr) else value)) is not None:
            self._rest.append(f"{name} = {text}")


def _file_of(function: Callable[..., Any]) -> str:
    try:
        name = inspect.getsourcefile(function) or "<live>"
    except TypeError:
        return "<live>"
    path = Path(name)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else name


def _surroundings(function: Callable[..., Any]) -> Mapping[str, object]:
    if not isinstance(function, FunctionType):
        return {}
    return {**function.__globals__, **inspect.getclosurevars(function).nonlocals}


def _is_of_language(value: FunctionType | type) -> bool:
    return value.__module__.startswith(language.__name__)


def _member_of_language(value: object) -> str | None:
    if isinstance(value, language.dtype):
        return value.name
    if isinstance(value, FunctionType | type) and _is_of_language(value):
        return value.__name__
    return None


def _literal(value: object) -> str | None:
    """The value as kernel text, if it has such a form."""
    match value:
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case bool() | int() | float() | str() | None:
            return repr(value)
        case tuple():
            parts = [_literal(v) for v in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return None if None in parts else f"({''.join(f'{p}, ' for p in parts)})"
        case _:
            return None
