"""Reductions, scans, gathers, sorts and histograms as MATH commands: one command each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.shapes import shape_of
from .emission import Emission
from .math_kinds import math_kind


def _lanes(e: Emission, value: SSAValue) -> SSAValue:
    """What a command takes for a block whose lanes it looks at: with their axes, also where all hold one scalar."""
    operand = e.operand(value)
    return operand if shape_of(operand.type) else e.packed(value)


def _reduce(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.ReduceOp)
    axis, unsigned = op.axis.value.data, op.unsigned is not None
    e.insert(ahbm.MathOp(math_kind(op), [_lanes(e, op.operand)], e.buffer(op.result), axis=axis, unsigned=unsigned))


def _scan(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.ScanOp)
    axis, unsigned, reverse = op.axis.value.data, op.unsigned is not None, op.reverse is not None
    source, out = _lanes(e, op.operand), e.buffer(op.result)
    e.insert(ahbm.MathOp(f"scan_{op.kind.data}", [source], out, axis=axis, unsigned=unsigned, reverse=reverse))


def _gather(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.GatherOp)
    inputs = [_lanes(e, op.source), _lanes(e, op.index)]
    e.insert(ahbm.MathOp("gather", inputs, e.buffer(op.result), axis=op.axis.value.data))


def _sort(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.SortOp)
    axis, unsigned, descending = op.axis.value.data, op.unsigned is not None, op.descending is not None
    kind, source, out = "sort" if op.is_whole else "topk", _lanes(e, op.operand), e.buffer(op.result)
    e.insert(ahbm.MathOp(kind, [source], out, axis=axis, unsigned=unsigned, reverse=descending))


def _histogram(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.HistogramOp)
    inputs = [_lanes(e, v) for v in op.operands]
    e.insert(ahbm.MathOp("histogram", inputs, e.buffer(op.result)))


ALONG_AXIS: Mapping[type[Operation], Callable[[Emission, Operation], None]] = {
    tl.ReduceOp: _reduce,
    tl.ScanOp: _scan,
    tl.GatherOp: _gather,
    tl.SortOp: _sort,
    tl.HistogramOp: _histogram,
}
