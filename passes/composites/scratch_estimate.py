"""How much of the scratch is taken while a product runs, before there are buffers: what fits beside it is an estimate
from liveness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ...dialects import tl
from ...dialects.shapes import element_bytes, shape_of
from ..analysis.liveness import live_ranges
from ..commands.residence import Residences, residences
from ..recipes import RECIPES
from .recipe_rows import block_shape

SCRATCH_BYTES = 4
"""Bytes of an element of the scratch of a recipe, at most."""


class _Reads:
    """What the ops read of blocks with storage (`liveness.Uses`); nothing is taken to share a buffer."""

    def __init__(self, known: Residences):
        self.known = known

    def tracked(self, value: SSAValue) -> bool:
        return self.known.has_storage(value)

    def read(self, op: Operation) -> Iterator[tuple[SSAValue, bool]]:
        for operand in op.operands:
            for value, _ in self.known.roots(operand):
                yield value, True


def live_bytes(function: func.FuncOp, product: Operation) -> int:
    """Bytes of the blocks that live while `product` runs, its result and one block more of that size for what follows
    it.
    """
    return _live_bytes(function, [product]) + sum(_bytes(r) for r in product.results)


def _live_bytes(function: func.FuncOp, ops: Sequence[Operation]) -> int:
    """Bytes of the blocks that live while one of `ops` runs, the most of them."""
    liveness = live_ranges(function.body, _Reads(residences(function)))
    sizes = {value: _bytes(value) for value in liveness.ranges}
    most = 0
    for start, end in map(liveness.span, ops):
        live = (v for v, ranges in liveness.ranges.items() if any(at <= end and start <= to for at, to in ranges))
        most = max(most, sum(sizes[v] for v in live))
    return most


def fits_beside(op: Operation, more: int, scratch_bytes: int) -> bool:
    """Whether `more` bytes have room in the scratch beside what lives while `op` runs."""
    function = _function_of(op)
    return function is not None and live_bytes(function, op) + _of_recipes(function) + more <= scratch_bytes


def fits_throughout(ops: Sequence[Operation], more: int, scratch_bytes: int) -> bool:
    """Whether `more` bytes have room in the scratch beside what lives while any of `ops` runs."""
    function = _function_of(ops[0])
    return function is not None and _live_bytes(function, ops) + _of_recipes(function) + more <= scratch_bytes


def _function_of(op: Operation) -> func.FuncOp | None:
    function = op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    return function


def _of_recipes(function: func.FuncOp) -> int:
    """Bytes of the largest blocks that the rows of a recipe will need: their scratch and their primary output."""
    most = 0
    for op in function.walk():
        if isinstance(op, tl.RecipeOp):
            recipe = RECIPES[op.recipe.data]
            inputs = dict(zip(recipe.inputs(op.choice), op.inputs, strict=True))
            axes = recipe.axes
            sizes = {
                a: n
                for name, v in inputs.items()
                for a, n in zip(axes[name], block_shape(v.type, len(axes[name])), strict=True)
            }
            scratch = sum(prod(sizes[a] for a in s.axes) * SCRATCH_BYTES for s in recipe.scratch_for(op.choice))
            most = max(most, scratch + sum(_bytes(v) for v in op.outputs[len(recipe.written(op.choice)) :]))
    return most


def _bytes(value: SSAValue) -> int:
    count = 1
    for size in shape_of(value.type):
        count *= size
    return count * element_bytes(value.type)
