"""A `tl.composite` as a list of ops on the running tile: what its body is to the command that it becomes.

The body holds `tl` ops, for their meaning; the command is a flat list. This is the one place that reads the one as
the other, for the passes that form, fuse, price and lower composites. A body that is no such list is a fault of
whoever made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import ahbm, tl
from ..dialects.ahbm.types import RUNNING_TILE
from ..dialects.shapes import element_of, is_float
from .math_kinds import is_lane_by_lane, math_kind
from .recipes import RECIPES, Recipe


@dataclass(frozen=True)
class Step:
    """One op per output tile. Operands are numbers of the composite's inputs, -1 is the running tile."""

    kind: str
    operands: tuple[int, ...]
    extras: Mapping[str, Attribute]
    full_operands: tuple[int, ...]
    """Those of the operands that are blocks with a buffer of the output's shape and element type perhaps."""


@dataclass(frozen=True)
class CompositeForm:
    """The product, the numbers of its inputs (`a` is None where a recipe makes it), the steps after it, and where the
    tile goes.

    `stored` is the number of the region that it is stored to, or None if it is the composite's result.
    """

    product: tl.DotOp | tl.GemmOp
    a: int | None
    b: int
    steps: tuple[Step, ...]
    stored: int | None


def recipe_of(op: tl.CompositeOp) -> Recipe | None:
    """The recipe that a composite starts with."""
    return RECIPES[op.recipe.data] if op.recipe is not None else None


def params_of(op: tl.CompositeOp) -> dict[str, str]:
    """The parameters of the recipe of a composite."""
    if op.params is None:
        return {}
    return {name: value.data for name, value in op.params.data.items() if isinstance(value, StringAttr)}


def form_of(op: tl.CompositeOp) -> CompositeForm:
    """The op list of a composite."""
    product = op.product
    assert product is not None, "a composite without a product"
    number: dict[SSAValue, int] = {arg: n for n, arg in enumerate(op.body.block.args)}
    recipe = recipe_of(op)
    if recipe is not None:
        names = recipe.inputs(params_of(op))
        accumulator = names.index(recipe.written[-1])
        add = Step("add", (RUNNING_TILE, accumulator), {}, (accumulator,))
        return CompositeForm(product, None, names.index("b"), (add,), None)
    running: SSAValue = product.result
    steps: list[Step] = []
    if product.acc is not None:
        add_kind = "add" if is_float(product.result.type) else "addi"
        steps.append(Step(add_kind, (RUNNING_TILE, number[product.acc]), {}, (number[product.acc],)))
    stored: int | None = None
    at = product.next_op
    while at is not None and not isinstance(at, tl.YieldOp):
        if isinstance(at, tl.StoreRegionOp):
            stored = number[at.region]
        else:
            assert is_lane_by_lane(at), f"{at.name} in the body of a composite"
            if not _is_output_conversion(at):
                steps.append(_step(at, running, number))
            running = at.results[0]
        at = at.next_op
    return CompositeForm(product, number[product.a], number[product.b], tuple(steps), stored)


def _is_output_conversion(op: Operation) -> bool:
    """The last op, if it is a cast of the output: the engine converts when it stores."""
    following = op.next_op
    return isinstance(op, tl.CastOp) and isinstance(following, tl.StoreRegionOp | tl.YieldOp) and _between_floats(op)


def _between_floats(op: tl.CastOp) -> bool:
    return is_float(op.operand.type) == is_float(op.result.type) and element_of(op.result.type) != i1


def _step(op: Operation, running: SSAValue, number: Mapping[SSAValue, int]) -> Step:
    operands = tuple(RUNNING_TILE if v is running else number[v] for v in op.operands)
    extras: dict[str, Attribute] = {}
    if isinstance(op, tl.CastOp):
        extras["to"] = element_of(op.result.type)
        if op.unsigned is not None:
            extras["unsigned"] = UnitAttr()
    return Step(math_kind(op), operands, extras, tuple(n for n in operands if n != RUNNING_TILE))


def written_inputs(op: tl.CompositeOp) -> dict[int, SSAValue]:
    """Inputs that the command must write in place -> the result that takes their buffer: the read-write operands of a
    recipe.
    """
    recipe = recipe_of(op)
    if recipe is None:
        return {}
    names = recipe.inputs(params_of(op))
    return {names.index(name): result for name, result in zip(recipe.written, op.outputs, strict=True)}


def reusable_inputs(op: tl.CompositeOp) -> tuple[int, ...]:
    """Inputs that are read tile by tile just before the output tile is written, so the output may take their place."""
    form = form_of(op)
    products = (form.a, form.b)
    return tuple(dict.fromkeys(n for step in form.steps for n in step.full_operands if n not in products))


def spec_for(step: Step, out: int, numbers: Sequence[int]) -> ahbm.SpecAttr:
    """The op spec of a step; `numbers` says which part each input has become."""
    operands = [n if n == RUNNING_TILE else numbers[n] for n in step.operands]
    return ahbm.SpecAttr(step.kind, ahbm.Scope.OUTPUT_TILE, operands, out, dict(step.extras))
