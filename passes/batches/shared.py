"""The matrix that all products of a batch share."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects import tl
from ...dialects.shapes import shape_of


def shared_matrix(batch: SSAValue, before: Operation | None = None) -> SSAValue | None:
    """The one matrix that a batch [G, K, N] repeats; None if it does not. With `before`, it is made there; else what is
    returned may still have the batch's axis.
    """
    if isinstance(batch.owner, tl.TransOp) and batch.owner.permutation == (0, 2, 1):
        inner = shared_matrix(batch.owner.operand, before)
        return inner if inner is None or before is None else _insert(tl.TransOp(inner, (1, 0)), before)
    one = batch
    if shape_of(batch.type)[0] != 1:
        if not isinstance(batch.owner, tl.BroadcastOp):
            return None
        one = batch.owner.operand
        if shape_of(one.type) != (1, *shape_of(batch.type)[1:]):
            return None
    if before is None:
        return one
    if isinstance(one.owner, tl.ExpandDimsOp) and one.owner.axis.value.data == 0:
        return one.owner.operand
    return _insert(tl.ReshapeOp(one, shape_of(one.type)[1:]), before)


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = before.location
    assert before.parent is not None
    before.parent.insert_op_before(op, before)
    return op.results[0]
