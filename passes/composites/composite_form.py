"""A `tl.composite` as a list of ops on the running tile: what its body is to the command that it becomes.

The body holds `tl` ops, for their meaning; the command is a flat list. This is the one place that reads the one as the
other, for the passes that fuse, price and lower composites. A body that is no such list is a fault of whoever made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FloatAttr, UnitAttr, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.ahbm.types import FRAMING_BYTES, HANDLE_BYTES, LENGTH_BYTES, RUNNING_TILE
from ...dialects.region import RegionType
from ...dialects.shapes import element_of, is_float, shape_of
from ..commands.math_kinds import is_lane_by_lane, math_kind
from ..commands.residence import Residence, Residences, is_block
from ..recipes import RECIPES
from .recipe_rows import rows_of
from .tile_ops import REPEATED

SIDE_VIEWS = (tl.ExpandDimsOp, tl.BroadcastOp)
"""Views that may stand in a body between a mask and the op that takes it."""

_ENDS = (tl.StoreRegionOp, tl.CopyToOp, tl.YieldOp)
"""What takes the output of a composite at the end of its body."""


@dataclass(frozen=True)
class Step:
    """One op, or the rows of one recipe: on each fetched tile of an operand, on each output tile, or once.

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
    """The product, if there is one, the numbers of its operands, the steps before and after it, the output.

    `on_tiles` run on each fetched tile, `steps` on each output tile, `before` and `after` once; without a product all
    steps run once, in order. `stored` is the number of the region that the tile is stored to, or None; `into` is that
    of the block whose place the result takes, if the body names one. `values` are what the composite makes
    besides the running tile (masks, views of them, the primary output of a recipe); the first has the number after the
    last input. `outputs` are the numbers of what the composite gives, -1 for the tile; `written` those of the inputs
    that recipes write, and of the own values among the outputs.
    """

    product: tl.DotOp | tl.GemmOp | None
    a: int | None
    b: int | None
    before: list[Step] = field(default_factory=list[Step])
    on_tiles: list[Step] = field(default_factory=list[Step])
    steps: list[Step] = field(default_factory=list[Step])
    after: list[Step] = field(default_factory=list[Step])
    stored: int | None = None
    into: int | None = None
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    outputs: list[int] = field(default_factory=list[int])
    written: list[int] = field(default_factory=list[int])


def form_of(op: tl.CompositeOp) -> CompositeForm:
    """The op list of a composite."""
    product = op.product
    number: dict[SSAValue, int] = {arg: n for n, arg in enumerate(op.body.block.args)}
    form = CompositeForm(product, None, None)
    for at in op.body.block.ops:
        match at:
            case tl.YieldOp():
                form.outputs = [number[v] for v in at.values]
                form.written += [n for n in form.outputs if n >= len(op.inputs)]
            case tl.StoreRegionOp():
                form.stored = number[at.region]
            case tl.CopyToOp():
                form.into = number[at.destination]
                number[at.result] = number[at.source]
            case tl.RecipeOp():
                _take_recipe(op, form, at, number)
            case tl.DotOp() | tl.GemmOp():
                form.a, form.b = number[at.a], number[at.b]
                form.on_tiles += _steps_on_tiles(at, number)
                number[at.result] = RUNNING_TILE
                if at.acc is not None:
                    form.steps.append(Step(_add(at), (RUNNING_TILE, number[at.acc]), {}))
            case tl.ExpandDimsOp() | tl.BroadcastOp():
                number[at.result] = _new_value(op, form, at.result)
            case _:
                assert is_lane_by_lane(at), f"{at.name} in the body of a composite"
                number[at.results[0]] = _take_step(op, form, at, number)
    return form


def _take_recipe(op: tl.CompositeOp, form: CompositeForm, at: tl.RecipeOp, number: dict[SSAValue, int]) -> None:
    """Add the step that the rows of a recipe are. What it writes stays where it is."""
    recipe = RECIPES[at.recipe.data]
    inputs = dict(zip(recipe.inputs(at.choice), at.inputs, strict=True))
    extras: dict[str, Attribute] = dict(at.params.data)
    for name, result in zip(recipe.outputs(at.choice), at.outputs, strict=True):
        if name in inputs:
            number[result] = number[inputs[name]]
            form.written.append(number[result])
        elif recipe.place == "tile" and (form.product is not None or _makes_output(at)):
            number[result] = RUNNING_TILE
        else:
            number[result] = _new_value(op, form, result)
    made = number[at.outputs[-1]]
    if recipe.tile is not None:
        extras["tile"] = inputs[recipe.tile].type
    step = Step(recipe.name, tuple(number[v] for v in at.inputs), extras, None if made == RUNNING_TILE else made)
    on_tile = form.steps if recipe.place == "tile" or form.product is None else form.after
    (form.before if recipe.place == "before" else on_tile).append(step)


