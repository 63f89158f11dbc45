"""A hash-consed graph of terms: two values that compute the same are one number, whatever ops spell them.

A term is a number of the graph; a reference to it is a `Ref`, which also says on which axes of the user the term's
own axes lie. So splats, broadcasts and axes of size 1 vanish (`m[:, None]` is m on axis 0). Sums, products and
maxima are flattened and sorted, `a - b` is `a + -1 * b`, `a / b` is a times the reciprocal of b, a dot with an
accumulator is a sum; a product with a sum that holds a number, or of a number and a sum, is multiplied out. So are the
ways to write a logistic function and a hyperbolic tangent one. Casts between floats vanish, except to narrower types
than the caller wants. What the graph does not know is a leaf. Terms are equal as real numbers: roundings may differ,
numbers count to six digits, and 0 times a leaf is 0.

Terms are built for the values that somebody asks about, not for a whole function, and with a stack of our own: a
chain of any length neither costs the square of it nor overflows. `variable` makes terms that stand for any other:
patterns, for `unify.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tl
from ...dialects.shapes import element_of, is_float, shape_of
from ..commands.math_kinds import is_lane_by_lane, math_kind

FLATTENED = 64
"""A sum, product or maximum of more operands than this is not flattened into another: it stays one term."""

UNITS = {"add": 0.0, "mul": 1.0}
"""The operand that changes nothing."""


EXCHANGED = {"cmp_olt": "cmp_ogt", "cmp_ole": "cmp_oge"}
"""Comparisons that are written as another one with the operands exchanged."""


class Ref(NamedTuple):
    """A term as its user sees it: axis i of the term lies on axis `axes[i]` of the user."""

    term: int
    axes: tuple[int, ...]

    def on(self, places: Sequence[int]) -> Ref:
        """The same seen by a user of the user, on whose axes `places` this user's axes lie."""
        return Ref(self.term, tuple(places[a] for a in self.axes))


@dataclass(frozen=True)
class Node:
    """One term: what it is, of what. `detail` is a number, a type, an axis or a value of the IR, as `kind` needs."""

    kind: str
    operands: tuple[Ref, ...] = ()
    detail: Hashable = None


