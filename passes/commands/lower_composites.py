"""A `tl.composite` to the `ahbm.composite` that PE_CPU issues: parts, op specs, extents and what it writes."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.ahbm.types import NO_OUT, RUNNING_TILE
from ...dialects.region import CutOp, RegionOp, RegionType
from ...dialects.shapes import element_of, shape_of
from ..composites.composite_form import SIDE_VIEWS, CompositeForm, form_of, specs_of
from ..composites.recipe_rows import block_shape
from ..composites.tile_ops import KEEP_ZERO
from ..recipes import RECIPES
from .emission import Emission, view_axes
from .math_kinds import is_lane_by_lane


def lower_composite(e: Emission, op: tl.CompositeOp) -> None:
    """Put the command for `op` before it."""
    form = form_of(op)
    parts = _Parts()
    of_recipes = _of_recipes(op)
    blocks = {n for n in (form.a, form.b) if n is not None} | set(of_recipes)
    numbers = [
        parts.add(
            _block(e, v, of_recipes.get(n)) if n in blocks and not isinstance(v.type, RegionType) else e.operand(v)
        )
        for n, v in enumerate(op.inputs)
    ]
    numbers += [parts.add(v) for v in _own_values(e, op, form, [parts.values[n] for n in numbers])]
    given = form.stored is not None or RUNNING_TILE in form.outputs
    out = _out(e, op, form, numbers, parts)
    specs = specs_of(form, out, numbers)
    written = [numbers[n] for n in form.written] + [out] * given
    extents = _extents(e, op, form) if form.product is not None else []
    writes = list(dict.fromkeys(written))
    e.insert(ahbm.CompositeOp(parts.values, extents, specs, writes, as_written=op.as_written))


def _of_recipes(op: tl.CompositeOp) -> dict[int, int]:
    """Numbers of the inputs that recipes take as blocks -> the rank that their rows know; a number would have none."""
    ranks: dict[int, int] = {}
    for each in op.body.block.ops:
        if isinstance(each, tl.RecipeOp):
            recipe = RECIPES[each.recipe.data]
            for name, v in zip(recipe.inputs(each.choice), each.inputs, strict=True):
                if isinstance(v, BlockArgument) and shape_of(v.type):
                    ranks[v.index] = len(recipe.axes[name])
    return ranks


def _block(e: Emission, value: SSAValue, rank: int | None) -> SSAValue:
    """The buffer or view of an operand that is a block, for a recipe without an axis of one lane that its rows do not
    know.
    """
    made = e.viewed(value)
    shape = shape_of(made.type)
    if rank is None or len(shape) == rank:
        return made
    one = shape.index(1)
    kind = ahbm.BufferType(block_shape(made.type, rank), element_of(made.type))
    return e.insert(ahbm.ViewOp(made, [a for a in range(len(shape)) if a != one], kind)).result


def _out(e: Emission, op: tl.CompositeOp, form: CompositeForm, numbers: list[int], parts: _Parts) -> int:
    """The part that the tile goes to: the region that it is stored to, a result, or a block of its own."""
    if form.stored is not None:
        return numbers[form.stored]
    if RUNNING_TILE in form.outputs:
        return parts.add(e.buffer(op.outputs[form.outputs.index(RUNNING_TILE)]))
    if form.product is None:
        return NO_OUT
    kind = form.product.result.type
    tiles = [step.extras["tile"] for step in form.after if RUNNING_TILE in step.operands]
    return parts.add(e.alloc(ahbm.BufferType(shape_of(kind), element_of(tiles[0] if tiles else kind))))


def _own_values(e: Emission, composite: tl.CompositeOp, form: CompositeForm, known: list[SSAValue]) -> list[SSAValue]:
    """Buffers of the values that the composite makes beside its tile, and views of them. What it also gives has one
    already. Of ops that run once, one after the other, the result takes the buffer of an operand that nobody else
    reads.
    """
    made = dict[SSAValue, SSAValue](zip(composite.body.block.args, known, strict=True))
    own: dict[SSAValue, SSAValue] = {}
    given = dict(zip(form.outputs, composite.outputs, strict=True))
    for number, result in enumerate(form.values, len(composite.inputs)):
        op = result.owner
        if isinstance(op, SIDE_VIEWS):
            source = made[op.operands[0]]
            made[result] = e.view(result, source, view_axes(op)) if shape_of(source.type) else source
        elif number in given:
            made[result] = own[result] = e.buffer(given[number])
        else:
            kind = ahbm.BufferType(shape_of(result.type), element_of(result.type))
            operands = op.operands if isinstance(op, Operation) and is_lane_by_lane(op) else ()
            free = [own[v] for v in operands if v in own and own[v].type == kind and v.has_one_use()]
            in_place = form.product is None and bool(free)
            made[result] = own[result] = free[0] if in_place else e.alloc(kind, result)
    return [made[v] for v in form.values]


class _Parts:
    """The operands of a composite, each buffer, region, view or scalar once."""

    def __init__(self) -> None:
        self.values: list[SSAValue] = []

    def add(self, value: SSAValue) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def _extents(e: Emission, op: tl.CompositeOp, form: CompositeForm) -> list[SSAValue]:
    """The valid m, n, k: rows and columns as the region of the output bounds them, or else those of the operands."""
    assert form.product is not None
    rows, columns = shape_of(form.product.result.type)
    if form.stored is not None:
        region = op.inputs[form.stored]
        m, n = upper_bound(e, region, 0), upper_bound(e, region, 1)
    else:
        m, n = (_valid(e, op, number, axis, size) for number, axis, size in ((form.a, 0, rows), (form.b, 1, columns)))
    return [m, n, _depth(e, op, form)]


def _valid(e: Emission, op: tl.CompositeOp, number: int | None, axis: int, block: int) -> SSAValue:
    """The valid lanes of an operand of the GEMM along an axis of the output."""
    if number is None or number >= len(op.inputs):
        return e.constant(block)
    operand = op.inputs[number]
    if isinstance(operand.owner, tl.LoadRegionOp):
        operand = operand.owner.region
    return upper_bound(e, operand, axis) if isinstance(operand.type, RegionType) else e.constant(block)


def _depth(e: Emission, op: tl.CompositeOp, form: CompositeForm) -> SSAValue:
    """K: where one operand has ended the rest of the other counts for nothing, as what is missing is read as 0 (and
    stays 0, whatever is done to its tiles).
    """
    bounds: list[SSAValue] = []
    static: list[int] = []
    whole: list[SSAValue] = []
    assert form.product is not None
    for number, operand, axis in ((form.a, form.product.a, 1), (form.b, form.product.b, 0)):
        assert number is not None
        if not isinstance(operand.type, RegionType):
            static.append(shape_of(operand.type)[axis])
        elif all(step.kind in KEEP_ZERO for step in form.on_tiles if step.out == number):
            bounds.append(upper_bound(e, op.inputs[number], axis))
        else:
            whole.append(all_lanes(op.inputs[number], axis))
    bounds = list(dict.fromkeys(bounds))
    if not bounds:
        return e.constant(static[0]) if static else whole[0]
    least = bounds[0]
    for bound in bounds[1:]:
        least = e.insert(arith.MinSIOp(least, bound)).result
    return least


def all_lanes(region: SSAValue, axis: int) -> SSAValue:
    """The number of lanes of `region` along `axis`, padding included."""
    op = region.owner
    if isinstance(op, RegionOp):
        return op.sizes[axis]
    assert isinstance(op, CutOp), f"a region from {region.owner}"
    return op.size if op.axis.value.data == axis else all_lanes(op.region, axis)


def upper_bound(e: Emission, region: SSAValue, axis: int) -> SSAValue:
    """The number of lanes of `region` along `axis` up to its upper bound; all of them where it is padded with
    something else than 0.
    """
    op = region.owner
    if isinstance(op, RegionOp):
        padded = op.pad is not None and op.pad.value.data != 0
        return op.sizes[axis] if padded else op.his[axis]
    assert isinstance(op, CutOp), f"a region from {region.owner}"
    whole = upper_bound(e, op.region, axis)
    if op.axis.value.data != axis:
        return whole
    left = e.insert(arith.SubiOp(whole, op.start)).result
    return e.insert(arith.MaxSIOp(e.insert(arith.MinSIOp(left, op.size)).result, e.constant(0))).result
