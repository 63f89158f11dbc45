"""The `pe` dialect: what PE_SCHED streams for one composite, as the region of its `ahbm.composite`.

Loops over tiles stay rolled: `pe.tiles` has one body per K tile and one per output tile, whatever the number of
tiles. Stages stand in the order in which one tile goes through them; a spec or a part is named by its number in the
composite. Without a GEMM there are no tiles: all ops run once, and `pe.dma_write` behind the last one sends its result.

    pe.once {spec = 0 : i64}
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.dma_read {part = 0 : i64}
      pe.fetch
      pe.gemm {spec = 1 : i64}
    } output {
      pe.math {spec = 2 : i64}
      pe.store {part = 2 : i64}
      pe.dma_write {part = 2 : i64}
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, UnitAttr, i64
from xdsl.ir import Block, Dialect, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import NoTerminator

from .shapes import require


class SpecStage(IRDLOperation):
    """A stage that carries out one op of the composite."""

    spec = prop_def(IntegerAttr[IntegerType])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, spec: int):
        super().__init__(properties={"spec": IntegerAttr(spec, i64)})

    @property
    def number(self) -> int:
        return self.spec.value.data


class PartStage(IRDLOperation):
    """A stage that moves a tile of one part of the composite."""

    part = prop_def(IntegerAttr[IntegerType])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, part: int):
        super().__init__(properties={"part": IntegerAttr(part, i64)})

    @property
    def number(self) -> int:
        return self.part.value.data


@irdl_op_definition
class OnceOp(SpecStage):
    """A MATH op that runs once, before the tiles or after them."""

    name = "pe.once"


@irdl_op_definition
class GemmOp(SpecStage):
    """The GEMM of one tile."""

    name = "pe.gemm"


@irdl_op_definition
class MathOp(SpecStage):
    """A MATH op on one tile: of an operand before the GEMM, of the sum after it."""

    name = "pe.math"


@irdl_op_definition
class DmaReadOp(PartStage):
    """Read the tile of a streamed part from HBM to TCM."""

    name = "pe.dma_read"


@irdl_op_definition
class DmaWriteOp(PartStage):
    """Write an output tile, or the result of the last op where there are no tiles, to HBM."""

    name = "pe.dma_write"


@irdl_op_definition
class StoreOp(PartStage):
    """Move an output tile from the engine's registers to TCM."""

    name = "pe.store"


@irdl_op_definition
class FetchOp(IRDLOperation):
    """Move the tiles of a and b from TCM to the engine's registers; edges are padded here."""

    name = "pe.fetch"
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


K_STAGES = (DmaReadOp, FetchOp, GemmOp, MathOp)
OUTPUT_STAGES = (MathOp, StoreOp, DmaWriteOp)


@irdl_op_definition
class TilesOp(IRDLOperation):
    """The loop over the tiles of a GEMM, m outermost, k innermost. `streamed` says that the DMA stages are in."""

    name = "pe.tiles"

    tile = prop_def(DenseArrayBase.constr(i64))
    streamed = opt_prop_def(UnitAttr)
    k_body = region_def("single_block")
    output_body = region_def("single_block")
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoTerminator())
    assembly_format = "attr-dict `k` $k_body `output` $output_body"

    def __init__(
        self, tile: Sequence[int], k: Sequence[Operation], output: Sequence[Operation], *, streamed: bool = False
    ):
        super().__init__(
            properties={
                "tile": DenseArrayBase.from_list(i64, tile),
                "streamed": UnitAttr() if streamed else None,
            },
            regions=[Region(Block(k)), Region(Block(output))],
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Tile sizes (m, k, n)."""
        m, k, n = self.tile.get_values()
        return m, k, n

    def verify_(self) -> None:
        sizes = self.tile.get_values()
        require(len(sizes) == 3 and all(n > 0 for n in sizes), "a tile has three sizes: m, k and n")
        for body, allowed in ((self.k_body, K_STAGES), (self.output_body, OUTPUT_STAGES)):
            for op in body.block.ops:
                names = ", ".join(stage.name for stage in allowed)
                require(isinstance(op, allowed), "{} as a stage where only {} can stand", op.name, names)


PE = Dialect("pe", [OnceOp, TilesOp, DmaReadOp, FetchOp, GemmOp, MathOp, StoreOp, DmaWriteOp], [])
