"""Accesses through pointers as commands: what `raise-regions` left of loads and stores, scalars, and atomics."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import ahbm, tl
from ...dialects.pointer import PointerType
from .cpu_scalars import zero_of
from .emission import Emission
from .residence import Residence


def load(e: Emission, op: Operation) -> None:
    """A gather, or the load of one element."""
    assert isinstance(op, tl.LoadOp)
    if isinstance(op.pointer.type, PointerType):
        _load_scalar(e, op)
        return
    base, index = e.pointers(op.pointer)
    mask = None if op.mask is None else e.viewed(op.mask)
    pad = None
    if op.other is not None and e.residences[op.other] is Residence.UNIFORM:
        owner = e.scalars[op.other].owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr | IntegerAttr):
            pad = owner.value
    out = e.buffer(op.result)
    e.insert(ahbm.GatherOp(base, index, mask, out, pad))
    if op.other is not None and pad is None:
        assert mask is not None
        e.insert(ahbm.MathOp("select", [mask, out, e.operand(op.other)], out))


def _load_scalar(e: Emission, op: tl.LoadOp) -> None:
    """One element: a float stays in TCM, an integer goes on to PE_CPU, which computes with it."""
    buffer = _scalar_buffer(e, op.result)
    load = ahbm.LoadScalarOp(op.pointer, buffer)
    if op.mask is None:
        e.insert(load)
    else:
        other = zero_of(op.result.type, e.insert) if op.other is None else e.operand(op.other)
        fill = ahbm.CopyOp(other, buffer) if isinstance(other.type, ahbm.BufferType) else ahbm.FillOp(buffer, other)
        _branch(e, op.mask, load, fill)
    _hand_on(e, op.result, buffer)


def _scalar_buffer(e: Emission, result: SSAValue) -> SSAValue:
    """The buffer of rank 0 that gets a scalar from HBM."""
    if e.residences[result] is Residence.BUFFER:
        return e.buffer(result)
    return e.alloc(ahbm.BufferType((), result.type), result)


def _hand_on(e: Emission, result: SSAValue, buffer: SSAValue) -> None:
    """Let PE_CPU read a scalar that it computes with."""
    if e.residences[result] is not Residence.BUFFER and result.uses:
        read = e.insert(ahbm.ReadScalarOp(buffer)).result
        read.name_hint = result.name_hint
        e.replace(result, read)


def atomic(e: Emission, op: Operation) -> None:
    """An atomic of a block, or of one element: an index of one lane."""
    assert isinstance(op, tl.AtomicOp)
    kind, value = op.kind.data, e.operand(op.value)
    compare = None if op.compare is None else e.operand(op.compare)
    if not isinstance(op.pointer.type, PointerType):
        base, index = e.pointers(op.pointer)
        mask = None if op.mask is None else e.viewed(op.mask)
        e.insert(ahbm.AtomicOp(kind, base, index, mask, value, compare, e.buffer(op.result)))
        return
    buffer = _scalar_buffer(e, op.result)
    index = e.uniform_index(e.constant(0), ())
    made = ahbm.AtomicOp(kind, op.pointer, index, None, value, compare, buffer)
    if op.mask is None:
        e.insert(made)
    else:
        _branch(e, op.mask, made, ahbm.FillOp(buffer, zero_of(op.result.type, e.insert)))
    _hand_on(e, op.result, buffer)


def _branch(e: Emission, condition: SSAValue, yes: Operation, no: Operation | None) -> None:
    """`yes` where the condition of PE_CPU holds, else `no`."""
    at = e.at.location
    regions: list[Region] = []
    for op in (yes, no):
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        for each in (*((op,) if op is not None else ()), scf.YieldOp()):
            each.location = at
            builder.insert(each)
        regions.append(Region(block))
    e.insert(scf.IfOp(e.cpu(condition), [], regions[0], regions[1]))


def store(e: Emission, op: Operation) -> None:
    """A scatter, or the store of one element."""
    assert isinstance(op, tl.StoreOp)
    if isinstance(op.pointer.type, PointerType):
        store = ahbm.StoreScalarOp(e.operand(op.value), op.pointer)
        if op.mask is None:
            e.insert(store)
        else:
            _branch(e, op.mask, store, None)
        return
    base, index = e.pointers(op.pointer)
    mask = None if op.mask is None else e.viewed(op.mask)
    e.insert(ahbm.ScatterOp(base, index, mask, e.packed(op.value)))
