"""The small expressions of workload files: grids, shapes and scalars as integers, references as calls over arrays.

They are parsed by hand and walked; no text is ever executed. `parse` gives a tree whose every node knows its place, and
`integer` evaluates one over the arguments and constants of a launch. What calls mean in a reference is `checks.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail


@dataclass(frozen=True)
class Number:
    """A literal: an integer, a real number, or True or False."""

    value: int | float
    place: Place


@dataclass(frozen=True)
class Name:
    """An argument, a constant or, in a reference, a tensor."""

    name: str
    place: Place


@dataclass(frozen=True)
class Call:
    """`name(arguments, key=value)`; also every operator, under its sign."""

    name: str
    place: Place
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...] = ()


Expression: TypeAlias = Number | Name | Call

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>//|[-+*%(),=/@]))"
)
_LEVELS = (("+", "-"), ("*", "//", "/", "%", "@"))  # from loose to tight
_DEEPEST = 50
_LONGEST = 40  # characters of a number


@dataclass
class _Parser:
    text: str
    place: Place  # of the first character of the text
    tokens: list[tuple[str, str, Place]] = field(default_factory=list[tuple[str, str, Place]])
    at: int = 0
    depth: int = 0

    def span(self, start: int, end: int) -> Place:
        column = self.place.column
        return replace(self.place, column=column + start, end_column=column + max(end, start + 1))

    def tokenize(self) -> None:
        position = 0
        while self.text[position:].strip():
            match = _TOKEN.match(self.text, position)
            if match is None:
                position += len(self.text[position:]) - len(self.text[position:].lstrip())
                found = self.text[position]
                hint = "allowed: numbers, names, + - * // %, parentheses and calls"
                raise fail(f"unexpected `{found}` in `{self.text}`", self.span(position, position + 1), hint=hint)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], self.span(*match.span(kind))))
            position = match.end()
        self.tokens.append(("end", "the end", self.span(len(self.text), len(self.text) + 1)))

    def take(self, *signs: str) -> tuple[str, Place] | None:
        kind, text, place = self.tokens[self.at]
        if kind != "sign" or text not in signs:
            return None
        self.at += 1
        return text, place

    def expect(self, sign: str) -> None:
        if self.take(sign) is None:
            _, text, place = self.tokens[self.at]
            found = text if text == "the end" else f"`{text}`"
            raise fail(f"expected `{sign}`, found {found}", place, hint=f"write `{sign}` here")

    def binary(self, level: int = 0) -> Expression:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while found := self.take(*_LEVELS[level]):
            right = self.binary(level + 1)
            left = Call(found[0], found[1], (left, right))
        return left

    def unary(self) -> Expression:
        if found := self.take("-", "+"):
            self.deeper(found[1])
            operand = self.unary()
            self.depth -= 1
            return Call("neg", found[1], (operand,)) if found[0] == "-" else operand
        return self.primary()

    def primary(self) -> Expression:
        kind, text, place = self.tokens[self.at]
        if kind == "sign" and text == "(":
            self.at += 1
            self.deeper(place)
            inner = self.binary()
            self.depth -= 1
            self.expect(")")
            return inner
        if kind not in ("number", "name"):
            raise fail(f"expected a number, a name or `(`, found {text if kind == 'end' else f'`{text}`'}", place)
        self.at += 1
        if kind == "number":
            if len(text) > _LONGEST:
                raise fail(f"a number of {len(text)} characters", place, hint=f"at most {_LONGEST}")
            return Number(int(text) if text.isdigit() else float(text), place)
        if text in ("True", "False", "true", "false"):
            return Number(text.lower() == "true", place)
        return self.call(text, place) if self.take("(") else Name(text, place)

    def call(self, name: str, place: Place) -> Call:
        arguments: list[Expression] = []
        keywords: list[tuple[str, Expression]] = []
        self.deeper(place)
        while not self.take(")"):
            if self.tokens[self.at][0] == "name" and self.tokens[self.at + 1][1] == "=":
                key = self.tokens[self.at][1]
                self.at += 2
                keywords.append((key, self.binary()))
            else:
                arguments.append(self.binary())
            if not self.take(","):
                self.expect(")")
                break
        self.depth -= 1
        return Call(name, place, tuple(arguments), tuple(keywords))

    def deeper(self, place: Place) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise fail(f"this expression is nested deeper than {_DEEPEST}", place)


def parse(text: str, place: Place) -> Expression:
    """The expression in `text`, whose first character is at `place`. Raises AhbmcError with the place of the fault."""
    parser = _Parser(text, place)
    parser.tokenize()
    result = parser.binary()
    kind, found, at = parser.tokens[parser.at]
    if kind != "end":
        raise fail(f"unexpected `{found}` after the expression", at, hint="allowed: + - * // % between operands")
    return result


def words(text: str) -> set[str]:
    """The names in an expression's text, right or wrong."""
    return set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))


def ceiling_divide(a: int, b: int) -> int:
    """`cdiv`: a / b rounded up."""
    return -(-a // b)


_FUNCTIONS: dict[str, tuple[int | None, Callable[..., Any]]] = {
    "+": (2, int.__add__),
    "-": (2, int.__sub__),
    "*": (2, int.__mul__),
    "//": (2, int.__floordiv__),
    "%": (2, int.__mod__),
    "neg": (1, int.__neg__),
    "cdiv": (2, ceiling_divide),
    "min": (None, min),
    "max": (None, max),
}
_CALLABLE = ("cdiv", "min", "max")


def integer(tree: Expression, names: Mapping[str, int | float | bool | str | None]) -> int:
    """The value of `tree` over `names`, the arguments and constants of a launch. Raises AhbmcError at what is none."""
    match tree:
        case Number():
            if isinstance(tree.value, float):
                raise fail(f"{tree.value} is no integer", tree.place)
            return int(tree.value)
        case Name():
            return _named(tree, names)
        case Call():
            return _called(tree, names)


def _named(tree: Name, names: Mapping[str, int | float | bool | str | None]) -> int:
    if tree.name not in names:
        close = closest(tree.name, names)
        known = ", ".join(names) or "none"
        hint = f"did you mean `{close}`?" if close else f"names that have an integer here: {known}"
        raise fail(f"`{tree.name}` is no argument and no constant of this launch", tree.place, hint=hint)
    value = names[tree.name]
    if not isinstance(value, int):
        hint = f"give `{tree.name}` an integer"
        raise fail(f"`{tree.name}` is {value!r}, which is no integer", tree.place, hint=hint)
    return int(value)


def _called(tree: Call, names: Mapping[str, int | float | bool | str | None]) -> int:
    if tree.name not in _FUNCTIONS or tree.keywords:
        hint = f"allowed: + - * // % and {', '.join(_CALLABLE)}"
        raise fail(f"`{tree.name}` is no operation of integer expressions", tree.place, hint=hint)
    arity, function = _FUNCTIONS[tree.name]
    values = [integer(a, names) for a in tree.arguments]
    if len(values) != arity if arity is not None else not values:
        wanted = "at least 1" if arity is None else str(arity)
        hint = f"write {tree.name}(a, b)" if arity == 2 else f"write {tree.name}(a, ...)"
        raise fail(f"`{tree.name}` takes {wanted} operands, found {len(values)}", tree.place, hint=hint)
    if tree.name in ("//", "%", "cdiv") and values[1] == 0:
        raise fail(f"`{tree.name}` by zero", tree.place, hint="divide by something that is not 0")
    return function(*values)
