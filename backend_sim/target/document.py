"""A YAML document of which every key and value knows its place. What may stand in it is for `decoding.py` to say.

Machine files and workload files are read with it. Plain scalars follow YAML 1.2 (`1e-2` is a number, `no` and `on` are
text).
"""

from __future__ import annotations

import difflib
import re
import typing
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import yaml

from ...dialects.errors import Place, fail

Scalar: TypeAlias = bool | int | float | str | None

_INT = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", "+.inf", ".Inf", "+.Inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN"), float("nan")),
}
_DEEPEST = 100  # levels of nesting
_LONGEST = 40  # characters of a number; more is text, and so a fault where a number is wanted


@dataclass(frozen=True)
class Node:
    """One value of a document.

    `text_column` is where a scalar's text begins on its line (behind the quote), None if it spans lines.
    """

    value: Scalar | dict[str, Node] | list[Node]
    place: Place
    text_column: int | None = None
    keys: dict[str, Place] | None = None  # of a mapping: where each key is

    @property
    def kind(self) -> str:
        """What this is, in words of an error message."""
        match self.value:
            case dict():
                return "a mapping"
            case list():
                return "a list"
            case None:
                return "nothing"
            case bool():
                return "true" if self.value else "false"
            case str():
                return f"text {self.value!r}"
            case _:
                return str(self.value)

    def plain(self) -> Any:
        """The value without places, as msgspec takes it."""
        match self.value:
            case dict():
                return {k: v.plain() for k, v in self.value.items()}
            case list():
                return [v.plain() for v in self.value]
            case _:
                return self.value

    def at(self, *path: str | int) -> Node:
        """The node that `path` leads to, or the nearest on the way: the place for an error about a decoded value."""
        node = self
        for step in path:
            match node.value:
                case dict() if step in node.value:
                    node = node.value[step]
                case list() if isinstance(step, int) and step < len(node.value):
                    node = node.value[step]
                case _:
                    break
        return node

    def key_place(self, key: str) -> Place:
        """Where `key` of this mapping is written."""
        return (self.keys or {}).get(key, self.place)


def parse(text: str, file: str, line: int = 1, column: int = 1) -> Node:
    """The document in `text`, which begins at `line` and `column` of `file`. Raises AhbmcError on faults of YAML."""

    def place(mark: yaml.Mark, end: yaml.Mark | None = None) -> Place:
        shift = column - 1 if mark.line == 0 else 0
        same = end is not None and end.line == mark.line and end.column > mark.column
        last = end.column + 1 + shift if end is not None and same else None
        return Place(file, mark.line + line, mark.column + 1 + shift, last)

    try:
        root = _compose(text)
    except RecursionError:
        raise fail("this is nested too deeply", Place(file, line, column)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        found = " ".join(filter(None, (error.context, error.problem))) or "not YAML"
        where = place(mark) if mark else Place(file, line, column)
        hint = "indent with spaces" if "'\\t'" in found else "look for a bracket, quote, comma or colon that is missing"
        raise fail(f"this is not YAML: {found}", where, hint=hint) from None
    except yaml.YAMLError as error:  # a character that no YAML text may contain
        raise fail(f"this is not YAML: {str(error).splitlines()[0]}", Place(file, line, column)) from None
    if root is None:
        return Node({}, Place(file, line, column), keys={})
    return _convert(root, place, ())


def _compose(text: str) -> Any:
    """The root node of YAML's own tree. The parser in C is ten times faster, the one in Python tells faults better."""
    composing: Any = yaml
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError, RecursionError):
            return composing.compose(text, Loader=yaml.CSafeLoader)
    return composing.compose(text, Loader=yaml.SafeLoader)


def _convert(node: Any, place: Any, above: tuple[int, ...]) -> Node:
    where: Place = place(node.start_mark, node.end_mark)
    if len(above) > _DEEPEST:
        raise fail("this is nested too deeply", where)
    if node.id == "scalar":
        one_line = node.start_mark.line == node.end_mark.line and node.style not in ("|", ">")
        start = where.column + (1 if node.style in ("'", '"') else 0)
        return Node(_scalar(node), where, start if one_line else None)
    if id(node) in above:
        raise fail("this value contains itself (`*alias` inside its own anchor)", where)
    above = (*above, id(node))
    if node.id == "sequence":
        return Node([_convert(item, place, above) for item in node.value], place(node.start_mark))
    values: dict[str, Node] = {}
    keys: dict[str, Place] = {}
    for key, value in node.value:
        at = place(key.start_mark, key.end_mark)
        if key.id != "scalar":
            raise fail("a key must be a single word", at)
        if key.value in values:
            notes = [f"first given at {keys[key.value]}"]
            raise fail(f"key `{key.value}` is given twice", at, hint="keep one of the two", notes=notes)
        keys[key.value] = at
        values[key.value] = _convert(value, place, above)
    return Node(values, place(node.start_mark), keys=keys)


def _scalar(node: Any) -> Scalar:
    text: str = node.value
    if node.style:
        return text
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _INT.fullmatch(text) and len(text) <= _LONGEST:
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text) and len(text) <= _LONGEST:
        return float(text)
    return text


def with_value(root: Node, path: tuple[str, ...], value: Node, path_places: tuple[Place, ...]) -> Node:
    """`root` with `value` at `path`; mappings on the way are made, entries of lists are named by number."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(root.value, list):
        if not step.isdigit() or int(step) >= len(root.value):
            raise fail(f"`{step}` names no entry of this list of {len(root.value)}", path_places[0])
        items = list(root.value)
        items[int(step)] = with_value(items[int(step)], rest, value, path_places[1:])
        return replace(root, value=items)
    if root.value is not None and not isinstance(root.value, dict):
        notes = [f"given at {root.place}"]
        raise fail(f"nothing lies below this value, which is {root.kind}", path_places[0], notes=notes)
    old = root.value or {}
    below = old.get(step, Node(None, path_places[0]))
    keys = {**(root.keys or {}), step: path_places[0]}
    return replace(root, value={**old, step: with_value(below, rest, value, path_places[1:])}, keys=keys)


def closest(word: str, known: typing.Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that `word` was most likely meant to be, if any is at least as near as `likeness` of 1."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, likeness)), None)
