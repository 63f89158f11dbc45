"""Handlers of `ahbm.region` and `ahbm.cut`, which the reference, the device and PE_CPU share: SSA numbers become a
`Region`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Operation

from ...dialects.region import CutOp, RegionOp, RegionType
from .closures import Builder, Handler, Slots, Step
from .dtypes import Array, numpy_dtype
from .regions import Axis, Region

# The elements of what stands for a block of indices in a slot.
Reader = Callable[[Any], Array]


def _array(block: Array) -> Array:
    return block


def _axis(op: RegionOp, number: int, builder: Builder, read: Reader) -> Callable[[Slots], Axis]:
    """Makes the axis of given number from the slots."""
    size, stride, lo, hi = (builder.slot(v[number]) for v in (op.sizes, op.strides, op.los, op.his))
    kind = op.axis_kinds[number]
    if kind == "folded":
        start, width, high = builder.slots(op.fold_of(number))
        return lambda s: Axis(s[size], s[stride], s[lo], s[hi], s[start], s[width], s[high])
    if kind == "indexed":
        index = builder.slot(op.index_of(number))
        return lambda s: Axis(s[size], s[stride], s[lo], s[hi], indices=read(s[index]))
    return lambda s: Axis(s[size], s[stride], s[lo], s[hi])


def region_step(op: Operation, builder: Builder, read: Reader = _array) -> Step:
    """The step of `ahbm.region`; `read` is for blocks of indices that slots do not hold as arrays."""
    assert isinstance(op, RegionOp) and isinstance(op.result.type, RegionType)
    dtype = numpy_dtype(op.result.type.element_type)
    pad: Any = 0 if op.pad is None else op.pad.value.data
    base, offset, out = builder.slot(op.base), builder.slot(op.offset), builder.slot(op.result)
    axes = [_axis(op, number, builder, read) for number in range(len(op.sizes))]

    def step(slots: Slots) -> None:
        slots[out] = Region(slots[base], slots[offset], tuple([axis(slots) for axis in axes]), dtype, pad)

    def step_folded(slots: Slots) -> None:
        step(slots)
        slots[out] = slots[out].straight()

    return step_folded if "folded" in op.axis_kinds else step


def _cut(op: Operation, builder: Builder) -> Step:
    assert isinstance(op, CutOp)
    axis = op.axis.value.data
    region, start, size = builder.slots(op.operands)
    out = builder.slot(op.result)

    def step(slots: Slots) -> None:
        slots[out] = slots[region].cut(axis, slots[start], slots[size])

    return step


REGION_HANDLERS: Mapping[str, Handler] = {"ahbm.region": region_step, "ahbm.cut": _cut}
