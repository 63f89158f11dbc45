"""Calls: arguments to parameters, for builtins and for functions of the kernel language."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import syntax
from .builtin import KINDS, Builtin, Parameter, optional
from .emit import Emitter, Site
from .namespaces import suggestion
from .types import TypeFault
from .values import Item, Undefined


@dataclass(frozen=True)
class Argument:
    """An evaluated argument and where it stands."""

    item: Item
    site: Site


@dataclass(frozen=True)
class Arguments:
    """The evaluated arguments of a call."""

    positional: tuple[Argument, ...] = ()
    named: dict[str, Argument] = field(default_factory=dict[str, Argument])


def call_builtin(emit: Emitter, function: Builtin, arguments: Arguments) -> Item:
    """Bind, convert and lower. A fault of one argument is reported at that argument, any other at the call."""
    call, name = emit.site, emit.library or function.name
    bound = _bind_builtin(emit, function, arguments)
    converted: dict[str, Item] = {}
    for parameter in function.parameters:
        given = bound.get(parameter.name)
        if given is None:
            converted[parameter.name] = parameter.default if not parameter.rest else ()
        elif parameter.rest:
            items = given.item
            assert isinstance(items, tuple)
            converted[parameter.name] = tuple(
                _convert(emit, parameter, Argument(i, given.site), function) for i in items
            )
        else:
            converted[parameter.name] = _convert(emit, parameter, given, function)
    emit.site = call
    try:
        return function.lower(emit, **converted)
    except TypeFault as fault:
        raise emit.fail(f"{name}: {fault}", fault.hint) from None


def _bind_builtin(emit: Emitter, function: Builtin, arguments: Arguments) -> dict[str, Argument]:
    names = [p.name for p in function.parameters]
    rest = next((p.name for p in function.parameters if p.rest), None)
    bound: dict[str, Argument] = {}
    ordinary = names if rest is None else names[: names.index(rest)]
    if rest is not None:
        extra = arguments.positional[len(ordinary) :]
        if extra:
            bound[rest] = Argument(tuple(a.item for a in extra), extra[0].site)
    elif len(arguments.positional) > len(names):
        extra = arguments.positional[len(names)]
        raise emit.fail(
            f"{function.name} takes {len(names)} arguments, but {len(arguments.positional)} are given",
            f"it is called as {function.usage}",
            site=extra.site,
        )
    bound |= dict(zip(ordinary, arguments.positional, strict=False))
    for name, argument in arguments.named.items():
        if name not in names:
            hint = suggestion(name, names) or f"it is called as {function.usage}"
            raise emit.fail(f"{function.name} has no parameter '{name}'", hint, site=argument.site)
        if name in bound:
            raise emit.fail(f"{function.name} is given '{name}' twice", site=argument.site)
        bound[name] = argument
    missing = [p.name for p in function.parameters if p.required and p.name not in bound]
    if missing:
        raise emit.fail(f"{function.name} needs an argument '{missing[0]}'", f"it is called as {function.usage}")
    return bound


def _convert(emit: Emitter, parameter: Parameter, argument: Argument, function: Builtin) -> Item:
    if not parameter.required and not parameter.rest and optional(parameter.kind, argument.item):
        return None
    emit.site = argument.site
    try:
        return KINDS[parameter.kind](emit, argument.item)
    except TypeFault as fault:
        name = emit.library or function.name
        raise emit.fail(f"'{parameter.name}' of {name}: {fault}", fault.hint) from None


def is_constexpr(annotation: syntax.Expression | None) -> bool:
    """Whether an annotation says `tl.constexpr`, whatever the module is called, also as a string."""
    match annotation:
        case syntax.Attribute(name=name):
            return name == "constexpr"
        case syntax.Name(id=name):
            return name == "constexpr"
        case syntax.Constant(value=str(text)):
            return text.rsplit(".", 1)[-1] == "constexpr"
        case syntax.Subscript(value=value):
            return is_constexpr(value)
        case syntax.Call(function=function):
            return is_constexpr(function)
        case _:
            return False


def bind_function(emit: Emitter, tree: syntax.Function, arguments: Arguments) -> dict[str, Argument | None]:
    """Parameter -> argument, None where its default stands. Raises AhbmcError at the argument that does not fit, or
    at the call.
    """
    plain = [p for p in tree.parameters if p.kind == "plain"]
    rest = next((p for p in tree.parameters if p.kind == "rest"), None)
    names = [p.name for p in tree.parameters if p.kind in ("plain", "keyword")]
    bound: dict[str, Argument | None] = {}
    usage = f"it is defined as {tree.name}({', '.join(p.name for p in tree.parameters)})"
    for parameter, argument in zip(plain, arguments.positional, strict=False):
        bound[parameter.name] = argument
    extra = arguments.positional[len(plain) :]
    if rest is not None:
        bound[rest.name] = Argument(tuple(a.item for a in extra), extra[0].site if extra else emit.site)
    elif extra:
        raise emit.fail(
            f"{tree.name} takes {len(plain)} arguments, but {len(arguments.positional)} are given",
            usage,
            site=extra[0].site,
        )
    for name, argument in arguments.named.items():
        if name not in names:
            raise emit.fail(
                f"{tree.name} has no parameter '{name}'", suggestion(name, names) or usage, site=argument.site
            )
        if name in bound:
            raise emit.fail(f"{tree.name} is given '{name}' twice", site=argument.site)
        bound[name] = argument
    for parameter in tree.parameters:
        if parameter.name not in bound:
            if parameter.kind == "keywords":
                raise emit.unsupported(f"`**{parameter.name}`", "name the parameters")
            if parameter.default is None:
                raise emit.fail(f"{tree.name} needs an argument '{parameter.name}'", usage)
            bound[parameter.name] = None
    return bound


def check_defined(emit: Emitter, item: Item, name: str) -> Item:
    """The item of a name, unless it has no one value here."""
    if isinstance(item, Undefined):
        raise emit.fail(f"'{name}' has no value here: {item.reason}", item.hint)
    return item
