"""Which bytes of scratch a command touches: known when the kernel is compiled, except where a loop carries buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ...dialects import ahbm
from ..engine.commands import Range
from ..numerics.closures import Builder, Slots
from ..numerics.operand_ops import buffer_at

Ranges = tuple[Range, ...]


def ranges_of(values: Sequence[SSAValue], builder: Builder) -> Callable[[Slots], Ranges]:
    """A function that gives the bytes behind those of `values` that are buffers, in their order."""
    buffers = [v for v in values if isinstance(v.type, ahbm.BufferType)]
    fixed = [_fixed(v) for v in buffers]
    known = tuple([r for r in fixed if r is not None])
    if len(known) == len(buffers):
        return lambda slots: known
    parts = [(r, builder.slot(v)) for r, v in zip(fixed, buffers, strict=True)]
    return lambda slots: tuple([slots[slot].byte_range if r is None else r for r, slot in parts])


def _fixed(value: SSAValue) -> Range | None:
    """The bytes of a buffer that is an allocation or a view of one; None where it is only known at run time."""
    op = value.owner
    while isinstance(op, ahbm.ViewOp | ahbm.ReshapeOp):
        op = op.source.owner
    if isinstance(op, ahbm.AllocOp) and op.offset is not None:
        return buffer_at(op, op.offset.value.data).byte_range
    return None
