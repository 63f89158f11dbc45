"""What decorators of a kernel say, read as data: the configurations of `@triton.autotune`, the values of
`@triton.heuristics`.

Nothing is executed: expressions are evaluated as those of kernels are at compile time, and beyond that the host's
dictionaries, lambdas, comprehensions and `triton.Config`. What goes further is refused, with its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..dialects.errors import AhbmcError, Category, Fault
from . import syntax
from .calls import Arguments
from .emit import Emitter, Site
from .expressions import Frame
from .loops import Loops
from .module import Module
from .types import TypeFault
from .values import HostValue, Item, Iteration, Namespace, describe

_CONFIG = HostValue("triton.Config")
_DEEPEST = 50  # constants made of constants
_MOST = 65536  # elements of a comprehension
_HINT = "give the constants yourself, or write the configurations out"


@dataclass(frozen=True)
class _Lambda:
    node: syntax.Lambda
    frame: Frame


@dataclass(frozen=True)
class _Dictionary:
    entries: Mapping[Item, Item]


@dataclass(frozen=True)
class _Config:
    values: Mapping[Item, Item]


def configurations(module: Module, name: str) -> tuple[Mapping[str, Any], ...]:
    """The constants of each configuration of a kernel's autotuner, in order, equal ones once; none without a tuner.

    What else a configuration says (warps, stages) has no counterpart here. Raises AhbmcError where one is not data.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for call in _decorators(module, name, "autotune"):
        node = next((k.value for k in call.keywords if k.name == "configs"), None) or next(iter(call.arguments), None)
        if node is None:
            continue
        host = _Host(module, node)
        items = host.read(node, f"the configurations of `{name}`")
        for item in items if isinstance(items, tuple) else (items,):
            if not isinstance(item, HostValue) or not isinstance(item.content, _Config):
                raise host.emit.fail(f"a configuration of `{name}` is {describe(item)}", _HINT, site=host.site(node))
            values = {str(key): value for key, value in item.content.values.items()}
            found.setdefault(repr(values), values)
    return tuple(found.values())


