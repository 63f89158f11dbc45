"""What a single-op command does to bytes: one function per op, compiled once, called with the operands of each
instance.

Operands come resolved, one for each SSA operand of the op in order: a `Buffer`, an `Index`, a `Region`, a byte address
or a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects import ahbm
from ...dialects.errors import place_of
from ...dialects.pointer import PointerType
from ...dialects.shapes import shape_of
from .addresses import AddressSpace
from .along_axis import gather, histogram, scan, sort
from .atomics import change_of
from .dtypes import Array, DType, convert, numpy_dtype
from .elementwise import product
from .math_kinds import MathFunction, math_function
from .operands import Buffer, Index
from .regions import Region


@dataclass(frozen=True)
class PeMemory:
    """The memories that one PE's commands work on: its scratch (uint8, rank 1) and HBM as this PE sees it."""

    scratch: Array
    space: AddressSpace


Operands = Sequence[Any]
Effect = Callable[[Operands, PeMemory], None]


def content(operand: Any, dtype: DType, memory: PeMemory) -> Array:
    """The elements of a buffer (a view of the scratch), of an index view, or a number as a block of rank 0."""
    if isinstance(operand, Buffer):
        return operand.array(memory.scratch)
    if isinstance(operand, Index):
        return operand.array()
    return np.asarray(operand, dtype)


def put(values: Any, target: Buffer, memory: PeMemory) -> None:
    """Write a result into a buffer, rounded to the buffer's element type."""
    target.array(memory.scratch)[...] = convert(np.asarray(values), target.dtype)


def read_scalar(buffer: Buffer, memory: PeMemory) -> Any:
    """The element of a rank-0 buffer as PE_CPU holds it: a Python bool or int, or a numpy float of its dtype."""
    element = buffer.array(memory.scratch).reshape(())[()]
    return element if buffer.dtype.kind not in "biu" else element.item()


def _element_dtypes(values: Sequence[SSAValue]) -> list[DType]:
    return [numpy_dtype(value.type) for value in values]


def _fill(op: Operation) -> Effect:
    assert isinstance(op, ahbm.FillOp)
    constant: Any = None if op.value is None else op.value.value.data
    dtype = numpy_dtype(op.buffer.type)
    if constant is not None and dtype.kind == "b":
        constant = constant != 0

    def effect(operands: Operands, memory: PeMemory) -> None:
        value = operands[1] if constant is None else constant
        operands[0].array(memory.scratch)[...] = np.asarray(value).astype(dtype)

    return effect


def _dma_read(op: Operation) -> Effect:
    place = place_of(op.location)

    def effect(operands: Operands, memory: PeMemory) -> None:
        region, buffer = operands
        buffer.array(memory.scratch)[...] = memory.space.read_region(region, place)

    return effect


def _dma_write(op: Operation) -> Effect:
    place = place_of(op.location)

    def effect(operands: Operands, memory: PeMemory) -> None:
        buffer, region = operands
        memory.space.write_region(region, buffer.array(memory.scratch), place)

    return effect


def addresses(base: int, index: Any, dtype: DType, memory: PeMemory) -> Array:
    """The byte addresses that a gather or scatter of elements of `dtype` touches."""
    return base + content(index, np.dtype(np.int64), memory).astype(np.int64) * dtype.itemsize


def _gather(op: Operation) -> Effect:
    assert isinstance(op, ahbm.GatherOp)
    place, dtype = place_of(op.location), numpy_dtype(op.buffer.type)
    pad = np.zeros((), dtype) if op.pad is None else np.asarray(op.pad.value.data).astype(dtype)
    masked = op.mask is not None

    def effect(operands: Operands, memory: PeMemory) -> None:
        base, index, buffer = operands[0], operands[1], operands[-1]
        mask = operands[2].array(memory.scratch) if masked else None
        where = addresses(base, index, dtype, memory)
        buffer.array(memory.scratch)[...] = memory.space.gather(where, mask, pad, place)

    return effect


def _scatter(op: Operation) -> Effect:
    assert isinstance(op, ahbm.ScatterOp)
    place, dtype = place_of(op.location), numpy_dtype(op.buffer.type)
    masked = op.mask is not None

    def effect(operands: Operands, memory: PeMemory) -> None:
        base, index, buffer = operands[0], operands[1], operands[-1]
        mask = operands[2].array(memory.scratch) if masked else None
        where = addresses(base, index, dtype, memory)
        memory.space.scatter(where, mask, buffer.array(memory.scratch), place)

    return effect


