"""The integer arithmetic that rewriting a loop's bounds needs: what is known at compile time is worked out at once."""

from __future__ import annotations

from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr, Signedness
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from .affine import constant_of


class LoopArithmetic:
    """Integer ops of the type of a loop's counter, inserted at one place; what is known is worked out at once."""

    def __init__(self, at: InsertPoint, counter: SSAValue, location: LocationAttr):
        self._kind = cast("IntegerType[int, Signedness] | IndexType", counter.type)
        self._builder = Builder(at)
        self._location = location

    def _insert(self, op: Operation) -> SSAValue:
        op.location = self._location
        self._builder.insert(op)
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        return self._insert(arith.ConstantOp(IntegerAttr(value, self._kind)))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        x, y = constant_of(a), constant_of(b)
        if y == 0:
            return a
        return self.constant(x - y) if x is not None and y is not None else self._insert(arith.SubiOp(a, b))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        x, y = constant_of(a), constant_of(b)
        if x == 0:
            return b
        return self.constant(x + y) if x is not None and y is not None else self._insert(arith.AddiOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return a if constant_of(b) == 1 else self._insert(arith.MuliOp(a, b))

    def count(self, start: SSAValue, end: SSAValue, step: int | SSAValue) -> SSAValue:
        """How many steps lead from start up to end, rounded up; 0 where end is not above start."""
        first, last = constant_of(start), constant_of(end)
        if first is not None and last is not None and isinstance(step, int):
            return self.constant(max(-((first - last) // step), 0))
        by = self.constant(step) if isinstance(step, int) else step
        above = self.add(self.sub(end, start), self.sub(by, self.constant(1)))
        # Truncating division: below 0 it can only come out as 0 or less, which the maximum makes 0.
        return self._insert(arith.MaxSIOp(self._insert(arith.DivSIOp(above, by)), self.constant(0)))
