"""The rows of a recipe as op specs of a composite: what stands in the op list in the place of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import Attribute

from ...dialects import ahbm
from ...dialects.ahbm.composite import is_recipe
from ...dialects.shapes import element_of, shape_of
from ..recipe import ELEMENTS, Scratch
from ..recipes import RECIPES

NewPart = Callable[[Attribute, str], int]
"""The number of a new part: a buffer of a type, with a name, or a scalar of a value."""


def block_shape(kind: Attribute, rank: int) -> tuple[int, ...]:
    """The shape of an operand; of a block of one rank more without an axis of one lane, along which it repeats."""
    shape = list(shape_of(kind))
    if len(shape) == rank + 1 and rank > 0 and 1 in shape:
        shape.remove(1)
    return tuple(shape)


def rows_of(spec: ahbm.SpecAttr, types: Sequence[Attribute], new_part: NewPart) -> list[ahbm.SpecAttr]:
    """The op specs that `spec` stands for, scratch and numbers being new parts; itself, if it is no recipe.

    `types` are the types of the parts. The type of the tile that a recipe takes stands in the extras of its spec.
    """
    if not is_recipe(spec):
        return [spec]
    recipe = RECIPES[spec.kind.data]
    params = {name: value.data for name, value in spec.extras.data.items() if isinstance(value, StringAttr)}
    number = dict(zip(recipe.inputs(params), spec.operand_numbers, strict=True))
    blocks = {name: types[n] for name, n in number.items() if n >= 0}
    if recipe.tile is not None and (tile := spec.extras.data.get("tile")) is not None:
        blocks[recipe.tile] = tile
    for name in recipe.primaries:
        number[name] = spec.out.data
        if recipe.place == "before":
            blocks[name] = types[spec.out.data]
    axes = recipe.axes
    shapes = {name: block_shape(kind, len(axes[name])) for name, kind in blocks.items()}
    sizes = {a: n for name, shape in shapes.items() for a, n in zip(axes[name], shape, strict=True)}

    def scratch_type(scratch: Scratch) -> ahbm.BufferType:
        fixed = ELEMENTS.get(scratch.element)
        element = element_of(blocks[scratch.element]) if fixed is None else fixed
        return ahbm.BufferType([sizes[a] for a in scratch.axes], element)

    for scratch in recipe.scratch_for(params):
        number[scratch.name] = new_part(scratch_type(scratch), scratch.name)
    rows: list[ahbm.SpecAttr] = []
    for row in recipe.rows_for(params):
        for value in row.operands:
            if not isinstance(value, str) and str(value) not in number:
                number[str(value)] = new_part(FloatAttr(value, f32), "number")
        extras: dict[str, Attribute] = {} if row.axis is None else {"axis": IntegerAttr(row.axis, i64)}
        operands = [number[str(o)] for o in row.operands]
        rows.append(ahbm.SpecAttr(row.kind, ahbm.Scope(spec.scope.data), operands, number[row.out], extras))
    return rows
