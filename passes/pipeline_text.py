"""The text form of a pipeline, `raise-regions,form-composites{stage=a},check-limits`, and how it becomes pass objects.

A text of our own rather than xDSL's parser, whose results have lost their places: an unknown pass or option is reported
where it is written. Blanks and line ends are free, values are words, numbers, `true`, `false`, quoted strings or
several of these with commas between. `auto{after-match-recipes=my-pass}` is a pipeline with a pass more in it:
`before-` puts it before the first, `after-` behind the last pass of that name.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from ..dialects.errors import AhbmcError, Fault, Place, fail
from . import PIPELINE_TEXT, all_passes, pass_names
from .bounds import Least
from .pipelines import PIPELINES

Scalar = bool | int | float | str
Value = Scalar | Sequence[Scalar]


@dataclass(frozen=True)
class Option:
    """`name=value` of one pass; the name in snake case."""

    name: str
    value: Value
    place: Place
    value_place: Place


@dataclass(frozen=True)
class PassSpec:
    """One pass of a pipeline text with the options that are written there."""

    name: str
    place: Place
    options: tuple[Option, ...] = ()

    def __str__(self) -> str:
        """The text that it was read from, but for blanks."""
        options = " ".join(f"{o.name.replace('_', '-')}={_written(o.value)}" for o in self.options)
        return f"{self.name}{{{options}}}" if options else self.name


def _written(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            quote = "'" if '"' in value else '"'
            return value if re.fullmatch(r"""[^\s,{}="']+""", value) else f"{quote}{value}{quote}"
        case int() | float():
            return str(value)
        case _:
            return ",".join(map(_written, value))


