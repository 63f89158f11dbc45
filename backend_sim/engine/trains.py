"""Trains: the instants at which tile after tile gets somewhere, as a few arithmetic progressions instead of one by
one.

Tiles that are alike come and go at equal distances, and a server that serves first come, first served, turns equal
distances into equal distances: while it is behind, tiles leave it one service apart, once it has caught up they leave
as they come. So a train through a server is a train again, whatever the number of its tiles. Paths follow on demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from .paths import Path, step
from .server import Server

Ready = tuple[int, Path]


@dataclass(slots=True)
class Piece:
    """Tiles `first` .. `first + count - 1`: the i-th of them at `time + i * period`. `path(i, time)` led there."""

    first: int
    time: int
    period: int
    count: int
    path: Callable[[int, int], Path]

    @property
    def last(self) -> int:
        return self.time + (self.count - 1) * self.period


class Train:
    """The instants of tiles 0, 1, ... in ascending order."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Sequence[Piece]):
        self.pieces = pieces

    @property
    def count(self) -> int:
        last = self.pieces[-1]
        return last.first + last.count

    def at(self, tile: int) -> Ready:
        """When a tile gets there, and the path."""
        piece = self.pieces[bisect_right(self.pieces, tile, key=attrgetter("first")) - 1]
        number = tile - piece.first
        time = piece.time + number * piece.period
        return time, piece.path(number, time)

    def not_before(self, hazard: Ready | None) -> Train:
        """The train of a stage that waits for a hazard; a tie is the hazard's."""
        if hazard is None or hazard[0] < self.pieces[0].time:
            return self
        time, path = hazard
        pieces: list[Piece] = []
        for piece in self.pieces:
            early = 0
            if piece.time <= time:
                early = piece.count if piece.last <= time else (time - piece.time) // piece.period + 1
                pieces.append(Piece(piece.first, time, 0, early, lambda _i, _t: path))
            if early < piece.count:
                pieces.append(_rest(piece, early))
        return Train(pieces)

    def served(self, server: Server, record: int, part: int, service: int) -> Train:
        """The train that leaves a server, which is booked for it."""
        pieces: list[Piece] = []
        busy, led = server.busy, server.path

        def behind(piece: Piece, first: int, count: int) -> None:
            # The server is behind: these tiles leave it one service apart, and their time goes on from the tile before.
            nonlocal busy, led
            path, end = led, busy
            pieces.append(
                Piece(
                    piece.first + first, busy + service, service, count, lambda _, t: step(path, record, part, t - end)
                )
            )
            busy += count * service
            led = step(led, record, part, count * service)

        def in_time(piece: Piece, first: int, count: int) -> None:
            # The server is free when these tiles come.
            nonlocal busy, led
            came = _rest(piece, first)
            pieces.append(
                Piece(
                    came.first,
                    came.time + service,
                    piece.period,
                    count,
                    lambda i, t: step(came.path(i, t - service), record, part, service),
                )
            )
            busy = came.time + (count - 1) * piece.period + service
            led = pieces[-1].path(count - 1, busy)

        for piece in self.pieces:
            if service > piece.period:
                if piece.time < busy:
                    behind(piece, 0, piece.count)
                    continue
                in_time(piece, 0, 1)
                if piece.count > 1:
                    behind(piece, 1, piece.count - 1)
                continue
            gap = piece.period - service
            behind_by = max(0, busy - piece.time)
            late = min(piece.count, -(-behind_by // gap)) if gap else piece.count if behind_by else 0
            if late:
                behind(piece, 0, late)
            if late < piece.count:
                in_time(piece, late, piece.count - late)
        server.busy, server.path = busy, led
        return Train(pieces)


def _rest(piece: Piece, skip: int) -> Piece:
    """A piece without its first tiles."""
    if not skip:
        return piece
    time = piece.time + skip * piece.period
    return Piece(piece.first + skip, time, piece.period, piece.count - skip, lambda i, t: piece.path(i + skip, t))
