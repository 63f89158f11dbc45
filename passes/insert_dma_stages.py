"""`insert-dma-stages`: DMA stages of a plan follow from where the parts of the composite lie."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..dialects import ahbm, pe
from ..dialects.region import RegionType


@dataclass(frozen=True)
class InsertDmaStagesPass(ModulePass):
    """Put a `pe.dma_read` before the fetch of each GEMM operand in HBM, a `pe.dma_write` after the store to HBM.

    before:  pe.tiles k { pe.fetch ; pe.gemm } output { pe.store }
    after:   pe.tiles {streamed} k { pe.dma_read {part = 1} ; pe.fetch ; pe.gemm } output { pe.store ; pe.dma_write }

    Staged operands get none. Without a GEMM there are no tiles, and the write stands behind the last op if that writes
    HBM. The attribute `streamed` says that the stages are in; the verifier compares them with the parts.

    needs:   `tile-composites`.
    keeps:   everything else; a plan that has its stages is left alone.
    options: none
    """

    name = "insert-dma-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for composite in [each for each in op.walk() if isinstance(each, ahbm.CompositeOp)]:
            for tiles in [each for each in composite.plan.walk() if isinstance(each, pe.TilesOp)]:
                if tiles.streamed is None:
                    _insert(composite, tiles)
            if composite.written_back_by is not None and composite.planned:
                _write_back(composite)


def _insert(composite: ahbm.CompositeOp, tiles: pe.TilesOp) -> None:
    number = composite.gemm_number
    assert number is not None
    gemm = composite.specs.data[number]
    in_hbm = [n for n in gemm.operand_numbers if isinstance(composite.parts[n].type, RegionType)]
    reads = [pe.DmaReadOp(n) for n in in_hbm]
    out = gemm.out.data
    writes = [pe.DmaWriteOp(out)] if isinstance(composite.parts[out].type, RegionType) else []
    stages: list[Operation] = [*reads, *writes]
    for op in stages:
        op.location = composite.location
    k, output = tiles.k_body.block, tiles.output_body.block
    assert k.first_op is not None
    k.insert_ops_before(reads, k.first_op)
    output.add_ops(writes)
    tiles.properties["streamed"] = UnitAttr()


def _write_back(composite: ahbm.CompositeOp) -> None:
    """Put the write of what the last op of a composite without a GEMM leaves behind that op."""
    last = composite.plan.block.last_op
    if isinstance(last, pe.OnceOp):
        write = pe.DmaWriteOp(composite.specs.data[last.number].out.data)
        write.location = composite.location
        composite.plan.block.add_op(write)
