"""Handlers of scalar ops, which PE_CPU and the reference share: integers are Python integers, floats numpy scalars of
their dtype.

Integers wrap as C's do. Where an i32 result that wraps goes on to an address, the wrap is reported: a region computes
addresses in 64 bits, so a kernel that wraps there does not mean what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Operation

from ...dialects import tl
from ...dialects.elementwise import ELEMENTWISE, Elementwise
from .closures import Builder, Handler, Slots, Step
from .dtypes import Array, DType, convert, is_float, numpy_dtype
from .elementwise import compare, function_of, python_integer, truncating_quotient, truncating_remainder

# The common integer functions on Python integers, ten times as fast as numpy on one number; results still wrap.
_PYTHON: Mapping[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": truncating_quotient,
    "remsi": truncating_remainder,
    "minsi": min,
    "maxsi": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def scalar(value: Any, dtype: DType) -> Any:
    """A number as slots hold it: bool, Python int, or numpy scalar of the float's dtype."""
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        return int(value)
    return np.asarray(value).astype(dtype)[()]


def constant(op: Operation, builder: Builder) -> None:
    """`arith.constant`: part of the frame, no step. Blocks of one value are broadcast views, read-only."""
    assert isinstance(op, arith.ConstantOp)
    attribute, type_ = op.value, op.result.type
    dtype = numpy_dtype(type_)
    if isinstance(attribute, IntegerAttr | FloatAttr):
        builder.constant(op.result, scalar(_number(attribute, dtype), dtype))
        return
    assert isinstance(attribute, DenseIntOrFPElementsAttr) and isinstance(type_, TensorType)
    values = np.asarray(attribute.get_values())
    content = (values != 0) if dtype.kind == "b" else values.astype(dtype)
    shape = type_.get_shape()
    if content.size == 1:
        builder.constant(op.result, np.broadcast_to(content.reshape(()), shape))
    else:
        builder.constant(op.result, content.reshape(shape))


def _number(attribute: IntegerAttr | FloatAttr, dtype: DType) -> Any:
    value = attribute.value.data
    # xDSL keeps a true i1 as -1.
    return value != 0 if dtype.kind == "b" else value


def unary(function: Callable[[Any], Any], op: Operation, builder: Builder) -> Step:
    """The step out = function(operand) of an op of one operand."""
    (source,) = builder.slots(op.operands)
    out = builder.slot(op.results[0])

    def step(slots: Slots) -> None:
        slots[out] = function(slots[source])

    return step


def binary(function: Callable[[Any, Any], Any], op: Operation, builder: Builder) -> Step:
    """The step out = function(a, b) of an op of two operands."""
    a, b = builder.slots(op.operands)
    out = builder.slot(op.results[0])

    def step(slots: Slots) -> None:
        slots[out] = function(slots[a], slots[b])

    return step


def ternary(function: Callable[[Any, Any, Any], Any], op: Operation, builder: Builder) -> Step:
    """The step out = function(a, b, c) of an op of three operands."""
    a, b, c = builder.slots(op.operands)
    out = builder.slot(op.results[0])

    def step(slots: Slots) -> None:
        slots[out] = function(slots[a], slots[b], slots[c])

    return step


def apply(function: Callable[..., Any], op: Operation, builder: Builder) -> Step:
    """The step of an op of one to three operands."""
    return (unary, binary, ternary)[len(op.operands) - 1](function, op, builder)


def _of_row(row: Elementwise) -> Handler:
    def handler(op: Operation, builder: Builder) -> Step:
        type_ = op.results[0].type
        if isinstance(type_, TensorType):
            return apply(function_of(row), op, builder)
        return apply(scalar_function(row, numpy_dtype(type_)), op, builder)

    return handler


def scalar_function(row: Elementwise, dtype: DType) -> Callable[..., Any]:
    """A row of the table on scalars of one dtype, as slots hold them."""
    if is_float(dtype):
        function = function_of(row)
        return lambda *operands: dtype.type(function(*operands))
    if row.kind in _PYTHON and dtype.kind != "b":
        exact, wrap = _PYTHON[row.kind], python_integer(dtype)

        def wrapped(a: int, b: int) -> int:
            return wrap(exact(a, b))

        return wrapped
    function = function_of(row)
    number = bool if dtype.kind == "b" else int
    return lambda *operands: number(function(*(np.asarray(o, dtype=dtype) for o in operands)))


