"""`normalise-loops`: every counted loop runs from 0 by 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, Signedness
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from .affine import constant_of, is_normal


@dataclass(frozen=True)
class NormaliseLoopsPass(ModulePass):
    """Count every loop from 0 by 1, so that its induction variable is the number of the iteration.

    before:  scf.for %k = %lb to %ub step %c32 { use %k }
    after:   %trip = max((%ub - %lb + 31) / 32, 0)
             scf.for %t = %c0 to %trip step %c1 { %k = %lb + %t * 32 ; use %k }

    A step below 0 (Python's `range(hi, -1, -1)`) counts down in the same form. A step that is only known at run time
    is taken to be above 0.

    needs:   nothing; it must come before `canonicalize`, which takes a loop with a step below 0 for one without
             iterations.
    keeps:   values; loops that are in the form already. A step of 0 is left for the verifier.
    options: none
    """

    name = "normalise-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [each for each in op.walk() if isinstance(each, scf.ForOp)]:
            if not is_normal(loop) and constant_of(loop.step) != 0:
                _normalise(loop)


class _Arithmetic:
    """Integer ops of the type of a loop's bounds, inserted at one place; what is known is worked out at once."""

    def __init__(self, at: InsertPoint, loop: scf.ForOp):
        self._kind = cast("IntegerType[int, Signedness] | IndexType", loop.lb.type)
        self._builder = Builder(at)
        self._location = loop.location

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


def _normalise(loop: scf.ForOp) -> None:
    before = _Arithmetic(InsertPoint.before(loop), loop)
    step = constant_of(loop.step)
    if step is not None and step < 0:
        trip = before.count(loop.ub, loop.lb, -step)
    else:
        trip = before.count(loop.lb, loop.ub, loop.step if step is None else step)
    lb, old_step = loop.lb, loop.step
    loop.operands[0], loop.operands[1], loop.operands[2] = before.constant(0), trip, before.constant(1)
    block = loop.body.block
    inside = _Arithmetic(InsertPoint.at_start(block), loop)
    counter = block.args[0]
    uses = tuple(counter.uses)
    if not uses:
        return
    value = inside.add(lb, inside.mul(counter, old_step))
    for use in uses:
        use.operation.operands[use.index] = value
    value.name_hint = counter.name_hint
