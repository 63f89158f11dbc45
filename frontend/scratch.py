"""`with al.scratch_scope():`, and the blocks that a scope gives up when it ends.

Scratch is allocated from lifetimes, so a scope allocates nothing. It is a promise, which is held here: no name stands
for a block of the scope once it has ended.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ..dialects import tl
from .contracts import contract_of
from .values import Item, Value, parts


class Scope:
    """The ops of `block` from now on."""

    def __init__(self, block: Block):
        self._block = block
        self._last = block.last_op

    def made(self) -> frozenset[Operation]:
        """The ops that have been inserted since."""
        found: list[Operation] = []
        op = self._block.first_op if self._last is None else self._last.next_op
        while op is not None:
            found.append(op)
            op = op.next_op
        return frozenset(found)

    def holds(self, item: Item, made: frozenset[Operation]) -> bool:
        """Whether an item is, or has in it, a block whose buffer is the scope's."""
        inner = parts(item)
        if inner is not None:
            return any(self.holds(part, made) for part in inner)
        if not isinstance(item, Value) or not item.is_block or item.is_pointer:
            return False
        home = home_of(item.ssa).owner
        op = home if isinstance(home, Operation) else home.parent_op()
        while op is not None and op.parent is not self._block:
            op = op.parent_op()
        return op in made


def home_of(value: SSAValue) -> SSAValue:
    """The value that was there first in the buffer of `value`: what is written in place stays where it was."""
    while (before := _in_place_of(value)) is not None:
        value = before
    return value


def _in_place_of(value: SSAValue) -> SSAValue | None:
    """The older value that `value` is written over, if it is."""
    op = value.owner
    number = value.index if isinstance(value, OpResult) else 0
    match op:
        case tl.CopyToOp():
            return op.destination
        case tl.CompositeOp():
            inside = home_of(_end(op.body.block).operands[number])
            return op.inputs[inside.index] if isinstance(inside, BlockArgument) else None
        case tl.RecipeOp():
            written = contract_of(op.recipe.data).written_inputs
            return op.inputs[written[number]] if number < len(written) else None
        case scf.ForOp():
            end, argument = _end(op.body.block), op.body.block.args[number + 1]
            return op.iter_args[number] if home_of(end.operands[number]) is argument else None
        case scf.WhileOp():
            end, argument = _end(op.after_region.block), op.after_region.block.args[number]
            return op.arguments[number] if home_of(end.operands[number]) is argument else None
        case scf.IfOp():
            homes = [home_of(_end(region.block).operands[number]) for region in op.regions]
            return homes[0] if len(set(homes)) == 1 else None
        case _:
            return None


def _end(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op
