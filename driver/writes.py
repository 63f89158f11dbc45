"""Which arguments of a kernel it may write: found by following pointers back from every store and atomic of the `tl`
level, or from every command that writes to HBM.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ..dialects import ahbm, tl
from ..dialects.pointer import PointerType
from ..dialects.region import RegionOp, RegionType
from ..dialects.shapes import element_of


def written_arguments(function: func.FuncOp) -> tuple[int, ...]:
    """The numbers of the pointer arguments that stores and atomics of `function` may reach, in order: all of them where
    a store goes through an address that was a number.
    """
    found: set[SSAValue] = set()
    todo = [value for op in function.walk() for value in _stored_to(op)]
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += _sources(value)
    anywhere = any(isinstance(v.owner, tl.PtrCastOp | ahbm.PtrCastOp) and v.owner.operand.type == i64 for v in found)
    arguments = enumerate(function.body.block.args)
    return tuple(i for i, a in arguments if a in found or (anywhere and isinstance(a.type, PointerType)))


def _stored_to(op: Operation) -> list[SSAValue]:
    """The pointers and regions that an op writes to."""
    match op:
        case tl.StoreOp() | tl.StoreRegionOp() | tl.AtomicOp():
            return [op.operands[0]]
        case ahbm.DmaWriteOp():
            return [op.region]
        case ahbm.StoreScalarOp():
            return [op.pointer]
        case ahbm.ScatterOp() | ahbm.AtomicOp():
            return [op.base]
        case ahbm.CompositeOp():
            written = {*op.written, *op.outs}
            return [part for number, part in enumerate(op.parts) if number in written]
        case _:
            return []


def _sources(value: SSAValue) -> list[SSAValue]:
    """The pointers that a pointer is made of: operands of its op, and what loops and branches carry."""
    match value:
        case OpResult(owner=scf.ForOp() | scf.IfOp() | scf.WhileOp() as op):
            return _pointers(op) + [v for inner in op.walk() if inner.name == "scf.yield" for v in _pointers(inner)]
        case BlockArgument(owner=Block() as block):
            parent = block.parent_op()
            return _pointers(parent) if parent is not None and not isinstance(parent, func.FuncOp) else []
        case OpResult(owner=Operation() as op):
            return _pointers(op)
        case _:
            return []


def _pointers(op: Operation) -> list[SSAValue]:
    if isinstance(op, RegionOp):
        return [op.operands[0]]
    return [v for v in op.operands if isinstance(v.type, RegionType) or isinstance(element_of(v.type), PointerType)]
