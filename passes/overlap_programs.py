"""`overlap-programs`: PE_CPU goes on to the next program while commands of this one are in flight."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.passes import ModulePass

from ..dialects import ahbm, tl
from ..dialects.programs import OVERLAP_ATTRIBUTE
from ..dialects.remarks import remark
from .bounds import Positive

_ORDERED = (tl.AtomicOp, tl.WaitOp, ahbm.AtomicOp, ahbm.WaitOp)
"""Ops by which programs wait for each other, or whose order may be seen."""


@dataclass(frozen=True)
class OverlapProgramsPass(ModulePass):
    """Let a PE take up its programs at once.

    before:  func.func @kernel
    after:   func.func @kernel attributes {ahbm.overlap}

    PE_CPU issues the commands of one program after the other and waits for their end only then. What a program still
    has in flight, its last product, the division, the store, runs beside the loads and first products of the next one.
    In a launch of more than 16,384 tiles, a command counted as four, it takes up some at a time, so that what runs
    alike need not be simulated again: eight, and on PEs that share no slice as many as have 4,096 together.
    Programs share the scratch: where it has room for two, the next one has the other half, else its commands wait for
    the bytes that they write. What programs do in HBM is independent of each other, as in Triton, whose programs run at
    once.

    needs:   nothing; before `form-tails`, which then counts what a store holds up.
    keeps:   values of programs that do not depend on each other. A kernel with atomics or waits stays as it is, and so
             does, when it runs, one whose addresses or branches depend on contents of memory.
    options: programs=N  how many a PE takes up at a time; 1 leaves them in turn
    """

    name = "overlap-programs"

    programs: Positive | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            ordered = next((each for each in function.walk() if isinstance(each, _ORDERED)), None)
            if ordered is not None:
                remark(function, self.name, "program", "in turn", f"the kernel holds {ordered.name}")
            elif self.programs is None:
                function.attributes[OVERLAP_ATTRIBUTE] = UnitAttr()
            elif self.programs > 1:
                function.attributes[OVERLAP_ATTRIBUTE] = IntegerAttr(self.programs, i64)
