"""Operands that a composite would read more than once if it streamed them: their loads stay, and are issued while the
product before is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...backend_sim.target.machine import Machine
from ...dialects import tl
from ..loops.ahead import is_cheap, slice_of, writer_in
from .gemm_choice import BLOCKS_AHEAD, most_iterations
from .iteration_cost import block_bytes
from .loaded_ahead import loop_of
from .operand_loads import load_of
from .scratch_estimate import fits_throughout


def loaded_once(product: Operation, value: SSAValue, machine: Machine) -> tl.LoadRegionOp | None:
    """The load of an operand that is to stay one: it stands in the loop of the product, beside whose other products it
    is read, and there is room for its block. The loop is long enough that the first block, beside which nothing runs,
    does not count.
    """
    load, loop = load_of(value), loop_of(product)
    if load is None or loop is None or load.parent is not product.parent:
        return None
    if (most := most_iterations(loop)) is not None and most < BLOCKS_AHEAD:
        return None
    return load if fits_throughout(_between(load, product), 0, machine.pe.tcm.scratch_bytes) else None


def issue_early(load: tl.LoadRegionOp, machine: Machine) -> None:
    """Move a load up to the product before it in its block, for which PE_CPU does not wait: it does for what comes
    between them. It stays where it is if memory is written in between, or if the scratch has no room.
    """
    block = load.parent
    assert block is not None
    before = [op for op in _between(block.first_op, load) if _holds_product(op)]
    if not before:
        return
    passed = _between(before[-1], load)
    moved = [op for op in slice_of(block, load) if op in passed]
    if before[-1] in moved or not all(map(is_cheap, moved[:-1])) or any(map(writer_in, passed)):
        return
    if fits_throughout(passed, block_bytes(load), machine.pe.tcm.scratch_bytes):
        for op in moved:
            op.detach()
        block.insert_ops_after(moved, before[-1])


def _holds_product(op: Operation) -> bool:
    return isinstance(op, tl.DotOp | tl.GemmOp) or (isinstance(op, tl.CompositeOp) and op.product is not None)


def _between(first: Operation | None, last: Operation) -> Sequence[Operation]:
    """The ops from `first` to `last` in their block, with both."""
    ops, at = list[Operation](), first
    while at is not None and at is not last:
        ops.append(at)
        at = at.next_op
    return [*ops, last]
