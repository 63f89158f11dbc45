"""Kernels that differ from another in one op of the region that becomes a recipe: halved, of another kind, along
another axis, with its operands exchanged, or left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ahbmc.dialects import tl
from ahbmc.dialects.shapes import element_of, is_float, shape_of
from ahbmc.passes import run_pipeline
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

TAG = "test.number"
OTHER_KINDS: dict[type[Operation], tuple[type[Operation], ...]] = {
    arith.AddfOp: (arith.SubfOp, arith.MulfOp),
    arith.SubfOp: (arith.AddfOp, arith.MulfOp),
    arith.MulfOp: (arith.AddfOp, arith.DivfOp),
    arith.DivfOp: (arith.MulfOp, arith.SubfOp),
    arith.MaxnumfOp: (arith.MinnumfOp, arith.AddfOp),
    math.ExpOp: (math.Exp2Op, math.LogOp),
    math.Exp2Op: (math.ExpOp, math.Log2Op),
    math.ErfOp: (math.TanhOp, math.ExpOp),
    math.RsqrtOp: (math.SqrtOp, math.ExpOp),
    math.SqrtOp: (math.RsqrtOp, math.ExpOp),
}
"""Op -> what may stand in its place by mistake."""
NOT_COMMUTATIVE = (arith.SubfOp, arith.DivfOp, tl.CmpOp, tl.SelectOp)
PREDICATES = {"oeq": "une", "une": "oeq", "ogt": "olt", "olt": "ogt", "oge": "ole", "ole": "oge"}


def matching_mutants(module: ModuleOp) -> tuple[int, list[str]]:
    """How many mutants a module has, which the passes before `match-recipes` have left; and those in which a recipe
    still matches that takes in the op that was changed, as "op: change".
    """
    for number, op in enumerate(module.walk()):
        op.attributes[TAG] = IntegerAttr(number, i64)
    region = _matched(module.clone())
    made = [(number, change) for number in sorted(region) for change in _changes(_at(module, number))]
    found: list[str] = []
    for number, change in made:
        mutant = module.clone()
        _make(_at(mutant, number), change)
        mutant.verify()
        if number in _matched(mutant):
            found.append(f"{_at(module, number).name}: {change}")
    return len(made), found


def _matched(module: ModuleOp) -> set[int]:
    """The numbers of the ops that recipes take in."""
    run_pipeline(module, "match-recipes", verify=False)
    recipes = [op for op in module.walk() if isinstance(op, tl.RecipeOp)]
    return {number_of(op) for recipe in recipes for op in recipe.body.block.ops if TAG in op.attributes}


def number_of(op: Operation) -> int:
    found = op.attributes[TAG]
    assert isinstance(found, IntegerAttr)
    return found.value.data


def _at(module: ModuleOp, number: int) -> Operation:
    return next(op for op in module.walk() if TAG in op.attributes and number_of(op) == number)


def _changes(op: Operation) -> Iterator[str]:
    if not op.results or not (is_float(op.results[0].type) or isinstance(op, tl.CmpOp)):
        return
    if isinstance(op, arith.ConstantOp):
        yield "another number"
        return
    if is_float(op.results[0].type):
        yield "halved"
    for kind in OTHER_KINDS.get(type(op), ()):
        yield f"{kind.name} for it"
    if isinstance(op, NOT_COMMUTATIVE) and len(set(op.operands[-2:])) == 2:
        yield "operands exchanged"
    if isinstance(op, tl.CmpOp):
        yield "other predicate"
    if isinstance(op, tl.ReduceOp):
        for kind in ("sum", "max", "min"):
            if kind != op.kind.data:
                yield f"{kind} for it"
        if len(set(shape_of(op.operand.type))) == 1 and len(shape_of(op.operand.type)) == 2:
            yield "other axis"
    if isinstance(op, tl.ExpandDimsOp) and _is_square(op):
        yield "other axis"
    for n, operand in enumerate(op.operands):
        if operand.type == op.results[0].type:
            yield f"operand {n} for it"


def _is_square(op: tl.ExpandDimsOp) -> bool:
    """Whether what repeats the result could repeat it along the other axis."""
    users = [use.operation for use in op.result.uses]
    return bool(users) and all(isinstance(u, tl.BroadcastOp) and len(set(shape_of(u.result.type))) == 1 for u in users)


def _make(op: Operation, change: str) -> None:
    block = op.parent
    assert block is not None
    result = op.results[0]
    if isinstance(op, arith.ConstantOp):
        op.properties["value"] = _other_number(op)
    elif change == "halved":
        half = _constant(0.5, result.type)
        scaled = arith.MulfOp(result, half.result)
        for use in list(result.uses):
            use.operation.operands[use.index] = scaled.result
        scaled.operands[0] = result
        _insert_after(op, half, scaled)
    elif change == "operands exchanged":
        n = len(op.operands)
        op.operands[n - 2], op.operands[n - 1] = op.operands[n - 1], op.operands[n - 2]
    elif change == "other predicate":
        assert isinstance(op, tl.CmpOp)
        op.properties["predicate"] = StringAttr(PREDICATES[op.predicate.data])
    elif change == "other axis":
        assert isinstance(op, tl.ReduceOp | tl.ExpandDimsOp)
        other = 1 - op.axis.value.data
        op.properties["axis"] = IntegerAttr(other, i32)
        if isinstance(op, tl.ExpandDimsOp):
            _retype(op, other)
    elif change.startswith("operand "):
        _replace(op, op.operands[int(change.split()[1])])
    elif isinstance(op, tl.ReduceOp):
        op.properties["kind"] = StringAttr(change.split()[0])
    else:
        kind = next(k for k in OTHER_KINDS[type(op)] if change.startswith(k.name))
        made = kind(*op.operands)  # pyright: ignore[reportCallIssue]
        _insert_after(op, made)
        _replace(op, made.results[0])


def _retype(op: tl.ExpandDimsOp, axis: int) -> None:
    made = tl.ExpandDimsOp(op.operand, axis)
    _insert_after(op, made)
    _replace(op, made.result)


def _replace(op: Operation, value: SSAValue) -> None:
    """Let a value take the place of the result of an op."""
    op.results[0].replace_all_uses_with(value)
    if value.owner is not op:
        op.detach()
        op.erase()


def _insert_after(op: Operation, *more: Operation) -> None:
    block = op.parent
    assert block is not None
    for each in reversed(more):
        each.location = op.location
        block.insert_op_after(each, op)


def _constant(value: float, like: Attribute) -> arith.ConstantOp:
    return arith.ConstantOp(_number(value, like))


def _number(value: float, like: Attribute) -> FloatAttr[AnyFloat] | DenseIntOrFPElementsAttr[AnyFloat]:
    """A number, or a block of it."""
    element, shape = element_of(like), shape_of(like)
    assert isinstance(element, AnyFloat)
    if not isinstance(like, TensorType):
        return FloatAttr(value, element)
    return DenseIntOrFPElementsAttr.from_list(TensorType(element, shape), [value])


def _other_number(op: arith.ConstantOp) -> Attribute:
    value = op.value
    if isinstance(value, FloatAttr):
        old = value.value.data
    else:
        assert isinstance(value, DenseIntOrFPElementsAttr)
        old = float(next(iter(value.get_values())))  # pyright: ignore[reportArgumentType]
    return _number(old * 1.25 + 0.25 if abs(old) < 1e30 else 1.0, op.result.type)
