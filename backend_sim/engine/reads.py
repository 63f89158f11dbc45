"""The streamed reads of one group of tiles: when the data of each tile are in TCM."""

from __future__ import annotations

from collections.abc import Sequence

from .commands import Share
from .hbm import Way
from .paths import DMA_READ, Path, step
from .pe import ON_HBM, Pe, take_slice, wait_for_slice
from .trains import Piece, Train

Ready = tuple[int, Path]


class GroupReads:
    """Reads sent at one instant (`ready`), to one or more slices; a tile is there when its last read is."""

    def __init__(self, ready: Ready, count: int, arrivals: int):
        self.count = count
        self.arrivals_left = arrivals
        self.end, path = ready
        self._train: Train | None = Train([Piece(0, self.end, 0, count, lambda _i, _t: path)])
        self._each: list[Ready] | None = None

    def arrival(self, pe: Pe, way: Way, now: int, record: int, sent: int, path: Path) -> Arrival:
        """The reads of one slice arrive there at `now`."""
        return Arrival(self, pe, way, now, record, sent, path)

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
    """The reads of a group at one slice, which takes them one after the other."""

    def __init__(self, reads: GroupReads, pe: Pe, way: Way, now: int, record: int, sent: int, path: Path):
        self.reads, self.pe, self.way, self.record = reads, pe, way, record
        self.sent, self.path = sent, path
        self.at, self.base, self.base_end = wait_for_slice(pe, way.slice, now, record, sent, path)
        self.end = sent

    def _path_to(self, end: int) -> Path:
        if self.base_end > end:  # what held the slice before ends later than this: it is not what this waited for
            self.base, self.base_end = self.path, self.sent
        return step(self.base, self.record, DMA_READ, end - self.base_end)

    def uniform(self, tile_bytes: int) -> None:
        """Every tile reads `tile_bytes` here."""
        held, data = self.way.read(tile_bytes)
        count, first = self.reads.count, self.at + data
        self._path_to(first)
        base, base_end, record = self.base, self.base_end, self.record
        piece = Piece(0, first, held, count, lambda _, time: step(base, record, DMA_READ, time - base_end))
        self.pe.records.series(record, ON_HBM, self.at, held, held, count, self.way.slice.owner)
        self.at += count * held
        self.end = piece.last
        self.reads.merge(Train([piece]))

    def tiles(self, shares: Sequence[Sequence[Share]]) -> None:
        """Tile i reads what of `shares[i]` lies here."""
        ready: list[Ready] = []
        for parts in shares:
            latest: Ready = (self.sent, self.path)
            for owner, size in parts:
                if owner != self.way.slice.owner:
                    continue
                held, data = self.way.read(size)
                self.end = self.at + data
                latest = self.end, self._path_to(self.end)
                self.pe.records.run(self.record, ON_HBM, self.at, held, owner)
                self.at += held
            ready.append(latest)
        self.reads.merge_each(ready)

    def done(self) -> None:
        """All reads are booked."""
        self.reads.arrivals_left -= 1
        take_slice(self.pe, self.way.slice, self.at, self.end, self._path_to(self.end))
