"""Which programs of a launch run alike: their commands differ in nothing but addresses.

Time depends on addresses only through the slices they lie in and through which accesses of a program overlap, so
programs with equal keys take the same time to the picosecond from the same state of their PE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..engine.commands import Command, Composite, Compute, Dma, Fill, Hold, Range, ReadValues, Stream, Tiles
from ..memory import FIRST_ADDRESS

# Beyond this many pairs of accesses to compare, a program is only like itself.
_MOST_PAIRS = 200_000


def key_of(commands: Iterable[Command]) -> Any:
    """A key that alike programs share; None where there is none."""
    access: list[tuple[Range, bool]] = []
    parts: list[Any] = []
    for command in commands:
        if isinstance(command, ReadValues):
            return None
        parts.append(_part(command))
        if isinstance(command, Composite | Dma):
            access += [(r, False) for r in command.reads if r[0] >= FIRST_ADDRESS]
            access += [(r, True) for r in command.writes if r[0] >= FIRST_ADDRESS]
    overlaps = _overlaps(access)
    return None if overlaps is None else (tuple(parts), overlaps)


def _overlaps(access: Sequence[tuple[Range, bool]]) -> tuple[Any, ...] | None:
    """For each write, which other accesses touch its bytes."""
    writes = [(i, r) for i, (r, is_write) in enumerate(access) if is_write]
    if len(writes) * len(access) > _MOST_PAIRS:
        return None
    return tuple(
        [
            (i, tuple([j for j, ((low, high), _) in enumerate(access) if low < end and first < high]))
            for i, (first, end) in writes
        ]
    )


def _local(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges of scratch among ranges; addresses of HBM do not count."""
    return tuple([r for r in ranges if r[0] < FIRST_ADDRESS])


def _part(command: Command) -> tuple[Any, ...]:
    match command:
        case Dma():
            return command.site, _local(command.reads), _local(command.writes), command.shares, command.useful
        case Compute():
            return command.site, command.reads, command.writes
        case Hold():
            return command.site, command.reads
        case Fill():
            return command.writes
        case Composite():
            tiles = command.tiles
            return command.site, _local(command.reads), _local(command.writes), None if tiles is None else _tiles(tiles)
        case ReadValues():
            raise AssertionError("a program that reads values is only like itself")


def _tiles(tiles: Tiles) -> tuple[Any, ...]:
    counts = tiles.across_m, tiles.across_n, tiles.across_k, tiles.gemm_ps
    return *counts, _stream(tiles.a), _stream(tiles.b), _stream(tiles.out)


def _stream(stream: Stream | None) -> tuple[Any, ...] | None:
    if stream is None:
        return None
    shares = None if stream.shares is None else tuple(stream.shares)
    return stream.tile_bytes, stream.owner, stream.useful, shares
