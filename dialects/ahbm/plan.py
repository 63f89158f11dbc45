"""Whether the `pe` plan of a composite agrees with its op list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, Block

from ..pe import DmaReadOp, DmaWriteOp, OnceOp, SpecStage, TilesOp
from ..region import RegionType
from .types import SpecAttr


def plan_faults(plan: Block, specs: Sequence[SpecAttr], parts: Sequence[Attribute]) -> Iterator[str]:
    """Where a plan and the op list of its composite disagree: every op once, in its phase; DMA where, and only where,
    a part is in HBM.
    """
    gemm = next((i for i, spec in enumerate(specs) if spec.is_gemm), None)
    want: dict[str, list[int]] = {"before": [], "k": [], "output": [], "after": []}
    for number, spec in enumerate(specs):
        after = gemm is not None and number > gemm
        phase = {"k_tile": "k", "output_tile": "output"}.get(spec.scope.data, "after" if after else "before")
        want[phase].append(number)
    have: dict[str, list[int]] = {"before": [], "k": [], "output": [], "after": []}
    tiles: TilesOp | None = None
    written: list[int] = []
    for op in plan.ops:
        match op:
            case OnceOp():
                have["after" if tiles else "before"].append(op.number)
            case TilesOp():
                if tiles is not None:
                    yield "a plan has one loop over tiles"
                tiles = op
                have["k"] += [s.number for s in op.k_body.block.ops if isinstance(s, SpecStage)]
                have["output"] += [s.number for s in op.output_body.block.ops if isinstance(s, SpecStage)]
            case DmaWriteOp() if gemm is None and op.next_op is None:
                written.append(op.number)
            case _:
                yield f"{op.name} cannot stand in a plan outside pe.tiles"
    for phase, numbers in want.items():
        if have[phase] != numbers:
            yield f"the plan runs ops {have[phase]} {_PHASES[phase]}, the composite's are {numbers}"
    if written:
        yield from _write_faults(written, specs[-1].out.data, parts)
    if tiles is not None and gemm is not None:
        if tiles.streamed is not None:
            yield from _stream_faults(tiles, specs[gemm], parts)
        elif moved := [op.number for op in tiles.walk() if isinstance(op, DmaReadOp | DmaWriteOp)]:
            yield f"the plan moves parts {moved} by DMA before its DMA stages are in; insert-dma-stages puts them there"


_PHASES = {"before": "before the tiles", "k": "per K tile", "output": "per output tile", "after": "after the tiles"}


def _stream_faults(tiles: TilesOp, gemm: SpecAttr, parts: Sequence[Attribute]) -> Iterator[str]:
    in_hbm = [n for n in gemm.operand_numbers if isinstance(parts[n], RegionType)]
    reads = [op.number for op in tiles.k_body.block.ops if isinstance(op, DmaReadOp)]
    if reads != in_hbm:
        yield f"the plan reads parts {reads} from HBM, but {in_hbm} are streamed"
    writes = [op.number for op in tiles.output_body.block.ops if isinstance(op, DmaWriteOp)]
    yield from _write_faults(writes, gemm.out.data, parts)


def _write_faults(writes: list[int], out: int, parts: Sequence[Attribute]) -> Iterator[str]:
    expected = [out] if isinstance(parts[out], RegionType) else []
    if writes != expected:
        yield f"the plan writes parts {writes} to HBM, but the output asks for {expected}"
