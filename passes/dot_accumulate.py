"""`dot-accumulate`: `acc + tl.dot(a, b)` becomes `tl.dot(a, b, acc)`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ..dialects import tl
from ..dialects.locations import locating_walker
from ..dialects.remarks import remark
from ..dialects.shapes import element_of


@dataclass(frozen=True)
class DotAccumulatePass(ModulePass):
    """Give a sum with a dot to the dot as its accumulator.

    before:  %d = tl.dot %a, %b : ...   ;   %s = arith.addf %acc, %d : tensor<32x32xf32>
    after:   %s = tl.dot %a, %b acc(%acc) : ...

    needs:   nothing.
    keeps:   values within the rounding of the sum's type. A dot that something else uses too, one that has an
             accumulator, and a sum in a type narrower than f32 (where the dot's own rounding counts) stay as they
             are; the last two leave a remark.
    options: none
    """

    name = "dot-accumulate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        locating_walker(_IntoDot()).rewrite_module(op)


class _IntoDot(RewritePattern):
    def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, arith.AddfOp | arith.AddiOp):
            return
        for dot, acc in ((_dot_of(op.rhs), op.lhs), (_dot_of(op.lhs), op.rhs)):
            if dot is None or dot.acc is not None:
                continue
            if not is_wide(dot.result):
                remark(
                    dot,
                    DotAccumulatePass.name,
                    "dot",
                    "refused",
                    f"the sum is rounded to {element_of(dot.result.type)}",
                )
                continue
            element = element_of(dot.result.type)
            precision = dot.input_precision.data if dot.input_precision else None
            rewriter.replace(op, tl.DotOp(dot.a, dot.b, acc, element, precision))
            rewriter.erase(dot)
            return


def _dot_of(value: SSAValue) -> tl.DotOp | None:
    """The dot that gives `value` to nobody else."""
    return value.owner if isinstance(value.owner, tl.DotOp) and value.has_one_use() else None


def is_wide(value: SSAValue) -> bool:
    """Whether sums of this type are rounded no more than those of the GEMM engine."""
    element = element_of(value.type)
    return isinstance(element, Float32Type | Float64Type) or (
        isinstance(element, IntegerType) and element.bitwidth >= 32
    )
