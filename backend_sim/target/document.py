"""A YAML document of which every key and value knows its place, and its strict decoding into frozen msgspec structs.

Machine files and workload files are read with it. It knows nothing of either: the structs say what is allowed. Plain
scalars follow YAML 1.2 (`1e-2` is a number, `no` and `on` are text). Every independent fault is found once: unknown
key, key given twice, missing key, wrong type, value out of range, a number with a unit behind it.
"""

from __future__ import annotations

import difflib
import re
import types
import typing
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
import yaml

from ...dialects.errors import AhbmcError, Fault, Place, fail
from .quantities import quantity

Scalar: TypeAlias = bool | int | float | str | None
T = TypeVar("T")

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
_NAMES = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "NoneType": "nothing",
    "array": "a list",
}
_LONGEST = 40  # characters of a number; more is text, and so a fault where a number is wanted
_WITH_UNIT = re.compile(r"\s*[-+]?[0-9][0-9_.]*\s*(?P<unit>[A-Za-z%µ/]+)\s*")


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


def decode(node: Node, kind: type[T]) -> T:
    """`node` as a `kind`, a frozen msgspec struct. Raises one AhbmcError with every independent fault and its place."""
    faults: list[Fault] = []
    value = _decode(node, kind, "the file", faults)
    if faults:
        raise AhbmcError(*faults)
    return value


_BAD: Any = object()


def _decode(node: Node, kind: Any, what: str, faults: list[Fault]) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = _member(node, typing.get_args(kind))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated and isinstance(node.value, (dict, list)):
        faults += _length_faults(node, arguments[1:], what)
        return _decode(node, arguments[0], what, faults)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(node.value, dict):
        return _decode_struct(node, node.value, kind, what, faults)
    if origin is dict and isinstance(node.value, dict):
        return {k: _decode(v, arguments[1], f"`{k}`", faults) for k, v in node.value.items()}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis and isinstance(node.value, list):
        return tuple(_decode(v, arguments[0], f"entry {i} of {what}", faults) for i, v in enumerate(node.value))
    return _decode_leaf(node, kind, what, faults)


def _length_faults(node: Node, limits: tuple[Any, ...], what: str) -> list[Fault]:
    """What is wrong with the number of entries of a list."""
    if not isinstance(node.value, list):
        return []
    found, faults = len(node.value), list[Fault]()
    for meta in limits:
        if isinstance(meta, msgspec.Meta):
            low, high = meta.min_length or 0, meta.max_length
            if found < low or (high is not None and found > high):
                allowed = f"{low} to {high}" if high is not None else f"{low} or more"
                hint = "add the missing ones" if found < low else "leave the last ones out"
                faults.append(Fault(f"{what} has {found} entries; allowed: {allowed}", node.place, hint=hint))
    return faults


def _member(node: Node, members: tuple[Any, ...]) -> Any:
    """The member of a union that a node of this shape can be; all scalar members together where it is a scalar."""

    def shape(member: Any) -> type:
        base = typing.get_origin(member) or member
        if base is typing.Annotated:
            return shape(typing.get_args(member)[0])
        if isinstance(base, type) and issubclass(base, (msgspec.Struct, dict)):
            return dict
        return list if base is tuple else str

    wanted = dict if isinstance(node.value, dict) else list if isinstance(node.value, list) else str
    fitting = [m for m in members if shape(m) is wanted]
    return typing.Union[tuple(fitting or members)]  # noqa: UP007 (built from a run-time tuple)


def _decode_struct(
    node: Node, values: dict[str, Node], kind: type[msgspec.Struct], what: str, faults: list[Fault]
) -> Any:
    known = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    before = len(faults)
    for key in values:
        if key not in known:
            faults.append(_unknown_key(key, node.key_place(key), what, list(known)))
    given: dict[str, Any] = {}
    for name, field in known.items():
        if name in values:
            given[field.name] = _decode(values[name], field.type, f"`{name}`", faults)
        elif field.required:
            faults.append(Fault(f"{what} has no `{name}`", node.place, hint=f"add `{name}: ...`"))
    if len(faults) > before:
        return _BAD
    try:
        return kind(**given)
    except ValueError as error:  # what __post_init__ of a struct found
        faults.append(Fault(str(error), node.place, hint="keep or write exactly one"))
        return _BAD


def _unknown_key(key: str, place: Place, what: str, known: list[str]) -> Fault:
    close = closest(key, known)
    hint = f"did you mean `{close}`?" if close else "take it away, or write one of the allowed keys"
    return Fault(f"unknown key `{key}` in {what}; allowed: {', '.join(known)}", place, hint=hint)


def closest(word: str, known: typing.Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that `word` was most likely meant to be, if any is at least as near as `likeness` of 1."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, likeness)), None)


def _decode_leaf(node: Node, kind: Any, what: str, faults: list[Fault]) -> Any:
    try:
        return msgspec.convert(node.plain(), kind, strict=True, dec_hook=quantity)
    except msgspec.ValidationError as error:
        reason = str(error).split(" - at `")[0]
    unit = _WITH_UNIT.fullmatch(node.value) if isinstance(node.value, str) else None
    words = _words(kind)
    if unit and ("number" in words or "integer" in words):
        hint = "units are part of the key's name: write the number alone, in that unit"
        faults.append(Fault(f"{what} must be {words}; found {node.kind}", node.place, hint=hint))
    elif literals := _literals(kind):
        close = closest(str(node.value), literals, 0.5)
        hint = f"did you mean `{close}`?" if close else "write one of the allowed words"
        faults.append(Fault(f"{what} must be {words}; found {node.kind}", node.place, hint=hint))
    elif reason.startswith("Expected `") and ("`, got `" in reason) and "=" not in reason:
        faults.append(
            Fault(f"{what} must be {words}; found {node.kind}", node.place, hint="write a value of that kind")
        )
    else:
        limit = reason.removeprefix("Expected ").replace("`", "")
        limit = re.sub(r"^(int|float|str|array)\b", lambda m: _NAMES[m[1]], limit)
        faults.append(Fault(f"{what} must be {limit}; found {node.kind}", node.place, hint="write such a value"))
    return _BAD


def _literals(kind: Any) -> list[str]:
    if typing.get_origin(kind) is Literal:
        return [str(a) for a in typing.get_args(kind)]
    return [x for a in typing.get_args(kind) for x in _literals(a)]


def _words(kind: Any) -> str:
    """What a type allows, in words of an error message."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(a) for a in arguments))
    if origin is typing.Annotated:
        return _words(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{a}`" for a in arguments)
    if origin is tuple:
        return f"a list (each entry {_words(arguments[0])})"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "a mapping"
    name = str(getattr(typing.cast(Any, kind), "__name__", ""))
    return _NAMES.get(name, name)
