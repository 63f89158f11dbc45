"""From a match of a recipe to a `tl.composite`: closedness, the place of the composite, and its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, is_side_effect_free, only_has_effect

from ...dialects import tl
from ..recipes import Recipe


class Refused(Exception):
    """Why a recipe does not apply; becomes a remark."""


class Matched(Protocol):
    """What is wrapped: the parameters, the value of every operand by name, the results in the order of the recipe."""

    @property
    def dot(self) -> tl.DotOp: ...
    @property
    def params(self) -> dict[str, str]: ...
    @property
    def inputs(self) -> dict[str, SSAValue]: ...
    @property
    def results(self) -> tuple[SSAValue, ...]: ...


def wrap(recipe: Recipe, match: Matched, *, stream: bool) -> tl.CompositeOp:
    """Move the ops of a match into a composite. Raises `Refused`, having changed nothing, where that cannot be done."""
    block = match.dot.parent
    assert block is not None
    names = recipe.inputs(match.params)
    inputs = [match.inputs[name] for name in names]
    outside: list[Operation] = []
    inside = _slice(match.results, set(inputs), block, outside)
    _check_closed(inside, match.results)
    _check_carried(dict(zip(recipe.written, match.results, strict=True)), match.inputs, block)
    order = {op: n for n, op in enumerate(block.ops)}
    place = _place(inside, inputs, match.results, order, block)
    load = _absorbable(match.inputs["b"], place, order) if stream else None
    if load is not None:
        inputs[names.index("b")] = load.region
    ops = sorted(inside, key=lambda op: order[op])
    return _build(recipe, match, inputs, load, [*outside, *ops], place)


def _slice(
    results: tuple[SSAValue, ...], inputs: set[SSAValue], block: Block, outside: list[Operation]
) -> set[Operation]:
    """The ops of `block` between inputs and results; constants and splats from elsewhere go to `outside`."""
    inside: set[Operation] = set()
    seen: set[SSAValue] = set()
    todo = list(results)
    while todo:
        value = todo.pop()
        if value in inputs or value in seen:
            continue
        seen.add(value)
        op = value.owner
        if not isinstance(op, Operation):
            raise Refused("it reads a carried value that is no operand of the recipe")
        if op.parent is not block or isinstance(op, arith.ConstantOp):
            if not isinstance(op, arith.ConstantOp | tl.SplatOp | tl.BroadcastOp | tl.ExpandDimsOp):
                raise Refused(f"it reads the result of {op.name}, which is no operand of the recipe")
            if op in outside:
                outside.remove(op)
            outside.insert(0, op)
        elif not is_side_effect_free(op):
            raise Refused(f"{op.name} lies between its operands and results")
        else:
            inside.add(op)
        todo += op.operands
    return inside


def _check_closed(inside: set[Operation], results: tuple[SSAValue, ...]) -> None:
    """Nothing outside reads a value that the composite keeps to itself."""
    for op in inside:
        for result in op.results:
            if result in results:
                continue
            for use in result.uses:
                if use.operation not in inside:
                    name = f"'{result.name_hint}'" if result.name_hint else f"the result of {op.name}"
                    raise Refused(f"{name} is also read by {use.operation.name}")


def _check_carried(results: dict[str, SSAValue], inputs: dict[str, SSAValue], block: Block) -> None:
    """A loop carries on what the recipe leaves in a read-write operand, nothing that is made of it later."""
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or block.last_op is None:
        return
    for name, result in results.items():
        value = inputs[name]
        if value in block.args[1:] and block.last_op.operands[block.args.index(value) - 1] is not result:
            raise Refused(f"the loop does not carry on the new {name} as it is")


def _place(
    inside: set[Operation],
    inputs: list[SSAValue],
    results: tuple[SSAValue, ...],
    order: dict[Operation, int],
    block: Block,
) -> Operation:
    """The op before which the composite can stand: after all inputs, before whoever reads a result."""
    users = [
        order[at]
        for result in results
        for use in result.uses
        if use.operation not in inside and (at := _ancestor_in(block, use.operation)) is not None
    ]
    last = max(order[op] for op in inside)
    defined = [order[v.owner] for v in inputs if isinstance(v.owner, Operation) and v.owner in order]
    if not users or min(users) > last:
        number = last
    elif not defined or min(users) > max(defined):
        number = min(users)
    else:
        raise Refused("a result is read before the last operand is there")
    return next(op for op, n in order.items() if n == number)


def _ancestor_in(block: Block, op: Operation) -> Operation | None:
    """The op of `block` that is or holds `op`."""
    at: Operation | None = op
    while at is not None and at.parent is not block:
        at = at.parent_op()
    return at


def _absorbable(value: SSAValue, place: Operation, order: dict[Operation, int]) -> tl.LoadRegionOp | None:
    """The load of an operand that the composite can stream itself: its only use, and no write in between."""
    load = value.owner
    if not isinstance(load, tl.LoadRegionOp) or not value.has_one_use() or load not in order:
        return None
    between = [op for op, n in order.items() if order[load] < n < order[place]]
    return load if all(only_has_effect(op, MemoryEffectKind.READ) for op in between) else None


@dataclass
class _Body:
    """The body under construction: which value of it stands for which outside."""

    block: Block
    mapper: dict[SSAValue, SSAValue]

    def add(self, op: Operation) -> None:
        new = op.clone(self.mapper)
        new.location = op.location
        self.block.add_op(new)


def _build(
    recipe: Recipe,
    match: Matched,
    inputs: list[SSAValue],
    load: tl.LoadRegionOp | None,
    ops: list[Operation],
    place: Operation,
) -> tl.CompositeOp:
    block = Block(arg_types=[v.type for v in inputs])
    body = _Body(block, dict(zip(inputs, block.args, strict=True)))
    for name, arg in zip(recipe.inputs(match.params), block.args, strict=True):
        arg.name_hint = name
    if load is not None:
        body.add(load)
    for op in ops:
        body.add(op)
    end = tl.YieldOp(*(body.mapper[r] for r in match.results))
    end.location = match.dot.location
    block.add_op(end)
    composite = tl.CompositeOp(
        inputs,
        [r.type for r in match.results],
        Region(block),
        recipe=recipe.name,
        params=DictionaryAttr({name: StringAttr(value) for name, value in match.params.items()}),
    )
    composite.location = match.dot.location
    assert place.parent is not None
    # A number that the match took out of a block constant has an op that stands nowhere yet.
    made = [v.owner for v in inputs if isinstance(v.owner, Operation) and v.owner.parent is None]
    place.parent.insert_ops_before([*made, composite], place)
    for old, new in zip(match.results, composite.outputs, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    _erase([*reversed(ops), *([load] if load is not None else [])])
    return composite


def _erase(ops: list[Operation]) -> None:
    """Take out the ops that the body holds copies of, users first; constants that others use stay."""
    for op in ops:
        if all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