def heuristics(module: Module, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The constants that a kernel's heuristics compute of `known`, its other arguments: numbers, None, and a
    `HostValue` for each tensor. Raises AhbmcError where one cannot be computed.
    """
    arguments, found = dict(known), dict[str, Any]()
    # The innermost decorator is called last, with what those above it have given.
    for call in _decorators(module, name, "heuristics"):
        node = next((k.value for k in call.keywords if k.name == "values"), None) or next(iter(call.arguments), None)
        if node is None:
            continue
        host = _Host(module, node)
        what = f"the heuristics of `{name}`"
        for key, function in _table(host.read(node, what)).items():
            given = HostValue(_Dictionary({**arguments}))
            arguments[str(key)] = found[str(key)] = host.read(node, what, function, given)
    return found


def _decorators(module: Module, name: str, wanted: str) -> Iterator[syntax.Call]:
    """The calls of a decorator of that name above a kernel, or of one that has been made of it (`triton_autotune`)."""
    for node in module.decorators(name):
        match node:
            case syntax.Call(function=syntax.Attribute(name=found)) | syntax.Call(function=syntax.Name(id=found)):
                if found.endswith(wanted):
                    yield node
            case _:
                pass


def _table(item: Item) -> Mapping[Item, Item]:
    if isinstance(item, HostValue) and isinstance(item.content, _Dictionary):
        return item.content.entries
    raise TypeFault(f"a dictionary is needed, not {describe(item)}")


class _Host(Loops):
    """Evaluates expressions of the host."""

    def __init__(self, module: Module, node: syntax.Node):
        super().__init__(Emitter(Site(module.text, node.span)), Frame(module))
        self._table |= {
            syntax.Dictionary: self._dictionary,
            syntax.Comprehension: self._comprehension,
            syntax.Lambda: lambda node: HostValue(_Lambda(node, Frame(self.frame.module, dict(self.frame.names)))),
        }

    def read(self, node: syntax.Expression, what: str, function: Item = None, argument: Item = None) -> Item:
        """The item of an expression, or of `function` called with `argument`; a fault says `what` could not be read."""
        try:
            if function is None:
                return self.evaluate(node)
            return self._applied(function, (argument,), node)
        except RecursionError:
            raise self.emit.fail(f"{what} never end", _HINT, category=Category.UNSUPPORTED) from None
        except TypeFault as fault:
            raise self.emit.fail(f"{what} cannot be read: {fault}", _HINT, category=Category.UNSUPPORTED) from None
        except AhbmcError as error:
            first = error.faults[0]
            message = f"{what} cannot be read without executing the file: {first.message}"
            raise AhbmcError(Fault(message, first.place, Category.UNSUPPORTED, _HINT)) from None

    def global_name(self, node: syntax.Name) -> Item:
        """A constant of the file may be of the host as well."""
        module = self.frame.module
        value = module.constant(node.id)
        if value is None or self._depth > _DEEPEST:
            return super().global_name(node)
        outer, self.frame = self.frame, Frame(module)
        self._depth += 1
        try:
            return self.evaluate(value)
        finally:
            self.frame = outer
            self._depth -= 1

    _depth = 0

    def _attribute(self, node: syntax.Attribute) -> Item:
        if node.name == "Config" and self.evaluate(node.value) == Namespace("triton"):
            return _CONFIG
        return super()._attribute(node)

    def _subscript(self, node: syntax.Subscript) -> Item:
        owner = self.evaluate(node.value)
        if not isinstance(owner, HostValue):
            return super()._subscript(node)
        table, key = _table(owner), self.evaluate(node.index)
        if key not in table:
            raise TypeFault(f"there is no {key!r} among {', '.join(map(repr, table))}")
        return table[key]

    def call(self, function: Item, arguments: Arguments, node: syntax.Node) -> Item:
        """A configuration or a lambda; else what a kernel may call."""
        if function is _CONFIG:
            first = [a.item for a in arguments.positional[:1]]
            given = arguments.named.get("kwargs")
            return HostValue(_Config(_table(given.item if given is not None else first[0] if first else None)))
        if isinstance(function, HostValue):
            return self._applied(function, tuple(a.item for a in arguments.positional), node)
        return super().call(function, arguments, node)

    def _applied(self, function: Item, arguments: tuple[Item, ...], node: syntax.Node) -> Item:
        if not isinstance(function, HostValue) or not isinstance(function.content, _Lambda):
            raise self.emit.fail(f"{describe(function)} cannot be called", site=self.site(node))
        made = function.content
        names = dict(zip(made.node.parameters, arguments, strict=False))
        outer, self.frame = self.frame, Frame(made.frame.module, {**made.frame.names, **names})
        try:
            return self.evaluate(made.node.body)
        finally:
            self.frame = outer

    def _dictionary(self, node: syntax.Dictionary) -> Item:
        found: dict[Item, Item] = {}
        for key, value in node.pairs:
            if key is None:
                found |= _table(self.evaluate(value))
            else:
                found[self.evaluate(key)] = self.evaluate(value)
        return HostValue(_Dictionary(found))

    def _comprehension(self, node: syntax.Comprehension) -> Item:
        if node.element is None:
            raise self.emit.unsupported("a comprehension of pairs", site=self.site(node))
        outer, self.frame = self.frame, Frame(self.frame.module, dict(self.frame.names))
        try:
            found = tuple(islice(self._elements(node.element, node.clauses), _MOST + 1))
            if len(found) > _MOST:
                raise self.emit.fail(f"a comprehension of more than {_MOST} elements", site=self.site(node))
            return found
        finally:
            self.frame = outer

    def _elements(self, element: syntax.Expression, clauses: tuple[syntax.Clause, ...]) -> Iterator[Item]:
        if not clauses:
            yield self.evaluate(element)
            return
        clause = clauses[0]
        for item in self._looped(clause.iterable):
            self.bind(clause.target, item)
            if all(self.condition(test) is True for test in clause.tests):
                yield from self._elements(element, clauses[1:])

    def _looped(self, node: syntax.Expression) -> tuple[Item, ...]:
        items = self.evaluate(node)
        if isinstance(items, Iteration):
            return self._numbers(items)
        if not isinstance(items, tuple):
            raise TypeFault(f"{describe(items)} cannot be looped over")
        return items
