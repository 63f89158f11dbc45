"""Scalar ops of the `tl` level as the plain scalar ops that PE_CPU computes with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.shapes import FLOATS, element_bytes, is_integer

Insert: TypeAlias = Callable[[Operation], Operation]


def scalar_of(op: Operation, operands: Sequence[SSAValue], kind: Attribute, insert: Insert) -> SSAValue:
    """What `op` gives for one lane of type `kind`; the ops that it takes go in with `insert`."""
    match op:
        case tl.CmpOp():
            return _compare(op.predicate.data, operands, insert)
        case tl.SelectOp():
            return insert(arith.SelectOp(*operands)).results[0]
        case tl.CastOp():
            return _cast(operands[0], kind, op.unsigned is not None, insert)
        case tl.UmulhiOp():
            return _multiply_high(operands[0], operands[1], insert)
        case _:
            made = type(op).create(operands=operands, result_types=[kind], properties=dict(op.properties))
            return insert(made).results[0]


def cpu_result(op: Operation, operands: Sequence[SSAValue], insert: Insert) -> SSAValue | None:
    """The value that replaces the result of a scalar `tl` op; None where `op` can stay as it is."""
    match op:
        case tl.ProgramIdOp():
            return insert(ahbm.ProgramIdOp(op.axis.value.data)).results[0]
        case tl.NumProgramsOp():
            return insert(ahbm.NumProgramsOp(op.axis.value.data)).results[0]
        case tl.AddPtrOp():
            return insert(ahbm.AddPtrOp(operands[0], operands[1])).results[0]
        case tl.PtrCastOp():
            return insert(ahbm.PtrCastOp(operands[0], op.result.type)).results[0]
        case tl.CmpOp() | tl.SelectOp() | tl.CastOp() | tl.UmulhiOp():
            return scalar_of(op, operands, op.results[0].type, insert)
        case _:
            return None


def _multiply_high(a: SSAValue, b: SSAValue, insert: Insert) -> SSAValue:
    """The upper half of an unsigned product, by products of halves: see `ieee.multiply_high`."""
    kind = _integer(a.type)
    width = kind.width.data // 2

    def constant(number: int) -> SSAValue:
        return insert(arith.ConstantOp(IntegerAttr(number, kind))).results[0]

    half, mask = constant(width), constant((1 << width) - 1)

    def low(value: SSAValue) -> SSAValue:
        return insert(arith.AndIOp(value, mask)).results[0]

    def high(value: SSAValue) -> SSAValue:
        return insert(arith.ShRUIOp(value, half)).results[0]

    def product(x: SSAValue, y: SSAValue) -> SSAValue:
        return insert(arith.MuliOp(x, y)).results[0]

    def total(first: SSAValue, *rest: SSAValue) -> SSAValue:
        for value in rest:
            first = insert(arith.AddiOp(first, value)).results[0]
        return first

    cross, other = product(high(a), low(b)), product(low(a), high(b))
    middle = total(high(product(low(a), low(b))), low(cross), low(other))
    return total(product(high(a), high(b)), high(cross), high(other), high(middle))


def zero_of(kind: Attribute, insert: Insert) -> SSAValue:
    """The number 0 of a scalar type."""
    if isinstance(kind, AnyFloat):
        return insert(arith.ConstantOp(FloatAttr(0.0, kind))).results[0]
    return insert(arith.ConstantOp(IntegerAttr(0, _integer(kind)))).results[0]


def _integer(kind: Attribute) -> IntegerType:
    assert is_integer(kind), kind
    return cast("IntegerType", kind)


def _compare(predicate: str, operands: Sequence[SSAValue], insert: Insert) -> SSAValue:
    lhs, rhs = operands
    compare = arith.CmpfOp if isinstance(lhs.type, FLOATS) else arith.CmpiOp
    return insert(compare(lhs, rhs, predicate)).results[0]


def _cast(value: SSAValue, kind: Attribute, unsigned: bool, insert: Insert) -> SSAValue:
    old = value.type
    if old == kind:
        return value
    if kind == i1:
        return _compare("une" if isinstance(old, FLOATS) else "ne", [value, zero_of(old, insert)], insert)
    if isinstance(old, FLOATS):
        if isinstance(kind, AnyFloat):
            return _float_cast(value, kind, insert)
        return insert((arith.FPToUIOp if unsigned else arith.FPToSIOp)(value, _integer(kind))).results[0]
    # A truth value counts 0 or 1, never -1.
    unsigned = unsigned or old == i1
    if isinstance(kind, AnyFloat):
        return insert((arith.UIToFPOp if unsigned else arith.SIToFPOp)(value, kind)).results[0]
    new = _integer(kind)
    if new.width.data < _integer(old).width.data:
        return insert(arith.TruncIOp(value, new)).results[0]
    return insert((arith.ExtUIOp if unsigned else arith.ExtSIOp)(value, new)).results[0]


def _float_cast(value: SSAValue, kind: AnyFloat, insert: Insert) -> SSAValue:
    old, new = element_bytes(value.type), element_bytes(kind)
    if old == new:
        # Two formats of one size: through a type that holds both.
        return _float_cast(_float_cast(value, f32, insert), kind, insert)
    return insert((arith.ExtFOp if new > old else arith.TruncFOp)(value, kind)).results[0]
