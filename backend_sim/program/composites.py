"""Composites as closures: from the `pe` plan of an `ahbm.composite` to the composite instances that the engine
takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from xdsl.ir import Operation

from ...dialects import ahbm, pe
from ...dialects.ahbm.commands import CommandOp
from ...dialects.ahbm.types import SpecAttr
from ...dialects.errors import Category, Place, fail, place_of
from ...dialects.region import operand_element
from ...dialects.shapes import element_bytes, shape_of
from ..engine.commands import Command, Composite, Once, Tiles, WriteBack
from ..numerics.closures import Builder, Slots, Step
from ..numerics.operands import Buffer
from ..target import cost
from ..target.machine import Machine
from .accesses import HbmView, shared_bytes
from .ranges import Ranges, ranges_of


class Site(Protocol):
    """What a composite asks of the program it is part of."""

    machine: Machine

    def site(self, op: CommandOp, label: str) -> int: ...
    def issue_ps(self, op: CommandOp) -> int: ...
    def view_slot(self, builder: Builder) -> int: ...


_Parts = Sequence[Any]
RangesOf = Callable[[Slots], Ranges]


@dataclass(frozen=True)
class _OnceOp:
    service_ps: int
    reads: RangesOf
    writes: RangesOf

    def instance(self, slots: Slots) -> Once:
        return Once(self.service_ps, self.reads(slots), self.writes(slots))


@dataclass(frozen=True)
class _TilesPlan:
    """The loop over tiles, everything known but extents and addresses. Parts are named by number."""

    a: int
    b: int
    stored: int
    tile: tuple[int, int, int]
    fetch_ps: int
    k_math_before_ps: int
    gemm_ps: int
    k_math_ps: int
    out_math_ps: int
    store_ps: int
    fetch_reads: RangesOf
    math_reads: RangesOf
    store_writes: RangesOf
    place: Place | None

    def instance(self, slots: Slots, parts: _Parts, extents: tuple[int, int, int], view: HbmView) -> Tiles | None:
        m, n, k = extents
        tile_m, tile_k, tile_n = self.tile
        across_m, across_n, across_k = -(-m // tile_m), -(-n // tile_n), -(-k // tile_k)
        if across_m <= 0 or across_n <= 0:
            return None
        empty = across_k <= 0  # a sum over nothing: zeros are stored, nothing is read
        a, b, stored = parts[self.a], parts[self.b], parts[self.stored]
        place, in_hbm = self.place, [p.__class__ is not Buffer for p in (a, b, stored)]
        reads_a, reads_b = in_hbm[0] and not empty, in_hbm[1] and not empty
        a_tiles = (
            view.stream(a, (tile_m, tile_k), (across_m, across_k), across_n, 1, "the load", place) if reads_a else None
        )
        b_tiles = (
            view.stream(b, (tile_k, tile_n), (across_k, across_n), across_m, 0, "the load", place) if reads_b else None
        )
        for name, operand, streamed in (("a", a, reads_a), ("b", b, reads_b)):
            if streamed and in_hbm[2] and (count := shared_bytes(operand, stored)):
                hint = f"write to other bytes, or load `{name}` before the composite"
                raise fail(f"a composite writes {count} bytes of what it streams as `{name}`", place, hint=hint)
        out = (
            view.stream(stored, (tile_m, tile_n), (across_m, across_n), 1, 1, "the store", place) if in_hbm[2] else None
        )
        return Tiles(
            across_m,
            across_n,
            1 if empty else across_k,
            a_tiles,
            b_tiles,
            out,
            0 if empty else self.fetch_ps,
            0 if empty else self.k_math_before_ps,
            0 if empty else self.gemm_ps,
            0 if empty else self.k_math_ps,
            self.out_math_ps,
            self.store_ps,
            self.fetch_reads(slots),
            self.math_reads(slots),
            self.store_writes(slots),
        )


def composite_maker(program: Site, op: Operation, builder: Builder) -> Step:
    """The closure that makes the instances of a composite op. Raises AhbmcError where it has no complete plan."""
    assert isinstance(op, ahbm.CompositeOp)
    place = place_of(op.location)
    if not op.planned:
        raise fail("a composite without a plan of its stages", place, Category.INVALID_IR, "run tile-composites first")
    specs, machine = list(op.specs), program.machine
    before: list[_OnceOp] = []
    after: list[_OnceOp] = []
    tiles: _TilesPlan | None = None
    back: int | None = None
    for stage in op.plan.block.ops:
        if isinstance(stage, pe.TilesOp):
            tiles = _tiles_plan(stage, op, builder, machine, place)
        elif isinstance(stage, pe.OnceOp):
            once = _once(specs[stage.number], op, builder, machine)
            (before if tiles is None else after).append(once)
        elif isinstance(stage, pe.DmaWriteOp):
            back = stage.number
    if op.written_back_by is not None and back is None:
        raise fail("a plan whose result is never written", place, Category.INVALID_IR, "run insert-dma-stages after it")
    parts, extents, view = builder.slots(op.parts), builder.slots(op.extents), program.view_slot(builder)
    sources = builder.slots(op.operands)
    site, issue = program.site(op, ", ".join(spec.kind.data for spec in specs)), program.issue_ps(op)
    changed = sorted({*op.written, *op.outs})
    all_reads, all_writes = ranges_of(op.parts, builder), _behind(op, changed, builder)

    def step(slots: Slots) -> Command:
        resolved = [slots[s] for s in parts]
        loop, flops = None, 0
        if tiles is not None:
            m, n, k = slots[extents[0]], slots[extents[1]], slots[extents[2]]
            loop, flops = tiles.instance(slots, resolved, (m, n, k), slots[view]), 2 * m * n * max(k, 0)
        reads, writes = all_reads(slots), all_writes(slots)
        if loop is not None:
            reads += tuple(s.range for s in (loop.a, loop.b) if s is not None)
            writes += (loop.out.range,) if loop.out is not None else ()
        written = None
        if back is not None:
            written = WriteBack(*slots[view].region(resolved[back], "the store", place))
            writes += (written.range,) if written.shares else ()
        return Composite(
            site,
            issue,
            tuple([once.instance(slots) for once in before]),
            loop,
            tuple([once.instance(slots) for once in after]),
            reads,
            writes,
            flops if loop is not None else 0,
            (op, [slots[s] for s in sources]),
            written,
        )

    return step


def _behind(op: ahbm.CompositeOp, numbers: Iterable[int], builder: Builder) -> RangesOf:
    """The bytes of scratch behind those parts that are buffers."""
    return ranges_of([op.parts[n] for n in numbers if n >= 0], builder)


def _once(spec: SpecAttr, op: ahbm.CompositeOp, builder: Builder, machine: Machine) -> _OnceOp:
    numbers, out = spec.operand_numbers, (spec.out.data,)
    elements = max(prod(shape_of(op.parts[n].type)) for n in (*numbers, *out) if n >= 0)
    service = cost.math_ps(machine, spec.kind.data, elements)
    return _OnceOp(service, _behind(op, numbers, builder), _behind(op, out, builder))


def _tiles_plan(
    loop: pe.TilesOp, op: ahbm.CompositeOp, builder: Builder, machine: Machine, place: Place | None
) -> _TilesPlan:
    specs, types = list(op.specs), op.part_types
    tile_m, tile_k, tile_n = loop.shape
    gemm = next(spec for spec in specs if spec.is_gemm)
    a, b = gemm.operand_numbers
    # Each MATH op of a tile runs over the tile it changes; in the order of the stages.
    before = after = 0
    on_tiles = op.on_tiles
    fetched_parts, math_operands = [a, b], list[int]()
    for stage in loop.k_body.block.ops:
        if not isinstance(stage, pe.MathOp):
            continue
        spec = specs[stage.number]
        if stage.number in on_tiles:
            lanes = tile_m if on_tiles[stage.number] == a else tile_n
            before += cost.math_ps(machine, spec.kind.data, tile_k * lanes)
            fetched_parts += spec.operand_numbers
        else:
            after += cost.math_ps(machine, spec.kind.data, tile_m * tile_n)
            math_operands += spec.operand_numbers
    out_math = 0
    stored: int | None = None
    for stage in loop.output_body.block.ops:
        if isinstance(stage, pe.MathOp):
            spec = specs[stage.number]
            math_operands += spec.operand_numbers
            out_math += cost.math_ps(machine, spec.kind.data, tile_m * tile_n)
        elif isinstance(stage, pe.StoreOp):
            stored = stage.number
    if stored is None:
        raise fail("a plan whose tiles are never stored", place, Category.INVALID_IR)
    fetched = tile_m * tile_k * element_bytes(operand_element(types[a])) + tile_k * tile_n * element_bytes(
        operand_element(types[b])
    )
    return _TilesPlan(
        a,
        b,
        stored,
        (tile_m, tile_k, tile_n),
        cost.fetch_ps(machine, fetched),
        before,
        cost.gemm_ps(machine, tile_m, tile_k, tile_n, str(op.factor_elements[0])),
        after,
        out_math,
        cost.store_ps(machine, tile_m * tile_n * element_bytes(operand_element(types[stored]))),
        _behind(op, dict.fromkeys(fetched_parts), builder),
        _behind(op, [n for n in math_operands if n not in (a, b)], builder),
        _behind(op, (stored,), builder),
        place,
    )
