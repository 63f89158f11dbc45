"""The one affine analysis: what blocks of integers and pointers, and scalars, are as functions of their lanes.

The value of lane (i0, i1, ...) of a block is `base + const + sum coef[d] * i_d + terms`, where a term varies along
one axis only and is a division or remainder (`(start + i) div width`) or an index (lane i of a block of rank 1).
Constants and coefficients are polynomials over scalars (`poly`), so run-time strides, cancellation and reordered sums
cost nothing. Values carried by a loop that runs from 0 by 1 are written with its induction variable: `init + t *
increment`.

The analysis reads the IR and changes nothing. It walks forward in program order, so that no chain of ops, however
long, is recursed over. What is affine is taken not to wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tl
from ...dialects.pointer import PointerType
from ...dialects.shapes import element_of, shape_of
from .poly import ONE, ZERO, Chosen, Meaning, Poly, Positive, Symbols


@dataclass(frozen=True)
class Term:
    """`coef * ((start + i) div|rem width)` along `axis`, or `coef * block[i]` of a block with one long axis."""

    axis: int
    kind: Literal["div", "rem", "index"]
    coef: Poly
    start: Poly = ZERO
    width: Poly = ONE
    block: SSAValue | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return (self.axis, self.kind, self.start, self.width, self.block)


@dataclass(frozen=True)
class Affine:
    """One value as a function of its lanes. `coef` has one entry per axis; `base` is a pointer or a carried value."""

    shape: tuple[int, ...]
    const: Poly
    coef: tuple[Poly, ...]
    terms: tuple[Term, ...] = ()
    base: SSAValue | None = None

    @property
    def uniform(self) -> bool:
        """Every lane holds the same number."""
        return self.base is None and not self.terms and not any(self.coef)

    @property
    def scalar(self) -> Poly | None:
        """The number that every lane holds, if that is so."""
        return self.const if self.uniform else None

    @property
    def pure_affine(self) -> bool:
        """No base and no term: an index view."""
        return self.base is None and not self.terms

    def add(self, other: Affine) -> Affine | None:
        if self.base is not None and other.base is not None:
            return None
        terms = self.terms or other.terms
        if self.terms and other.terms:
            merged = {t.key: t for t in self.terms}
            for t in other.terms:
                merged[t.key] = replace(t, coef=t.coef + merged[t.key].coef) if t.key in merged else t
            terms = tuple(t for t in merged.values() if t.coef)
        coef = tuple(a + b for a, b in zip(self.coef, other.coef, strict=True))
        base = other.base if self.base is None else self.base
        return Affine(self.shape, self.const + other.const, coef, terms, base)

    def scale(self, factor: Poly) -> Affine | None:
        """This times a number; None for a pointer."""
        if factor == ONE:
            return self
        if self.base is not None:
            return None
        terms = tuple(replace(t, coef=t.coef * factor) for t in self.terms) if factor else ()
        return Affine(self.shape, self.const * factor, tuple(c * factor for c in self.coef), terms)

    def without_base(self) -> Affine:
        return replace(self, base=None)

    def polys(self) -> list[Poly]:
        """Every polynomial in it."""
        return [self.const, *self.coef, *(p for t in self.terms for p in (t.coef, t.start, t.width))]


def number(shape: tuple[int, ...], value: Poly) -> Affine:
    """The block of `shape` whose lanes all hold `value`."""
    return Affine(shape, value, (ZERO,) * len(shape))


def is_number(value: SSAValue) -> bool:
    """An integer, a pointer, or a block of such: what the analysis speaks of. A truth value is not (see `masks`)."""
    element = element_of(value.type)
    if isinstance(element, IntegerType):
        return element.bitwidth > 1
    return isinstance(element, PointerType | IndexType)


def is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in a region of `op`."""
    at = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    if isinstance(value.owner, Operation):
        at = at.parent_op() if at is not None else None
    while at is not None:
        if at is op:
            return True
        at = at.parent_op()
    return False


def is_normal(loop: scf.ForOp) -> bool:
    """The loop runs from 0 by 1, so that its induction variable is the number of the iteration."""
    return constant_of(loop.lb) == 0 and constant_of(loop.step) == 1


