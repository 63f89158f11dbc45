"""Command instances as the engine takes them: everything resolved to times, bytes and byte ranges, nothing of the IR.

A range is [first, end) in bytes: offsets in the PE's scratch, or virtual addresses of HBM (which are far above).
`shares` say how many bytes go to or come from which slice (by the PE that owns it), and, where bursts are booked one
by one (`hbm.strided: bursts`), how many of them fall on each of its pseudo-channels; () if the slice is one server.
`operands` is what `numerics/device.py` takes; the engine hands it on unread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..numerics.commands import PeMemory

Range = tuple[int, int]
Bursts = tuple[int, ...]
Share = tuple[int, int, Bursts]


@dataclass(slots=True)
class Dma:
    """A transfer between HBM and TCM as a single-op command: dma_read, dma_write, gather, scatter, a scalar's, atomic.

    `update`: a read whose bytes are changed and written back, share by share, as an atomic does.
    """

    site: int
    issue_ps: int
    write: bool
    blocking: bool
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    shares: tuple[Share, ...]
    useful: int
    operands: Any = None
    update: bool = False


@dataclass(slots=True)
class Compute:
    """A single-op gemm, math or copy; `on_gemm` says on which engine. It blocks PE_CPU."""

    site: int
    issue_ps: int
    on_gemm: bool
    service_ps: int
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    flops: int = 0
    operands: Any = None


@dataclass(slots=True)
class Hold:
    """PE_CPU alone is busy: `al.wait` on what writes these ranges, or `al.cycles`."""

    site: int
    issue_ps: int
    reads: tuple[Range, ...] = ()


@dataclass(slots=True)
class Fill:
    """A buffer gets one number in every lane: no command and no time, but it waits for who uses the bytes."""

    writes: tuple[Range, ...]
    operands: Any = None


@dataclass(slots=True)
class NextProgram:
    """PE_CPU goes on to the next program, while commands of the one before are in flight."""


@dataclass(slots=True)
class ReadValues:
    """PE_CPU must know what buffers hold: it waits for their producers, and their values must be computed by then. The
    answer is `read` of the memory of the PE; it takes no time."""

    reads: tuple[Range, ...]
    read: Callable[[PeMemory], Any]


@dataclass(slots=True)
class Once:
    """A MATH op of a composite that runs once."""

    service_ps: int
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]


@dataclass(slots=True)
class Stream:
    """The tiles of one operand in HBM. `tile_bytes` move for each; they lie in the slice of `owner`, or tile by tile
    where `shares` says. `useful` are the bytes asked for, over all tiles."""

    tile_bytes: int
    owner: int
    range: Range
    useful: int
    shares: Sequence[tuple[Share, ...]] | None = None

    def of(self, tile: int) -> tuple[Share, ...]:
        """The transfers of one tile (of an output: in the order of output tiles)."""
        return ((self.owner, self.tile_bytes, ()),) if self.shares is None else self.shares[tile]

    def moved(self, tiles: int) -> int:
        """Bytes that move in `tiles` transfers of a tile; by bursts there is no padding to move."""
        by_bursts = self.shares is not None and any(bursts for parts in self.shares for _, _, bursts in parts)
        return self.useful if by_bursts else tiles * self.tile_bytes


@dataclass(slots=True)
class Tiles:
    """The loop over the tiles of a GEMM, m outermost, k innermost. Times are one tile's.

    `k_math_before` is MATH on a fetched tile of an operand, `k_math` MATH inside the K accumulation, `out_math` MATH
    on an output tile; 0 where there is none. An operand without a stream lies in TCM (`fetch_reads`).
    """

    across_m: int
    across_n: int
    across_k: int
    a: Stream | None
    b: Stream | None
    out: Stream | None
    fetch_ps: int
    k_math_before_ps: int
    gemm_ps: int
    k_math_ps: int
    out_math_ps: int
    store_ps: int
    fetch_reads: tuple[Range, ...] = ()
    math_reads: tuple[Range, ...] = ()
    store_writes: tuple[Range, ...] = ()

    @property
    def count(self) -> int:
        return self.across_m * self.across_n * self.across_k


@dataclass(slots=True)
class WriteBack:
    """The write of the result of the last MATH op of a composite; its bytes lie between those of `range`."""

    range: Range
    shares: tuple[Share, ...]


@dataclass(slots=True)
class Composite:
    """A composite: MATH ops, then the tiles of its GEMM, then MATH ops. `reads` and `writes` are all ranges it
    touches. `back` is what a composite without a GEMM writes to HBM at its end."""

    site: int
    issue_ps: int
    before: tuple[Once, ...]
    tiles: Tiles | None
    after: tuple[Once, ...]
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    flops: int = 0
    operands: Any = None
    back: WriteBack | None = None


Issued = Dma | Compute | Hold | Composite
Command = Issued | Fill | NextProgram | ReadValues
