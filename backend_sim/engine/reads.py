"""The streamed reads of one group of tiles: when the data of each tile are in TCM.

Where nothing comes in between (`GroupReads`) that is known for all tiles as soon as their requests are at the slices;
else (`TileReads`) for each tile as its packets arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .calendar import order_of
from .commands import Share
from .flight import uniform
from .paths import DMA_READ, START, Path, step
from .pe import ON_HBM, ON_NOC, STAGE_DATA, Pe, Ready
from .trains import Piece, Train
from .transfers import Read, Transit, at_slice, path_to
from .way import Way


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


class TileReads:
    """Reads of `parts[i]` parts for tile i, sent at one instant (`ready`). `release` takes the tiles in their order,
    each with the instant from which FETCH can take it."""

    def __init__(self, ready: Ready, parts: Sequence[int], release: Callable[[int, Ready], None]):
        self._left = list(parts)
        self._ready = [ready] * len(parts)
        self._last = [-1] * len(parts)  # order of the part that a tile is ready with
        self._latest = ready
        self._next = 0
        self._release = release

    def start(self) -> None:
        """Release the tiles that wait for nothing."""
        while self._next < len(self._left) and not self._left[self._next]:
            tile, self._next = self._next, self._next + 1
            if self._ready[tile][0] >= self._latest[0]:
                self._latest = self._ready[tile]
            self._release(tile, self._latest)

    def ended(self, tile: int, transit: Transit) -> None:
        """A part of a tile is in TCM. Of parts that end together the last in their order counts."""
        ready = transit.ready
        if (ready[0], transit.order) > (self._ready[tile][0], self._last[tile]):
            self._ready[tile], self._last[tile] = ready, transit.order
        self._left[tile] -= 1
        if tile == self._next and not self._left[tile]:
            self.start()


class Arrival:
    """The reads of a group at one slice, where all arrive at `now`; it takes them one after the other."""

    def __init__(self, count: int, pe: Pe, way: Way, now: int, record: int, sent: int, path: Path):
        self.count, self.pe, self.way, self.now, self.record = count, pe, way, now, record
        self.sent, self.path = sent, path

    def uniform(self, tile_bytes: int) -> Train | None:
        """Every tile reads `tile_bytes` here; None where their data meet others on their way."""
        held, _, passage = self.way.read(tile_bytes)
        count, record, slice_, pe = self.count, self.record, self.way.slice, self.pe
        if len(passage) != 1:
            return None
        start = max(self.now, slice_.available)
        group = _Group(pe.number)
        found = uniform(passage[0], start + self.way.burst_ps, self.way.gap_ps, held, count, group)
        if found is None:
            return None
        end, period, links = found
        slice_.reserve(self.now, count * held, (), self.way.burst_ps)
        if slice_.ordered:
            pe.served.append(start - pe.start)
        before, slice_.holder = slice_.holder, group
        queue, holder = at_slice(pe, start - self.now, before)
        led = path_to(end, self.sent, self.path, record, DMA_READ, queue, holder)
        train = Train([Piece(0, end, period, count, lambda _, time: step(led, record, DMA_READ, time - end))])
        loads = pe.records.loads
        for link, at, work, distance in links:
            loads[link] = loads.get(link, 0) + count * work
            if pe.logs_links:
                pe.records.series(record, ON_NOC, at, work, distance, count, link)
        pe.records.series(record, ON_HBM, start, held, held, count, slice_.owner)
        group.end, group.path = train.at(count - 1)
        return train

    def tiles(self, shares: Sequence[Sequence[Share]]) -> list[Ready]:
        """Tile i reads what of `shares[i]` lies here."""
        ready: list[Ready] = []
        for parts in shares:
            ends: list[Transit] = []
            for owner, size, bursts in parts:
                if owner == self.way.slice.owner:
                    self.read(size, bursts, 0, 0, ends.append)
            # Of several that end together the last counts.
            last = max(reversed(ends), key=lambda transit: transit.ready[0], default=None)
            ready.append((self.sent, self.path) if last is None else last.ready)
        return ready

    def read(self, size: int, bursts: tuple[int, ...], number: int, part: int, then: Callable[[Transit], None]) -> None:
        """One read of the group, with the number of its tile in it, and which part of the tile it reads."""
        order = order_of(self.record, STAGE_DATA, number, part=part)
        Read(self.pe, self.way, size, bursts, order, self.record, self.now, self.sent, self.path, then)


@dataclass(slots=True)
class _Group:
    """The reads of a group as one holder of slice and links."""

    pe: int
    end: int | None = None
    path: Path = START
