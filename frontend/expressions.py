"""Expressions: from the syntax tree to items, making ops for what runs at kernel time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from ..dialects import tl
from ..dialects.errors import AhbmcError
from . import attributes, merging, namespaces, operators, syntax
from .builtin import Builtin
from .calls import Argument, Arguments, call_builtin, check_defined
from .emit import Emitter, Site
from .module import Module
from .types import DType, TypeFault
from .values import Entry, FileModule, Item, JitFunction, Method, Namespace, Opaque, Record, Value, Written, describe


@dataclass
class Frame:
    """One function while it is lowered: where its names live. `loops` counts the loops around the present statement."""

    module: Module
    names: dict[str, Item] = field(default_factory=dict[str, Item])
    loops: int = 0


class Expressions(ABC):
    """Evaluates expressions in the present frame."""

    emit: Emitter
    frame: Frame

    def __init__(self, emit: Emitter, frame: Frame):
        self.emit = emit
        emit.call = self._library_call
        self.frame = frame
        self._table: dict[type[Any], Callable[[Any], Item]] = {
            syntax.Name: self._name,
            syntax.Constant: self._constant,
            syntax.Sequence: self._sequence,
            syntax.Attribute: self._attribute,
            syntax.Subscript: self._subscript,
            syntax.Slice: self._slice,
            syntax.Call: self._call,
            syntax.Unary: self._unary,
            syntax.Binary: self._binary,
            syntax.Compare: self._compare,
            syntax.Logical: self._logical,
            syntax.Conditional: self._conditional,
            syntax.Named: self._named,
        }

    @abstractmethod
    def inline(self, function: JitFunction, arguments: Arguments) -> Item:
        """The result of a function of the kernel language, lowered in place."""

    def _library_call(self, function: JitFunction, given: Mapping[str, Item]) -> Item:
        """The result of a function of the library, for a builtin that is built on it."""
        named = {name: Argument(item, self.emit.site) for name, item in given.items()}
        return self.inline(function, Arguments((), named))

    # Places ---------------------------------------------------------------------------------------

    def at(self, node: syntax.Node) -> None:
        """Say that what follows comes from `node`."""
        self.emit.at(self.frame.module.text, node.span)

    def site(self, node: syntax.Node) -> Site:
        return self.emit.pinned or Site(self.frame.module.text, node.span)

    def evaluate(self, node: syntax.Expression) -> Item:
        """The item that an expression stands for. Raises AhbmcError at the part of it that is wrong."""
        rule = self._table.get(type(node))
        if rule is None:
            hint = _DICTIONARIES if isinstance(node, syntax.Dictionary) else None
            raise self.emit.unsupported(_NAMES.get(type(node), "this expression"), hint, site=self.site(node))
        try:
            return rule(node)
        except TypeFault as fault:
            raise self.emit.fail(str(fault), fault.hint, site=self.site(node)) from None

    # Names and literals ---------------------------------------------------------------------------

    def _name(self, node: syntax.Name) -> Item:
        names = self.frame.names
        if node.id in names:
            self.at(node)
            return check_defined(self.emit, names[node.id], node.id)
        return self.global_name(node)

    def global_name(self, node: syntax.Name) -> Item:
        """What the file, or Python, says that a name is."""
        module = self.frame.module
        try:
            return module.lookup(node.id, self.evaluate_global)
        except KeyError:
            pass
        builtin = namespaces.python_names().get(node.id)
        if builtin is not None:
            return builtin
        if node.id in namespaces.DEFAULTS:
            return Namespace(namespaces.DEFAULTS[node.id])
        known = [*self.frame.names, *module.names, *namespaces.python_names()]
        hint = namespaces.suggestion(node.id, known) or "give it a value before, or make it a parameter of the kernel"
        raise self.emit.fail(f"undefined name '{node.id}'", hint, site=self.site(node))

    def evaluate_global(self, module: Module, node: syntax.Expression) -> Item:
        """The value of a global constant. What is no constant is of the host, and refused only where a kernel uses
        it.
        """
        outer, self.frame = self.frame, Frame(module)
        into, self.emit.into = self.emit.into, None
        site, pinned, library = self.emit.site, self.emit.pinned, self.emit.library
        self.emit.pinned = self.emit.library = None
        try:
            return self.evaluate(node)
        except AhbmcError:
            return Opaque("a value of the host, which is not executed")
        finally:
            self.frame, self.emit.into, self.emit.site = outer, into, site
            self.emit.pinned, self.emit.library = pinned, library

    def _constant(self, node: syntax.Constant) -> Item:
        if node.ellipsis:
            raise self.emit.unsupported("`...`", site=self.site(node))
        return node.value

    def _sequence(self, node: syntax.Sequence) -> Item:
        if node.kind == "set":
            raise self.emit.unsupported("a set", "use a tuple", site=self.site(node))
        items: list[Item] = []
        for item in node.items:
            items += self._spread(item) if isinstance(item, syntax.Starred) else [self.evaluate(item)]
        return tuple(items)

    def _spread(self, node: syntax.Starred) -> tuple[Item, ...]:
        items = self.evaluate(node.value)
        if not isinstance(items, tuple):
            raise self.emit.fail(f"'*' needs a tuple, not {describe(items)}", site=self.site(node))
        return items

    # Operators ------------------------------------------------------------------------------------

    def _binary(self, node: syntax.Binary) -> Item:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        self.at(node)
        return operators.binary(self.emit, node.operator, left, right)

    def _unary(self, node: syntax.Unary) -> Item:
        operand = self.evaluate(node.operand)
        self.at(node)
        match node.operator:
            case "-":
                return operators.minus(self.emit, operand)
            case "~":
                return operators.invert(self.emit, operand)
            case "not":
                return operators.negate(self.emit, operand)
            case _:
                if not isinstance(operand, Value | bool | int | float):
                    raise TypeFault(f"'+' is not defined for {describe(operand)}")
                return operand

    def _compare(self, node: syntax.Compare) -> Item:
        left, result = self.evaluate(node.left), None
        for operator, other in zip(node.operators, node.others, strict=True):
            right = self.evaluate(other)
            self.at(node)
            found = operators.binary(self.emit, operator, left, right)
            result = found if result is None else self._and(result, found)
            left = right
        return result

    def _and(self, a: Item, b: Item) -> Item:
        if isinstance(a, Value) or isinstance(b, Value):
            return operators.connect(self.emit, "and", a, b)
        return a and b

    def _logical(self, node: syntax.Logical) -> Item:
        """`and`, `or`: from the left while known at compile time, so that what decides early keeps the rest from
        being evaluated.
        """
        result: Item = self.evaluate(node.operands[0])
        for operand in node.operands[1:]:
            if not isinstance(result, Value):
                if bool(result) == (node.operator == "or"):
                    return result
                result = self.evaluate(operand)
                continue
            other = self.evaluate(operand)
            self.at(node)
            result = operators.connect(self.emit, node.operator, result, other)
        return result

    def _named(self, node: syntax.Named) -> Item:
        item = self.evaluate(node.value)
        self.frame.names[node.name] = item
        return item

    def condition(self, node: syntax.Expression) -> bool | Value:
        """A condition: known at compile time, or a scalar i1."""
        item = self.evaluate(node)
        self.at(node)
        found = operators.truth(self.emit, item)
        if isinstance(found, Value) and found.is_block:
            raise TypeFault(
                f"a condition cannot be {describe(item)}", "use tl.where for blocks, or reduce the block to a scalar"
            )
        return found

    def _conditional(self, node: syntax.Conditional) -> Item:
        test = self.condition(node.test)
        if isinstance(test, bool):
            return self.evaluate(node.on_true if test else node.on_false)
        then, orelse = Block(), Block()
        with self.emit.inside(then):
            on_true = self.evaluate(node.on_true)
        with self.emit.inside(orelse):
            on_false = self.evaluate(node.on_false)
        self.at(node)
        merge = merging.Merge(self.emit, then, orelse)
        template = merge.pair(on_true, on_false)
        if isinstance(template, merging.Split):
            raise TypeFault(f"the two sides do not go together: {template.reason}")
        if merge.pure and all(not v.is_block for v in merge.left):
            return self._select(test, then, orelse, merge, template)
        merge.finish()
        op = scf.IfOp(test.ssa, merge.types, Region(then), Region(orelse))
        self.emit.insert(op)
        return merge.rebuild(template, list(op.results))

    def _select(
        self, test: Value, then: Block, orelse: Block, merge: merging.Merge, template: merging.Template
    ) -> Item:
        """Scalars without effects are computed on both sides and selected: addresses stay visible to the passes."""
        assert self.emit.into is not None
        for side in (then, orelse):
            for op in list(side.ops):
                op.detach()
                self.emit.into.add_op(op)
        pairs = zip(merge.left, merge.right, strict=True)
        chosen = [self.emit.insert(tl.SelectOp(test.ssa, a.ssa, b.ssa)).results[0] for a, b in pairs]
        return merge.rebuild(template, chosen)

    # Attributes, subscripts, calls ----------------------------------------------------------------

    def _attribute(self, node: syntax.Attribute) -> Item:
        owner = self.evaluate(node.value)
        site = Site(self.frame.module.text, node.name_span)
        site = self.emit.pinned or site
        if isinstance(owner, Namespace):
            try:
                return namespaces.member(owner.path, node.name)
            except KeyError:
                if instead := namespaces.NOT_YET.get(node.name):
                    raise self.emit.unsupported(f"{owner.path}.{node.name}", instead, site=site) from None
                hint = namespaces.closest(owner.path, node.name)
                raise self.emit.fail(f"{owner.path} has no '{node.name}'", hint, site=site) from None
        if isinstance(owner, FileModule):
            try:
                return owner.module.lookup(node.name, self.evaluate_global)
            except KeyError:
                hint = namespaces.suggestion(node.name, list(owner.module.names))
                raise self.emit.fail(f"{describe(owner)} has no '{node.name}'", hint, site=site) from None
        if isinstance(owner, Opaque):
            return Opaque(f"{owner.origin} (its '{node.name}')")
        self.at(node)
        found = attributes.attribute(self.emit, owner, node.name)
        if found is not attributes.ABSENT:
            return found
        function = namespaces.method(owner, node.name)
        if function is None:
            hint = namespaces.NOT_YET.get(node.name) or namespaces.suggestion(node.name, attributes.names_of(owner))
            raise self.emit.fail(f"{describe(owner)} has no '{node.name}'", hint, site=site)
        return Method(owner, function)

    def _subscript(self, node: syntax.Subscript) -> Item:
        owner, index = self.evaluate(node.value), self.evaluate(node.index)
        self.at(node)
        return attributes.subscript(self.emit, owner, index)

    def _slice(self, node: syntax.Slice) -> Item:
        return slice(*(None if part is None else self.evaluate(part) for part in (node.lower, node.upper, node.step)))

    def arguments(self, node: syntax.Call, function: Item = None) -> Arguments:
        """The evaluated arguments of a call of `function`."""
        positional: list[Argument] = []
        for argument in node.arguments:
            site = self.site(argument)
            if isinstance(argument, syntax.Starred):
                positional += [Argument(i, site) for i in self._spread(argument)]
            else:
                positional.append(Argument(self._given(argument, function, len(positional), None), site))
        named: dict[str, Argument] = {}
        for keyword in node.keywords:
            if keyword.name is None:
                raise self.emit.unsupported("`**` in a call", "name the arguments", site=self.site(keyword))
            if keyword.name in named:
                raise self.emit.fail(f"'{keyword.name}' is given twice", "keep one of the two", site=self.site(keyword))
            given = self._given(keyword.value, function, 0, keyword.name)
            named[keyword.name] = Argument(given, self.site(keyword))
        return Arguments(tuple(positional), named)

    def _given(self, node: syntax.Expression, function: Item, number: int, name: str | None) -> Item:
        """An argument; where a function takes dictionaries they are read as such."""
        if not isinstance(function, Builtin) or not function.takes_records(number, name):
            return self.evaluate(node)
        if isinstance(node, syntax.Dictionary):
            return self._record(node)
        if isinstance(node, syntax.Sequence):
            return tuple(self._record(i) if isinstance(i, syntax.Dictionary) else self.evaluate(i) for i in node.items)
        return self.evaluate(node)

    def _record(self, node: syntax.Dictionary) -> Record:
        entries: dict[str, Entry] = {}
        for key, value in node.pairs:
            if key is None:
                raise self.emit.unsupported("`**` in a dictionary", "name the operands", site=self.site(value))
            name = self.evaluate(key)
            if not isinstance(name, str):
                hint = 'name it in quotes, as in {"op": "exp"}'
                raise self.emit.fail(f"a key is a string here, not {describe(name)}", hint, site=self.site(key))
            if name in entries:
                raise self.emit.fail(f"'{name}' is given twice", "keep one of the two", site=self.site(key))
            own = value.id if isinstance(value, syntax.Name) else None
            entries[name] = Entry(self.evaluate(value), self.site(value), own)
        return Record(entries, self.site(node))

    def _call(self, node: syntax.Call) -> Item:
        function = self.evaluate(node.function)
        arguments = self.arguments(node, function)
        if isinstance(function, Method):
            receiver = Argument(function.receiver, self.site(node.function))
            arguments = Arguments((receiver, *arguments.positional), arguments.named)
            function = function.function
        self.at(node)
        result = self.call(function, arguments, node)
        if isinstance(result, Written):
            self.frame.names |= result.names
            result = result.item
        if isinstance(function, Builtin) and function.writes is not None:
            self._rebind(node, function, result)
        return result

    def call(self, function: Item, arguments: Arguments, node: syntax.Node) -> Item:
        """Call an item that can be called."""
        match function:
            case Builtin():
                return call_builtin(self.emit, function, arguments)
            case JitFunction():
                return self.inline(function, arguments)
            case DType() if len(arguments.positional) == 1 and not arguments.named:
                return self.emit.typed(arguments.positional[0].item, function)
            case _:
                hint = "only functions of tl and al, and functions under a jit decorator can be called in a kernel"
                raise self.emit.fail(f"{describe(function)} cannot be called", hint, site=self.site(node))

    def _rebind(self, node: syntax.Call, function: Builtin, result: Item) -> None:
        """Give the name that was passed to be written the written value."""
        number = next(n for n, p in enumerate(function.parameters) if p.name == function.writes)
        keyword = next((k.value for k in node.keywords if k.name == function.writes), None)
        target = keyword if keyword is not None else next(iter(node.arguments[number:]), None)
        if target is None or not isinstance(result, Value):
            return  # an output that is left out, or that lies in HBM
        if not isinstance(target, syntax.Name):
            hint = "give the block a name before, which then stands for what is written"
            message = f"'{function.writes}' of {function.name} must be a name"
            raise self.emit.fail(message, hint, site=self.site(target))
        self.frame.names[target.id] = result


_DICTIONARIES = "use tuples; the lists of dictionaries of al.composite are written in the call"
_NAMES: dict[type[Any], str] = {
    syntax.Lambda: "`lambda`",
    syntax.Comprehension: "a comprehension",
    syntax.Dictionary: "a dictionary",
    syntax.Starred: "`*` here",
}
