"""The streamed reads of one group of tiles: when the data of each tile are in TCM."""

from __future__ import annotations

from collections.abc import Sequence

from .commands import Share
from .hbm import Way
from .paths import DMA_READ, Path, step
from .pe import ON_HBM, Pe, Ready, book_read, came_from, hold
from .trains import Piece, Train


class GroupReads:
    """Reads sent at one instant (`ready`), to one or more slices; a tile is there when its last read is."""

    def __init__(self, ready: Ready, count: int, arrivals: int):
        self.count = count
        self.arrivals_left = arrivals
        self.end, path = ready
        self._train: Train | None = Train([Piece(0, self.end, 0, count, lambda _i, _t: path)])
        self._each: list[Ready] | None = None

    def merge(self, train: Train) -> None:
        """Each tile also waits for the instant in `train`."""
        old = self._train
        if old is not None and old.pieces[-1].last <= train.pieces[0].time:
            self._train = train
        else:
            self.merge_each([train.at(i) for i in range(self.count)])
        self.end = max(self.end, train.pieces[-1].last)

    def merge_each(self, others: Sequence[Ready]) -> None:
        """The same with instants in any order."""
        old = self.train()
        mine = [old.at(i) for i in range(self.count)] if self._each is None else self._each
        self._each = [b if b[0] >= a[0] else a for a, b in zip(mine, others, strict=True)]
        self._train = None
        self.end = max(self.end, *(time for time, _ in self._each))

    def train(self) -> Train:
        """When FETCH can take each tile: in their order, whatever slice is the fastest."""
        if self._train is None:
            assert self._each is not None
            pieces: list[Piece] = []
            latest = self._each[0]
            for i, ready in enumerate(self._each):
                latest = ready if ready[0] >= latest[0] else latest
                pieces.append(_single(i, latest))
            self._train = Train(pieces)
        return self._train


def _single(tile: int, ready: Ready) -> Piece:
    time, path = ready
    return Piece(tile, time, 0, 1, lambda _i, _t: path)


class Arrival:
    """The reads of a group at one slice, where all arrive at `now`; it takes them one after the other."""

    def __init__(self, reads: GroupReads, pe: Pe, way: Way, now: int, record: int, sent: int, path: Path):
        self.reads, self.pe, self.way, self.now, self.record = reads, pe, way, now, record
        self.sent, self.path = sent, path

    def uniform(self, tile_bytes: int) -> None:
        """Every tile reads `tile_bytes` here."""
        held, data, _ = self.way.read(tile_bytes)
        count, record, slice_ = self.reads.count, self.record, self.way.slice
        start, _, _ = slice_.reserve(self.now, count * held, (), self.way.burst_ps)
        first = start + data
        base, base_end = came_from(self.pe, slice_, self.now, start, first, self.sent, self.path, record)
        piece = Piece(0, first, held, count, lambda _, time: step(base, record, DMA_READ, time - base_end))
        self.pe.records.series(record, ON_HBM, start, held, held, count, slice_.owner)
        hold(self.pe, slice_, piece.last, piece.path(count - 1, piece.last))
        self.reads.merge(Train([piece]))

    def tiles(self, shares: Sequence[Sequence[Share]]) -> None:
        """Tile i reads what of `shares[i]` lies here."""
        ready: list[Ready] = []
        for parts in shares:
            latest: Ready = (self.sent, self.path)
            for owner, size, bursts in parts:
                if owner == self.way.slice.owner:
                    there = book_read(self.pe, self.way, size, bursts, self.now, self.sent, self.path, self.record)
                    latest = there if there[0] >= latest[0] else latest
            ready.append(latest)
        self.reads.merge_each(ready)