def _rounded_down(a: int, b: int) -> int:
    return 0 if b == 0 else a // b


def _rounded_up(a: int, b: int) -> int:
    return 0 if b == 0 else -(-a // b)


def _division(exact: Callable[[int, int], int]) -> Handler:
    """A division that passes make of sizes and bounds; there is no row for it, as no kernel can say it on blocks."""

    def handler(op: Operation, builder: Builder) -> Step:
        wrap = python_integer(numpy_dtype(op.results[0].type))
        return binary(lambda a, b: wrap(exact(a, b)), op, builder)

    return handler


def _compare(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.CmpOp)
    return _comparison(op.predicate.data, op, builder)


def _comparison(predicate: str, op: Operation, builder: Builder) -> Step:
    function = compare(predicate)
    type_ = op.operands[0].type
    if isinstance(type_, TensorType):
        return binary(function, op, builder)
    dtype = numpy_dtype(type_)
    if dtype.kind == "i" and predicate[0] == "u":
        return binary(lambda a, b: bool(function(np.asarray(a, dtype=dtype), np.asarray(b, dtype=dtype))), op, builder)
    return binary(lambda a, b: bool(function(a, b)), op, builder)


_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _compare_arith(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, arith.CmpiOp)
    return _comparison(_CMPI[op.predicate.value.data], op, builder)


def _select(op: Operation, builder: Builder) -> Step:
    if isinstance(op.results[0].type, TensorType):
        return apply(np.where, op, builder)
    return apply(_choose, op, builder)


def _choose(condition: bool, on_true: Any, on_false: Any) -> Any:
    return on_true if condition else on_false


def _cast(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.CastOp)
    return cast_step(op, builder, is_unsigned=op.unsigned is not None)


def cast_step(op: Operation, builder: Builder, *, is_unsigned: bool = False) -> Step:
    """The step of an op that casts its one operand to the type of its result."""
    source, target = numpy_dtype(op.operands[0].type), numpy_dtype(op.results[0].type)
    is_block = isinstance(op.results[0].type, TensorType)
    if source.kind == target.kind == "i" and not is_unsigned and not is_block:
        return apply(python_integer(target), op, builder)

    def cast_block(values: Array) -> Any:
        return convert(values, target, is_unsigned=is_unsigned)

    def cast_scalar(value: Any) -> Any:
        return scalar(convert(np.asarray(value, dtype=source), target, is_unsigned=is_unsigned), target)

    return apply(cast_block if is_block else cast_scalar, op, builder)


def _bitcast(op: Operation, builder: Builder) -> Step:
    """The bits of the operand read as the type of the result."""
    source, target = numpy_dtype(op.operands[0].type), numpy_dtype(op.results[0].type)

    def of_block(values: Array) -> Array:
        return values.view(target)

    def of_scalar(value: Any) -> Any:
        return scalar(np.asarray(value, dtype=source).view(target), target)

    return apply(of_block if isinstance(op.results[0].type, TensorType) else of_scalar, op, builder)


def _cast_unsigned(op: Operation, builder: Builder) -> Step:
    return cast_step(op, builder, is_unsigned=True)


SCALAR_HANDLERS: Mapping[str, Handler] = {
    **{row.op: _of_row(row) for row in ELEMENTWISE},
    "arith.ceildivsi": _division(_rounded_up),
    "arith.floordivsi": _division(_rounded_down),
    "arith.constant": constant,
    "arith.cmpi": _compare_arith,
    "arith.select": _select,
    "arith.extsi": cast_step,
    "arith.extui": _cast_unsigned,
    "arith.trunci": cast_step,
    "arith.index_cast": cast_step,
    "arith.extf": cast_step,
    "arith.truncf": cast_step,
    "arith.sitofp": cast_step,
    "arith.uitofp": _cast_unsigned,
    "arith.fptosi": cast_step,
    "arith.fptoui": _cast_unsigned,
    "tl.cmp": _compare,
    "tl.select": _select,
    "tl.cast": _cast,
    "arith.bitcast": _bitcast,
}
