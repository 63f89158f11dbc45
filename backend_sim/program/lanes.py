"""Many programs of a launch at once: which of them run alike, found by running the kernel's scalars on a lane per
program.

A scalar that is the same for all programs stays a number; one that is not becomes an array with an element per
program. Command ops then give columns: what the time of the command depends on (bytes, slices, extents, overlaps),
per program. Programs with equal columns run alike (`alike.py` finds the same from command instances, one program at a
time). Where control flow differs between programs, or an address is not affine, there are no lanes and each program
is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith, func
from xdsl.ir import Operation

from ...dialects import ahbm, tl
from ...dialects.elementwise import BY_OP
from ...dialects.pointer import PointerType
from ...dialects.region import RegionType
from ..memory import Memory
from ..numerics.closures import Builder, Code, Handler, Slots, Step, compile_function
from ..numerics.dtypes import Array, convert, numpy_dtype
from ..numerics.elementwise import compare, function_of
from ..numerics.operand_ops import OPERAND_HANDLERS
from ..numerics.regions import Region
from ..numerics.scalars import SCALAR_HANDLERS
from .accesses import HbmView

Ints = npt.NDArray[np.int64]
# The same for all programs, or one for each.
Lane = Any
Ids = Sequence[tuple[int, int, int]]

# Below this many programs it is quicker to look at each.
FEWEST = 32
# More accesses than this make more overlaps to compare than programs are worth.
_MOST_ACCESSES = 256


class _NoLanes(Exception):
    """The kernel cannot be run on lanes."""


@dataclass(frozen=True)
class Alike:
    """A class number for each program: programs of one class run alike. `slices` are all that they touch (by owner)."""

    classes: list[int]
    slices: frozenset[int]


class Lanes:
    """The kernel of a launch, compiled to run on lanes."""

    def __init__(self, function: func.FuncOp, grid: tuple[int, int, int], memory: Memory):
        self._grid = grid
        self._memory = memory
        self._bases = np.array([located.base for located in memory.located], dtype=np.int64)
        self._ids: list[tuple[int, int]] = []
        self._columns: list[Lane] = []
        self._access: list[tuple[Lane, Lane, bool]] = []
        self._slices: set[int] = set()
        self._count = 0
        self._view: HbmView | None = None
        self._code: Code = compile_function(function, self._handlers())

    def alike(self, arguments: Sequence[Any], ids: Ids, view: HbmView) -> Alike | None:
        """Which of the programs `ids` run alike on the PE of `view`; None where lanes cannot tell."""
        if self._memory.machine.hbm.strided == "bursts":
            return None  # which channels a transfer falls on depends on its very address
        self._columns, self._access, self._slices = [], [], set()
        self._count, self._view = len(ids), view
        slots = self._code.frame(arguments)
        numbers = np.array(ids, dtype=np.int32).reshape(-1, 3)
        for axis, slot in self._ids:
            values = numbers[:, axis]
            slots[slot] = int(values[0]) if (values == values[0]).all() else values
        try:
            with np.errstate(all="ignore"):
                self._run(slots)
            self._overlaps()
        except _NoLanes:
            return None
        return Alike(self._classes(), frozenset(self._slices))

    def _run(self, slots: Slots) -> None:
        at = 0
        while at >= 0:
            block = self._code.blocks[at]
            try:
                for step in block.steps:
                    step(slots)
                at = block.exit(slots)
            except ValueError:  # numpy: the truth of an array. The programs go different ways, or cross other folds.
                raise _NoLanes from None

    def _classes(self) -> list[int]:
        varying = [_int64(c, self._count) for c in self._columns if not isinstance(c, int)]
        if not varying:
            return [0] * self._count
        rows = np.stack(varying, axis=1)
        _, classes = np.unique(rows, axis=0, return_inverse=True)
        return classes.reshape(-1).tolist()

    def _overlaps(self) -> None:
        """Columns that say which accesses touch the bytes of a write."""
        if len(self._access) > _MOST_ACCESSES:
            raise _NoLanes
        for i, (first, end, is_write) in enumerate(self._access):
            if is_write:
                for j, (other, other_end, _) in enumerate(self._access):
                    if i != j:
                        self._columns.append(np.logical_and(other < end, first < other_end))

    # Handlers.

    def _handlers(self) -> Mapping[str, Handler]:
        quiet = ("gemm", "math", "copy", "wait", "cycles", "fill")
        return {
            **OPERAND_HANDLERS,
            **{name: _on_lanes(name) for name in SCALAR_HANDLERS if name != "arith.constant"},
            **{f"ahbm.{name}": _nothing for name in quiet},
            **dict.fromkeys(("ahbm.read_scalar", "ahbm.gather", "ahbm.scatter", "ahbm.atomic", "ahbm.cut"), _refuse),
            "ahbm.addptr": _addptr,
            "ahbm.program_id": self._program_id,
            "ahbm.num_programs": self._num_programs,
            "ahbm.dma_read": self._transfer,
            "ahbm.dma_write": self._transfer,
            "ahbm.load_scalar": self._element,
            "ahbm.store_scalar": self._element,
            "ahbm.composite": self._composite,
        }

    def _program_id(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.ProgramIdOp)
        self._ids.append((op.axis.value.data, builder.slot(op.result)))

    def _num_programs(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.NumProgramsOp)
        builder.constant(op.result, self._grid[op.axis.value.data])

    def _transfer(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.DmaReadOp | ahbm.DmaWriteOp)
        region, is_write = builder.slot(op.region), isinstance(op, ahbm.DmaWriteOp)
        return lambda slots: self._touch_region(slots[region], is_write)

    def _composite(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.CompositeOp)
        written = {*op.written, *op.outs}
        regions = [(builder.slot(p), i in written) for i, p in enumerate(op.parts) if isinstance(p.type, RegionType)]
        extents = builder.slots(op.extents)

        def step(slots: Slots) -> None:
            self._columns += [slots[extent] for extent in extents]
            for region, is_write in regions:
                self._touch_region(slots[region], is_write)

        return step

    def _element(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.LoadScalarOp | ahbm.StoreScalarOp)
        pointer, is_write = builder.slot(op.pointer), isinstance(op, ahbm.StoreScalarOp)
        assert isinstance(op.pointer.type, PointerType)
        size = numpy_dtype(op.pointer.type.element_type).itemsize
        return lambda slots: self._touch(slots[pointer], slots[pointer] + size, True, is_write)

    # What a command touches.

    def _touch_region(self, region: Region, is_write: bool) -> None:
        low: Lane = region.offset
        high: Lane = region.offset
        count: Lane = 1
        for axis in region.axes:
            if not axis.affine:
                raise _NoLanes
            ends = axis.stride * axis.lo, axis.stride * (axis.hi - 1)
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
            count = count * np.maximum(0, axis.hi - axis.lo)
        itemsize = region.dtype.itemsize
        self._columns.append(count)
        self._touch(region.base + low * itemsize, region.base + (high + 1) * itemsize, count > 0, is_write)

    def _touch(self, first: Lane, end: Lane, some: Lane, is_write: bool) -> None:
        """An access to [first, end), in those programs in which it touches anything (`some`)."""
        assert self._view is not None
        touching = np.broadcast_to(some, self._count)
        lows, ends = _int64(first, self._count)[touching], _int64(end, self._count)[touching]
        if not touching.any():
            return
        numbers = np.searchsorted(self._bases, lows, "right") - 1
        located = self._memory.located[max(0, int(numbers[0]))]
        if (numbers != numbers[0]).any() or numbers[0] < 0 or (ends > located.end).any():
            raise _NoLanes  # several tensors, or outside of all: looking at each program tells
        starts, owners = located.seen_by(self._view.pe)
        piece = np.searchsorted(starts, lows - located.base, "right") - 1
        if (np.searchsorted(starts, ends - 1 - located.base, "right") - 1 != piece).any():
            raise _NoLanes  # a transfer that is cut over slices
        owner = np.full(self._count, -1, dtype=np.int64)
        owner[touching] = owners[piece]
        self._slices.update(owners[np.flatnonzero(np.bincount(piece))].tolist())
        self._columns.append(owner)
        bounds = np.zeros((2, self._count), dtype=np.int64)
        bounds[0, touching], bounds[1, touching] = lows, ends
        self._access.append((bounds[0], bounds[1], is_write))


def _int64(values: Lane, count: int) -> Ints:
    return np.broadcast_to(np.asarray(values, dtype=np.int64), count)


def _nothing(op: Operation, builder: Builder) -> None:
    """A command whose time is the same in all programs."""


def _refuse(op: Operation, builder: Builder) -> Step:
    def step(slots: Slots) -> None:
        raise _NoLanes

    return step


def _addptr(op: Operation, builder: Builder) -> Step:
    """Addresses take 64 bits, whatever type the offset has."""
    assert isinstance(op, ahbm.AddPtrOp) and isinstance(op.pointer.type, PointerType)
    itemsize = numpy_dtype(op.pointer.type.element_type).itemsize
    pointer, offset, out = builder.slot(op.pointer), builder.slot(op.offset), builder.slot(op.result)

    def step(slots: Slots) -> None:
        by: Lane = slots[offset]
        slots[out] = slots[pointer] + (by if isinstance(by, int) else np.asarray(by, np.int64)) * itemsize

    return step


def _on_lanes(name: str) -> Handler:
    """The handler of a scalar op: as ever on numbers, lane by lane as soon as an operand is an array."""

    def handler(op: Operation, builder: Builder) -> Step | None:
        on_numbers, on_arrays = SCALAR_HANDLERS[name](op, builder), _array_function(op)
        sources, out = builder.slots(op.operands), builder.slot(op.results[0])
        dtypes = [numpy_dtype(v.type) for v in op.operands]
        assert on_numbers is not None

        def step(slots: Slots) -> None:
            values = [slots[s] for s in sources]
            if any(isinstance(v, np.ndarray) for v in values):
                slots[out] = on_arrays(*[np.asarray(v, dtype) for v, dtype in zip(values, dtypes, strict=True)])
            else:
                on_numbers(slots)

        return step

    return handler


def _array_function(op: Operation) -> Callable[..., Any]:
    if op.name in BY_OP:
        return function_of(BY_OP[op.name])
    match op:
        case arith.CmpiOp():
            return compare(arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data])
        case tl.CmpOp():
            return compare(op.predicate.data)
        case arith.SelectOp() | tl.SelectOp():
            return np.where
        case arith.BitcastOp():
            kind = numpy_dtype(op.result.type)

            def bits(values: Array) -> Array:
                return values.view(kind)

            return bits
        case _:
            target = numpy_dtype(op.results[0].type)
            is_unsigned = op.name == "arith.extui" or (isinstance(op, tl.CastOp) and op.unsigned is not None)

            def cast(values: Array) -> Any:
                return convert(values, target, is_unsigned=is_unsigned)

            return cast
