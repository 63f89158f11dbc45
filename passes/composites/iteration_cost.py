"""What one iteration of a loop costs when its loads are issued early, as composites and as single-op commands.

The loop then takes as long as what is busy longest: the slice that it reads from, the GEMM engine (which pads the
tiles of composites), or PE_CPU, which single-op commands hold until they have ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation

from ...backend_sim.target.cost import (
    GEMM_ELEMENTS,
    composite_gemm_ps,
    gemm_ps,
    gemm_tile_ps,
    issue_ps,
    math_ps,
    single_gemm_ps,
)
from ...backend_sim.target.machine import Machine
from ...backend_sim.target.quantities import service_ps
from ...dialects import tl
from ...dialects.ahbm.commands import DMA_BYTES, GEMM_BYTES
from ...dialects.ahbm.math import MATH_BYTES
from ...dialects.ahbm.types import HANDLE_BYTES
from ...dialects.region import RegionType, operand_element
from ...dialects.shapes import element_bytes, is_float, shape_of
from ..commands.math_kinds import is_lane_by_lane, math_kind
from ..recipe import Row
from .gemm_choice import cases_of, mean_ps, sharers_of


def single_ops_are_faster(loop: scf.ForOp, machine: Machine) -> bool:
    """Whether the products of a loop had better be single-op commands, all of its loads being issued early."""
    read = sum(block_bytes(op) * sharers_of(op.result) for op in _ops(loop) if isinstance(op, tl.LoadRegionOp))
    slice_ps = service_ps(read, machine.hbm.slice_gb_per_s)
    return max(slice_ps, _cpu_ps(loop, machine)) < max(slice_ps, products_ps(loop, machine))


def single_ops_are_faster_once(rows: Sequence[Row], product: tl.DotOp, machine: Machine) -> bool:
    """The same where no loop repeats them: the rows of a recipe and the product that takes what they make.

    MATH takes as long both ways; the issue of the composite hides behind what it waits for.
    """
    issue = issue_ps(machine, MATH_BYTES + 2 * HANDLE_BYTES, composite=False) + machine.pe.sched.entry_engine_ps
    # A row with a difference in it is two ops of a kernel.
    count = sum(2 if row.kind.endswith("_diff") else 1 for row in rows)
    cases = [(replace(facts, a_in_tcm=True, b_in_tcm=True), n) for facts, n in cases_of(product, machine)]
    single = count * issue + mean_ps(cases, lambda facts: single_gemm_ps(machine, facts))
    hidden = issue_ps(machine, 0, composite=True)
    return single < mean_ps(cases, lambda facts: composite_gemm_ps(machine, facts)) - hidden


def products_ps(loop: scf.ForOp, machine: Machine) -> int:
    """How long the GEMM engine is busy with the tiles of an iteration."""
    total = 0
    for op in _ops(loop):
        if isinstance(op, tl.DotOp | tl.GemmOp):
            element = str(operand_element(op.a.type))
            if element in GEMM_ELEMENTS:
                tiles = prod(-(-lanes // tile) for lanes, tile in zip(_extents(op), machine.pe.gemm.tile, strict=True))
                total += tiles * gemm_tile_ps(machine, element)
    return total


def block_bytes(load: tl.LoadRegionOp) -> int:
    """Bytes of the block that a load gives."""
    return prod(shape_of(load.result.type)) * element_bytes(load.result.type)


def _ops(loop: scf.ForOp) -> Iterator[Operation]:
    return (op for op in loop.walk() if op is not loop)


def _extents(op: tl.DotOp | tl.GemmOp) -> tuple[int, int, int]:
    """(M, K, N) of a product as far as its blocks tell; K of two regions is not known and counts as one tile."""
    rows, columns = shape_of(op.result.type)[-2:]
    k = 1
    for operand, axis in ((op.a, -1), (op.b, -2)):
        if not isinstance(operand.type, RegionType):
            k = shape_of(operand.type)[axis]
    return rows, k, columns


def _cpu_ps(loop: scf.ForOp, machine: Machine) -> int:
    """How long PE_CPU is held by an iteration of single-op commands, their operands being there."""

    def issue(logical_bytes: int) -> int:
        return issue_ps(machine, logical_bytes, composite=False)

    def math(kind: str, operands: int, elements: int) -> int:
        return issue(MATH_BYTES + HANDLE_BYTES * operands) + entry + math_ps(machine, kind, elements)

    entry, total = machine.pe.sched.entry_engine_ps, 0
    for op in _ops(loop):
        if isinstance(op, tl.LoadRegionOp):
            total += issue(DMA_BYTES)
        elif isinstance(op, tl.DotOp | tl.GemmOp):
            element = str(operand_element(op.a.type))
            if element in GEMM_ELEMENTS:
                total += issue(GEMM_BYTES) + entry + gemm_ps(machine, *_extents(op), element)
            if op.acc is not None:
                total += math("add", 2, prod(shape_of(op.result.type)))
        elif (is_lane_by_lane(op) or isinstance(op, tl.ReduceOp)) and _is_computed(op):
            elements = max(prod(shape_of(v.type)) for v in (*op.operands, *op.results))
            total += math(math_kind(op), len(op.operands), elements)
    return total


def _is_computed(op: Operation) -> bool:
    """Blocks of integers are indices for the most part, which cost nothing."""
    return any(shape_of(v.type) and is_float(v.type) for v in op.operands)
