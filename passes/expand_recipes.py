"""`expand-recipes`: the name of a recipe in a composite becomes the rows of the recipe."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects import ahbm
from ..dialects.ahbm.composite import is_recipe
from ..dialects.errors import Category, fail, place_of
from ..dialects.programs import kernel_of
from .composites.recipe_rows import rows_of
from .recipes import RECIPES


@dataclass(frozen=True)
class ExpandRecipesPass(ModulePass):
    """Replace the name of a recipe by its rows, and give the rows the scratch that they need.

    before:  ahbm.composite(...) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", ...}>,
                                           #ahbm.spec<"gemm", k_tile, [5, 4], 3>, ...]}
    after:   eight MATH ops in the place of the name; the scratch of the rows are new parts, allocated at the head of
             the function, and so are the numbers that they take

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

    def new_part(kind: Attribute, name: str) -> int:
        parts.append(_alloc(composite, kind, name) if isinstance(kind, ahbm.BufferType) else _constant(composite, kind))
        return len(parts) - 1

    specs: list[ahbm.SpecAttr] = []
    for spec in composite.specs:
        if is_recipe(spec) and spec.kind.data not in RECIPES:
            raise fail(
                f"'{spec.kind.data}' is neither a MATH op nor a recipe; there are {', '.join(RECIPES)}",
                place_of(composite.location),
                Category.INVALID_IR,
            )
        specs += rows_of(spec, [v.type for v in parts], new_part)
    made = ahbm.CompositeOp(parts, list(composite.extents), specs, composite.written, as_written=composite.as_written)
    made.location = composite.location
    block = composite.parent
    assert block is not None
    block.insert_op_before(made, composite)
    composite.detach()
    composite.erase()


def _constant(composite: ahbm.CompositeOp, number: Attribute) -> SSAValue:
    """A number that PE_CPU has at hand."""
    assert isinstance(number, FloatAttr)
    made = arith.ConstantOp(FloatAttr(number.value.data, f32))
    _insert_at_head(made, composite)
    return made.result


def _alloc(composite: ahbm.CompositeOp, kind: ahbm.BufferType, name: str) -> SSAValue:
    made = ahbm.AllocOp(kind)
    made.result.name_hint = name
    _insert_at_head(made, composite)
    return made.result


def _insert_at_head(made: Operation, composite: ahbm.CompositeOp) -> None:
    """Put an op at the head of the function of `composite`, after the buffers that are there."""
    made.location = composite.location
    block = kernel_of(composite).body.block
    last = _last_alloc(block)
    if last is not None:
        block.insert_op_after(made, last)
    else:
        assert block.first_op is not None
        block.insert_op_before(made, block.first_op)


def _last_alloc(block: Block) -> ahbm.AllocOp | None:
    """The last of the buffers that a function begins with."""
    last: ahbm.AllocOp | None = None
    for op in block.ops:
        if not isinstance(op, ahbm.AllocOp):
            break
        last = op
    return last
