"""Common subexpression elimination: xDSL's, under our name and with a manual."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import cse


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Merge ops that compute the same value from the same operands; delete dead ops.

    before:  %a = arith.addi %x, %y : i32   %b = arith.addi %x, %y : i32
    after:   %a = arith.addi %x, %y : i32   (uses of %b use %a)

    needs:   nothing. Its search for a write between two equal loads is quadratic, so run it before anything is
             unrolled, not after.
    keeps:   values, and the location of the first of the merged ops. Loads merge only within a block and with no write
             between them.
    options: none
    """

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cse(op)
