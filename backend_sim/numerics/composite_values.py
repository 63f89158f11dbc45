"""What a composite command does to bytes, as a whole: per composite, not per tile, with float32 sums of its GEMM.

The op list is walked in its order; the `pe` plan says when tiles move and nothing of values. Blocks are computed in
full, valid lanes and padding alike, as the reference does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from ...dialects import ahbm, pe
from ...dialects.ahbm.types import NO_OUT, RUNNING_TILE, Scope, SpecAttr
from ...dialects.errors import Category, Place, fail, place_of
from ...dialects.region import operand_element
from .commands import Effect, Operands, PeMemory, content, put
from .dtypes import Array, DType, convert, is_float, numpy_dtype
from .elementwise import product
from .math_kinds import MathFunction, math_function
from .operands import Buffer
from .regions import Region


def _part_dtype(kind: Attribute) -> DType:
    return numpy_dtype(operand_element(kind))


def _accumulator(dtype: DType) -> DType:
    """What the GEMM sums products of `dtype` in."""
    if not is_float(dtype):
        return np.dtype(np.int32)
    return dtype if dtype == np.float64 else np.dtype(np.float32)


@dataclass(frozen=True)
class _MathSpec:
    """A compiled MATH op spec."""

    function: MathFunction
    operands: tuple[int, ...]
    out: int
    axis: int | None
    reduces: bool
    to: DType | None

    def aligned(self, blocks: Sequence[Array]) -> list[Array]:
        """The operands with those of lower rank repeated along the axis of the op; a reduction takes its one as it
        is.
        """
        if self.axis is None or self.reduces:
            return list(blocks)
        rank = max(block.ndim for block in blocks)
        return [np.expand_dims(b, self.axis) if 0 < b.ndim == rank - 1 else b for b in blocks]


def _compile_math(spec: SpecAttr, place: Place | None) -> _MathSpec:
    kind, extras = spec.kind.data, spec.extras.data
    if kind not in ahbm.math.MATH_KINDS:
        raise fail(f"'{kind}' is a recipe and no op", place, Category.INVALID_IR, hint="run expand-recipes first")
    axis = extras.get("axis")
    number = axis.value.data if isinstance(axis, IntegerAttr) else None
    function = math_function(kind, axis=number, is_unsigned="unsigned" in extras)
    to = numpy_dtype(extras["to"]) if "to" in extras else None
    return _MathSpec(function, spec.operand_numbers, spec.out.data, number, kind.startswith("reduce_"), to)


class _Instance:
    """One run of a composite: the parts of the instance, the running tile, and tiles of parts that k_tile ops have
    changed.
    """

    def __init__(self, parts: Operands, dtypes: Sequence[DType], memory: PeMemory, place: Place | None):
        self.parts, self.dtypes, self.memory, self.place = parts, dtypes, memory, place
        self.running: Array = np.zeros(())
        self.changed: dict[int, Array] = {}

    def value(self, number: int) -> Array:
        """The block that a spec's operand names."""
        if number == RUNNING_TILE:
            return self.running
        if number in self.changed:
            return self.changed[number]
        part = self.parts[number]
        if isinstance(part, Region):
            return self.memory.space.read_region(part, self.place)
        return content(part, self.dtypes[number], self.memory)

    def factor(self, number: int) -> Array:
        """An operand of the GEMM; a region comes as float32 where that is what the GEMM sums in."""
        part = self.parts[number]
        if isinstance(part, Region) and number not in self.changed and _accumulator(part.dtype) == np.float32:
            return self.memory.space.read_float32(part, self.place)
        return self.value(number)

    def change(self, number: int, spec: _MathSpec) -> None:
        """Carry out an op on the tiles of a part: a cast gives them another type, whatever else keeps it."""
        tiles = self.value(number)
        dtype = spec.to or tiles.dtype
        made = np.asarray(spec.function(spec.aligned([self.value(n) for n in spec.operands]), dtype))
        self.changed[number] = np.broadcast_to(convert(made, dtype), tiles.shape)

    def store(self, number: int, block: Array) -> None:
        """Write a block to a part, rounded to its element type."""
        part = self.parts[number]
        if isinstance(part, Region):
            whole = np.broadcast_to(convert(block, part.dtype), part.sizes)
            self.memory.space.write_region(part, whole, self.place)
        else:
            assert isinstance(part, Buffer)
            put(block, part, self.memory)

    def compute(self, spec: _MathSpec) -> Array:
        out = spec.to or (self.running.dtype if spec.out == NO_OUT else self.dtypes[spec.out])
        return np.asarray(spec.function(spec.aligned([self.value(n) for n in spec.operands]), out))


