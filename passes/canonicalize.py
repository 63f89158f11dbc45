"""Canonicalisation: xDSL's patterns and folders, with locations kept and one trap closed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce

from ..dialects.errors import AhbmcError, Category, Fault, place_of
from ..dialects.locations import locating_walker


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Fold constants, apply every op's canonicalisation patterns, delete dead code.

    before:  %c = arith.addi %two, %three : i32   ...   arith.muli %x, %one : i32
    after:   %c = arith.constant 5 : i32          ...   %x

    needs:   loops with steps above 0 (`normalise-loops`): xDSL takes a loop with a negative step for one without
             iterations and would delete it, so a constant step below 1 is refused.
    keeps:   values, locations, the order of memory accesses. Equal constants stay apart (`cse` merges them).
    options: none
    """

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_backward_loops(op)
        pattern = GreedyRewritePatternApplier([CanonicalizationRewritePattern()], ctx=ctx, folding_enabled=True)
        walker = locating_walker(pattern)
        walker.post_walk_func = region_dce
        walker.rewrite_module(op)


def refuse_backward_loops(module: ModuleOp) -> None:
    """Raise for every loop whose step is known and not above 0."""
    faults = [
        Fault(
            f"a loop with step {step}; canonicalize takes steps above 0 only",
            place_of(loop.location),
            Category.UNSUPPORTED,
            hint="run normalise-loops first",
        )
        for loop in module.walk()
        if isinstance(loop, scf.ForOp) and (step := _known_step(loop)) is not None and step <= 0
    ]
    if faults:
        raise AhbmcError(*faults)


def _known_step(loop: scf.ForOp) -> int | None:
    match loop.step.owner:
        case ConstantOp(value=IntegerAttr(value=value)):
            return value.data
        case _:
            return None