_TOKEN = re.compile(
    r"""(?P<blank>\s+)|(?P<string>"[^"\n]*"|'[^'\n]*')|(?P<mark>[,{}=])|(?P<word>[^\s,{}="']+)""",
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: Place


def _tokens(text: str, origin: Place) -> list[_Token]:
    tokens: list[_Token] = []
    at, line, column = 0, origin.line, origin.column
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise fail(
                "a string that is not closed", Place(origin.file, line, column), hint="close it with the same quote"
            )
        kind, found = str(match.lastgroup), match.group()
        if kind != "blank":
            tokens.append(_Token(kind, found, Place(origin.file, line, column, column + len(found))))
        newlines = found.count("\n")
        column = len(found) - found.rindex("\n") if newlines else column + len(found)
        line += newlines
        at = match.end()
    return [*tokens, _Token("end", "the end of the pipeline", Place(origin.file, line, column))]


class _Parser:
    def __init__(self, tokens: list[_Token]):
        self.tokens = tokens
        self.at = 0

    def take(self, what: str, *allowed: str) -> _Token:
        """The next token, which must be of one of the kinds or be one of the marks `allowed`."""
        token = self.tokens[self.at]
        if token.kind not in allowed and token.text not in allowed:
            found = token.text if token.kind == "end" else f"'{token.text}'"
            raise fail(
                f"expected {what}, found {found}",
                token.place,
                hint="a pipeline is `pass,pass{option=value option=value}`",
            )
        self.at += 1
        return token

    def peek(self, mark: str) -> bool:
        return self.tokens[self.at].text == mark and self.tokens[self.at].kind == "mark"

    def pipeline(self) -> list[PassSpec]:
        specs: list[PassSpec] = []
        while self.tokens[self.at].kind != "end":
            specs.append(self.spec())
            if self.tokens[self.at].kind != "end":
                self.take("a comma or `{`" if not specs[-1].options else "a comma", ",")
                # A comma at the very end would hide a pass that somebody forgot.
                if self.tokens[self.at].kind == "end":
                    self.take("the name of a pass", "word")
        return specs

    def spec(self) -> PassSpec:
        name = self.take("the name of a pass", "word")
        options: list[Option] = []
        if self.peek("{"):
            self.take("`{`", "{")
            while not self.peek("}"):
                options.append(self.option())
            self.take("`}`", "}")
        return PassSpec(name.text, name.place, tuple(options))

    def option(self) -> Option:
        name = self.take("the name of an option or `}`", "word")
        snake = name.text.replace("-", "_")
        if not self.peek("="):
            return Option(snake, True, name.place, name.place)
        self.take("`=`", "=")
        first = self.take("a value", "word", "string")
        values, last = [_scalar(first)], first
        while self.peek(","):
            self.take("a comma", ",")
            last = self.take("a value", "word", "string")
            values.append(_scalar(last))
        span = (
            dataclasses.replace(first.place, end_column=last.place.end_column)
            if last.place.line == first.place.line
            else first.place
        )
        return Option(snake, values[0] if len(values) == 1 else tuple(values), name.place, span)


def _scalar(token: _Token) -> Scalar:
    if token.kind == "string":
        return token.text[1:-1]
    if token.text in ("true", "false"):
        return token.text == "true"
    for number in (int, float):
        try:
            return number(token.text)
        except ValueError:
            continue
    return token.text


def parse(text: str, origin: Place) -> tuple[PassSpec, ...]:
    """The passes of a pipeline text, names of pipelines replaced by their passes. All unknown names are reported at
    once.
    """
    specs: list[PassSpec] = []
    faults: list[Fault] = []
    for spec in _Parser(_tokens(text, origin)).pipeline():
        if spec.name in pass_names():
            specs.append(spec)
        elif spec.name in PIPELINES:
            specs += _of_pipeline(spec, faults)
        else:
            faults.append(_unknown_pass(spec.name, spec.place))
    if faults:
        raise AhbmcError(*faults)
    return tuple(specs)


def _of_pipeline(spec: PassSpec, faults: list[Fault]) -> list[PassSpec]:
    """The passes of a pipeline, with those that `before-PASS=...` and `after-PASS=...` put into it; what is wrong is
    added to `faults`.
    """
    origin = Place(f"<pipeline {spec.name}>", 1, 1)
    specs = [each for entry in PIPELINES[spec.name] for each in parse(entry.spec, origin)]
    for option in spec.options:
        where, _, anchor = option.name.replace("_", "-").partition("-")
        at = [number for number, each in enumerate(specs) if each.name == anchor]
        if where not in ("before", "after") or not at:
            found = option.name.replace("_", "-")
            message = f"'{found}' is no place in pipeline '{spec.name}'; allowed: before-PASS=NEW, after-PASS=NEW"
            note = f"its passes: {', '.join(dict.fromkeys(each.name for each in specs))}"
            faults.append(Fault(message, option.place, hint="name a pass that stands in it", notes=(note,)))
            continue
        names = option.value if isinstance(option.value, tuple) else (option.value,)
        faults += [_no_pass(str(name), option.value_place) for name in names if name not in pass_names()]
        index = at[0] if where == "before" else at[-1] + 1
        specs[index:index] = [PassSpec(str(name), option.value_place) for name in names]
    return specs


def single_passes(pipeline: str, origin: Place | None = None) -> tuple[str, ...]:
    """Each pass of a pipeline text as a text of its own. Raises AhbmcError."""
    return tuple(map(str, parse(pipeline, origin or Place(PIPELINE_TEXT, 1, 1))))


_LEAVE = "leave the option out"


def _unknown_pass(name: str, place: Place | None) -> Fault:
    names = [*pass_names(), *PIPELINES]
    return Fault(
        f"there is no pass or pipeline '{name}'",
        place,
        hint=_closest(name, names)
        or "`ahbmc passes` and `ahbmc pipelines` tell what each does; --load-pass FILE.py makes one of your own known",
        notes=(f"passes: {', '.join(pass_names())}", f"pipelines: {', '.join(PIPELINES)}"),
    )


def _no_pass(name: str, place: Place) -> Fault:
    if name not in PIPELINES:
        return _unknown_pass(name, place)
    return Fault(
        f"'{name}' is a pipeline, not a pass", place, hint="name one of its passes: `ahbmc pipelines` has them"
    )


def _closest(name: str, names: Sequence[str]) -> str | None:
    match = difflib.get_close_matches(name.replace("_", "-"), names, n=1)
    return f"did you mean '{match[0]}'?" if match else None


def instantiate(specs: Sequence[PassSpec], overrides: Mapping[str, Mapping[str, Value]]) -> tuple[ModulePass, ...]:
    """The pass objects. `overrides` (pass -> option -> value) goes over the options of the text, for every occurrence
    of the pass.
    """
    factories = all_passes()
    faults: list[Fault] = [_unknown_pass(name, None) for name in overrides if name not in factories]
    passes: list[ModulePass] = []
    for name in overrides:
        # Options of a pass that this pipeline lacks do nothing (the same workload runs under several pipelines) but
        # must be right all the same.
        if name in factories and all(s.name != name for s in specs):
            _values(factories[name](), (), overrides[name], None, faults)
    for spec in specs:
        cls = factories[spec.name]()
        before = len(faults)
        values = _values(cls, spec.options, overrides.get(spec.name, {}), spec.place, faults)
        if len(faults) == before:
            passes.append(cls(**values))
    if faults:
        raise AhbmcError(*dict.fromkeys(faults))
    return tuple(passes)


def _values(
    cls: type[ModulePass],
    options: Sequence[Option],
    overrides: Mapping[str, Value],
    place: Place | None,
    faults: list[Fault],
) -> dict[str, Any]:
    """Field values of one pass; what is wrong is added to `faults`."""
    given = {o.name: o for o in options}
    for name, value in overrides.items():
        snake = name.replace("-", "_")
        given[snake] = Option(snake, value, place or Place("<options>", 1, 1), place or Place("<options>", 1, 1))
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = get_type_hints(cls, include_extras=True)
    values: dict[str, Any] = {}
    overridden = {name.replace("-", "_") for name in overrides}
    for option in given.values():
        from_text = option.name not in overridden
        kebab = option.name.replace("_", "-")
        if option.name not in fields:
            known = [f.replace("_", "-") for f in fields]
            allowed = f"its options are: {', '.join(known)}" if known else "it has no options"
            message = f"pass '{cls.name}' has no option '{kebab}'"
            faults.append(
                Fault(
                    message,
                    option.place if from_text else None,
                    hint=_closest(kebab, known) or _LEAVE,
                    notes=(allowed,),
                )
            )
            continue
        try:
            values[option.name] = _convert(option.value, hints[option.name])
        except _WrongKind:
            allowed = accepted(hints[option.name])
            message = f"option '{kebab}' of pass '{cls.name}' is {_show(option.value)}; allowed: {allowed}"
            faults.append(Fault(message, option.value_place if from_text else None, hint="write an allowed value"))
    for name, each in fields.items():
        if name not in given and each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            message = f"pass '{cls.name}' needs option '{name.replace('_', '-')}'"
            faults.append(Fault(message, place, hint=f"write {cls.name}{{{name.replace('_', '-')}=...}}"))
    return values


class _WrongKind(Exception):
    pass


def _convert(value: Value | None, kind: Any) -> Any:
    origin = get_origin(kind)
    if origin is Annotated:
        found = _convert(value, get_args(kind)[0])
        if all(found >= bound.value for bound in get_args(kind)[1:] if isinstance(bound, Least)):
            return found
    elif origin is Literal:
        for allowed in get_args(kind):
            if value == allowed and isinstance(value, bool) == isinstance(allowed, bool):
                return allowed
    elif origin in (Union, types.UnionType):
        for each in get_args(kind):
            try:
                return _convert(value, each)
            except _WrongKind:
                continue
    elif origin is tuple:
        elements = value if isinstance(value, (tuple, list)) else (value,)
        kinds = get_args(kind)
        kinds = (kinds[0],) * len(elements) if kinds[-1] is Ellipsis else kinds
        if len(kinds) == len(elements):
            return tuple(_convert(v, k) for v, k in zip(elements, kinds, strict=True))
    elif kind is types.NoneType:
        if value is None or value == "none":
            return None
    elif kind is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    elif kind in (int, bool, str) and type(value) is kind:
        return value
    raise _WrongKind


def accepted(kind: Any) -> str:
    """What an option of this type takes, in words."""
    origin = get_origin(kind)
    if origin is Annotated:
        kind, *bounds = get_args(kind)
        return accepted(kind) + "".join(f", {b.value} or more" for b in bounds if isinstance(b, Least))
    if origin is Literal:
        return ", ".join(str(a) for a in get_args(kind))
    if origin in (Union, types.UnionType):
        return " or ".join(accepted(k) for k in get_args(kind))
    if origin is tuple:
        kinds = get_args(kind)
        return (
            f"a list of {accepted(kinds[0])}"
            if kinds[-1] is Ellipsis
            else f"{len(kinds)} values: {', '.join(map(accepted, kinds))}"
        )
    words = {int: "an integer", float: "a number", bool: "true or false", str: "a text", types.NoneType: "none"}
    return words[kind]


def _show(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case int() | float():
            return str(value)
        case _:
            return ",".join(map(_show, value))
