"""Keys of a struct in words, for the tables of the pages in `docs/`: what may stand there, and what it means."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from fractions import Fraction
from types import UnionType
from typing import Any

from msgspec import Meta

from ..backend_sim.target.quantities import Bytes, Rate

_QUANTITIES = {Rate: "number or fraction > 0", Fraction: "number or fraction >= 0", Bytes: "size"}


def about(kind: Any) -> str:
    """The description that a type carries; that of a union's member if it has none itself."""
    if typing.get_origin(kind) is typing.Annotated:
        for extra in reversed(typing.get_args(kind)[1:]):
            if isinstance(extra, Meta) and extra.description:
                return extra.description
    return next(filter(None, (about(a) for a in typing.get_args(kind) if a is not kind)), "")


def type_of(kind: Any, titles: Mapping[type, str]) -> str:
    """What may stand there, in words; `titles`: what a page calls its structs."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        if pattern := next((m.description for m in arguments[1:] if isinstance(m, Meta) and m.pattern), None):
            return pattern
        limits = [f"{word} {value}" for m in arguments[1:] for word, value in _limits(m)]
        return " ".join((type_of(arguments[0], titles), *limits))
    if origin in (typing.Union, UnionType):
        return " | ".join(dict.fromkeys(type_of(a, titles) for a in arguments if a is not type(None)))
    if origin is typing.Literal:
        return " | ".join(f"`{a}`" for a in arguments)
    if origin is tuple:
        return f"list of ({type_of(arguments[0], titles)})"
    if origin is dict:
        return f"mapping to ({type_of(arguments[1], titles)})"
    names = {int: "integer", float: "number", bool: "true/false", str: "text", **_QUANTITIES}
    return names.get(kind, f"[{titles.get(kind, 'mapping')}]")


def _limits(meta: Any) -> list[tuple[str, object]]:
    return [(word, value) for word, value in ((">=", meta.ge), ("<=", meta.le)) if value is not None]


def escaped(text: str) -> str:
    """`text` as it stands in a cell of a table."""
    return text.replace("|", "\\|")
