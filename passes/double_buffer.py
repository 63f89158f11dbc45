"""`double-buffer`: a block that a composite or a load of an iteration makes for a composite gets two buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm
from .analysis.scratch import apart, lifetimes, size_of, written_only
from .loops.carry_more import carry_more


@dataclass(frozen=True)
class DoubleBufferPass(ModulePass):
    """Let a loop swap two buffers for a block that one composite writes, or a load, and a later composite reads.

    before:  scf.for ... { ahbm.composite(..., %s) writes %s ; ahbm.composite(%s, ...) }
    after:   scf.for ... iter_args(%cur = %s, %nxt = %s2) { ahbm.composite(..., %cur) ; ahbm.composite(%cur, ...)
                                                            scf.yield %nxt, %cur }

    PE_CPU does not wait for composites, so that the next iteration's, or its load, runs while the block is still being
    read; with a buffer of its own it need not wait to store what it makes.

    needs:   `lower-to-commands` and `expand-recipes`; before `allocate-scratch`.
    keeps:   values. Takes a buffer only if the loop alone uses it and each iteration fills it before it is read, and
             only as long as the scratch has room for all buffers side by side.
    options: none
    """

    name = "double-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bound = machine_of(op).pe.tcm.scratch_bytes
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            free = bound - apart(lifetimes(function)).size
            for alloc in [each for each in function.walk() if isinstance(each, ahbm.AllocOp)]:
                kind = alloc.result.type
                loop = _only_loop(alloc.result)
                if loop is not None and kind.space.data == "tcm" and size_of(kind) <= free and _is_handed_on(alloc):
                    free -= size_of(kind)
                    _swap(loop, alloc)


def _only_loop(buffer: SSAValue) -> scf.ForOp | None:
    """The loop whose body holds every use of a buffer."""
    parents = dict.fromkeys(use.operation.parent_op() for use in buffer.uses)
    loop = next(iter(parents), None)
    return loop if isinstance(loop, scf.ForOp) and len(parents) == 1 else None


def _is_handed_on(alloc: ahbm.AllocOp) -> bool:
    """Whether the first to use a buffer is a composite or a load that fills it, and other composites, without views,
    read it.
    """
    users = dict.fromkeys(use.operation for use in alloc.result.uses)
    body = next(iter(users)).parent
    assert body is not None
    first, *others = [op for op in body.ops if op in users]
    if not others or not isinstance(first, ahbm.CompositeOp | ahbm.DmaReadOp):
        return False
    if not all(isinstance(op, ahbm.CompositeOp) for op in others):
        return False
    return alloc.result in written_only(first)


def _swap(loop: scf.ForOp, alloc: ahbm.AllocOp) -> None:
    """Give the buffer of `alloc` a second one, and let the loop carry both and yield them the other way round."""
    second = ahbm.AllocOp(alloc.result.type)
    second.location, second.result.name_hint = alloc.location, alloc.result.name_hint
    block, body, end = alloc.parent, loop.body.block, loop.body.block.last_op
    assert block is not None and isinstance(end, scf.YieldOp)
    block.insert_op_after(second, alloc)
    buffers = [alloc.result, second.result]
    current, following = (body.insert_arg(alloc.result.type, len(body.args)) for _ in buffers)
    current.name_hint = following.name_hint = alloc.result.name_hint
    alloc.result.replace_all_uses_with(current)
    end.operands = [*end.operands, following, current]
    carry_more(loop, buffers)
