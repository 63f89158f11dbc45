"""Handlers of the `ahbm` ops that make operands and issue nothing: allocations, views, index views, pointers.

PE_CPU and the device share them. Nothing here reads a buffer; `ahbm.read_scalar`, `ahbm.fill` and commands are the
caller's.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from ...dialects import ahbm
from ...dialects.errors import Category, fail, place_of
from ...dialects.pointer import PointerType
from ...dialects.shapes import shape_of
from .closures import Builder, Handler, Slots, Step
from .dtypes import numpy_dtype
from .operands import Buffer, Index
from .region_ops import REGION_HANDLERS
from .scalars import SCALAR_HANDLERS, binary, unary


def buffer_at(op: ahbm.AllocOp, offset: int) -> Buffer:
    """The buffer of an allocation at a byte offset of the scratch."""
    kind = op.result.type
    assert isinstance(kind, ahbm.BufferType)
    return Buffer.packed(offset, kind.get_shape(), numpy_dtype(kind.element_type))


def _alloc(op: Operation, builder: Builder) -> None:
    assert isinstance(op, ahbm.AllocOp)
    if op.offset is None:
        raise fail(
            "a buffer without a place in scratch",
            place_of(op.location),
            Category.INVALID_IR,
            hint="run allocate-scratch first",
        )
    builder.constant(op.result, buffer_at(op, op.offset.value.data))


def _view(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, ahbm.ViewOp)
    axes, shape = op.source_axes, shape_of(op.result.type)
    if op.lanes is not None:
        lanes = op.source_lanes
        return unary(lambda source: source.at(lanes).view(axes, shape), op, builder)
    return unary(lambda source: source.view(axes, shape), op, builder)


def _reshape(op: Operation, builder: Builder) -> Step:
    shape = shape_of(op.results[0].type)
    return unary(lambda source: source.reshape(shape), op, builder)


def _index(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, ahbm.IndexOp)
    start, out = builder.slot(op.start), builder.slot(op.result)
    steps = builder.slots(op.steps)
    shape, dtype = shape_of(op.result.type), numpy_dtype(op.result.type)

    def step(slots: Slots) -> None:
        slots[out] = Index(slots[start], tuple([slots[s] for s in steps]), shape, dtype)

    return step


def _addptr(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, ahbm.AddPtrOp) and isinstance(op.pointer.type, PointerType)
    itemsize = numpy_dtype(op.pointer.type.element_type).itemsize
    return binary(lambda pointer, offset: pointer + offset * itemsize, op, builder)


def _ptr_cast(op: Operation, builder: Builder) -> None:
    """A pointer is the number of a byte."""
    builder.alias(op.results[0], builder.slot(op.operands[0]))


OPERAND_HANDLERS: Mapping[str, Handler] = {
    **SCALAR_HANDLERS,
    **REGION_HANDLERS,
    "ahbm.alloc": _alloc,
    "ahbm.view": _view,
    "ahbm.reshape": _reshape,
    "ahbm.index": _index,
    "ahbm.addptr": _addptr,
    "ahbm.ptr_cast": _ptr_cast,
}
