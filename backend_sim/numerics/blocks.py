"""Handlers of the `tl` ops on blocks that touch no memory: shapes, pointers, reductions, products and composites by
their bodies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ...dialects import tl
from ...dialects.pointer import PointerType
from ...dialects.shapes import element_of, shape_of
from .along_axis import gather, histogram, scan, sort
from .closures import Builder, Handler, Step
from .dtypes import numpy_dtype
from .elementwise import product, reduce
from .scalars import binary, scalar, ternary, unary


def _make_range(op: Operation, builder: Builder) -> None:
    assert isinstance(op, tl.MakeRangeOp)
    builder.constant(op.result, np.arange(op.start.value.data, op.end.value.data, dtype=np.int32))


def _splat(op: Operation, builder: Builder) -> Step:
    shape, dtype = shape_of(op.results[0].type), numpy_dtype(op.results[0].type)
    return unary(lambda value: np.broadcast_to(np.asarray(value, dtype), shape), op, builder)


def _expand_dims(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.ExpandDimsOp)
    axis = op.axis.value.data
    return unary(lambda value: np.expand_dims(value, axis), op, builder)


def _broadcast(op: Operation, builder: Builder) -> Step:
    shape = shape_of(op.results[0].type)
    return unary(lambda value: np.broadcast_to(value, shape), op, builder)


def _reshape(op: Operation, builder: Builder) -> Step:
    shape = shape_of(op.results[0].type)
    return unary(lambda value: np.reshape(value, shape), op, builder)


def _trans(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.TransOp)
    order = op.permutation
    return unary(lambda value: np.transpose(value, order), op, builder)


def _addptr(op: Operation, builder: Builder) -> Step:
    element = element_of(op.operands[0].type)
    assert isinstance(element, PointerType)
    itemsize = numpy_dtype(element.element_type).itemsize
    if isinstance(op.results[0].type, TensorType):
        return binary(lambda pointers, offsets: pointers + offsets.astype(np.int64) * itemsize, op, builder)
    return binary(lambda pointer, offset: pointer + offset * itemsize, op, builder)


def _ptr_cast(op: Operation, builder: Builder) -> None:
    """A pointer is the number of a byte."""
    builder.alias(op.results[0], builder.slot(op.operands[0]))


def _reduce(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.ReduceOp)
    kind, axis, is_unsigned = op.kind.data, op.axis.value.data, op.unsigned is not None
    if isinstance(op.result.type, TensorType):
        return unary(lambda block: reduce(kind, block, axis, is_unsigned=is_unsigned), op, builder)
    dtype = numpy_dtype(op.result.type)
    return unary(lambda block: scalar(reduce(kind, block, axis, is_unsigned=is_unsigned), dtype), op, builder)


def _scan(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.ScanOp)
    kind, axis, reverse, is_unsigned = op.kind.data, op.axis.value.data, op.reverse is not None, op.unsigned is not None
    return unary(lambda block: scan(kind, block, axis, reverse=reverse, is_unsigned=is_unsigned), op, builder)


def _gather(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.GatherOp)
    axis = op.axis.value.data
    return binary(lambda source, index: gather(source, index, axis), op, builder)


def _sort(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.SortOp)
    axis, descending, is_unsigned = op.axis.value.data, op.descending is not None, op.unsigned is not None
    count = shape_of(op.result.type)[axis]
    return unary(lambda block: sort(block, axis, count, descending=descending, is_unsigned=is_unsigned), op, builder)


def _histogram(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.HistogramOp)
    (bins,) = shape_of(op.result.type)
    if op.mask is None:
        return unary(lambda block: histogram(block, None, bins), op, builder)
    return binary(lambda block, mask: histogram(block, mask, bins), op, builder)


def _dot(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, tl.DotOp)
    dtype = numpy_dtype(op.result.type)
    if op.acc is None:
        return binary(lambda a, b: product(a, b, None, dtype), op, builder)
    return ternary(lambda a, b, acc: product(a, b, acc, dtype), op, builder)


def _composite(op: Operation, builder: Builder) -> None:
    assert isinstance(op, tl.CompositeOp | tl.RecipeOp)
    for result, slot in zip(op.outputs, builder.inline(op.body, op.inputs), strict=True):
        builder.alias(result, slot)


def _copy_to(op: Operation, builder: Builder) -> None:
    assert isinstance(op, tl.CopyToOp)
    builder.alias(op.result, builder.slot(op.source))


def _no_values(op: Operation, builder: Builder) -> None:
    """Ops of time only."""


BLOCK_HANDLERS: Mapping[str, Handler] = {
    "tl.make_range": _make_range,
    "tl.splat": _splat,
    "tl.expand_dims": _expand_dims,
    "tl.broadcast": _broadcast,
    "tl.reshape": _reshape,
    "tl.trans": _trans,
    "tl.addptr": _addptr,
    "tl.ptr_cast": _ptr_cast,
    "tl.reduce": _reduce,
    "tl.scan": _scan,
    "tl.gather": _gather,
    "tl.sort": _sort,
    "tl.histogram": _histogram,
    "tl.dot": _dot,
    "tl.composite": _composite,
    "tl.recipe": _composite,
    "tl.copy_to": _copy_to,
    "tl.wait": _no_values,
    "tl.cycles": _no_values,
}
