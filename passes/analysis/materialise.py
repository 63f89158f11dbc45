"""Back from the analysis to the IR: scalars for polynomials, blocks of rank 1 for the terms of an axis.

All arithmetic is in i64, which is what regions count in. Constants are worked out here, because xDSL folds few
integer ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import tl
from ...dialects.region import no_lane
from ...dialects.shapes import element_bytes, element_of, shape_of
from .affine import Affine, constant_of
from .poly import Chosen, Meaning, Poly, Positive, Quotient, Symbols


class Materialiser:
    """Inserts scalar ops before one op. Everything that it inserts has that op's location."""

    def __init__(self, symbols: Symbols, before: Operation, location: LocationAttr | None = None):
        self.symbols = symbols
        self._builder = Builder(InsertPoint.before(before))
        self._location = location or before.location
        self._made: dict[Poly, SSAValue] = {}

    def insert(self, op: Operation) -> SSAValue:
        """Insert any op of one result (or none) here; the result."""
        op.location = self._location
        self._builder.insert(op)
        return op.results[0]

    def insert_effect(self, op: Operation) -> None:
        op.location = self._location
        self._builder.insert(op)

    def constant(self, value: int) -> SSAValue:
        return self.poly(Poly.of(value))

    def poly(self, poly: Poly) -> SSAValue:
        """An i64 that is `poly`."""
        if poly not in self._made:
            self._made[poly] = self._sum(poly)
        return self._made[poly]

    def _sum(self, poly: Poly) -> SSAValue:
        known = poly.constant
        if known is not None:
            return self.insert(arith.ConstantOp(IntegerAttr(known, i64)))
        total: SSAValue | None = None
        # Sums come before differences, and the constant last, so that `x - 1` and `x` share what they can.
        for monomial, c in sorted(poly.terms.items(), key=lambda item: (not item[0], item[1] < 0, item[0])):
            factors = [self._symbol(self.symbols.meanings[n]) for n in monomial]
            if not factors or abs(c) != 1:
                factors.append(self.constant(abs(c)))
            product = factors[0]
            for factor in factors[1:]:
                product = self.insert(arith.MuliOp(product, factor))
            if total is None:
                total = product if c > 0 else self.insert(arith.SubiOp(self.constant(0), product))
            else:
                total = self.insert(arith.AddiOp(total, product) if c > 0 else arith.SubiOp(total, product))
        assert total is not None
        return total

    def _symbol(self, meaning: Meaning) -> SSAValue:
        one = self.symbols.poly(meaning)
        if one not in self._made:
            self._made[one] = self._meaning(meaning)
        return self._made[one]

    def _meaning(self, meaning: Meaning) -> SSAValue:
        match meaning:
            case Chosen():
                return self.insert(arith.SelectOp(meaning.condition, self.poly(meaning.yes), self.poly(meaning.no)))
            case Positive():
                return self.insert(arith.MaxSIOp(self.poly(meaning.of), self.constant(0)))
            case Quotient():
                return self._quotient(meaning)
            case _:
                return self.wide(meaning)

    def _quotient(self, meaning: Quotient) -> SSAValue:
        a, b = self.poly(meaning.dividend), self.poly(meaning.divisor)
        if meaning.kind == "div":
            return self.insert(arith.DivSIOp(a, b))
        remainder = self.insert(arith.RemSIOp(a, b))
        if meaning.kind == "rem":
            return remainder
        # Rounding down is exact division by b > 0 once the remainder, brought to [0, b), is taken off.
        remainder = self.insert(arith.RemSIOp(self.insert(arith.AddiOp(remainder, b)), b))
        return self.insert(arith.DivSIOp(self.insert(arith.SubiOp(a, remainder)), b))

    def wide(self, value: SSAValue) -> SSAValue:
        """A scalar integer as i64."""
        if value.type == i64:
            return value
        if isinstance(value.type, IndexType):
            return self.insert(arith.IndexCastOp(value, i64))
        return self.insert(tl.CastOp(value, i64))

    # --- bounds ---

    def minimum(self, values: Sequence[SSAValue]) -> SSAValue:
        return self._extreme(arith.MinSIOp, values)

    def maximum(self, values: Sequence[SSAValue]) -> SSAValue:
        return self._extreme(arith.MaxSIOp, values)

    def _extreme(self, kind: type[arith.MinSIOp] | type[arith.MaxSIOp], values: Sequence[SSAValue]) -> SSAValue:
        total = values[0]
        for value in values[1:]:
            a, b = constant_of(total), constant_of(value)
            if total is value:
                continue
            if a is not None and b is not None:
                total = self.constant(min(a, b) if kind is arith.MinSIOp else max(a, b))
            else:
                total = self.insert(kind(total, value))
        return total

    def upper(self, bounds: Sequence[Poly], size: SSAValue) -> SSAValue:
        """The least of the bounds, clamped to [0, size]."""
        values = [self.poly(p) for p in dict.fromkeys(bounds)]
        if not values:
            return size
        return self.minimum([self.maximum([self.minimum(values), self.constant(0)]), size])

    def lower(self, bounds: Sequence[Poly], size: SSAValue) -> SSAValue:
        """The greatest of the bounds, clamped to [0, size]."""
        values = [self.poly(p) for p in dict.fromkeys(bounds)]
        if not values:
            return self.constant(0)
        return self.minimum([self.maximum([*values, self.constant(0)]), size])

    # --- blocks of indices ---

    def index_block(self, known: Affine, axis: int) -> SSAValue:
        """A block of rank 1 that holds what varies along `axis`, coefficients included."""
        n = known.shape[axis]
        total: SSAValue | None = None
        for term in (t for t in known.terms if t.axis == axis):
            if term.kind == "index":
                assert term.block is not None
                block = self.flat(term.block)
            else:
                lanes = self._wide_block(self.insert(tl.MakeRangeOp(0, n)))
                lanes = self._plus(lanes, self._splat(term.start, n))
                kind = arith.DivSIOp if term.kind == "div" else arith.RemSIOp
                block = self.insert(kind(lanes, self._splat(term.width, n)))
            block = self._times(block, term.coef, n)
            total = block if total is None else self._plus(total, block)
        assert total is not None
        if known.coef[axis]:
            lanes = self._wide_block(self.insert(tl.MakeRangeOp(0, n)))
            total = self._plus(total, self._times(lanes, known.coef[axis], n))
        return total

    def chosen(self, index: SSAValue, by: Sequence[SSAValue]) -> SSAValue:
        """A block of indices (rank 1) where all of `by` hold, elsewhere the index that stands for no lane."""
        kept = self.flat(by[0])
        for each in by[1:]:
            kept = self.insert(arith.AndIOp(kept, self.flat(each)))
        width = 8 * element_bytes(index.type)
        if width < 32:
            index, width = self.insert(tl.CastOp(index, i32)), 32  # the least of a narrow type may be an index
        none = self.insert(arith.ConstantOp(IntegerAttr(no_lane(width), width)))
        return self.insert(tl.SelectOp(kept, index, self.insert(tl.SplatOp(none, shape_of(index.type)))))

    def flat(self, block: SSAValue) -> SSAValue:
        """A block of one long axis as a block of rank 1."""
        shape = shape_of(block.type)
        return block if len(shape) == 1 else self.insert(tl.ReshapeOp(block, [max(shape)]))

    def _wide_block(self, block: SSAValue) -> SSAValue:
        return block if element_of(block.type) == i64 else self.insert(tl.CastOp(block, i64))

    def _splat(self, poly: Poly, n: int) -> SSAValue:
        return self.insert(tl.SplatOp(self.poly(poly), [n]))

    def _plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.AddiOp(self._wide_block(a), self._wide_block(b)))

    def _times(self, block: SSAValue, factor: Poly, n: int) -> SSAValue:
        if factor.constant == 1:
            return block
        return self.insert(arith.MuliOp(self._wide_block(block), self._splat(factor, n)))
