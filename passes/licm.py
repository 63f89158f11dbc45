"""Loop-invariant code motion: xDSL's, under our name and with a manual."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass


@dataclass(frozen=True)
class LicmPass(ModulePass):
    """Move pure ops out of `scf.for` when nothing that they use is defined in the loop.

    before:  scf.for %i ... { %a = arith.muli %n, %m : i32   use(%a, %i) }
    after:   %a = arith.muli %n, %m : i32   scf.for %i ... { use(%a, %i) }

    needs:   nothing.
    keeps:   values and locations; loads and stores stay where they are. A block constant may move out of the loop that
             it initialises an accumulator in, so whoever gives values their buffers fills constants into the
             destination.
    options: none
    """

    name = "licm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        LoopInvariantCodeMotionPass().apply(ctx, op)
