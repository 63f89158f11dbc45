"""`drop-dead-iter-args`: loops stop carrying values that nobody reads, branches giving them, and what never changes
comes from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, MemoryEffectKind, only_has_effect

from ..dialects import tl


@dataclass(frozen=True)
class DropDeadIterArgsPass(ModulePass):
    """Remove values that loops carry for themselves or pass on as they are, and results of `if` that nobody reads.

    before:  %p_end, %acc_end = scf.for ... iter_args(%p = %p0, %acc = %zero) { %next = tl.addptr %p, %c32 ; ... yield
             %next, %acc_next }
    after:   %acc_end = scf.for ... iter_args(%acc = %zero) { ... yield %acc_next }

    needs:   nothing; after `raise-regions` the carried pointers are dead.
    keeps:   values, writes, and all that they need. Pure ops and loads that nothing living reads go as well.
    options: none
    """

    name = "drop-dead-iter-args"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _pass_through_unchanged(op)
        _drop_unread_results(op)
        live = _Liveness(op)
        loops = [each for each in op.walk() if isinstance(each, scf.ForOp)]
        kept = {loop: live.carried(loop) for loop in loops}
        for loop, keep in kept.items():
            _shorten_yield(loop, keep)
        # Backwards, users go before what they use, and the body of a loop before the loop.
        for each in reversed(list(op.walk())):
            if each in live.ops or each.has_trait(IsTerminator) or isinstance(each, ModuleOp):
                if isinstance(each, scf.ForOp) and len(kept[each]) < len(each.iter_args):
                    _drop(each, kept[each])
            elif all(r.first_use is None for r in each.results):
                each.detach()
                each.erase()


def _pass_through_unchanged(module: ModuleOp) -> None:
    """Whoever reads a carried value that no iteration changes reads its initial value."""
    for loop in module.walk():
        if not isinstance(loop, scf.ForOp):
            continue
        block = loop.body.block
        assert block.last_op is not None
        for n, init in enumerate(loop.iter_args):
            if block.last_op.operands[n] in (block.args[n + 1], init):
                block.args[n + 1].replace_all_uses_with(init)
                loop.results[n].replace_all_uses_with(init)


def _drop_unread_results(module: ModuleOp) -> None:
    """Branches yield only what is read: a name that both branches bind need not be used after them."""
    changed = True
    while changed:
        branches = [op for op in module.walk() if isinstance(op, scf.IfOp) and op.results]
        unread = [op for op in branches if any(r.first_use is None for r in op.results)]
        for op in unread:
            _keep_results(op, [n for n, r in enumerate(op.results) if r.first_use is not None])
        changed = bool(unread)  # what an outer branch yielded may have been read by it alone


def _keep_results(op: scf.IfOp, keep: list[int]) -> None:
    for region in op.regions:
        last = region.block.last_op
        assert isinstance(last, scf.YieldOp)
        last.operands = [last.operands[n] for n in keep]
    yes, no = (op.detach_region(region) for region in list(op.regions))
    new = scf.IfOp(op.cond, [op.results[n].type for n in keep], yes, no)
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for result, n in zip(new.results, keep, strict=True):
        result.name_hint = op.results[n].name_hint
        op.results[n].replace_all_uses_with(result)
    op.detach()
    op.erase()


class _Liveness:
    """Which ops and values an op with an effect depends on, found backwards from those ops."""

    def __init__(self, module: ModuleOp) -> None:
        self.values: set[SSAValue] = set()
        self.ops: set[Operation] = set()
        self._todo: list[SSAValue] = []
        for op in module.walk():
            held = op.regions and not isinstance(op, tl.CompositeOp)  # it is executed if something in it is
            if not held and not only_has_effect(op, MemoryEffectKind.READ):
                self._need(op)
        while self._todo:
            self._follow(self._todo.pop())

    def carried(self, loop: scf.ForOp) -> list[int]:
        """The numbers of the carried values that somebody reads."""
        args = loop.body.block.args[1:]
        return [n for n, arg in enumerate(args) if arg in self.values or loop.results[n] in self.values]

    def _need(self, op: Operation) -> None:
        """`op` is executed: its operands are read, and what it stands in is executed too."""
        at: Operation | None = op
        while at is not None and at not in self.ops:
            self.ops.add(at)
            # What a loop carries is needed value by value; what ends any other body, as a whole.
            self._read(at.operands[:3] if isinstance(at, scf.ForOp) else at.operands)
            if not isinstance(at, scf.ForOp):
                for end in (block.last_op for region in at.regions for block in region.blocks):
                    self._read(end.operands if end is not None else ())
            at = at.parent_op()

    def _read(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._todo.append(value)

    def _follow(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Block):
            at = owner.parent_op()
            if isinstance(at, scf.ForOp) and value is not owner.args[0]:
                self._carried(at, owner.args.index(value) - 1)
            elif at is not None:
                self._need(at)
        elif isinstance(owner, scf.ForOp):
            assert isinstance(value, OpResult)
            self._carried(owner, value.index)
        else:
            self._need(owner)

    def _carried(self, loop: scf.ForOp, n: int) -> None:
        self._need(loop)
        last = loop.body.block.last_op
        assert last is not None
        self._read((loop.iter_args[n], last.operands[n], loop.body.block.args[n + 1]))


def _shorten_yield(loop: scf.ForOp, keep: list[int]) -> None:
    """Yield only the values of `keep`; the loop is whole again after `_drop`."""
    last = loop.body.block.last_op
    assert isinstance(last, scf.YieldOp)
    new = scf.YieldOp(*(last.operands[n] for n in keep))
    new.location = last.location
    loop.body.block.insert_op_before(new, last)
    last.detach()
    last.erase()


def _drop(loop: scf.ForOp, keep: list[int]) -> None:
    """Carry only the values of `keep`. Nothing reads the others any more."""
    block = loop.body.block
    for n in reversed(range(len(loop.iter_args))):
        if n not in keep:
            block.erase_arg(block.args[n + 1])
    inits = [loop.iter_args[n] for n in keep]
    bounds = loop.lb, loop.ub, loop.step
    new = scf.ForOp(*bounds, inits, loop.detach_region(loop.body))
    new.location = loop.location
    assert loop.parent is not None
    loop.parent.insert_op_before(new, loop)
    for result, n in zip(new.results, keep, strict=True):
        result.name_hint = loop.results[n].name_hint
        loop.results[n].replace_all_uses_with(result)
    loop.detach()
    loop.erase()
