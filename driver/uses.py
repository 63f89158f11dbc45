"""How a kernel uses its parameters: what it accesses through them, and what must be integers, floats or types.

A value is followed from the parameters and the elements that it was made from to the places that ask something of it:
addresses and bounds are of integers, masks of booleans, exponentials of floats. `guess.py` makes types of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..frontend import syntax
from ..frontend.values import JitFunction

Kind = Literal["pointer", "descriptor", "integer", "float", "boolean", "type"]
Source = str
"""A parameter, `x`, or the elements that lie where it points to, `*x`."""

_PASSES = frozenset(("multiple_of", "max_contiguous", "max_constancy", "assume", "broadcast_to", "reshape", "advance"))
_TYPED = frozenset(("to", "cast", "zeros", "full"))
_INTEGERS = frozenset(("range", "static_range", "cdiv", "arange", "swizzle2d", "popc", "clz"))
_SEEDED = frozenset(("rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox"))
_FLOATS = frozenset(
    ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn", "sigmoid", "softmax", "tanh", "erf", "sin", "cos")
) | frozenset(("floor", "ceil", "fdiv", "div_rn", "dot"))
_CUTS = frozenset(("argmax", "argmin", "program_id", "num_programs", "zeros_like", "debug_barrier"))
_MASK_AT = {"load": 1, "store": 2}
_FIRST = ("pointer", "base", "ptr", "input", "shape")
_DEEPEST = 2
_BITS = ("<<", ">>", "&", "|", "^", "//", "%")


# What a cast or a block of zeros says of its elements, in Triton's notation.
_ELEMENTS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "int8": "i8", "int32": "i32"}


@dataclass(frozen=True)
class Value:
    """What a value is made from: an address would be counted from one of `bases`, the leftmost of a sum. `element` is
    its type where the text says it, or the parameter that is its type; a tuple has `items`."""

    bases: frozenset[Source] = frozenset()
    rest: frozenset[Source] = frozenset()
    element: str | None = None
    items: tuple[Value, ...] = ()

    @property
    def sources(self) -> frozenset[Source]:
        return (self.bases | self.rest).union(*(i.sources for i in self.items))


_NOTHING = Value()


@dataclass
class Uses:
    """Of one function: what is asked of each source, types of elements, the constants that a parameter is compared
    with, the rank of the descriptors, and what it returns."""

    kinds: dict[Source, set[Kind]] = field(default_factory=dict[Source, set[Kind]])
    elements: dict[Source, str] = field(default_factory=dict[Source, str])
    compared: dict[str, list[str | int]] = field(default_factory=dict[str, "list[str | int]"])
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    returned: Value = _NOTHING

    def kinds_of(self, source: Source) -> set[Kind]:
        return self.kinds.get(source, set())

    def mark(self, sources: Iterable[Source], kind: Kind) -> None:
        for source in sources:
            self.kinds.setdefault(source, set()).add(kind)

    def may_be(self, name: str, constant: str | int) -> None:
        """A parameter is compared with a constant."""
        known = self.compared.setdefault(name, [])
        if constant not in known:
            known.append(constant)

    def address(self, value: Value) -> None:
        """Something is accessed through a value."""
        self.mark(value.bases, "pointer")
        self.mark(value.rest, "integer")

    def is_of(self, value: Value, element: str | None) -> None:
        """The elements that a value was made from are of a type, unless it was cast."""
        if element is not None and element in _ELEMENTS.values() and value.element is None:
            for source in sorted(value.sources):
                if source.startswith("*"):
                    self.elements.setdefault(source, element)


def uses_of(function: JitFunction, known: dict[int, Uses] | None = None) -> Uses:
    """The uses of a function's parameters; `known` holds those of functions seen before, recursive ones too. May raise
    AhbmcError, for a helper that cannot be parsed."""
    known = {} if known is None else known
    if id(function) not in known:
        known[id(function)] = uses = Uses()
        walker = _Walker(function, uses, known)
        for _ in range(2):  # what loops carry is known the second time
            walker.walk()
    return known[id(function)]


class _Walker:
    """Walks the text of a function in order."""

    def __init__(self, function: JitFunction, uses: Uses, known: dict[int, Uses]):
        self._function = function
        self._uses = uses
        self._known = known
        self._names: dict[str, Value] = {}
        self._carried: dict[syntax.Span, dict[str, Value]] = {}

    def walk(self) -> None:
        self._names = {p.name: Value(frozenset((p.name,))) for p in self._function.tree.parameters}
        self.body(self._function.tree.body)

    # Statements

    def body(self, body: syntax.Body) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: syntax.Statement) -> None:
        match node:
            case syntax.Assign(targets=targets, value=value):
                found = self._value(value)
                for target in targets:
                    self._bind(target, found)
            case syntax.Annotated(target=target, value=value) if value is not None:
                self._bind(target, self._value(value))
            case syntax.Augmented(target=target, operator=operator, value=value):
                self._bind(target, self._binary(operator.removesuffix("="), self._value(target), self._value(value)))
            case syntax.Evaluate(value=value):
                self._value(value)
            case syntax.Return(value=value) if value is not None:
                self._uses.returned = _either(self._uses.returned, self._value(value))
            case syntax.If(test=test, then=then, orelse=orelse):
                self._value(test)
                before = dict(self._names)
                self.body(then)
                after, self._names = self._names, before
                self.body(orelse)
                self._merge(after)
            case syntax.While(test=head, body=body) | syntax.For(iterable=head, body=body):
                self._loop(node, head, body)
            case syntax.With(body=body):
                self.body(body)
            case _:
                pass

    def _loop(self, node: syntax.Statement, head: syntax.Expression, body: syntax.Body) -> None:
        self._merge(self._carried.get(node.span, {}))
        before = dict(self._names)
        self._value(head)
        if isinstance(node, syntax.For):
            self._bind(node.target, _NOTHING)
        self.body(body)
        self._carried[node.span] = dict(self._names)
        self._merge(before)

    def _merge(self, other: Mapping[str, Value]) -> None:
        """Names have what they have here or what they have there."""
        for name, value in other.items():
            self._names[name] = _either(self._names.get(name, _NOTHING), value)

    def _bind(self, target: syntax.Expression, value: Value) -> None:
        match target:
            case syntax.Name(id=name):
                self._names[name] = value
            case syntax.Sequence(items=targets):
                items = value.items if len(value.items) == len(targets) else [Value(rest=value.sources)] * len(targets)
                for each, item in zip(targets, items, strict=True):
                    self._bind(each, item)
            case _:
                pass

    # Expressions

    def _value(self, node: syntax.Expression | None) -> Value:
        match node:
            case syntax.Name(id=name):
                return self._names.get(name, _NOTHING)
            case syntax.Binary(operator=operator, left=left, right=right):
                return self._binary(operator, self._value(left), self._value(right))
            case syntax.Call():
                return self._call(node)
            case syntax.Subscript(value=value):
                return self._value(value)
            case syntax.Attribute(value=value, name=name):
                return self._attribute(value, name)
            case syntax.Conditional(test=test, on_true=on_true, on_false=on_false):
                self._value(test)
                return _either(self._value(on_true), self._value(on_false))
            case syntax.Compare():
                self._compare(node)
                return _NOTHING
            case syntax.Logical(operands=operands):
                for operand in operands:
                    self._value(operand)
                return _NOTHING
            case syntax.Unary(operator=operator, operand=operand):
                value = self._value(operand)
                if operator == "~":
                    self._integers(value)
                return _NOTHING if operator == "not" else Value(rest=value.sources)
            case syntax.Named(name=name, value=value):
                self._names[name] = found = self._value(value)
                return found
            case syntax.Sequence(items=items):
                return Value(items=tuple(map(self._value, items)))
            case _:
                return _NOTHING

    def _binary(self, operator: str, left: Value, right: Value) -> Value:
        if operator in _BITS:
            self._integers(left)
            self._integers(right)
        if operator in ("+", "-"):
            for one, other in ((left, right), (right, left)):
                self._uses.is_of(other, "i8" if one.element == "i32" else None)
            if not left.bases or any(map(self._points, right.bases)) > any(map(self._points, left.bases)):
                left, right = right, left
            return Value(left.bases, left.rest | right.sources)
        return Value(rest=left.sources | right.sources)

    def _integers(self, value: Value) -> None:
        """A value is of integers; so is the parameter that is its type."""
        self._uses.mark(value.sources, "integer")
        if value.element is not None and value.element not in _ELEMENTS.values():
            self._uses.mark([value.element], "integer")

    def _points(self, source: Source) -> bool:
        """Whether an address is rather counted from this source than from others."""
        return "pointer" in self._uses.kinds_of(source) or "ptr" in source.lower()

    def _attribute(self, owner: syntax.Expression, name: str) -> Value:
        if name == "element_ty":
            inner = owner.value if isinstance(owner, syntax.Attribute) else owner
            self._uses.mark(self._value(inner).bases, "pointer")
        return self._value(owner) if name == "T" else _NOTHING

    def _compare(self, node: syntax.Compare) -> None:
        for each in (node.left, *node.others):
            self._value(each)
        if not isinstance(node.left, syntax.Name) or node.operators[0] not in ("==", "in"):
            return
        other = node.others[0]
        for each in other.items if isinstance(other, syntax.Sequence) else (other,):
            if isinstance(each, syntax.Constant) and isinstance(value := each.value, str | int):
                self._uses.may_be(node.left.id, value)

    # Calls

    def _call(self, node: syntax.Call) -> Value:
        match node.function:
            case syntax.Attribute(value=owner, name=name) if self._is_value(owner):
                if name in ("load", "store", "gather", "scatter") or name.startswith("atomic_"):
                    return self._descriptor(owner, node)
                return self._apply(name, (owner, *node.arguments), node.keywords)
            case syntax.Attribute(name=name):
                return self._apply(name, node.arguments, node.keywords)
            case syntax.Name(id=name):
                helper = self._function.module.kernel_function(name) if name not in self._names else None
                if helper is not None:
                    return self._helper(helper, node)
                return self._apply(name, node.arguments, node.keywords)
            case _:
                return _NOTHING

    def _is_value(self, owner: syntax.Expression) -> bool:
        """Whether a call is `x.f(...)` of a value, not `tl.f(...)` of a module."""
        while isinstance(owner, syntax.Attribute):
            owner = owner.value
        return not isinstance(owner, syntax.Name) or owner.id in self._names

    def _descriptor(self, owner: syntax.Expression, node: syntax.Call) -> Value:
        """A tensor descriptor's own load or store. One that the kernel made is counted from its pointer."""
        bases = self._value(owner).bases
        self._uses.mark(bases, "descriptor")
        values = [self._value(a) for a in node.arguments]
        at = node.arguments[0] if node.arguments else None
        if isinstance(at, syntax.Sequence):
            self._uses.mark(values[0].sources, "integer")
            for base in bases:
                self._uses.ranks.setdefault(base, len(at.items))
        return _elements(bases)

    def _apply(self, name: str, given: tuple[syntax.Expression, ...], named: tuple[syntax.Keyword, ...]) -> Value:
        values = [self._value(g) for g in given]
        keywords = {k.name: self._value(k.value) for k in named if k.name is not None}
        for keyword in named:
            if keyword.name == "input_precision" and isinstance(keyword.value, syntax.Name):
                self._uses.may_be(keyword.value.id, "ieee")
        first = values[0] if values else next((keywords[k] for k in _FIRST if k in keywords), _NOTHING)
        everything = frozenset[Source]().union(*(v.sources for v in (*values, *keywords.values())))
        if name in ("load", "store") or name.startswith("atomic_"):
            return self._access(name, first, values, keywords)
        if name in ("make_block_ptr", "make_tensor_descriptor", "ref"):
            self._uses.address(first)
            self._uses.mark(everything - first.bases, "integer")
            return Value(first.bases)
        if name in _TYPED:
            return self._typed(name, first, given, values, named)
        if name in _CUTS:
            return _NOTHING
        if name in _INTEGERS or name in _SEEDED:
            self._uses.mark(everything, "integer")
            return _NOTHING if name in _SEEDED else Value(rest=everything)
        if name in _FLOATS:
            self._uses.mark(everything, "float")
        if name == "dot" and len(values) > 1:
            self._dot(values)
            return Value(rest=everything)
        if name == "composite":
            self._dot([self._factor(keywords.get(side, _NOTHING)) for side in ("a", "b")])
            return Value(rest=everything)
        if name in _PASSES:
            return first
        if name == "where" and len(values) == 3:
            return _either(values[1], values[2])
        return Value(rest=everything, element=first.element)

    def _typed(
        self,
        name: str,
        first: Value,
        given: tuple[syntax.Expression, ...],
        values: list[Value],
        named: tuple[syntax.Keyword, ...],
    ) -> Value:
        """A cast, or a block of zeros: the type is the last argument, or has a name."""
        last = given[-1] if len(given) > 1 else None
        written = next((k.value for k in named if k.name == "dtype"), last)
        self._uses.mark(self._value(written).bases, "type")
        element = _ELEMENTS.get(written.name) if isinstance(written, syntax.Attribute) else None
        if isinstance(written, syntax.Name) and self._value(written).bases:
            element = written.id
        if name in ("to", "cast"):
            return replace(first, element=element)
        self._uses.mark(first.sources, "integer")
        return Value(element=element)

    def _dot(self, values: list[Value]) -> None:
        """The factors are of one type, those of a sum of integers are bytes."""
        left, right = values[:2]
        self._uses.is_of(right, left.element)
        self._uses.is_of(left, right.element)
        if len(values) > 2 and values[2].element == "i32":
            self._uses.is_of(left, "i8")
            self._uses.is_of(right, "i8")

    def _factor(self, value: Value) -> Value:
        """What a product takes in: a block, or what lies where a reference points to."""
        is_reference = any("pointer" in self._uses.kinds_of(base) for base in value.bases)
        return _elements(value.bases) if is_reference else value

    def _access(self, name: str, at: Value, values: list[Value], keywords: Mapping[str, Value]) -> Value:
        self._uses.address(at)
        masked = values[_MASK_AT[name]] if len(values) > _MASK_AT.get(name, 9) else keywords.get("mask", _NOTHING)
        self._uses.mark(masked.sources, "boolean")
        found = _elements(at.bases)
        if name in ("atomic_and", "atomic_or", "atomic_xor"):
            self._uses.mark(found.bases, "integer")
        return found

    def _helper(self, helper: JitFunction, node: syntax.Call) -> Value:
        """What a function asks of its parameters is asked of what is given for them."""
        inner = uses_of(helper, self._known)
        parameters = [p.name for p in helper.tree.parameters]
        given = dict(zip(parameters, node.arguments, strict=False))
        given |= {k.name: k.value for k in node.keywords if k.name is not None}
        values = {n: self._value(g) for n, g in given.items()}
        for source, kinds in inner.kinds.items():
            value = _within(source, values)
            for kind in kinds:
                if kind == "pointer":
                    self._uses.address(value)
                else:
                    self._uses.mark(value.bases if kind in ("descriptor", "type") else value.sources, kind)
        for source, element in inner.elements.items():
            for base in _within(source, values).bases:
                self._uses.elements.setdefault(base, element)
        for name, constants in inner.compared.items():
            if isinstance(argument := given.get(name), syntax.Name):
                for constant in constants:
                    self._uses.may_be(argument.id, constant)
        for name, rank in inner.ranks.items():
            for base in values.get(name, _NOTHING).bases:
                self._uses.ranks.setdefault(base, rank)
        return _given(inner.returned, values)


def _elements(bases: Iterable[Source]) -> Value:
    """What is loaded through bases: pointers to pointers are the most."""
    return Value(frozenset(f"*{b}" for b in bases if b.count("*") < _DEEPEST))


def _within(source: Source, values: Mapping[str, Value]) -> Value:
    """What a source of a called function is for its caller."""
    value = values.get(source.lstrip("*"), _NOTHING)
    for _ in range(source.count("*")):
        value = _elements(value.bases)
    return value


def _given(returned: Value, values: Mapping[str, Value]) -> Value:
    """What a function returns is for its caller."""
    bases = [_within(s, values) for s in returned.bases]
    rest = [*(_within(s, values).sources for s in returned.rest), *(b.rest for b in bases)]
    return Value(
        frozenset[Source]().union(*(b.bases for b in bases)),
        frozenset[Source]().union(*rest),
        items=tuple(_given(i, values) for i in returned.items),
    )


def _either(one: Value, other: Value) -> Value:
    if one == other or other == _NOTHING:
        return one
    if len(one.items) == len(other.items):
        items = tuple(_either(a, b) for a, b in zip(one.items, other.items, strict=True))
    else:
        items = one.items or other.items
    return Value(one.bases | other.bases, one.rest | other.rest, one.element or other.element, items)