def _atomic(op: Operation) -> Effect:
    assert isinstance(op, ahbm.AtomicOp)
    place, dtype = place_of(op.location), numpy_dtype(op.buffer.type)
    change, masked = change_of(op.kind.data, dtype), op.mask is not None

    def effect(operands: Operands, memory: PeMemory) -> None:
        base, index, *rest, buffer = operands
        mask = rest.pop(0).array(memory.scratch) if masked else None
        where = addresses(base, index, dtype, memory)
        values = [content(o, dtype, memory) for o in rest]
        buffer.array(memory.scratch)[...] = memory.space.update(where, mask, values, change, place)

    return effect


def _load_scalar(op: Operation) -> Effect:
    place = place_of(op.location)

    def effect(operands: Operands, memory: PeMemory) -> None:
        pointer, buffer = operands
        put(memory.space.read_scalar(pointer, buffer.dtype, place), buffer, memory)

    return effect


def _store_scalar(op: Operation) -> Effect:
    assert isinstance(op, ahbm.StoreScalarOp) and isinstance(op.pointer.type, PointerType)
    place, dtype = place_of(op.location), numpy_dtype(op.pointer.type.element_type)

    def effect(operands: Operands, memory: PeMemory) -> None:
        value, pointer = operands
        element = content(value, dtype, memory).reshape(1)
        memory.space.scatter(np.asarray([pointer]), None, element, place)

    return effect


def _gemm(op: Operation) -> Effect:
    def effect(operands: Operands, memory: PeMemory) -> None:
        a, b, out = operands
        total = product(a.array(memory.scratch), b.array(memory.scratch), None, out.dtype)
        out.array(memory.scratch)[...] = total

    return effect


def _math(op: Operation) -> Effect:
    assert isinstance(op, ahbm.MathOp)
    function = _along_axis(op) or math_function(
        op.kind.data, axis=None if op.axis is None else op.axis.value.data, is_unsigned=op.unsigned is not None
    )
    dtypes = _element_dtypes(op.inputs)

    def effect(operands: Operands, memory: PeMemory) -> None:
        out = operands[-1]
        inputs = [content(o, dtype, memory) for o, dtype in zip(operands[:-1], dtypes, strict=True)]
        put(function(inputs, out.dtype), out, memory)

    return effect


def _along_axis(op: ahbm.MathOp) -> MathFunction | None:
    """The function of a kind that no composite has."""
    kind, is_unsigned, reverse = op.kind.data, op.unsigned is not None, op.reverse is not None
    axis, shape = 0 if op.axis is None else op.axis.value.data, shape_of(op.out.type)
    if kind.startswith("scan_"):
        name = kind.removeprefix("scan_")
        return lambda operands, _: scan(name, operands[0], axis, reverse=reverse, is_unsigned=is_unsigned)
    if kind == "gather":
        return lambda operands, _: gather(operands[0], operands[1], axis)
    if kind in ("sort", "topk"):
        count = shape[axis]
        return lambda operands, _: sort(operands[0], axis, count, descending=reverse, is_unsigned=is_unsigned)
    if kind == "histogram":
        return lambda operands, _: histogram(operands[0], operands[1] if len(operands) > 1 else None, shape[0])
    return None


def _copy(op: Operation) -> Effect:
    def effect(operands: Operands, memory: PeMemory) -> None:
        source, destination = operands
        put(source.array(memory.scratch), destination, memory)

    return effect


def _nothing(op: Operation) -> Effect:
    return lambda operands, memory: None


SINGLE_OPS: Mapping[str, Callable[[Operation], Effect]] = {
    "ahbm.fill": _fill,
    "ahbm.dma_read": _dma_read,
    "ahbm.dma_write": _dma_write,
    "ahbm.gather": _gather,
    "ahbm.scatter": _scatter,
    "ahbm.atomic": _atomic,
    "ahbm.load_scalar": _load_scalar,
    "ahbm.store_scalar": _store_scalar,
    "ahbm.gemm": _gemm,
    "ahbm.math": _math,
    "ahbm.copy": _copy,
    "ahbm.wait": _nothing,
    "ahbm.cycles": _nothing,
}

__all__ = ["SINGLE_OPS", "Effect", "Operands", "PeMemory", "Region", "addresses", "content", "put", "read_scalar"]
