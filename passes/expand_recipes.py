"""`expand-recipes`: the name of a recipe in a composite becomes the rows of the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ..dialects import ahbm
from ..dialects.ahbm.composite import is_recipe
from ..dialects.errors import Category, fail, place_of
from ..dialects.shapes import element_of, shape_of
from .recipes import RECIPES, Row


@dataclass(frozen=True)
class ExpandRecipesPass(ModulePass):
    """Replace the name of a recipe by its rows, and give the rows the scratch that they need.

    before:  ahbm.composite(...) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", ...}>,
                                           #ahbm.spec<"gemm", k_tile, [5, 4], 3>, ...]}
    after:   eight MATH ops in the place of the name; the scratch of the rows are new parts, allocated at the head of
             the function

    needs:   `lower-to-commands`; and to run before `allocate-scratch`, which gives the scratch its place.
    keeps:   everything else. The rows are those of `passes/recipes.py` for the parameters of the spec.
    options: none
    """

    name = "expand-recipes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for composite in [each for each in op.walk() if isinstance(each, ahbm.CompositeOp)]:
            if any(is_recipe(spec) for spec in composite.specs):
                _expand(composite)


def _expand(composite: ahbm.CompositeOp) -> None:
    parts: list[SSAValue] = list(composite.parts)
    specs: list[ahbm.SpecAttr] = []
    for spec in composite.specs:
        specs += _rows(composite, spec, parts) if is_recipe(spec) else [spec]
    extents = list(composite.extents)
    made = ahbm.CompositeOp(parts, extents, specs, composite.written)
    made.location = composite.location
    block = composite.parent
    assert block is not None
    block.insert_op_before(made, composite)
    composite.detach()
    composite.erase()


def _rows(composite: ahbm.CompositeOp, spec: ahbm.SpecAttr, parts: list[SSAValue]) -> list[ahbm.SpecAttr]:
    """The op specs of one recipe; `parts` grows by its scratch."""
    recipe = RECIPES.get(spec.kind.data)
    if recipe is None:
        raise fail(
            f"'{spec.kind.data}' is neither a MATH op nor a recipe; there are {', '.join(RECIPES)}",
            place_of(composite.location),
            Category.INVALID_IR,
        )
    params = {name: value.data for name, value in spec.extras.data.items() if isinstance(value, StringAttr)}
    names = [name for name in recipe.inputs(params) if name != "b"]
    number = dict(zip(names, spec.operand_numbers, strict=True))
    number[recipe.primary.name] = spec.out.data
    for scratch in recipe.scratch_for(params)[1:]:
        shape = shape_of(parts[number[scratch.like]].type)
        element = element_of(parts[number[scratch.element]].type)
        number[scratch.name] = len(parts)
        parts.append(_alloc(composite, ahbm.BufferType(shape, element), scratch.name))
    return [_spec(row, number) for row in recipe.rows_for(params)]


def _spec(row: Row, number: Mapping[str, int]) -> ahbm.SpecAttr:
    extras: dict[str, Attribute] = {} if row.axis is None else {"axis": IntegerAttr(row.axis, i64)}
    return ahbm.SpecAttr(row.kind, ahbm.Scope.ONCE, [number[n] for n in row.operands], number[row.out], extras)


def _alloc(composite: ahbm.CompositeOp, kind: ahbm.BufferType, name: str) -> SSAValue:
    """A buffer at the head of the function, after those that are there."""
    block = _entry(composite)
    last: ahbm.AllocOp | None = None
    for op in block.ops:
        if not isinstance(op, ahbm.AllocOp):
            break
        last = op
    made = ahbm.AllocOp(kind)
    made.location = composite.location
    made.result.name_hint = name
    if last is not None:
        block.insert_op_after(made, last)
    else:
        assert block.first_op is not None
        block.insert_op_before(made, block.first_op)
    return made.result


def _entry(composite: ahbm.CompositeOp) -> Block:
    at = composite.parent_op()
    top = at
    while at is not None and not isinstance(at, ModuleOp):
        top, at = at, at.parent_op()
    assert top is not None and top.regions
    return top.regions[0].block