class Terms:
    """The terms of values of one block. Values from outside of it are leaves, unless they are constants or splats; so
    are `leaves`, and casts to floats of less than `least_bits`.
    """

    def __init__(self, block: Block, *, leaves: Collection[SSAValue] = (), least_bits: int = 16):
        self._block = block
        self._leaves = leaves
        self._least_bits = least_bits
        self._nodes: list[Node] = []
        self._open: list[bool] = []
        self._numbers: dict[Node, int] = {}
        self._refs: dict[SSAValue, Ref] = {}
        self._values: dict[tuple[Ref, int], list[SSAValue]] = {}
        self._constants: dict[Ref, float] = {}

    # --- making terms ---

    def node(self, ref: Ref) -> Node:
        return self._nodes[ref.term]

    def is_open(self, ref: Ref) -> bool:
        """Whether a variable is in a term."""
        return self._open[ref.term]

    def constant(self, value: float) -> Ref:
        ref = self._intern(Node("constant", detail=float(f"{value:.6g}")), ())
        self._constants.setdefault(ref, value)
        return ref

    def number(self, ref: Ref) -> float | None:
        """The number that a term is, as it was first met."""
        return self._constants.get(ref)

    def variable(self, name: str, rank: int) -> Ref:
        return self._intern(Node("variable", detail=name), tuple(range(rank)))

    def leaf(self, value: SSAValue) -> Ref:
        """A value of its own; it varies along its axes of more than one lane."""
        return self._intern(Node("leaf", detail=value), tuple(a for a, n in enumerate(shape_of(value.type)) if n != 1))

    def apply(self, kind: str, operands: Sequence[Ref], axis: int | None = None) -> Ref:
        """The term of a MATH op of this kind; `axis` is a reduction's."""
        first, last = operands[0], operands[-1]
        match kind:
            case "add":
                return self.add(*operands)
            case "sub":
                return self.add(first, self.negative(last))
            case "mul":
                return self.mul(*operands)
            case "div":
                return self._quotient(first, last)
            case "neg":
                return self.negative(first)
            case "fma":
                return self.add(self.mul(*operands[:2]), last)
            case "max" | "max_nan":
                return self._flat(kind, operands)
            case "exp_diff" | "exp2_diff":
                return self.apply(kind.removesuffix("_diff"), [self.add(first, self.negative(last))])
            case "rsqrt":
                return self.reciprocal(self._make("sqrt", [first]))
            case "tanh":
                two = self.constant(2)
                return self.add(self.mul(two, self._logistic(self.mul(two, first))), self._minus)
            case "cmp_oeq" | "cmp_une":
                return self._make(kind, sorted(operands, key=lambda r: (self.number(r) is not None, r)))
            case _ if kind in EXCHANGED:
                return self._make(EXCHANGED[kind], [last, first])
            case "select" if (condition := self._denied(first)) is not None:
                return self.apply("select", [condition, operands[2], operands[1]])
            case "pow" if (self.number(last) or 0) in (2, 3, 4):
                return self.mul(*[first] * int(self.number(last) or 0))
            case "logistic":
                return self._logistic(first)
            case "reciprocal":
                return self.reciprocal(first)
            case "copy" | "cast":
                return first
            case _ if axis is not None:
                return self.reduce(kind, first, axis)
            case _:
                return self._make(kind, operands)

    @property
    def _minus(self) -> Ref:
        return self.constant(-1)

    def _denied(self, condition: Ref) -> Ref | None:
        """c of not c, a == b of a != b or of a > -inf, a >= b of b > a (NaNs apart); None of what is no such
        condition.
        """
        node = self.node(condition)
        operands = [r.on(condition.axes) for r in node.operands]
        match node.kind:
            case "not":
                return operands[0]
            case "cmp_une":
                return self.apply("cmp_oeq", operands)
            case "cmp_ogt" if self.number(operands[1]) == -inf:
                return self.apply("cmp_oeq", operands)
            case "cmp_ogt":
                return self.apply("cmp_oge", operands[::-1])
            case _:
                return None

    def add(self, *operands: Ref) -> Ref:
        return self._flat("add", operands)

    def mul(self, *operands: Ref) -> Ref:
        product = self._flat("mul", operands)
        factors = self.operands(product, "mul")
        sums = [r for r in factors if self.node(r).kind == "add"]
        # A number is a factor of its own or among the addends: both ways of writing become one.
        wide = sums if len(factors) == 2 and any(self.number(r) is not None for r in factors) else []
        with_number = [r for r in sums if any(self.number(x) is not None for x in self.operands(r, "add"))]
        for each in (*with_number, *wide):
            if len(factors) > 1:
                rest = self._other(factors, each)
                return self.add(*(self.mul(rest, x) for x in self.operands(each, "add")))
        return product

    def _other(self, factors: Sequence[Ref], one: Ref) -> Ref:
        """The product of all factors but one."""
        rest = list(factors)
        rest.remove(one)
        return self._flat("mul", rest)

    def negative(self, operand: Ref) -> Ref:
        """-1 times the operand; of a sum, each addend's."""
        return self.mul(self._minus, operand)

    def reciprocal(self, operand: Ref) -> Ref:
        node, number = self.node(operand), self.number(operand)
        if number:
            return self.constant(1 / number)
        # The operand of a reduction has an axis more than its user.
        inner = [r.on(operand.axes) for r in node.operands] if not isinstance(node.detail, int) else []
        if node.kind == "mul":
            return self.mul(*map(self.reciprocal, inner))
        if node.kind == "reciprocal":
            return inner[0]
        if node.kind in ("exp", "exp2"):
            return self._make(node.kind, [self.negative(inner[0])])
        exponent = self._exponent_beside_one(operand)
        return self._make("reciprocal", [operand]) if exponent is None else self._logistic(self.negative(exponent))

    def _exponent_beside_one(self, total: Ref) -> Ref | None:
        """z, if a term is 1 + exp(z)."""
        addends = self.operands(total, "add")
        rest = [r for r in addends if self.number(r) != 1]
        if len(addends) != 2 or len(rest) != 1 or self.node(rest[0]).kind != "exp":
            return None
        return self.node(rest[0]).operands[0].on(rest[0].axes)

    def _logistic(self, operand: Ref) -> Ref:
        """1 / (1 + exp(-x)). Of x and -x the one that is met first is taken, the other is 1 minus that."""
        opposite = self.negative(operand)
        if self._key("logistic", [opposite])[0] in self._numbers:
            return self.add(self.constant(1), self.negative(self._make("logistic", [opposite])))
        return self._make("logistic", [operand])

    def _quotient(self, above: Ref, below: Ref) -> Ref:
        exponent = self._exponent_beside_one(below)
        addends = self.operands(above, "add")
        if exponent is not None and (power := self._make("exp", [exponent])) in addends:
            # (exp(z) + c) / (exp(z) + 1), as a tangent may be written, is 1 + (c - 1) / (exp(z) + 1).
            rest = [r for r in addends if r != power]
            return self.add(self.constant(1), self.mul(self.add(*rest, self._minus), self.reciprocal(below)))
        return self.mul(above, self.reciprocal(below))

    def reduce(self, kind: str, operand: Ref, axis: int) -> Ref:
        """A reduction over an axis of the user; of an operand that does not vary along it, a term of its own."""
        places = sorted(operand.axes)
        if axis not in places:
            return self._make(
                f"{kind} of the same", [operand.on([a - (a > axis) for a in range(max(places, default=0) + 1)])]
            )
        local = Ref(operand.term, tuple(places.index(a) for a in operand.axes))
        kept = tuple(a if a < axis else a - 1 for a in places if a != axis)
        return self._intern(Node(kind, (local,), places.index(axis)), kept)

    def matmul(self, a: Ref, b: Ref) -> Ref:
        """[M, K] times [K, N]; within the node M, N and K are axes 0, 1 and 2."""
        return self._intern(Node("matmul", (a.on((0, 2)), b.on((2, 1)))), (0, 1))

    def operands(self, ref: Ref, kind: str) -> list[Ref]:
        """The operands of a flattened term as the user of `ref` sees them; the term itself if it is of another kind."""
        node = self.node(ref)
        return [r.on(ref.axes) for r in node.operands] if node.kind == kind else [ref]

    def _intern(self, node: Node, axes: tuple[int, ...]) -> Ref:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
            self._open.append(node.kind == "variable" or any(self._open[r.term] for r in node.operands))
        return Ref(number, axes)

    def _key(self, kind: str, operands: Sequence[Ref]) -> tuple[Node, tuple[int, ...]]:
        """The node over the axes that any operand varies along, and those axes."""
        axes = tuple(sorted({a for r in operands for a in r.axes}))
        return Node(kind, tuple(Ref(r.term, tuple(axes.index(a) for a in r.axes)) for r in operands)), axes

    def _make(self, kind: str, operands: Sequence[Ref]) -> Ref:
        return self._intern(*self._key(kind, operands))

    def _flat(self, kind: str, operands: Sequence[Ref]) -> Ref:
        """A sum, product or maximum: nested ones opened, numbers gathered, the unit dropped, operands sorted."""
        found: list[Ref] = []
        unit = UNITS.get(kind)
        number = unit
        for operand in operands:
            inner = self.operands(operand, kind)
            for each in inner if len(inner) <= FLATTENED else [operand]:
                value = self.number(each)
                if number is not None and value is not None:
                    number = number + value if kind == "add" else number * value
                else:
                    found.append(each)
        if kind == "mul" and number == 0 and all(self.node(r).kind == "leaf" for r in found):
            # Of what is known the 0 may be a value of the kernel, such as a running sum before the first step.
            return self.constant(0)
        if number is not None and (constant := self.constant(number)) != self.constant(unit or 0):
            found.append(constant)
        if not found:
            return self.constant(unit or 0)
        if len(found) == 1:
            return found[0]
        return self._make(kind, sorted(dict.fromkeys(found) if unit is None else found))

    # --- terms of values ---

    def of(self, value: SSAValue) -> Ref:
        """The term of a value, its axes being the value's own."""
        todo = [value]
        while todo:
            at = todo[-1]
            if at in self._refs:
                todo.pop()
                continue
            needed = [v for v in self._sources(at) if v not in self._refs]
            if needed:
                todo += reversed(needed)
                continue
            todo.pop()
            ref = self._term(at)
            self._refs[at] = ref
            self._values.setdefault((ref, len(shape_of(at.type))), []).append(at)
        return self._refs[value]

    def values(self, ref: Ref, rank: int) -> Sequence[SSAValue]:
        """The values of this rank that are the term, among those asked about and what they are made of, in order."""
        return self._values.get((ref, rank), ())

    def _sources(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands that the term of a value is made from; none for a leaf."""
        op = value.owner
        if not isinstance(op, Operation) or value in self._leaves:
            return ()
        if isinstance(op, tl.SplatOp | tl.ExpandDimsOp | tl.BroadcastOp):
            return op.operands if is_float(value.type) or element_of(value.type) == i1 else ()
        if op.parent is not self._block:
            return ()
        if isinstance(op, tl.CastOp) and not self._vanishes(op):
            return ()
        if isinstance(op, arith.XOrIOp) and (denied := _denied_by(op)) is not None:
            return (denied,)
        on_floats = is_float(value.type) or (isinstance(op, tl.CmpOp) and is_float(op.operands[0].type))
        known = is_lane_by_lane(op) or isinstance(op, tl.ReduceOp | tl.DotOp | tl.TransOp | tl.ReshapeOp)
        return op.operands if on_floats and known else ()

    def _vanishes(self, op: tl.CastOp) -> bool:
        to = element_of(op.result.type)
        return is_float(op.operand.type) and isinstance(to, AnyFloat) and to.bitwidth >= self._least_bits

    def _term(self, value: SSAValue) -> Ref:
        op = value.owner
        if isinstance(op, arith.ConstantOp):
            number = _number(op)
            return self.leaf(value) if number is None else self.constant(number)
        sources = [self._refs[v] for v in self._sources(value)]
        if not sources or not isinstance(op, Operation):
            return self.leaf(value)
        term = self._arithmetic(op, sources)
        return self.leaf(value) if term is None else term

    def _arithmetic(self, op: Operation, sources: list[Ref]) -> Ref | None:
        match op:
            case tl.ReduceOp():
                axis, shape = op.axis.value.data, shape_of(op.operand.type)
                if shape[axis] == 1:
                    return sources[0].on([a - (a > axis) for a in range(len(shape))])
                return self.reduce(math_kind(op), sources[0], axis) if axis in sources[0].axes else None
            case tl.DotOp():
                if op.is_batch:
                    return None
                product = self.matmul(sources[0], sources[1])
                return self.add(product, sources[2]) if len(sources) > 2 else product
            case arith.XOrIOp():
                return self._make("not", sources)
            case _ if is_lane_by_lane(op):
                return self.apply(math_kind(op), sources)
            case _:
                return self._shape(op, sources[0])

    def _shape(self, op: Operation, source: Ref) -> Ref | None:
        match op:
            case tl.SplatOp():
                return source
            case tl.ExpandDimsOp():
                at = op.axis.value.data
                return source.on([a + (a >= at) for a in range(len(shape_of(op.operand.type)))])
            case tl.TransOp():
                return source.on([op.permutation.index(a) for a in range(len(shape_of(op.operand.type)))])
            case tl.ReshapeOp():
                old, new = _wide_axes(op.operand), _wide_axes(op.result)
                if [*old.values()] != [*new.values()]:
                    return None
                places = dict(zip(old, new, strict=True))
                return Ref(source.term, tuple(places[a] for a in source.axes))
            case tl.BroadcastOp():
                old, new = shape_of(op.operand.type), shape_of(op.result.type)
                return None if any(old[a] != new[a] for a in source.axes) else source
            case _:
                return None


def _denied_by(op: arith.XOrIOp) -> SSAValue | None:
    """c, if an op is the truth value `c xor true`."""
    for condition, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if element_of(op.result.type) == i1 and isinstance(other.owner, arith.ConstantOp):
            value = other.owner.value
            if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat() and all(value.get_values()):
                return condition
    return None


def _wide_axes(value: SSAValue) -> dict[int, int]:
    """Axis -> lanes, of the axes of more than one lane."""
    return {a: n for a, n in enumerate(shape_of(value.type)) if n != 1}


def _number(op: arith.ConstantOp) -> float | None:
    """The number that a scalar or block constant of floats holds in every lane."""
    if isinstance(op.value, FloatAttr):
        return op.value.value.data
    if isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat():
        first = next(iter(op.value.get_values()))
        return first if isinstance(first, float) else None
    return None
