"""Blocks of pointers that a loop carries, as blocks of offsets from the one pointer that they all start from.

What the analysis follows has become regions before; this is for what is left, and will be gathered.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import tl
from ...dialects.errors import AhbmcError, Category, Fault, place_of
from ...dialects.pointer import PointerType
from ...dialects.shapes import element_of, shape_of
from ..analysis.liveness import in_program_order
from .residence import enters, is_block


def carry_offsets(function: func.FuncOp) -> None:
    """Rewrite every loop that carries blocks of pointers. Raises AhbmcError where they start from no one pointer."""
    ops = [op for op in in_program_order(function.body, enters) if isinstance(op, scf.ForOp | scf.IfOp)]
    handing_on = [op for op in ops if any(_is_pointers(r) for r in op.results)]
    faults = [_fault(op) for op in handing_on if not isinstance(op, scf.ForOp) or not _rewrite(op)]
    if faults:
        raise AhbmcError(*faults)


def _fault(op: Operation) -> Fault:
    return Fault(
        "a block of pointers that is handed on in no regular way cannot be lowered",
        place_of(op.location),
        Category.UNSUPPORTED,
        "carry a block of offsets and add it to one pointer where it is used",
    )


def _is_pointers(value: SSAValue) -> bool:
    return is_block(value) and isinstance(element_of(value.type), PointerType)


def _base(pointers: SSAValue) -> SSAValue | None:
    """The scalar pointer that a block of pointers is offsets from."""
    op = pointers.owner
    while isinstance(op, tl.AddPtrOp | tl.ExpandDimsOp | tl.BroadcastOp | tl.ReshapeOp | tl.TransOp):
        op = op.operands[0].owner
    return op.operand if isinstance(op, tl.SplatOp) else None


def _steps(after: SSAValue, argument: SSAValue) -> list[SSAValue] | None:
    """The blocks that are added to `argument` to give `after`, the last one first."""
    found: list[SSAValue] = []
    while after is not argument:
        if not isinstance(after.owner, tl.AddPtrOp):
            return None
        found.append(after.owner.offset)
        after = after.owner.pointer
    return found


class _Maker:
    """Inserts ops at one place, with one location."""

    def __init__(self, at: InsertPoint, location: LocationAttr):
        self.builder, self.location = Builder(at), location

    def insert(self, op: Operation) -> SSAValue:
        op.location = self.location
        self.builder.insert(op)
        return op.results[0]

    def wide(self, offsets: SSAValue) -> SSAValue:
        return offsets if element_of(offsets.type) == i64 else self.insert(tl.CastOp(offsets, i64))

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.AddiOp(self.wide(a), self.wide(b)))

    def pointers(self, base: SSAValue, offsets: SSAValue) -> SSAValue:
        return self.insert(tl.AddPtrOp(self.insert(tl.SplatOp(base, shape_of(offsets.type))), offsets))

    def offsets(self, pointers: SSAValue) -> SSAValue:
        """The offsets of a block of pointers from its base, in i64."""
        op = pointers.owner
        if isinstance(op, tl.AddPtrOp):
            first = isinstance(op.pointer.owner, tl.SplatOp)
            return self.wide(op.offset) if first else self.plus(self.offsets(op.pointer), op.offset)
        shape = shape_of(pointers.type)
        match op:
            case tl.ExpandDimsOp():
                return self.insert(tl.ExpandDimsOp(self.offsets(op.operand), op.axis.value.data))
            case tl.BroadcastOp():
                return self.insert(tl.BroadcastOp(self.offsets(op.operand), shape))
            case tl.ReshapeOp():
                return self.insert(tl.ReshapeOp(self.offsets(op.operand), shape))
            case tl.TransOp():
                return self.insert(tl.TransOp(self.offsets(op.operand), op.permutation))
            case _:
                zero = self.insert(arith.ConstantOp(IntegerAttr(0, i64)))
                return self.insert(tl.SplatOp(zero, shape))


def _rewrite(loop: scf.ForOp) -> bool:
    """Let a loop carry offsets in place of pointers; False, with nothing changed, where that is not possible."""
    block = loop.body.block
    end = block.last_op
    assert isinstance(end, scf.YieldOp)
    positions = [n for n, result in enumerate(loop.results) if _is_pointers(result)]
    bases = {n: _base(loop.iter_args[n]) for n in positions}
    steps = {n: _steps(end.operands[n], block.args[n + 1]) for n in positions}
    if any(bases[n] is None or steps[n] is None for n in positions):
        return False
    before, after = (_Maker(place, loop.location) for place in (InsertPoint.before(loop), InsertPoint.after(loop)))
    inits = [before.offsets(v) if n in bases else v for n, v in enumerate(loop.iter_args)]
    inner = Block(arg_types=[block.args[0].type, *(v.type for v in inits)])
    for op in list(block.ops):
        op.detach()
        inner.add_op(op)
    assert inner.first_op is not None
    start, finish = (_Maker(InsertPoint.before(op), loop.location) for op in (inner.first_op, end))
    for n in positions:
        total: SSAValue = inner.args[n + 1]
        for step in reversed(steps[n] or []):
            total = finish.plus(total, step)
        end.operands[n] = total
    for old, new in zip(block.args, inner.args, strict=True):
        base = bases.get(new.index - 1)
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new if base is None else start.pointers(base, new))
    made = scf.ForOp(loop.lb, loop.ub, loop.step, inits, inner)
    before.insert(made)
    for n, (old, new) in enumerate(zip(loop.results, made.results, strict=True)):
        base = bases.get(n)
        old.replace_all_uses_with(new if base is None else after.pointers(base, new))
    loop.detach()
    loop.erase()
    return True
