"""`while` loops that count: `while i < n: ...; i += 32` is a `for` whose iterations are known before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from ...dialects import tl
from .affine import constant_of
from .loop_arithmetic import LoopArithmetic

# What a comparison says when its sides are swapped.
_SWAPPED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}


@dataclass(frozen=True)
class _Count:
    """The carried value with this number goes on by `step` while it compares so with `bound`."""

    number: int
    predicate: str
    bound: SSAValue
    step: int


def counted_as_for(loop: scf.WhileOp) -> bool:
    """Replace a counting `scf.while` by an `scf.for` that carries the same values; says whether it was one."""
    count = _count_of(loop)
    if count is None:
        return False
    _hoist_condition(loop)
    start = loop.arguments[count.number]
    before = LoopArithmetic(InsertPoint.before(loop), start, loop.location)
    one = before.constant(1)
    match count.predicate:
        case "slt":
            trip = before.count(start, count.bound, count.step)
        case "sle":
            trip = before.count(start, before.add(count.bound, one), count.step)
        case "sgt":
            trip = before.count(count.bound, start, -count.step)
        case _:
            trip = before.count(before.sub(count.bound, one), start, -count.step)
    old = loop.after_region.block
    body = Block(arg_types=[start.type, *old.arg_types])
    for argument, carried in zip(old.args, body.args[1:], strict=True):
        carried.name_hint = argument.name_hint
        argument.replace_all_uses_with(carried)
    for op in list(old.ops):
        op.detach()
        body.add_op(op)
    counted = scf.ForOp(before.constant(0), trip, one, list(loop.arguments), Region(body))
    counted.location = loop.location
    Rewriter.replace_op(loop, counted)
    return True


def _count_of(loop: scf.WhileOp) -> _Count | None:
    before, after = loop.before_region.block, loop.after_region.block
    condition, advance = before.last_op, after.last_op
    if not isinstance(condition, scf.ConditionOp) or not isinstance(advance, scf.YieldOp):
        return None
    if tuple(condition.args) != tuple(before.args):
        return None
    compare = condition.condition.owner
    if not isinstance(compare, tl.CmpOp) or compare.parent is not before:
        return None
    sides = [(compare.lhs, compare.rhs, compare.predicate.data)]
    if compare.predicate.data in _SWAPPED:
        sides.append((compare.rhs, compare.lhs, _SWAPPED[compare.predicate.data]))
    for counter, bound, predicate in sides:
        if counter not in before.args or predicate not in _SWAPPED or not _stands_still(bound, before):
            continue
        number = before.args.index(counter)
        step = _step(advance.arguments[number], after.args[number])
        if step is not None and step != 0 and (step > 0) == (predicate in ("slt", "sle")):
            return _Count(number, predicate, bound, step)
    return None


def _stands_still(bound: SSAValue, before: Block) -> bool:
    """Whether the condition is worked out from nothing that the loop carries, and so can be worked out before it."""
    todo = [bound]
    while todo:
        value = todo.pop()
        if value.owner is before:
            return False
        if not isinstance(value.owner, Block) and value.owner.parent is before:
            if not is_side_effect_free(value.owner):
                return False
            todo += value.owner.operands
    return True


def _step(advanced: SSAValue, counter: SSAValue) -> int | None:
    """The constant by which the body moves the counter on."""
    match advanced.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs) if counter in (lhs, rhs):
            return constant_of(rhs if lhs == counter else lhs)
        case arith.SubiOp(lhs=lhs, rhs=rhs) if lhs == counter:
            step = constant_of(rhs)
            return None if step is None else -step
        case _:
            return None


def _hoist_condition(loop: scf.WhileOp) -> None:
    """Move what stands still in the condition in front of the loop."""
    before = loop.before_region.block
    for op in list(before.ops):
        if op is not before.last_op and all(_stands_still(v, before) for v in op.operands) and is_side_effect_free(op):
            op.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(op, loop)
