"""Live ranges of values over structured control flow: from when to when a value has to be kept.

It knows `scf.for`, `scf.if` and plain ops; any other op with regions counts as a loop, which is always safe. Bodies
of ops that are isolated from above (composites) are not entered. Nothing here knows about buffers: which values
matter, and what a use really reads, is the caller's (`Uses`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

Range: TypeAlias = tuple[int, int]
"""First and last instant, both included. Op number p reads at instant 2p and writes at 2p + 1."""


class Uses(Protocol):
    """What an op reads and writes, as far as storage is concerned."""

    def read(self, op: Operation) -> Iterable[tuple[SSAValue, bool]]:
        """(value, late) of everything that `op` reads; late: still read while the results are written."""
        ...

    def tracked(self, value: SSAValue) -> bool:
        """Whether `value` (a result or block argument) is one of those to be kept."""
        ...


def overlap(a: Sequence[Range], b: Sequence[Range]) -> bool:
    """Whether two sorted lists of disjoint ranges have an instant in common. O(short * log long)."""
    if len(a) > len(b):
        a, b = b, a
    for start, end in a:
        # The first range of b that ends at or after `start` is the only one that has to be looked at.
        at = bisect_left(b, start, key=lambda r: r[1])
        if at < len(b) and b[at][0] <= end:
            return True
    return False


def union(a: Sequence[Range], b: Sequence[Range]) -> list[Range]:
    """The instants of either, as a sorted list of disjoint ranges."""
    merged: list[Range] = []
    for start, end in sorted([*a, *b]):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@dataclass
class Liveness:
    """Numbers of ops and blocks and the live ranges of the tracked values of one function body."""

    begin: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    ranges: dict[SSAValue, list[Range]] = field(default_factory=dict[SSAValue, list[Range]])

    def span(self, op: Operation) -> Range:
        """All instants of `op`, from reading its operands to writing its results."""
        return 2 * self.begin[op], 2 * self.end[op] + 1


def live_ranges(body: Region, uses: Uses) -> Liveness:
    """The live ranges of the tracked values of `body`. Time and memory grow with ops times values live at once."""
    scan = _Scan(uses)
    scan.number_region(body)
    for block in body.blocks:
        scan.block(block, {})
    for ranges in scan.result.ranges.values():
        ranges[:] = union(ranges, ())
    return scan.result


_Open: TypeAlias = dict[SSAValue, int]
"""Values that are live at the instant that a backward scan has come to, with the last instant of the range in
progress.
"""


class _Scan:
    def __init__(self, uses: Uses):
        self.uses = uses
        self.result = Liveness()
        self.block_begin: dict[Block, int] = {}
        self.next = 0

    def number_region(self, region: Region) -> None:
        for block in region.blocks:
            self.block_begin[block] = self._count()
            for op in block.ops:
                self.result.begin[op] = self._count()
                if op.regions and not op.has_trait(IsolatedFromAbove):
                    for nested in op.regions:
                        self.number_region(nested)
                    self.result.end[op] = self._count()
                else:
                    self.result.end[op] = self.result.begin[op]

    def _count(self) -> int:
        self.next += 1
        return self.next

    def block(self, block: Block, live: _Open) -> None:
        """Scan `block` backward; `live` holds what is live at its end and, afterwards, at its start."""
        op = block.last_op
        while op is not None:
            self._op(op, live)
            op = op.prev_op
        for argument in block.args:
            self._define(argument, 2 * self.block_begin[block] + 1, live)

    def _define(self, value: SSAValue, at: int, live: _Open) -> None:
        if self.uses.tracked(value):
            self._close(value, at, max(at, live.pop(value, at)))

    def _close(self, value: SSAValue, start: int, end: int) -> None:
        self.result.ranges.setdefault(value, []).append((start, end))

    def _op(self, op: Operation, live: _Open) -> None:
        number, end = self.result.begin[op], self.result.end[op]
        for result in op.results:
            self._define(result, 2 * end + 1, live)
        if op.regions and not op.has_trait(IsolatedFromAbove):
            if isinstance(op, scf.IfOp):
                self._branches(op, live)
            else:
                self._loop(op, live)
        for value, late in self.uses.read(op):
            live[value] = max(live.get(value, 0), 2 * number + late)

    def _loop(self, op: Operation, live: _Open) -> None:
        # What a body takes from outside, every iteration takes again: it lives to the end of the loop.
        for value in self._outer_reads(op):
            live.setdefault(value, 2 * self.result.end[op])
        for region in reversed(op.regions):
            for block in region.blocks:
                self.block(block, live)

    def _outer_reads(self, op: Operation) -> dict[SSAValue, None]:
        inside = {id(o) for o in op.walk()}
        found: dict[SSAValue, None] = {}
        for nested in op.walk():
            if nested is op or nested not in self.result.begin:
                continue
            for value, _ in self.uses.read(nested):
                owner = value.owner
                holder = owner if isinstance(owner, Operation) else owner.parent_op()
                if holder is None or id(holder) not in inside:
                    found[value] = None
        return found

    def _branches(self, op: Operation, live: _Open) -> None:
        after = dict(live)
        for region in op.regions:
            for block in region.blocks:
                inside = dict(after)
                self.block(block, inside)
                for value, end in inside.items():
                    if value not in after:
                        # Read in this branch only: the other branch is free to reuse its place.
                        self._close(value, 2 * self.block_begin[block], end)
                        live[value] = max(live.get(value, 0), 2 * self.result.begin[op])


def in_program_order(region: Region, enter: Callable[[Operation], bool] = lambda op: True) -> list[Operation]:
    """The ops of a region before the ops that they hold, in the order of the text; `enter` says whose bodies to go
    into.
    """
    found: list[Operation] = []
    for block in region.blocks:
        for op in block.ops:
            found.append(op)
            if enter(op):
                for nested in op.regions:
                    found += in_program_order(nested, enter)
    return found
