"""HBM as the commands of one PE touch it: which bytes, in which slices, and how many of them move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any

import numpy as np

from ...dialects.errors import Place
from ..engine.commands import Range, Share, Stream
from ..memory import Ints, Located, Memory, Tensor
from ..numerics.regions import Region, tile_spans

Shares = tuple[Share, ...]
_NONE = np.zeros(0, dtype=np.int64)


class HbmView:
    """Resolves addresses for one PE. Raises AhbmcError where an access leaves its tensor."""

    def __init__(self, memory: Memory, pe: int):
        hbm = memory.machine.hbm
        self.memory = memory
        self.pe = pe
        self._burst, self._channels = hbm.burst_bytes, hbm.channels
        self._by_bursts = hbm.strided == "bursts"
        # A tensor that lies in one slice needs no look at its shards.
        self._whole: dict[int, int | None] = {}
        # Many streams have their tiles in the same slices.
        self._tiles: dict[tuple[int, bytes], tuple[Shares, ...]] = {}

    def _owner(self, located: Located) -> int | None:
        """The slice that holds all of a tensor; None where several do."""
        if located.base not in self._whole:
            _, owners = located.seen_by(self.pe)
            self._whole[located.base] = int(owners[0]) if len(owners) == 1 else None
        return self._whole[located.base]

    def owners_of(self, tensors: list[Tensor] | tuple[Tensor, ...]) -> frozenset[int]:
        """The slices in which anything of these tensors lies that this PE could touch."""
        return frozenset[int]().union(*[self.memory.located_of(t).owners_seen_by(self.pe) for t in tensors])

    def region(self, region: Region, what: str, place: Place | None) -> tuple[Range, Shares]:
        """The addresses that bound a region, and where its valid bytes lie; no shares where there are none."""
        first, end = bounds = region.byte_range()
        if first == end:
            return bounds, ()
        located = self.memory.locate(first, end, what, place)
        if self._by_bursts:
            return bounds, self._bursts(located, _addresses(region), region.dtype.itemsize, _NONE)[0]
        owner = self._owner(located)
        if owner is not None:
            return bounds, ((owner, region.valid_bytes, ()),)
        return bounds, tuple([(o, size, ()) for o, size in located.shares(self.pe, region, first, end)])

    def element(self, address: int, size: int, what: str, place: Place | None) -> Shares:
        """A scalar's access: one burst."""
        located = self.memory.locate(address, address + size, what, place)
        if self._by_bursts:
            return self._bursts(located, np.array([address], dtype=np.int64), size, _NONE)[0]
        return ((located.share_of(self.pe, address), self._burst, ()),)

    def lanes(self, addresses: Any, size: int, what: str, place: Place | None) -> tuple[Range, Shares]:
        """Elements of `size` bytes at a list of addresses: whole bursts for each run of consecutive ones."""
        if not len(addresses):
            return (0, 0), ()
        first, end = int(addresses.min()), int(addresses.max()) + size
        located = self.memory.locate(first, end, what, place)
        if self._by_bursts:
            return (first, end), self._bursts(located, addresses, size, _NONE, in_order=True)[0]
        owner, offset = located.places(self.pe, addresses)
        heads, tails = _runs(owner, offset, size)
        lengths = offset[tails] + size - offset[heads]
        moved = -(-lengths // self._burst) * self._burst
        shares = {int(o): 0 for o in owner[heads]}
        for o, n in zip(owner[heads].tolist(), moved.tolist(), strict=True):
            shares[o] += n
        return (first, end), tuple([(o, n, ()) for o, n in shares.items()])

    def stream(
        self,
        region: Region,
        tile: tuple[int, int],
        across: tuple[int, int],
        reads: int,
        k_axis: int,
        what: str,
        place: Place | None,
    ) -> Stream:
        """The tiles of a region of two axes, cut to `tile`, `across` many along each axis, each moved `reads` times.

        Packed, every tile moves its full padded bytes; where a tile lies in several slices, the padding goes with the
        first. By bursts, a run that goes on in the next tile along `k_axis` shares the burst in between with it.
        """
        tile_bytes = tile[0] * tile[1] * region.dtype.itemsize
        first, end = bounds = region.byte_range()
        # Of a region that is larger than what the tiles cover, only that is asked for.
        rows, columns = (min(n, t * k) for n, t, k in zip(region.valid_sizes, tile, across, strict=True))
        useful = rows * columns * region.dtype.itemsize * reads
        if first == end:  # every lane is masked off: only padding moves
            return Stream(tile_bytes, self.pe, bounds, useful)
        located = self.memory.locate(first, end, what, place)
        if self._by_bursts:
            owner = self._bursts(located, _addresses(region), region.dtype.itemsize, _NONE)[0][0][0]
            return Stream(
                tile_bytes, owner, bounds, useful, self._tiles_by_bursts(located, region, tile, across, k_axis)
            )
        owner = self._owner(located)
        if owner is None:
            owner = located.owner_of(self.pe, first, end)
        if owner is not None:
            return Stream(tile_bytes, owner, bounds, useful)
        tiles = self._whole_tiles(located, region, tile, across)
        if tiles is None:
            first_share = located.shares(self.pe, region, first, end)[0]
            tiles = [self._padded(located, part, first_share[0], tile_bytes) for _, part in _cut(region, tile, across)]
        return Stream(tile_bytes, min([tile[0][0] for tile in tiles]), bounds, useful, tiles)

    def _whole_tiles(
        self, located: Located, region: Region, tile: tuple[int, int], across: tuple[int, int]
    ) -> Sequence[Shares] | None:
        """The share of each tile, row by row, where each lies in one slice and has a valid lane; else None."""
        if any(axis.indices is not None for axis in region.axes):
            return None
        rows, columns = (tile_spans(*of) for of in zip(region.axes, tile, across, strict=True))
        if rows is None or columns is None:
            return None
        itemsize = region.dtype.itemsize
        at = region.base - located.base + region.offset * itemsize
        starts, owners = located.seen_by(self.pe)
        lows = np.searchsorted(starts, (rows[0][:, None] + columns[0]) * itemsize + at, "right") - 1
        highs = np.searchsorted(starts, (rows[1][:, None] + columns[1]) * itemsize + at, "right") - 1
        if (lows != highs).any():
            return None
        found, tile_bytes = owners[lows].reshape(-1), tile[0] * tile[1] * itemsize
        key = tile_bytes, found.tobytes()
        if key not in self._tiles:
            shares = {owner: ((owner, tile_bytes, ()),) for owner in set(found.tolist())}
            self._tiles[key] = tuple([shares[owner] for owner in found.tolist()])
        return self._tiles[key]

    def _padded(self, located: Located, part: Region, otherwise: int, tile_bytes: int) -> Shares:
        """The shares of a tile with its padding; all of it goes to `otherwise` where no lane is valid."""
        first, end = part.byte_range()
        if first == end:
            return ((otherwise, tile_bytes, ()),)
        parts = located.shares(self.pe, part, first, end)
        rest = sum(size for _, size in parts[1:])
        return ((parts[0][0], tile_bytes - rest, ()), *[(o, size, ()) for o, size in parts[1:]])

    def _tiles_by_bursts(
        self, located: Located, region: Region, tile: tuple[int, int], across: tuple[int, int], k_axis: int
    ) -> list[Shares]:
        tiles: list[Shares] = []
        ends: dict[tuple[int, int], Ints] = {}
        for (row, column), part in _cut(region, tile, across):
            before = (row - 1, column) if k_axis == 0 else (row, column - 1)
            first, end = part.byte_range()
            if first == end:
                tiles.append(())
                continue
            run_ends = ends.get(before, _NONE)
            found, ends[row, column] = self._bursts(located, _addresses(part), region.dtype.itemsize, run_ends)
            tiles.append(found)
        return tiles

    def _bursts(
        self, located: Located, addresses: Ints, itemsize: int, before: Ints, *, in_order: bool = False
    ) -> tuple[Shares, Ints]:
        """The bursts of elements at `addresses`, run by run, and the offsets at which the runs end.

        `before` are ends of earlier runs: a run that goes on there has its first burst already, unless one begins.
        `in_order`: elements are taken as they come (by lanes), not as they lie in the slices.
        """
        owner, offset = located.places(self.pe, addresses)
        if not in_order:
            order = np.lexsort((offset, owner))
            owner, offset = owner[order], offset[order]
        heads, tails = _runs(owner, offset, itemsize)
        first, end = offset[heads], offset[tails] + itemsize
        low = first // self._burst + (np.isin(first, before) & (first % self._burst != 0))
        count = np.maximum(0, (end - 1) // self._burst + 1 - low)
        which = np.repeat(np.arange(len(heads)), count)
        burst = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + low[which]
        shares: list[Share] = []
        for one in dict.fromkeys(owner[heads].tolist()):
            mine = owner[heads] == one
            channels = np.bincount(burst[mine[which]] % self._channels, minlength=self._channels)
            size = int((end - first)[mine].sum())
            shares.append((one, size, tuple(channels.tolist())))
        return tuple(shares), end


def _cut(region: Region, tile: tuple[int, int], across: tuple[int, int]) -> Iterator[tuple[tuple[int, int], Region]]:
    """The tiles of a region of two axes, row by row, each with its numbers."""
    for row in range(across[0]):
        rows = region.cut(0, row * tile[0], min(tile[0], region.sizes[0] - row * tile[0]))
        for column in range(across[1]):
            width = min(tile[1], region.sizes[1] - column * tile[1])
            yield (row, column), rows.cut(1, column * tile[1], width)


def _addresses(region: Region) -> Ints:
    """The addresses of the valid elements of a region, each once, in ascending order."""
    return np.unique(region.offsets()) * region.dtype.itemsize + region.base


def shared_bytes(one: Region, other: Region) -> int:
    """How many bytes lie in both regions; regions of which only the bounds overlap, as columns side by side, share
    none.
    """
    (first, end), (low, high) = one.byte_range(), other.byte_range()
    if first >= high or low >= end:
        return 0
    step = gcd(one.dtype.itemsize, other.dtype.itemsize)
    return step * len(np.intersect1d(_pieces(one, step), _pieces(other, step), assume_unique=True))


def _pieces(region: Region, step: int) -> Ints:
    """The addresses of all pieces of `step` bytes of a region."""
    return (_addresses(region)[:, None] + np.arange(0, region.dtype.itemsize, step)).reshape(-1)


def _runs(owner: Ints, offset: Ints, itemsize: int) -> tuple[Ints, Ints]:
    """Indices of the first and last elements of runs that follow each other in one slice."""
    breaks = np.flatnonzero((np.diff(offset) != itemsize) | (owner[1:] != owner[:-1]))
    return np.concatenate(([0], breaks + 1)), np.append(breaks, len(offset) - 1)
