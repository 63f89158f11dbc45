"""What a loop adds up: the dots that a carried block grows by in every iteration.

A dot may take the sum as its accumulator, or be added to it or taken from it, also scaled by what the loop does not
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from ...dialects import tl
from ...dialects.shapes import element_of, is_float
from ..analysis.affine import is_inside
from ..dot_accumulate import is_wide
from .refused import Refused


class NoSum(Refused):
    """What is carried has nothing to do with a dot."""

    def __init__(self, carried: SSAValue):
        name = f"'{carried.name_hint}'" if carried.name_hint else f"a {carried.type}"
        super().__init__(f"it carries {name} as well, which is no sum of dots")


@dataclass(frozen=True)
class Product:
    """A dot and the ops from its result to the sum, the last of which adds; none where the dot itself adds."""

    dot: tl.DotOp
    after: tuple[Operation, ...] = ()

    @property
    def total(self) -> SSAValue:
        """The sum with this dot in it."""
        return (self.after[-1] if self.after else self.dot).results[0]


def sums_of(loop: scf.ForOp) -> list[tuple[Product, ...]]:
    """The dots of everything that a loop carries. Raises Refused, with what is wrong with a sum of dots before what is
    none.
    """
    sums: list[tuple[Product, ...]] = []
    others: list[NoSum] = []
    for number in range(len(loop.iter_args)):
        try:
            sums.append(products_of(loop, number))
        except NoSum as refusal:
            others.append(refusal)
    if others:
        raise others[0]
    return sums


def products_of(loop: scf.ForOp, number: int) -> tuple[Product, ...]:
    """The dots that carried value `number` grows by, in the order in which they are added. Raises Refused."""
    block = loop.body.block
    carried, last = block.args[number + 1], block.last_op
    assert last is not None
    products: list[Product] = []
    at = last.operands[number]
    while at is not carried:
        found = _last_added(at, loop)
        if found is None:
            raise _no_sum(at, carried, bool(products))
        product, at = found
        products.insert(0, product)
    if not products:
        raise _no_sum(carried, carried, False)
    if not all(is_wide(each.total) for each in products):
        raise Refused(f"the sum is rounded to {element_of(carried.type)} in every iteration")
    if not all(value.has_one_use() for value in (carried, *(each.total for each in products))):
        raise Refused("the accumulator is read inside the loop")
    return tuple(products)


def _last_added(value: SSAValue, loop: scf.ForOp) -> tuple[Product, SSAValue] | None:
    """The last dot added to a sum, and the sum before it; None where `value` is no such sum."""
    match op := value.owner:
        case tl.DotOp():
            return None if op.acc is None else (Product(op), op.acc)
        case arith.AddfOp() | arith.AddiOp():
            sides = ((op.rhs, op.lhs), (op.lhs, op.rhs))
        case arith.SubfOp() | arith.SubiOp():
            sides = ((op.rhs, op.lhs),)
        case _:
            return None
    for side, rest in sides:
        scaled = _scaled(side, loop)
        if scaled is not None:
            return Product(scaled.dot, (*scaled.after, op)), rest
    return None


def _scaled(value: SSAValue, loop: scf.ForOp) -> Product | None:
    """A dot without a sum of its own, times what the loop does not change; None where `value` is no such thing."""
    todo: list[tuple[SSAValue, tuple[Operation, ...]]] = [(value, ())]
    while todo:
        at, after = todo.pop()
        op = at.owner
        if not isinstance(op, Operation) or not at.has_one_use() or not is_inside(at, loop):
            continue
        if not isinstance(op, tl.DotOp):
            todo += [(factor, (op, *after)) for factor in _factors(op)]
        elif op.acc is None:
            product = {op.result, *(each.results[0] for each in after)}
            if any(is_inside(v, loop) for each in after for v in each.operands if v not in product):
                raise Refused("the product is scaled by a value of the loop")
            return Product(op, after)
    return None


def _factors(op: Operation) -> Sequence[SSAValue]:
    """The operands in which the result is linear: a sum of results is the result of the sum."""
    match op:
        case arith.MulfOp() | arith.MuliOp():
            return (op.lhs, op.rhs)
        case arith.DivfOp():
            return (op.lhs,)
        case arith.NegfOp():
            return (op.operand,)
        case tl.CastOp() if not is_float(op.operand.type) and is_float(op.result.type):
            return (op.operand,)
        case _:
            return ()


def _no_sum(value: SSAValue, carried: SSAValue, any_found: bool) -> Refused:
    """Why what is carried is not a sum of dots, `value` being what remains when the dots found are taken off."""
    op = value.owner
    if isinstance(op, scf.IfOp):
        has_dot = any(isinstance(each, tl.DotOp) for each in op.walk())
        return Refused(f"{'the dot is' if has_dot else 'the accumulator is changed'} under a condition")
    if any_found and isinstance(op, Operation):
        return Refused(f"the accumulator goes through {op.name} in every iteration")
    return NoSum(carried)
