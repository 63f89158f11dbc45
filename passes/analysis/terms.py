"""A hash-consed graph of terms: two values that compute the same are one number, whatever ops spell them.

A term is a number of the graph; a reference to it is a `Ref`, which also says on which axes of the user the term's
own axes lie. So splats, broadcasts and new axes of size 1 vanish (`m[:, None]` is m on axis 0). Sums, products and
maxima are flattened and sorted, `a - b` is `a + -1 * b`, a dot with an accumulator is a sum. What the graph does not
know is a leaf. Sums may be rounded in another order than the kernel's: terms are equal as real numbers.

Terms are built for the values that somebody asks about, not for a whole function, and with a stack of our own: a
chain of any length neither costs the square of it nor overflows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tl
from ...dialects.shapes import element_of, is_float, shape_of

FLATTENED = 64
"""A sum, product or maximum of more operands than this is not flattened into another: it stays one term."""


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
    """The terms of values of one block. Values from outside of it are leaves, unless they are constants or splats."""

    def __init__(self, block: Block):
        self._block = block
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._refs: dict[SSAValue, Ref] = {}
        self._values: dict[tuple[Ref, int], SSAValue] = {}

    # --- making terms ---

    def node(self, ref: Ref) -> Node:
        return self._nodes[ref.term]

    def constant(self, value: float) -> Ref:
        return self._intern(Node("constant", detail=value), ())

    def add(self, *operands: Ref) -> Ref:
        return self._flat("add", operands, 0.0)

    def mul(self, *operands: Ref) -> Ref:
        return self._flat("mul", operands, 1.0)

    def negative(self, operand: Ref) -> Ref:
        """-1 times the operand; of a sum, each addend's."""
        node = self.node(operand)
        if node.kind == "add":
            return self.add(*(self.negative(r.on(operand.axes)) for r in node.operands))
        return self.mul(self.constant(-1.0), operand)

    def maximum(self, *operands: Ref, kind: str = "max") -> Ref:
        return self._flat(kind, operands, None)

    def unary(self, kind: str, operand: Ref, detail: Hashable = None) -> Ref:
        return self._make(kind, (operand,), detail)

    def reduce(self, kind: str, operand: Ref, axis: int) -> Ref:
        """A reduction over an axis of the user along which the operand varies."""
        places = sorted(operand.axes)
        local = Ref(operand.term, tuple(places.index(a) for a in operand.axes))
        kept = tuple(a if a < axis else a - 1 for a in places if a != axis)
        return self._intern(Node(kind, (local,), places.index(axis)), kept)

    def matmul(self, a: Ref, b: Ref) -> Ref:
        """[M, K] times [K, N]; within the node M, N and K are axes 0, 1 and 2."""
        return self._intern(Node("matmul", (a.on((0, 2)), b.on((2, 1)))), (0, 1))

    def leaf(self, value: SSAValue) -> Ref:
        return self._intern(Node("leaf", detail=value), tuple(range(len(shape_of(value.type)))))

    def operands(self, ref: Ref, kind: str) -> list[Ref]:
        """The operands of a flattened term as the user of `ref` sees them; the term itself if it is of another kind."""
        node = self.node(ref)
        return [r.on(ref.axes) for r in node.operands] if node.kind == kind else [ref]

    def _intern(self, node: Node, axes: tuple[int, ...]) -> Ref:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
        return Ref(number, axes)

    def _make(self, kind: str, operands: Sequence[Ref], detail: Hashable = None) -> Ref:
        """A term over the axes that any operand varies along."""
        axes = sorted({a for r in operands for a in r.axes})
        local = tuple(Ref(r.term, tuple(axes.index(a) for a in r.axes)) for r in operands)
        return self._intern(Node(kind, local, detail), tuple(axes))

    def _flat(self, kind: str, operands: Sequence[Ref], unit: float | None) -> Ref:
        """A sum, product or maximum: nested ones opened, numbers gathered, the unit dropped, operands sorted."""
        found: list[Ref] = []
        number = unit
        for operand in operands:
            inner = self.operands(operand, kind)
            for each in inner if len(inner) <= FLATTENED else [operand]:
                node = self.node(each)
                if (
                    unit is not None
                    and number is not None
                    and node.kind == "constant"
                    and isinstance(node.detail, float)
                ):
                    number = number + node.detail if kind == "add" else number * node.detail
                else:
                    found.append(each)
        if number is not None and number != unit:
            found.append(self.constant(number))
        if not found:
            return self.constant(unit if unit is not None else 0.0)
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
            self._values.setdefault((ref, len(shape_of(at.type))), at)
        return self._refs[value]

    def value(self, ref: Ref, rank: int) -> SSAValue | None:
        """A value of this rank that is the term, among those asked about and what they are made of."""
        return self._values.get((ref, rank))

    def _sources(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands that the term of a value is made from; none for a leaf."""
        op = value.owner
        if not isinstance(op, Operation) or not is_float(value.type):
            return ()
        if isinstance(op, tl.SplatOp | tl.ExpandDimsOp | tl.BroadcastOp):
            return op.operands
        if op.parent is not self._block:
            return ()
        if isinstance(op, tl.CastOp) and not is_float(op.operand.type):
            return ()
        return op.operands if isinstance(op, _KNOWN) else ()

    def _term(self, value: SSAValue) -> Ref:
        op = value.owner
        if isinstance(op, arith.ConstantOp):
            number = _number(op)
            return self.leaf(value) if number is None else self.constant(number)
        sources = [self._refs[v] for v in self._sources(value)]
        if not sources or not isinstance(op, Operation):
            return self.leaf(value)
        term = self._arithmetic(op, sources) or self._shape(op, sources[0])
        return self.leaf(value) if term is None else term

    def _arithmetic(self, op: Operation, sources: list[Ref]) -> Ref | None:
        match op:
            case arith.AddfOp():
                return self.add(*sources)
            case arith.SubfOp():
                return self.add(sources[0], self.negative(sources[1]))
            case arith.NegfOp():
                return self.negative(sources[0])
            case arith.MulfOp():
                return self.mul(*sources)
            case math.FmaOp():
                return self.add(self.mul(sources[0], sources[1]), sources[2])
            case arith.MaxnumfOp():
                return self.maximum(*sources)
            case arith.MaximumfOp():
                return self.maximum(*sources, kind="max_nan")
            case math.ExpOp() | math.Exp2Op():
                return self.unary(op.name.removeprefix("math."), sources[0])
            case tl.CastOp():
                return self.unary("cast", sources[0], element_of(op.result.type))
            case tl.ReduceOp() if op.axis.value.data in sources[0].axes:
                return self.reduce(f"reduce_{op.kind.data}", sources[0], op.axis.value.data)
            case tl.DotOp() if not op.is_batch:
                product = self.matmul(sources[0], sources[1])
                return self.add(product, sources[2]) if len(sources) > 2 else product
            case _:
                return None

    def _shape(self, op: Operation, source: Ref) -> Ref | None:
        match op:
            case tl.SplatOp():
                return source
            case tl.ExpandDimsOp():
                at = op.axis.value.data
                return source.on([a + (a >= at) for a in range(len(shape_of(op.operand.type)))])
            case tl.TransOp():
                return source.on([op.permutation.index(a) for a in range(len(shape_of(op.operand.type)))])
            case tl.BroadcastOp():
                old, new = shape_of(op.operand.type), shape_of(op.result.type)
                return None if any(old[a] != new[a] for a in source.axes) else source
            case _:
                return None


_KNOWN = (
    arith.AddfOp,
    arith.SubfOp,
    arith.NegfOp,
    arith.MulfOp,
    arith.MaxnumfOp,
    arith.MaximumfOp,
    math.FmaOp,
    math.ExpOp,
    math.Exp2Op,
    tl.CastOp,
    tl.ReduceOp,
    tl.DotOp,
    tl.TransOp,
)
"""The ops of which `_arithmetic` and `_shape` make terms, besides those that only repeat a value."""


def _number(op: arith.ConstantOp) -> float | None:
    """The number that a scalar or block constant of floats holds in every lane."""
    if isinstance(op.value, FloatAttr):
        return op.value.value.data
    if isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat():
        first = next(iter(op.value.get_values()))
        return first if isinstance(first, float) else None
    return None
