"""Which programs of a launch run alike: their commands differ in nothing but addresses.

Time depends on addresses only through the slices they lie in and through which accesses of a program overlap, so
programs with equal keys take the same time to the picosecond from the same state of their PE. Relative to its cube, a
program is also like one on the PE of the same number in another cube that does the same there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..engine.commands import (
    Command,
    Composite,
    Compute,
    Dma,
    Fill,
    Hold,
    NextProgram,
    Range,
    ReadValues,
    Share,
    Stream,
    Tiles,
)
from ..memory import FIRST_ADDRESS

# Beyond this many pairs of accesses to compare, a program is only like itself.
_MOST_PAIRS = 200_000


def key_of(commands: Iterable[Command], cube: range | None = None) -> Any:
    """A key that alike programs share; None where there is none. `cube` are the PEs of the program's cube: with it, the
    slices of that cube count by their number in it, those of other cubes as they are.
    """
    slices = _Slices(cube)
    access: list[tuple[Range, bool]] = []
    parts: list[Any] = []
    for command in commands:
        if isinstance(command, ReadValues):
            return None
        parts.append(_part(command, slices))
        if isinstance(command, Composite | Dma):
            access += [(r, False) for r in command.reads if r[0] >= FIRST_ADDRESS]
            access += [(r, True) for r in command.writes if r[0] >= FIRST_ADDRESS]
    overlaps = _overlaps(access)
    return None if overlaps is None else (tuple(parts), overlaps)


def slices_of(commands: Iterable[Command]) -> frozenset[int]:
    """The slices that commands move bytes to and from, by owner."""
    found: set[int] = set()
    for command in commands:
        if isinstance(command, Dma):
            found.update(owner for owner, _, _ in command.shares)
        elif isinstance(command, Composite) and command.back is not None:
            found.update(owner for owner, _, _ in command.back.shares)
        elif isinstance(command, Composite) and command.tiles is not None:
            for stream in (command.tiles.a, command.tiles.b, command.tiles.out):
                if stream is not None and stream.shares is None:
                    found.add(stream.owner)
                elif stream is not None and stream.shares is not None:
                    found.update(owner for shares in set(stream.shares) for owner, _, _ in shares)
    return frozenset(found)


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


class _Slices:
    """What a key says of slices, which are named by their owners."""

    def __init__(self, cube: range | None):
        self._cube = cube

    def name(self, owner: int) -> int:
        """The number of a slice in the cube; the others, as they are, are made negative. Without a cube the owner."""
        if self._cube is None:
            return owner
        return owner - self._cube.start if owner in self._cube else ~owner

    def shares(self, shares: Sequence[Share]) -> tuple[Share, ...]:
        return tuple([(self.name(owner), size, bursts) for owner, size, bursts in shares])

    def stream(self, stream: Stream | None) -> tuple[Any, ...] | None:
        if stream is None:
            return None
        tiles = None
        if stream.shares is not None:
            named = {tile: self.shares(tile) for tile in set(stream.shares)}  # few are different
            tiles = tuple([named[tile] for tile in stream.shares])
        return stream.tile_bytes, self.name(stream.owner), stream.useful, tiles

    def tiles(self, tiles: Tiles) -> tuple[Any, ...]:
        counts = tiles.across_m, tiles.across_n, tiles.across_k, tiles.gemm_ps
        return *counts, self.stream(tiles.a), self.stream(tiles.b), self.stream(tiles.out)


def _part(command: Command, slices: _Slices) -> tuple[Any, ...]:
    match command:
        case Dma():
            return (
                command.site,
                _local(command.reads),
                _local(command.writes),
                slices.shares(command.shares),
                command.useful,
            )
        case Compute():
            return command.site, command.reads, command.writes
        case Hold():
            return command.site, command.reads
        case Fill():
            return command.writes
        case NextProgram():
            return ()
        case Composite():
            tiles = command.tiles
            touched = _local(command.reads), _local(command.writes)
            back = None if command.back is None else slices.shares(command.back.shares)
            return command.site, *touched, back if tiles is None else slices.tiles(tiles)
        case ReadValues():
            raise AssertionError("a program that reads values is only like itself")
