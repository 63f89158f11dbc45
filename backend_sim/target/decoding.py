"""Strict decoding of a YAML document into frozen msgspec structs, which say what is allowed.

Every independent fault is found once, at its place: unknown key, missing key, wrong type, value out of range, wrong
number of entries, a number with a unit behind it.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import msgspec

from ...dialects.errors import AhbmcError, Fault, Place
from .document import Node, closest
from .quantities import Bytes, quantity, unit_of

T = TypeVar("T")

_NAMES = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "NoneType": "nothing",
    "array": "a list",
}
_WITH_UNIT = re.compile(r"\s*(?P<number>[-+]?[0-9][0-9_.]*)\s*(?P<unit>[A-Za-z%µ/]+)\s*")


def decode(node: Node, kind: type[T], check: Callable[[T], list[Fault]] | None = None) -> T:
    """`node` as a `kind`, a frozen msgspec struct. Raises one AhbmcError with every independent fault and its place.

    `check`: finds what is wrong with a value whose parts all have the right types.
    """
    faults: list[Fault] = []
    value = _decode(node, kind, "the file", faults)
    if check is not None and value is not _BAD:
        faults += check(value)
    if faults:
        raise AhbmcError(*faults)
    return value


_BAD: Any = object()


def _is_bad(value: object) -> bool:
    """Whether a value, or one in it, could not be decoded."""
    match value:
        case tuple():
            return any(map(_is_bad, cast("tuple[object, ...]", value)))
        case dict():
            return any(map(_is_bad, cast("dict[str, object]", value).values()))
        case _:
            return value is _BAD


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
    if origin is tuple and isinstance(node.value, list):
        if wrong := _length_faults(node, (msgspec.Meta(min_length=len(arguments), max_length=len(arguments)),), what):
            faults += wrong
            return _BAD
        pairs = zip(node.value, arguments, strict=True)
        return tuple(_decode(v, a, f"entry {i} of {what}", faults) for i, (v, a) in enumerate(pairs))
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
                allowed = f"{low} or more" if high is None else f"{low} to {high}" if low < high else str(low)
                hint = "add the missing ones" if found < low else "leave the last ones out"
                entries = "1 entry" if found == 1 else f"{found} entries"
                faults.append(Fault(f"{what} has {entries}; allowed: {allowed}", node.place, hint=hint))
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
    for key in values:
        if key not in known:
            faults.append(_unknown_key(key, node.key_place(key), what, list(known)))
    given, missing = dict[str, Any](), False
    for name, field in known.items():
        if name in values:
            given[field.name] = _decode(values[name], field.type, f"`{name}`", faults)
        elif field.required:
            missing = True
            faults.append(Fault(f"{what} has no `{name}`", node.place, hint=f"add `{name}: ...`"))
    if missing or any(_is_bad(value) for value in given.values()):
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


def _decode_leaf(node: Node, kind: Any, what: str, faults: list[Fault]) -> Any:
    try:
        return msgspec.convert(node.plain(), kind, strict=True, dec_hook=quantity)
    except msgspec.ValidationError as error:
        reason = str(error).split(" - at `")[0]
    message = f"{what} must be {_allowed(kind, reason)}; found {node.kind}"
    faults.append(Fault(message, node.place, hint=_hint(kind, what, node)))
    return _BAD


def _allowed(kind: Any, reason: str) -> str:
    """What `kind` allows, as far as `reason` (msgspec's, or that of a quantity) says what of it was not kept."""
    if _literals(kind) or (reason.startswith("Expected `") and "`, got `" in reason and "=" not in reason):
        return _words(kind)
    if "matching regex" in reason:
        return _description(kind)
    limit = reason.removeprefix("Expected ").replace("`", "")
    return re.sub(r"^(int|float|str|array)\b", lambda m: _NAMES[m[1]], limit)


def _hint(kind: Any, what: str, node: Node) -> str:
    """What to write in place of `node`."""
    if literals := _literals(kind):
        close = closest(str(node.value), literals, 0.5)
        return f"did you mean `{close}`?" if close else "write one of the allowed words"
    if (struct := _struct(kind)) is not None:
        return f"write a mapping with {', '.join(f.encode_name for f in msgspec.structs.fields(struct))}"
    unit = unit_of(what.rpartition(" ")[2].strip("`"))
    text = _WITH_UNIT.fullmatch(node.value) if isinstance(node.value, str) else None
    if kind is Bytes or Bytes in typing.get_args(kind):
        close = closest(text["unit"], Bytes.UNITS) if text and text["number"].isdigit() else None
        return f"did you mean `{text['number']} {close}`?" if text and close else f"write a whole number, in {unit}"
    if unit:
        return f"write the number alone, in {unit}"
    if text and any(word in _words(kind) for word in ("number", "integer")):
        return "units are part of the key's name: write the number alone, in that unit"
    return "write such a value"


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    """The struct that a mapping of this kind is decoded into."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next(filter(None, map(_struct, typing.get_args(kind))), None)


def _description(kind: Any) -> str:
    """The description that a type with a pattern carries."""
    return next(m.description for m in typing.get_args(kind) if isinstance(m, msgspec.Meta) and m.description)


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
