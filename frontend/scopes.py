"""Which names a body may bind, and whether it returns: questions about the syntax tree alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import syntax


def walk(node: Any) -> Iterator[syntax.Node]:
    """A node and all nodes below it, in the order of the text."""
    if isinstance(node, tuple):
        for part in node:  # pyright: ignore[reportUnknownVariableType] -- a field of any node
            yield from walk(part)
    elif isinstance(node, syntax.Node):
        yield node
        for name in node.__struct_fields__:
            if name not in ("span", "name_span"):
                yield from walk(getattr(node, name))


def target_names(target: syntax.Expression) -> Iterator[str]:
    """The names that an assignment to `target` binds."""
    match target:
        case syntax.Name():
            yield target.id
        case syntax.Sequence():
            for item in target.items:
                yield from target_names(item)
        case syntax.Starred():
            yield from target_names(target.value)
        case _:
            pass


def bound_names(body: syntax.Body, writers: frozenset[str]) -> tuple[str, ...]:
    """The names that a body may bind, each once, in the order of the text.

    `writers` are the last names of functions that rebind an argument; every name that is passed to one counts.
    """
    return tuple(dict.fromkeys(name for node in walk(body) for name in names_bound_by(node, writers)))


def names_bound_by(node: syntax.Node, writers: frozenset[str]) -> Iterator[str]:
    """The names that one node binds, without those below it."""
    match node:
        case syntax.Assign():
            for target in node.targets:
                yield from target_names(target)
        case syntax.Augmented() | syntax.Annotated() | syntax.For():
            yield from target_names(node.target)
        case syntax.Named():
            yield node.name
        case syntax.Call(function=syntax.Attribute(name=name) | syntax.Name(id=name)) if name in writers:
            for given in (*node.arguments, *(k.value for k in node.keywords)):
                yield from _names_given(given)
        case _:
            pass


def _names_given(given: syntax.Expression) -> Iterator[str]:
    """The names that an argument is, or that the dictionaries of a list hold."""
    match given:
        case syntax.Name():
            yield given.id
        case syntax.Sequence():
            for item in given.items:
                if isinstance(item, syntax.Dictionary):
                    yield from (value.id for _, value in item.pairs if isinstance(value, syntax.Name))
        case _:
            pass


def returns(body: syntax.Body) -> bool:
    """Whether a `return` stands anywhere in a body."""
    return any(isinstance(node, syntax.Return) for node in walk(body))