@dataclass(frozen=True)
class _Program:
    """A compiled composite: its specs by phase."""

    before: tuple[_MathSpec, ...]
    on_tiles: tuple[tuple[int, _MathSpec], ...]
    gemm: tuple[int, int, int] | None
    on_products: tuple[_MathSpec, ...]
    on_outputs: tuple[_MathSpec, ...]
    after: tuple[_MathSpec, ...]
    dtypes: tuple[DType, ...]
    factor: DType
    k_tile: int
    place: Place | None

    def run(self, operands: Operands, memory: PeMemory) -> None:
        run = _Instance(operands[: len(self.dtypes)], self.dtypes, memory, self.place)
        for spec in self.before:
            run.store(spec.out, run.compute(spec))
        for part, spec in self.on_tiles:
            run.change(part, spec)
        if self.gemm is not None:
            self._multiply(run, self.gemm, operands[len(self.dtypes) :])
        for spec in self.after:
            run.store(spec.out, run.compute(spec))

    def _multiply(self, run: _Instance, gemm: tuple[int, int, int], extents: Sequence[int]) -> None:
        a_number, b_number, out = gemm
        a, b = run.factor(a_number), run.factor(b_number)
        # Tiles beyond the K of the command are not made, whatever its operands hold there.
        k = extents[2]
        assert k <= min(a.shape[1], b.shape[0]), "an operand that is shorter than the K of its GEMM"
        a, b = a[:, :k], b[:k]
        total = _accumulator(self.factor)
        if self.on_products:
            run.running = self._in_tiles(run, a, b, total)
        else:
            run.running = product(a, b, None, total)
        for spec in self.on_outputs:
            # An op that names the GEMM's own output changes the tile on its way there; another out is one more output.
            if spec.out in (NO_OUT, out):
                run.running = run.compute(spec)
            else:
                run.store(spec.out, run.compute(spec))
        run.store(out, run.running)

    def _in_tiles(self, run: _Instance, a: Array, b: Array, total: DType) -> Array:
        """The sum over K tiles of what the ops inside the accumulation make of each product."""
        accumulated = np.zeros((a.shape[0], b.shape[1]), total)
        for k in range(0, a.shape[1], self.k_tile):
            run.running = product(a[:, k : k + self.k_tile], b[k : k + self.k_tile], None, total)
            for spec in self.on_products:
                run.running = run.compute(spec)
            accumulated = accumulated + run.running
        return accumulated


def _k_tile(op: ahbm.CompositeOp) -> int:
    tiles = next((t for block in op.plan.blocks for t in block.ops if isinstance(t, pe.TilesOp)), None)
    if tiles is None:
        raise fail(
            "ops inside the K accumulation need the size of its tiles",
            place_of(op.location),
            Category.INVALID_IR,
            hint="run tile-composites first",
        )
    return tiles.shape[1]


def composite(op: Operation) -> Effect:
    """The effect of a composite whose recipes are expanded. Its operands are the parts, then the extents."""
    assert isinstance(op, ahbm.CompositeOp)
    place, number = place_of(op.location), op.gemm_number
    phases: Mapping[str, list[_MathSpec]] = {p: [] for p in ("before", "products", "outputs", "after")}
    on_tiles = [(part, _compile_math(op.specs.data[n], place)) for n, part in op.on_tiles.items()]
    gemm: tuple[int, int, int] | None = None
    for position, spec in enumerate(op.specs):
        if spec.is_gemm:
            gemm = (*spec.operand_numbers[:2], spec.out.data)  # pyright: ignore[reportAssignmentType]
            continue
        if position in op.on_tiles:
            continue
        behind = number is not None and position > number
        phase = {Scope.K_TILE.value: "products", Scope.OUTPUT_TILE.value: "outputs"}.get(
            spec.scope.data, "after" if behind else "before"
        )
        phases[phase].append(_compile_math(spec, place))
    program = _Program(
        tuple(phases["before"]),
        tuple(on_tiles),
        gemm,
        tuple(phases["products"]),
        tuple(phases["outputs"]),
        tuple(phases["after"]),
        tuple(_part_dtype(kind) for kind in op.part_types),
        numpy_dtype(op.factor_elements[0]) if gemm is not None else np.dtype(np.float32),
        _k_tile(op) if phases["products"] else 0,
        place,
    )
    return program.run
