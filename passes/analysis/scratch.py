"""When each buffer of the kernel scratch is in use, and where it goes: lifetimes on the `ahbm` level, and a packing
of them.

A lifetime runs from the first to the last op that touches a buffer, in the order of the text; it is drawn out over a
loop whenever the buffer carries something from one iteration to the next or into or out of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import ahbm
from ...dialects.shapes import element_bytes
from .liveness import in_program_order

# Every buffer starts at a multiple of the widest element, so that no element straddles.
ALIGNMENT = 8


@dataclass(frozen=True)
class Lifetime:
    """A buffer, its size in bytes, aligned, and the first and last number of the ops that need it."""

    alloc: ahbm.AllocOp
    size: int
    first: int
    last: int

    @property
    def given(self) -> int | None:
        """The offset that the program itself gives, if any."""
        offset = self.alloc.offset
        return None if offset is None else offset.value.data

    def overlaps(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Packing:
    """Offsets of the buffers, in the order of the lifetimes, and the bytes that they need in all."""

    offsets: tuple[int, ...]
    size: int


def size_of(kind: ahbm.BufferType) -> int:
    """Bytes of a buffer."""
    return kind.element_count() * element_bytes(kind)


def lifetimes(function: func.FuncOp, *, whole_loops: bool = False) -> list[Lifetime]:
    """The lifetime of every allocation in TCM that is used, in the order of the allocations. `whole_loops`: what a loop
    uses lives as long as the loop.
    """
    return _Lifetimes(function, whole_loops).all()


def untouched(function: func.FuncOp) -> list[ahbm.AllocOp]:
    """The allocations in TCM without a place: no command uses them."""
    allocs = [op for op in function.walk() if isinstance(op, ahbm.AllocOp)]
    return [op for op in allocs if op.offset is None and _in_tcm(op) is not None]


@dataclass(frozen=True)
class _Touch:
    number: int
    op: Operation
    only_writes: bool


class _Lifetimes:
    def __init__(self, function: func.FuncOp, whole_loops: bool):
        self.whole_loops = whole_loops
        self.ops = in_program_order(function.body)
        self.number = {op: n for n, op in enumerate(self.ops)}
        self.last: dict[Operation, int] = {}
        for op in reversed(self.ops):
            inner = [block.last_op for region in op.regions for block in region.blocks]
            ends = [self.last[end] for end in inner if end is not None]
            self.last[op] = max([self.number[op], *ends])
        self.allocs = [op for op in self.ops if isinstance(op, ahbm.AllocOp) and op.result.type == _in_tcm(op)]
        self.sources = self._sources()

    def _sources(self) -> dict[SSAValue, dict[ahbm.AllocOp, None]]:
        """The allocations that each buffer value may be. Loops hand buffers on, so this runs until nothing is added."""
        found: dict[SSAValue, dict[ahbm.AllocOp, None]] = {op.result: {op: None} for op in self.allocs}
        grown = True
        while grown:
            grown = False
            for op in self.ops:
                for source, target in _flows(op):
                    have = found.setdefault(target, {})
                    before = len(have)
                    have.update(found.get(source, {}))
                    grown = grown or len(have) != before
        return found

    def all(self) -> list[Lifetime]:
        touches: dict[ahbm.AllocOp, list[_Touch]] = {op: [] for op in self.allocs}
        for op in self.ops:
            written = written_only(op)
            for operand in dict.fromkeys(op.operands):
                if isinstance(op, ahbm.ViewOp | ahbm.ReshapeOp):
                    continue
                for alloc in self.sources.get(operand, {}):
                    touches[alloc].append(_Touch(self.number[op], op, operand in written))
        found: list[Lifetime] = []
        for alloc, those in touches.items():
            if those:
                first, last = self._span(those)
                size = -(-size_of(alloc.result.type) // ALIGNMENT) * ALIGNMENT
                found.append(Lifetime(alloc, size, first, last))
        return found

    def _span(self, touches: list[_Touch]) -> tuple[int, int]:
        first, last = touches[0].number, touches[-1].number
        grown = True
        while grown:
            grown = False
            for loop in self._loops(touches):
                start, end = self.number[loop], self.last[loop]
                inside = [t for t in touches if start < t.number <= end]
                carries = len(inside) < len(touches) or first < start or last > end or not inside[0].only_writes
                if (carries or self.whole_loops) and (first > start or last < end):
                    first, last, grown = min(first, start), max(last, end), True
        return first, last

    def _loops(self, touches: list[_Touch]) -> list[scf.ForOp]:
        loops: dict[scf.ForOp, None] = {}
        for touch in touches:
            at = touch.op.parent_op()
            while at is not None:
                if isinstance(at, scf.ForOp):
                    loops[at] = None
                at = at.parent_op()
        return list(loops)


def _in_tcm(op: ahbm.AllocOp) -> ahbm.BufferType | None:
    return op.result.type if op.result.type.space.data == "tcm" else None


def _flows(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """(from, to) of every way in which `op` makes one value be another buffer value."""
    match op:
        case ahbm.ViewOp() | ahbm.ReshapeOp():
            return [(op.source, op.result)]
        case ahbm.RegionOp() if op.indices:
            return [(v, op.result) for v in op.indices]
        case ahbm.CutOp():
            return [(op.region, op.result)]
        case scf.ForOp():
            body = op.body.block
            ends = _end_of(body)
            pairs = zip(op.iter_args, body.args[1:], ends, op.results, strict=True)
            return [p for i, a, e, r in pairs for p in ((i, a), (e, a), (i, r), (e, r))]
        case scf.IfOp() if op.results:
            return [(e, r) for region in op.regions for e, r in zip(_end_of(region.block), op.results, strict=True)]
        case _:
            return []


def _end_of(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if isinstance(last, scf.YieldOp) else ()


def written_only(op: Operation) -> list[SSAValue]:
    """The buffers that a command fills completely without reading them."""
    match op:
        case ahbm.DmaReadOp() | ahbm.GatherOp() | ahbm.LoadScalarOp() | ahbm.FillOp():
            written = [op.buffer]
        case ahbm.GemmOp() | ahbm.MathOp():
            written = [op.out]
        case ahbm.CopyOp():
            written = [op.destination]
        case ahbm.CompositeOp():
            written = _filled_by(op)
        case _:
            return []
    # In place, an operand is read as well.
    return [v for v in written if list(op.operands).count(v) == 1]


def _filled_by(op: ahbm.CompositeOp) -> list[SSAValue]:
    """Parts whose first mention in the op list is as an out."""
    read: dict[int, None] = {}
    filled: dict[int, None] = {}
    on_tiles = op.on_tiles
    for number, spec in enumerate(op.specs):
        read.update((n, None) for n in spec.operand_numbers if n not in filled)
        if number not in on_tiles and spec.out.data not in read and spec.out.data >= 0:
            filled[spec.out.data] = None
    return [op.parts[n] for n in filled]


def pack(items: Sequence[Lifetime]) -> Packing:
    """Offsets such that no two buffers in use at once share a byte: the largest first, each at the lowest place that
    is free. Those with a given offset have it, whatever they share.
    """
    offsets = {n: item.given for n, item in enumerate(items) if item.given is not None}
    free = [n for n in range(len(items)) if n not in offsets]
    for n in sorted(free, key=lambda n: (-items[n].size, items[n].first, n)):
        at = 0
        busy = [(offsets[m], offsets[m] + items[m].size) for m in offsets if items[m].overlaps(items[n])]
        for start, end in sorted(busy):
            if at + items[n].size <= start:
                break
            at = max(at, end)
        offsets[n] = at
    size = max((offsets[n] + items[n].size for n in offsets), default=0)
    return Packing(tuple(offsets[n] for n in range(len(items))), size)


def apart(items: Sequence[Lifetime]) -> Packing:
    """Offsets such that no two buffers share a byte, one behind the other, and behind those with a given offset."""
    given = max((item.given + item.size for item in items if item.given is not None), default=0)
    ends = [*accumulate((item.size if item.given is None else 0 for item in items), initial=given)]
    offsets = [end if item.given is None else item.given for end, item in zip(ends[:-1], items, strict=True)]
    return Packing(tuple(offsets), ends[-1])


def peak(items: Sequence[Lifetime]) -> list[Lifetime]:
    """The buffers in use at the instant at which most bytes are, the largest first."""
    instants = dict.fromkeys(item.first for item in items)
    alive = [[i for i in items if i.first <= at <= i.last] for at in instants]
    most = max(alive, key=lambda live: sum(i.size for i in live), default=list[Lifetime]())
    return sorted(most, key=lambda i: (-i.size, i.first))
