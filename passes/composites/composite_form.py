"""A `tl.composite` as a list of ops on the running tile: what its body is to the command that it becomes.

The body holds `tl` ops, for their meaning; the command is a flat list. This is the one place that reads the one as the
other, for the passes that fuse, price and lower composites. A body that is no such list is a fault of whoever made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.ahbm.types import RUNNING_TILE
from ...dialects.region import RegionType
from ...dialects.shapes import element_of, is_float, shape_of
from ..commands.math_kinds import is_lane_by_lane, math_kind
from ..commands.residence import Residence, Residences, is_block
from ..recipes import RECIPES, Recipe
from .tile_ops import REPEATED

SIDE_VIEWS = (tl.ExpandDimsOp, tl.BroadcastOp)
"""Views that may stand in a body between a mask and the op that takes it."""

_ENDS = (tl.StoreRegionOp, tl.CopyToOp, tl.YieldOp)
"""What takes the output of a composite at the end of its body."""


@dataclass(frozen=True)
class Step:
    """One op per output tile, per fetched tile of an operand, or, without a product, one that runs once.

    Operands are numbers: of the composite's inputs, or, from there on, of the form's own values; -1 is the running
    tile. `out` is the number of the value that it makes; None means that it makes the next running tile, or, without a
    product, what the composite gives. An op on fetched tiles has the operand whose tiles it changes as its out.
    """

    kind: str
    operands: tuple[int, ...]
    extras: Mapping[str, Attribute]
    out: int | None = None


@dataclass
class CompositeForm:
    """The product, if there is one, the numbers of its operands (`a` is None where a recipe makes it), the steps on
    their tiles before it, the steps after it, the output.

    `stored` is the number of the region that the tile is stored to, or None if it is the composite's result; `into` is
    that of the block whose place the result takes, if the body names one. `values` are the ops that make values besides
    the running tile (masks, and views of them); the first has the number after the last input.
    """

    product: tl.DotOp | tl.GemmOp | None
    a: int | None
    b: int | None
    on_tiles: list[Step] = field(default_factory=list[Step])
    steps: list[Step] = field(default_factory=list[Step])
    stored: int | None = None
    into: int | None = None
    values: list[Operation] = field(default_factory=list[Operation])


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
    if product is None:
        return _math_form(op)
    recipe = recipe_of(op)
    if recipe is not None:
        names = recipe.inputs(params_of(op))
        add = Step(_add(product), (RUNNING_TILE, names.index(recipe.written[-1])), {})
        return CompositeForm(product, None, names.index("b"), steps=[add])
    number: dict[SSAValue, int] = {arg: n for n, arg in enumerate(op.body.block.args)}
    form = CompositeForm(product, number[product.a], number[product.b])
    form.on_tiles += _steps_on_tiles(product, number)
    number[product.result] = RUNNING_TILE
    if product.acc is not None:
        form.steps.append(Step(_add(product), (RUNNING_TILE, number[product.acc]), {}))
    at = product.next_op
    while at is not None and not isinstance(at, tl.YieldOp):
        if isinstance(at, tl.StoreRegionOp):
            form.stored = number[at.region]
        elif isinstance(at, tl.CopyToOp):
            form.into = number[at.destination]
        elif isinstance(at, SIDE_VIEWS):
            number[at.results[0]] = _new_value(op, form, at)
        else:
            assert is_lane_by_lane(at), f"{at.name} in the body of a composite"
            number[at.results[0]] = _take_step(op, form, at, number)
        at = at.next_op
    return form


def _math_form(op: tl.CompositeOp) -> CompositeForm:
    """The op list of a composite without a product: each op makes a value, the last what is stored or given."""
    number: dict[SSAValue, int] = {arg: n for n, arg in enumerate(op.body.block.args)}
    form = CompositeForm(None, None, None)
    if op.recipe is not None:
        return form
    for at in op.body.block.ops:
        if isinstance(at, tl.StoreRegionOp):
            form.stored = number[at.region]
        elif isinstance(at, tl.CopyToOp):
            form.into = number[at.destination]
        elif isinstance(at, SIDE_VIEWS):
            number[at.results[0]] = _new_value(op, form, at)
        elif not isinstance(at, tl.YieldOp):
            assert is_lane_by_lane(at), f"{at.name} in the body of a composite"
            if form.steps and is_output_conversion(at):
                continue
            operands = tuple(number[v] for v in at.operands)
            out = None if _makes_output(at) else _new_value(op, form, at)
            form.steps.append(Step(math_kind(at), operands, step_extras(at), out))
            if out is not None:
                number[at.results[0]] = out
    return form


def _makes_output(op: Operation) -> bool:
    """Whether the result of an op, converted perhaps, is what its composite stores or gives."""
    use = op.results[0].first_use
    assert use is not None
    return isinstance(use.operation, _ENDS) or is_output_conversion(use.operation)


def _steps_on_tiles(product: tl.DotOp | tl.GemmOp, number: Mapping[SSAValue, int]) -> list[Step]:
    """The ops on the tiles of a and b, in order; a view that repeats lanes is what it repeats."""
    if not isinstance(product, tl.GemmOp) or product.tiles is None:
        return []
    a, b = product.tiles.block.args
    known = {**number, a: number[product.a], b: number[product.b]}
    tiles, steps = set[SSAValue]((a, b)), list[Step]()
    for op in product.tiles.block.ops:
        if isinstance(op, REPEATED):
            known[op.result] = known[op.operand]
        elif not isinstance(op, tl.YieldOp):
            operands = tuple(known[v] for v in op.operands)
            out = next(known[v] for v in op.operands if v in tiles)
            steps.append(Step(math_kind(op), operands, step_extras(op), out))
            known[op.results[0]] = out
            tiles.add(op.results[0])
    return steps


def _add(product: tl.DotOp | tl.GemmOp) -> str:
    return "add" if is_float(product.result.type) else "addi"


def _new_value(op: tl.CompositeOp, form: CompositeForm, made_by: Operation) -> int:
    form.values.append(made_by)
    return len(op.inputs) + len(form.values) - 1


def _take_step(op: tl.CompositeOp, form: CompositeForm, at: Operation, number: Mapping[SSAValue, int]) -> int:
    """Add the step that a lane-by-lane op is; the number of its result."""
    operands = tuple(number[v] for v in at.operands)
    on_tile = RUNNING_TILE in operands
    if on_tile and is_output_conversion(at):
        return RUNNING_TILE
    out = None if on_tile else _new_value(op, form, at)
    form.steps.append(Step(math_kind(at), operands, step_extras(at), out))
    return RUNNING_TILE if out is None else out


def is_output_conversion(op: Operation) -> bool:
    """The last op, if it is a cast of the output between floats or integers: the engine converts what it stores."""
    if not isinstance(op, tl.CastOp) or not isinstance(op.next_op, _ENDS):
        return False
    return is_float(op.operand.type) == is_float(op.result.type) and element_of(op.result.type) != i1


def step_extras(op: Operation) -> dict[str, Attribute]:
    """What an op spec says beside kind and operands: a cast its type, and whether its integers have no sign."""
    extras: dict[str, Attribute] = {}
    if isinstance(op, tl.CastOp):
        extras["to"] = element_of(op.result.type)
        if op.unsigned is not None:
            extras["unsigned"] = UnitAttr()
    return extras


def written_inputs(op: tl.CompositeOp) -> dict[int, SSAValue]:
    """Inputs that the command must write in place -> the result that takes their buffer: what a recipe writes, and the
    block that a body copies its result into.
    """
    recipe = recipe_of(op)
    if recipe is None:
        into = form_of(op).into
        return {} if into is None else {into: op.outputs[0]}
    names = recipe.inputs(params_of(op))
    return {names.index(name): result for name, result in zip(recipe.written, op.outputs, strict=True)}


def reusable_inputs(op: tl.CompositeOp) -> tuple[int, ...]:
    """Inputs read tile by tile just before the output tile is written, so that the output may take their place."""
    form = form_of(op)
    count = len(op.inputs)
    read = dict.fromkeys(n for step in form.steps for n in step.operands if 0 <= n < count)
    viewed = [v for made_by in form.values for v in made_by.operands if isinstance(made_by, SIDE_VIEWS)]
    return tuple(n for n in read if n not in (form.a, form.b) and op.body.block.args[n] not in viewed)


def spec_for(step: Step, out: int, numbers: Sequence[int], scope: ahbm.Scope = ahbm.Scope.OUTPUT_TILE) -> ahbm.SpecAttr:
    """The op spec of a step; `numbers` says which part each number of the form has become."""
    operands = [n if n == RUNNING_TILE else numbers[n] for n in step.operands]
    made = out if step.out is None else numbers[step.out]
    return ahbm.SpecAttr(step.kind, scope, operands, made, dict(step.extras))


def part_type(value: SSAValue, known: Residences) -> Attribute:
    """The kind of operand that a value will be in the command."""
    if isinstance(value.type, RegionType):
        return value.type
    element = element_of(value.type)
    match known[value]:
        case Residence.INDEX:
            return ahbm.IndexType(shape_of(value.type), element)
        case Residence.UNIFORM:
            return element
        case Residence.CPU if not is_block(value):
            return element
        case _:
            return ahbm.BufferType(shape_of(value.type), element)
