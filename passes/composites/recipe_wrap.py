"""From a match of a recipe to a `tl.composite`: closedness, the place of the composite, and its body."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects import tl
from ..recipe import Recipe
from .recipe_match import Match, Refused


def wrap(match: Match, dot: tl.DotOp | None, block: Block) -> tl.CompositeOp:
    """Move the ops of a match into a `tl.recipe` of a composite, together with the product that takes its primary
    output, if there is one. Raises `Refused`, having changed nothing, where that cannot be done.
    """
    inputs = list(match.inputs.values())
    outside: list[Operation] = []
    inside = _slice(match.results, set(inputs), block, outside)
    results = list(match.results)
    more: list[SSAValue] = []
    if dot is not None:
        # The composite gives the product in the place of what it takes, unless somebody else reads that too; the
        # operand that the product is added to is written in place.
        taken = [r for r in results if r is dot.acc or (r is dot.a and r.has_one_use())]
        results = [*(r for r in results if r not in taken), dot.result]
        more = [v for v in (dot.b, dot.acc) if v is not None and v not in taken]
    whole: set[Operation] = {*inside, dot} if dot is not None else inside
    _check_closed(whole, results)
    _check_carried(match, dot, block)
    order = {op: n for n, op in enumerate(block.ops)}
    place = _place(whole, [*inputs, *more], results, order, block)
    ops = [*outside, *sorted(inside, key=lambda op: order[op])]
    return _Wrapping(match, dot, ops).build(inputs, more, results, place)


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


def _check_closed(inside: set[Operation], results: list[SSAValue]) -> None:
    """Nothing outside reads a value that the composite keeps to itself."""
    for op in inside:
        for result in op.results:
            if result in results:
                continue
            for use in result.uses:
                if use.operation not in inside:
                    name = f"'{result.name_hint}'" if result.name_hint else f"the result of {op.name}"
                    raise Refused(f"{name} is also read by {use.operation.name}")


def _check_carried(match: Match, dot: tl.DotOp | None, block: Block) -> None:
    """What the recipe writes goes from step to step as it is, and so does what the product is added to: a loop carries
    it, or the step before has left it. Raises `Refused` where only some of it does, or where something is made of it
    in between.
    """
    names = match.recipe.written(match.params)
    state = {name: (match.inputs[name], new) for name, new in zip(names, match.results, strict=False)}
    if dot is not None and dot.acc is not None:
        state = {name: (old, _with_product(new, dot.a)) for name, (old, new) in state.items()}
        if names and match.recipe.accumulator is None:
            state["sum of the product"] = (dot.acc, dot.result)
    loop, end = block.parent_op(), block.last_op
    carried: dict[SSAValue, SSAValue] = {}
    if isinstance(loop, scf.ForOp) and end is not None:
        carried.update(zip(block.args[1:], end.operands, strict=True))
    for name, (old, new) in state.items():
        if old in carried and carried[old] is not new:
            raise Refused(f"the loop does not carry on the new {name} as it is")
    fresh = [name for name, (old, _) in state.items() if old.owner is not block and not _is_left(old, match.recipe)]
    goes_on = len(fresh) < len(state) or any(new in carried.values() for _, new in state.values())
    if fresh and goes_on:
        raise Refused(f"the {fresh[0]} that it begins with is not the one of the step before as it is")


def _with_product(value: SSAValue, a: SSAValue) -> SSAValue:
    """The sum of a value and a product of `a`, if there is one; the value itself otherwise."""
    dots = [use.operation for use in value.uses if isinstance(use.operation, tl.DotOp)]
    return next((dot.result for dot in dots if dot.acc is value and dot.a is a), value)


def _is_left(value: SSAValue, recipe: Recipe) -> bool:
    """Whether a step of a recipe has left a value."""
    step = value.owner
    return isinstance(step, tl.CompositeOp) and step.recipe is not None and step.recipe.recipe.data == recipe.name


def _place(
    inside: set[Operation],
    inputs: list[SSAValue],
    results: list[SSAValue],
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


@dataclass(frozen=True)
class _Wrapping:
    """The composite under construction; `ops` are those of the recipe."""

    match: Match
    dot: tl.DotOp | None
    ops: list[Operation]

    def build(
        self, inputs: list[SSAValue], more: list[SSAValue], results: list[SSAValue], place: Operation
    ) -> tl.CompositeOp:
        """Put the composite before `place`. `more` are the operands that the product takes beside the recipe's."""
        dot, location = self.dot, place.location
        taken = list(dict.fromkeys([*inputs, *more]))
        body = Block(arg_types=[v.type for v in taken])
        held = dict[SSAValue, SSAValue](zip(taken, body.args, strict=True))
        recipe = self._recipe([held[v] for v in inputs])
        if dot is not None:
            location = dot.location
        for old, new in zip(self.match.results, recipe.outputs, strict=True):
            held[old], new.name_hint = new, old.name_hint
        inner: list[Operation] = [recipe]
        if dot is not None:
            inner.append(dot.clone(held))
            held[dot.result] = inner[-1].results[0]
        end = tl.YieldOp(*(held[r] for r in results))
        for value, arg in zip(taken, body.args, strict=True):
            arg.name_hint = value.name_hint
        for name, value in self.match.inputs.items():
            held[value].name_hint = name
        body.add_ops([*inner, end])
        composite = tl.CompositeOp(taken, [r.type for r in results], Region(body))
        for op in (*inner, end, composite):
            op.location = location
        self._replace(composite, inputs, results, place)
        return composite

    def _recipe(self, inputs: list[SSAValue]) -> tl.RecipeOp:
        """The recipe, its body the kernel's own ops."""
        match = self.match
        block = Block(arg_types=[v.type for v in inputs])
        mapper = dict[SSAValue, SSAValue](zip(match.inputs.values(), block.args, strict=True))
        for name, arg in zip(match.inputs, block.args, strict=True):
            arg.name_hint = name
        for op in self.ops:
            new = op.clone(mapper)
            new.location = op.location
            block.add_op(new)
        end = tl.YieldOp(*(mapper[r] for r in match.results))
        end.location = self.ops[-1].location
        block.add_op(end)
        types = [r.type for r in match.results]
        return tl.RecipeOp(match.recipe.name, match.params, inputs, types, Region(block))

    def _replace(
        self, composite: tl.CompositeOp, inputs: list[SSAValue], results: list[SSAValue], place: Operation
    ) -> None:
        assert place.parent is not None
        # A number that the match took out of a block constant has an op that stands nowhere yet.
        made = [v.owner for v in inputs if isinstance(v.owner, Operation) and v.owner.parent is None]
        for op in made:
            op.location = composite.location
        place.parent.insert_ops_before([*made, composite], place)
        for old, new in zip(results, composite.outputs, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        _erase([*([self.dot] if self.dot is not None else []), *reversed(self.ops)])


def _erase(ops: list[Operation]) -> None:
    """Take out the ops that the body holds copies of, users first; constants that others use stay."""
    for op in ops:
        if all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
