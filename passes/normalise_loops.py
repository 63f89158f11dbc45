"""`normalise-loops`: every counted loop runs from 0 by 1."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from .analysis.affine import constant_of, is_normal
from .analysis.counted_while import counted_as_for
from .analysis.loop_arithmetic import LoopArithmetic


@dataclass(frozen=True)
class NormaliseLoopsPass(ModulePass):
    """Count every loop from 0 by 1, so that its induction variable is the number of the iteration.

    before:  scf.for %k = %lb to %ub step %c32 { use %k }
    after:   %trip = max((%ub - %lb + 31) / 32, 0)
             scf.for %t = %c0 to %trip step %c1 { %k = %lb + %t * 32 ; use %k }

    A step below 0 (Python's `range(hi, -1, -1)`) counts down in the same form. A step that is only known at run time
    is taken to be above 0. A `while` that counts up or down to a bound which its body leaves alone becomes such a
    loop too.

    needs:   nothing; it must come before `canonicalize`, which takes a loop with a step below 0 for one without
             iterations.
    keeps:   values; loops that are in the form already. A step of 0 is left for the verifier.
    options: none
    """

    name = "normalise-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [each for each in op.walk() if isinstance(each, scf.WhileOp)]:
            counted_as_for(loop)
        for loop in [each for each in op.walk() if isinstance(each, scf.ForOp)]:
            if not is_normal(loop) and constant_of(loop.step) != 0:
                _normalise(loop)


def _normalise(loop: scf.ForOp) -> None:
    before = LoopArithmetic(InsertPoint.before(loop), loop.lb, loop.location)
    step = constant_of(loop.step)
    if step is not None and step < 0:
        trip = before.count(loop.ub, loop.lb, -step)
    else:
        trip = before.count(loop.lb, loop.ub, loop.step if step is None else step)
    lb, old_step = loop.lb, loop.step
    loop.operands[0], loop.operands[1], loop.operands[2] = before.constant(0), trip, before.constant(1)
    block = loop.body.block
    inside = LoopArithmetic(InsertPoint.at_start(block), lb, loop.location)
    counter = block.args[0]
    uses = tuple(counter.uses)
    if not uses:
        return
    value = inside.add(lb, inside.mul(counter, old_step))
    for use in uses:
        use.operation.operands[use.index] = value
    value.name_hint = counter.name_hint