def constant_of(value: SSAValue) -> int | None:
    """The integer that an `arith.constant` gives; None for anything else."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


class AffineAnalysis:
    """The analysis of one function. `of(value)` answers for every value of it; `visit` takes in ops made later."""

    def __init__(self, function: func.FuncOp):
        self.symbols = Symbols()
        self._memo: dict[SSAValue, Affine | None] = {}
        self._trail: list[SSAValue] = []
        for block in function.body.blocks:
            self._visit_block(block)

    def of(self, value: SSAValue) -> Affine | None:
        """`value` as a function of its lanes, or None where it is none of the form above. Scalars always have one."""
        if value not in self._memo:
            self._set(value, self._opaque(value))
        return self._memo[value]

    def poly(self, value: SSAValue) -> Poly:
        """A scalar integer as a polynomial."""
        known = self.of(value)
        assert known is not None and not known.shape, value
        return self.symbols.poly(value) if known.base is not None else known.const

    def is_invariant(self, poly: Poly, loop: Operation) -> bool:
        """Nothing in `poly` is defined in `loop`."""
        return not any(is_inside(leaf, loop) for leaf in self.symbols.leaves(poly))

    def trip(self, loop: scf.ForOp) -> Poly:
        """How often a normal loop runs; never negative."""
        bound = self.poly(loop.ub)
        if bound.constant is not None:
            return Poly.of(max(bound.constant, 0))
        return bound if self.is_natural(bound) else self.symbols.poly(Positive(bound))

    def is_natural(self, poly: Poly) -> bool:
        """`poly` is known to be 0 or more, from the ops that make its symbols."""
        return all(c > 0 for c in poly.terms.values()) and all(
            self._natural_meaning(self.symbols.meanings[n]) for n in poly.symbols()
        )

    def is_positive(self, poly: Poly) -> bool:
        """`poly` is known to be 1 or more."""
        return self.is_natural(poly) and any(
            all(self._positive_meaning(self.symbols.meanings[n]) for n in monomial) for monomial in poly.terms
        )

    def _positive_meaning(self, meaning: Meaning) -> bool:
        if not isinstance(meaning, SSAValue):
            return False
        at = meaning.owner
        return isinstance(at, tl.NumProgramsOp) or (isinstance(at, Block) and _least(meaning, at) > 0)

    def _natural_meaning(self, meaning: Meaning) -> bool:
        if isinstance(meaning, Positive):
            return True
        if isinstance(meaning, Chosen):
            return self.is_natural(meaning.yes) and self.is_natural(meaning.no)
        if not isinstance(meaning, SSAValue):
            return meaning.kind != "floor" and self.is_natural(meaning.dividend) and self.is_natural(meaning.divisor)
        op = meaning.owner
        match op:
            case Block():
                return _least(meaning, op) >= 0
            case tl.ProgramIdOp() | tl.NumProgramsOp():
                return True
            case arith.MaxSIOp():
                return any(self.is_natural(self.poly(v)) for v in op.operands)
            case arith.MinSIOp() | arith.DivSIOp():
                return all(self.is_natural(self.poly(v)) for v in op.operands)
            case arith.RemSIOp():
                return self.is_natural(self.poly(op.lhs))
            case _:
                return False

    # --- the walk ---

    def _set(self, value: SSAValue, known: Affine | None) -> None:
        self._memo[value] = known
        self._trail.append(value)

    def _opaque(self, value: SSAValue) -> Affine | None:
        """A value of which only its name is known."""
        shape = shape_of(value.type)
        if isinstance(element_of(value.type), PointerType):
            return None if shape else Affine((), ZERO, (), base=value)
        if not shape:
            return Affine((), self.symbols.poly(value), ())
        long = [d for d, n in enumerate(shape) if n > 1]
        if len(long) > 1 or not is_number(value):
            return None
        return replace(number(shape, ZERO), terms=(Term(long[0] if long else 0, "index", ONE, block=value),))

    def _visit_block(self, block: Block) -> None:
        for op in block.ops:
            self.visit(op)

    def visit(self, op: Operation) -> None:
        """Work out the results of `op` and of all that it holds."""
        if isinstance(op, scf.ForOp):
            self._visit_loop(op)
            return
        for region in op.regions:
            for block in region.blocks:
                self._visit_block(block)
        for result in op.results:
            if is_number(result):
                known = self._result(op, result)
                self._set(result, self._opaque(result) if known is None else known)

    def _visit_loop(self, loop: scf.ForOp) -> None:
        carried = [n for n, arg in enumerate(loop.body.block.args[1:]) if is_number(arg)]
        increments: dict[int, Affine] = {}
        if is_normal(loop) and carried:
            mark = len(self._trail)
            for n in carried:
                arg = loop.body.block.args[n + 1]
                shape = shape_of(arg.type)
                self._set(arg, replace(number(shape, ZERO), base=arg))
            self._visit_block(loop.body.block)
            increments = {n: inc for n in carried if (inc := self._increment(loop, n)) is not None}
            # What was worked out while an argument stood for itself does not hold once its value is known.
            for value in self._trail[mark:]:
                self._memo.pop(value, None)
            del self._trail[mark:]
        t = self.symbols.poly(loop.body.block.args[0])
        for n in carried:
            self._set(loop.body.block.args[n + 1], self._after(loop, n, increments.get(n), t))
        self._visit_block(loop.body.block)
        trip = self.trip(loop)
        for n in carried:
            known = self._after(loop, n, increments.get(n), trip)
            self._set(loop.results[n], self._opaque(loop.results[n]) if n not in increments else known)

    def _after(self, loop: scf.ForOp, n: int, increment: Affine | None, count: Poly) -> Affine | None:
        """Carried value `n` after `count` iterations."""
        init = self.of(loop.iter_args[n])
        if increment is None or init is None:
            return self._opaque(loop.body.block.args[n + 1])
        moved = increment.scale(count)
        return None if moved is None else init.add(moved)

    def _increment(self, loop: scf.ForOp, n: int) -> Affine | None:
        """What one iteration adds to carried value `n`; None unless that is the same in every iteration."""
        last = loop.body.block.last_op
        assert isinstance(last, scf.YieldOp)
        after, arg = self.of(last.operands[n]), loop.body.block.args[n + 1]
        if after is None or after.base is not arg or self.of(loop.iter_args[n]) is None:
            return None
        increment = after.without_base()
        inner = any(t.block is not None and is_inside(t.block, loop) for t in increment.terms)
        if inner or not all(self.is_invariant(p, loop) for p in increment.polys()):
            return None
        return increment

    # --- results of ops ---

    def _result(self, op: Operation, result: SSAValue) -> Affine | None:
        match op:
            case arith.ConstantOp():
                return self._constant(op)
            case tl.MakeRangeOp():
                return Affine(shape_of(result.type), Poly.of(op.start.value.data), (ONE,))
            case arith.AddiOp() | tl.AddPtrOp():
                return self._sum(op.operands[0], op.operands[1])
            case arith.SubiOp():
                return self._difference(op.lhs, op.rhs)
            case arith.MuliOp():
                return self._product(self.of(op.lhs), self.of(op.rhs))
            case arith.ShLIOp():
                by = self._uniform_constant(op.rhs)
                return self._product(self.of(op.lhs), number(shape_of(result.type), Poly.of(1 << by))) if by else None
            case arith.DivSIOp() | arith.DivUIOp():
                return self._division("div", op.lhs, self.of(op.rhs))
            case arith.RemSIOp() | arith.RemUIOp():
                return self._division("rem", op.lhs, self.of(op.rhs))
            case arith.ShRSIOp() | arith.ShRUIOp():
                by = self._uniform_constant(op.rhs)
                return (
                    None
                    if by is None
                    else self._division("div", op.lhs, number(shape_of(result.type), Poly.of(1 << by)))
                )
            case tl.CastOp():
                return self._cast(op)
            case tl.SplatOp() | tl.ExpandDimsOp() | tl.BroadcastOp() | tl.TransOp() | tl.ReshapeOp():
                known = self.of(op.operand)
                # A carried block that is moved about no longer stands for itself.
                if known is None or (known.base is not None and shape_of(known.base.type)):
                    return None
                return self._reshaped(op, known)
            case scf.IfOp():
                return self._of_branches(op, op.results.index(result))
            case _:
                return None

    def _constant(self, op: arith.ConstantOp) -> Affine | None:
        if isinstance(op.value, IntegerAttr):
            return Affine((), Poly.of(op.value.value.data), ())
        value = op.value
        if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
            first = next(iter(value.get_values()))
            return number(shape_of(op.result.type), Poly.of(first)) if isinstance(first, int) else None
        return None

    def _uniform_constant(self, value: SSAValue) -> int | None:
        known = self.of(value)
        return known.const.constant if known is not None and known.uniform else None

    def _sum(self, a: SSAValue, b: SSAValue) -> Affine | None:
        x, y = self.of(a), self.of(b)
        return None if x is None or y is None else x.add(y)

    def _difference(self, a: SSAValue, b: SSAValue) -> Affine | None:
        x, y = self.of(a), self.of(b)
        negative = None if y is None else y.scale(Poly.of(-1))
        return None if x is None or negative is None else x.add(negative)

    def _product(self, x: Affine | None, y: Affine | None) -> Affine | None:
        if x is None or y is None:
            return None
        if y.uniform:
            return x.scale(y.const)
        return y.scale(x.const) if x.uniform else None

    def _division(self, kind: Literal["div", "rem"], a: SSAValue, divisor: Affine | None) -> Affine | None:
        x = self.of(a)
        if x is None or divisor is None or not divisor.uniform or x.base is not None or not x.shape:
            return None  # a scalar is its own symbol
        width = divisor.const
        if x.uniform:
            return number(x.shape, self.symbols.quotient(kind, x.const, width))
        axes = [d for d, c in enumerate(x.coef) if c]
        # Truncating and flooring differ below 0, so a start that may be negative stays a block of indices.
        if x.terms or len(axes) != 1 or x.coef[axes[0]] != ONE or any(c < 0 for c in x.const.terms.values()):
            return None
        return replace(number(x.shape, ZERO), terms=(Term(axes[0], kind, ONE, x.const, width),))

    def _cast(self, op: tl.CastOp) -> Affine | None:
        """Widening is looked through; what narrows, or widens a number that has no sign, is a new symbol."""
        old, new = element_of(op.operand.type), element_of(op.result.type)
        if not isinstance(old, IntegerType) or not isinstance(new, IntegerType) or op.unsigned is not None:
            return None
        return self.of(op.operand) if 1 < old.bitwidth <= new.bitwidth else None

    def _of_branches(self, op: scf.IfOp, n: int) -> Affine | None:
        """The result of a condition whose branches give the same, or pointers of one base at other places."""
        ends = [region.block.last_op for region in op.regions if region.blocks]
        known = [self.of(end.operands[n]) for end in ends if isinstance(end, scf.YieldOp)]
        yes, no = known if len(known) == 2 else (None, None)
        if yes is None or no is None:
            return None
        if yes.base is not no.base or yes.terms != no.terms or (yes != no and yes.base is None):
            return None
        inner = yes.base is not None and is_inside(yes.base, op)
        inner = inner or any(t.block is not None and is_inside(t.block, op) for t in yes.terms)
        if inner or not all(self.is_invariant(p, op) for p in (*yes.polys(), *no.polys())):
            return None

        def chosen(a: Poly, b: Poly) -> Poly:
            return a if a == b else self.symbols.poly(Chosen(op.cond, a, b))

        coef = tuple(chosen(a, b) for a, b in zip(yes.coef, no.coef, strict=True))
        return replace(yes, const=chosen(yes.const, no.const), coef=coef)

    def _reshaped(self, op: Operation, known: Affine) -> Affine | None:
        shape = shape_of(op.results[0].type)
        match op:
            case tl.SplatOp():
                return replace(number(shape, known.const), base=known.base)
            case tl.ExpandDimsOp():
                at = op.axis.value.data
                return _renumbered(known, shape, [d + (d >= at) for d in range(len(known.shape))])
            case tl.TransOp():
                return _renumbered(known, shape, [op.permutation.index(d) for d in range(len(known.shape))])
            case tl.BroadcastOp():
                return self._broadcast(known, shape)
            case _:
                return self._reshape(known, shape)

    def _broadcast(self, known: Affine, shape: tuple[int, ...]) -> Affine | None:
        """Axes of size 1 are read at lane 0 and no longer vary."""
        grown = [d for d, (old, new) in enumerate(zip(known.shape, shape, strict=True)) if old == 1 and new != 1]
        const, kept = known.const, list[Term]()
        for term in known.terms:
            if term.axis not in grown:
                kept.append(term)
            elif term.kind == "index":
                return None
            else:
                const += term.coef * self.symbols.quotient(term.kind, term.start, term.width)
        coef = tuple(ZERO if d in grown else c for d, c in enumerate(known.coef))
        return Affine(shape, const, coef, tuple(kept), known.base)

    def _reshape(self, known: Affine, shape: tuple[int, ...]) -> Affine | None:
        """Axes of size 1 may come and go; any other reshape of lanes that vary is not followed."""
        if known.uniform:
            return number(shape, known.const)
        old, new = [d for d, n in enumerate(known.shape) if n > 1], [d for d, n in enumerate(shape) if n > 1]
        if [known.shape[d] for d in old] != [shape[d] for d in new]:
            return None
        small = self._broadcast(known, tuple(n if n > 1 else 2 for n in known.shape))
        if small is None:
            return None
        places = dict(zip(old, new, strict=True))
        coef = [ZERO] * len(shape)
        for d, place in places.items():
            coef[place] = small.coef[d]
        terms = tuple(replace(t, axis=places[t.axis]) for t in small.terms)
        return Affine(shape, small.const, tuple(coef), terms, small.base)


def _renumbered(known: Affine, shape: tuple[int, ...], places: list[int]) -> Affine:
    """The same lanes under other axis numbers: axis d becomes axis `places[d]`."""
    coef = [ZERO] * len(shape)
    for d, place in enumerate(places):
        coef[place] = known.coef[d]
    return Affine(
        shape, known.const, tuple(coef), tuple(replace(t, axis=places[t.axis]) for t in known.terms), known.base
    )


def _least(value: SSAValue, block: Block) -> int:
    """What a block argument is known not to be less than; -1 where nothing is known. The counter of a normal loop is
    never negative, and the launch may have given an argument's value.
    """
    at = block.parent_op()
    if isinstance(at, scf.ForOp):
        return 0 if value is block.args[0] and is_normal(at) else -1
    if not isinstance(at, func.FuncOp) or at.arg_attrs is None:
        return -1
    fact = at.arg_attrs.data[block.args.index(value)].data.get("ahbm.value")
    return fact.value.data if isinstance(fact, IntegerAttr) else -1
