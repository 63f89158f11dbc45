"""Between which numbers a scalar lies, from constants and the facts of the launch that function arguments carry.

For decisions (does it fit? what does it cost?), never for meaning: a fact holds for the launch that the IR was made
for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects import tl

FACT = "ahbm.value"
"""The attribute of a function argument that holds its value in this launch."""


@dataclass(frozen=True)
class Bounds:
    """`low <= x <= high`; None where nothing is known."""

    low: int | None
    high: int | None

    @property
    def exact(self) -> int | None:
        """The number itself, where it is known."""
        return self.low if self.low == self.high else None


UNKNOWN = Bounds(None, None)

_Both: TypeAlias = Callable[[int, int], int]


def bounds_of(value: SSAValue, *, likely: bool = False) -> Bounds:
    """The bounds of an integer scalar of the `tl` level. Recursion goes as deep as the expression does.

    `likely`: a divisor of which nothing is known is taken to be above 0, which is good enough for an estimate of cost.
    """
    return _Evaluation(likely).of(value)


class _Evaluation:
    def __init__(self, likely: bool) -> None:
        self.memo: dict[SSAValue, Bounds] = {}
        self._likely = likely

    def of(self, value: SSAValue) -> Bounds:
        if value not in self.memo:
            # A value that depends on itself by way of a loop is not known.
            self.memo[value] = UNKNOWN
            self.memo[value] = self._argument(value) if isinstance(value, BlockArgument) else self._result(value)
        return self.memo[value]

    def _argument(self, value: BlockArgument) -> Bounds:
        parent = value.owner.parent_op()
        if isinstance(parent, func.FuncOp):
            fact = argument_fact(parent, value.index, FACT)
            known = fact.value.data if isinstance(fact, IntegerAttr) else None
            return Bounds(known, known)
        if isinstance(parent, scf.ForOp) and value.index == 0:
            low, upper = self.of(parent.lb).low, self.of(parent.ub).high
            return Bounds(low, None if upper is None else upper - 1)
        return UNKNOWN

    def _result(self, value: SSAValue) -> Bounds:
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case arith.ConstantOp():
                known = op.value.value.data if isinstance(op.value, IntegerAttr) else None
                return Bounds(known, known)
            case tl.ProgramIdOp() | tl.NumProgramsOp():
                return Bounds(int(isinstance(op, tl.NumProgramsOp)), None)
            case tl.CastOp() | arith.ExtSIOp() | arith.ExtUIOp() | arith.IndexCastOp():
                return self.of(op.operands[0])
            case arith.SelectOp():
                return _hull(self.of(op.lhs), self.of(op.rhs))
            case tl.SelectOp():
                return _hull(self.of(op.on_true), self.of(op.on_false))
            case _ if len(op.operands) == 2:
                a, b = self.of(op.operands[0]), self.of(op.operands[1])
                if self._likely and isinstance(op, arith.DivSIOp | arith.RemSIOp) and (b.low is None or b.low < 1):
                    b = Bounds(1, b.high)
                return _combine(op, a, b)
            case _:
                return UNKNOWN


def argument_fact(function: func.FuncOp, number: int, name: str) -> Attribute | None:
    """An attribute of argument `number` of a function."""
    if function.arg_attrs is None:
        return None
    return function.arg_attrs.data[number].data.get(name)


def _hull(a: Bounds, b: Bounds) -> Bounds:
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return Bounds(low, None if a.high is None or b.high is None else max(a.high, b.high))


def _combine(op: Operation, a: Bounds, b: Bounds) -> Bounds:
    match op:
        case arith.AddiOp():
            return Bounds(_each(a.low, b.low, int.__add__), _each(a.high, b.high, int.__add__))
        case arith.SubiOp():
            return Bounds(_each(a.low, b.high, int.__sub__), _each(a.high, b.low, int.__sub__))
        case arith.MinSIOp():
            return Bounds(_each(a.low, b.low, min), _either(a.high, b.high, min))
        case arith.MaxSIOp():
            return Bounds(_either(a.low, b.low, max), _each(a.high, b.high, max))
        case arith.RemSIOp() if a.low is not None and a.low >= 0:
            exact = a.low % b.low if a.exact is not None and b.exact is not None and b.low else None
            most = b.high - 1 if b.high is not None and b.low is not None and b.low >= 0 else None
            return Bounds(0, _either(a.high, most, min)) if exact is None else Bounds(exact, exact)
        case arith.MuliOp() | arith.DivSIOp() | arith.CeilDivSIOp() | arith.FloorDivSIOp():
            return _of_naturals(op, a, b)
        case _:
            return UNKNOWN


def _of_naturals(op: Operation, a: Bounds, b: Bounds) -> Bounds:
    """Products and quotients, of numbers that are not negative only."""
    if a.low is None or b.low is None or a.low < 0 or b.low < 0:
        return UNKNOWN
    if isinstance(op, arith.MuliOp):
        return Bounds(a.low * b.low, _each(a.high, b.high, int.__mul__))
    if b.low == 0:
        return UNKNOWN
    up = b.low - 1 if isinstance(op, arith.CeilDivSIOp) else 0
    low = 0 if b.high is None else (a.low + (b.high - 1 if up else 0)) // b.high
    return Bounds(low, None if a.high is None else (a.high + up) // b.low)


def _each(a: int | None, b: int | None, both: _Both) -> int | None:
    return None if a is None or b is None else both(a, b)


def _either(a: int | None, b: int | None, pick: _Both) -> int | None:
    """`pick` of what is known: a bound of one side is a bound of the whole."""
    return (a if b is None else b) if a is None or b is None else pick(a, b)
