"""Operands of products in loops that stay loads, so that `prefetch-loads` can issue them early, instead of being
streamed when their product runs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ...backend_sim.target.machine import Machine
from ...dialects import tl
from ..loops.ahead import writer_in
from .gemm_choice import BLOCKS_AHEAD, most_iterations
from .iteration_cost import block_bytes
from .scratch_estimate import fits_beside

InLoops: TypeAlias = Literal["stream", "load"]


def loop_of(op: Operation) -> scf.ForOp | None:
    """The loop whose body `op` stands in."""
    loop = op.parent_op()
    return loop if isinstance(loop, scf.ForOp) else None


def has_recipe(loop: scf.ForOp) -> bool:
    """Whether a composite of the body of a loop has a recipe."""
    return any(isinstance(op, tl.CompositeOp) and op.recipe is not None for op in loop.body.block.ops)


def is_alone(product: Operation) -> bool:
    """Whether a product is the only one of its loop: PE_CPU then issues composites one after the other, and what they
    stream is on its way as soon as the slice is free, while a load waits for a block that a composite has done with.
    """
    loop = loop_of(product)
    return loop is not None and sum(isinstance(op, tl.DotOp | tl.GemmOp) for op in loop.walk()) == 1


def loaded_ahead(product: Operation, value: SSAValue, machine: Machine) -> tl.LoadRegionOp | None:
    """The load of an operand that is to stay one: it stands in the same loop, which writes no memory (or the load could
    not move) and is long enough for blocks to be on their way while another is used, and there is room for them.
    """
    at = value.owner.operand if isinstance(value.owner, tl.TransOp) else value
    load = at.owner
    loop = loop_of(product)
    if not isinstance(load, tl.LoadRegionOp) or load.parent is not product.parent or loop is None:
        return None
    if writer_in(loop) is not None:
        return None
    most = most_iterations(loop)
    if most is not None and most < BLOCKS_AHEAD:
        return None
    more = (BLOCKS_AHEAD - 1) * block_bytes(load)
    return load if fits_beside(product, more, machine.pe.tcm.scratch_bytes) else None