def _makes_output(op: Operation) -> bool:
    """Whether the result of an op, converted perhaps, is what its composite stores or gives."""
    use = op.results[-1].first_use
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


def _new_value(op: tl.CompositeOp, form: CompositeForm, value: SSAValue) -> int:
    form.values.append(value)
    return len(op.inputs) + len(form.values) - 1


def _take_step(op: tl.CompositeOp, form: CompositeForm, at: Operation, number: Mapping[SSAValue, int]) -> int:
    """Add the step that a lane-by-lane op is; the number of its result."""
    operands = tuple(number[v] for v in at.operands)
    on_tile = RUNNING_TILE in operands if form.product is not None else _makes_output(at)
    if RUNNING_TILE in operands and is_output_conversion(at):
        return RUNNING_TILE
    out = None if on_tile else _new_value(op, form, at.results[0])
    steps = form.after if on_tile and tl.ONCE in at.attributes else form.steps
    steps.append(Step(math_kind(at), operands, step_extras(at), out))
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
    """Inputs that the command must write in place -> the result that takes their buffer: what a recipe writes (the
    operand that the product is added to becomes the tile), and the block that a body copies its result into.
    """
    form = form_of(op)
    tile = form.outputs.index(RUNNING_TILE) if RUNNING_TILE in form.outputs else None
    written = [n for n in form.written if n < len(op.inputs)]
    places = {n: form.outputs.index(n) if n in form.outputs else tile for n in written}
    if form.into is not None:
        places[form.into] = tile
    return {n: op.outputs[at] for n, at in places.items() if at is not None}


def tile_output(op: tl.CompositeOp) -> SSAValue | None:
    """The result that is made tile by tile, or by the last op."""
    outputs = form_of(op).outputs
    return op.outputs[outputs.index(RUNNING_TILE)] if RUNNING_TILE in outputs else None


def reusable_inputs(op: tl.CompositeOp) -> tuple[int, ...]:
    """Inputs read tile by tile just before the output tile is written, so that the output may take their place."""
    form = form_of(op)
    count = len(op.inputs)
    read = dict.fromkeys(n for step in form.steps for n in step.operands if 0 <= n < count)
    viewed = [v for value in form.values for v in _viewed_by(value.owner)]
    others = {form.a, form.b, *form.written, *(n for step in form.after for n in step.operands)}
    return tuple(n for n in read if n not in others and op.body.block.args[n] not in viewed)


def _viewed_by(op: Operation | Block) -> Sequence[SSAValue]:
    return op.operands if isinstance(op, SIDE_VIEWS) else ()


def specs_of(form: CompositeForm, out: int, numbers: Sequence[int]) -> list[ahbm.SpecAttr]:
    """The op list, recipes by name; `numbers` says which part each number of the form has become, `out` is the part
    that the tile goes to.
    """

    def spec(step: Step, scope: ahbm.Scope, tile: int = RUNNING_TILE) -> ahbm.SpecAttr:
        operands = [tile if n == RUNNING_TILE else numbers[n] for n in step.operands]
        made = out if step.out is None else numbers[step.out]
        return ahbm.SpecAttr(step.kind, scope, operands, made, dict(step.extras))

    if form.product is None:
        return [spec(step, ahbm.Scope.ONCE) for step in form.steps]
    assert form.a is not None and form.b is not None
    gemm = ahbm.SpecAttr("gemm", ahbm.Scope.K_TILE, [numbers[form.a], numbers[form.b]], out)
    return [
        *(spec(step, ahbm.Scope.ONCE) for step in form.before),
        *(spec(step, ahbm.Scope.K_TILE) for step in form.on_tiles),
        gemm,
        *(spec(step, ahbm.Scope.OUTPUT_TILE) for step in form.steps),
        # What comes at the end takes the tile as it was stored.
        *(spec(step, ahbm.Scope.ONCE, out) for step in form.after),
    ]


def logical_bytes(op: tl.CompositeOp, known: Residences) -> int:
    """Logical bytes of the command that a composite becomes, recipes expanded."""
    form = form_of(op)
    types = [part_type(v, known) for v in op.inputs]
    types += [ahbm.BufferType(shape_of(v.type), element_of(v.type)) for v in form.values]
    out = form.stored
    if out is None:
        out, product = len(types), form.product
        types.append(ahbm.BufferType((), f32 if product is None else element_of(product.result.type)))

    def new_part(kind: Attribute, _name: str) -> int:
        types.append(f32 if isinstance(kind, FloatAttr) else kind)
        return len(types) - 1

    specs = [row for spec in specs_of(form, out, range(len(types))) for row in rows_of(spec, types, new_part)]
    written = {*form.written, *([out] if form.stored is not None or RUNNING_TILE in form.outputs else [])}
    total = FRAMING_BYTES + 2 * LENGTH_BYTES + sum(s.logical_bytes(types) for s in specs)
    return total + HANDLE_BYTES * len(written)


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
