"""HBM as the commands of one PE touch it: which bytes, in which slices, and how many of them move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dialects.errors import Place
from .engine.commands import Range, Stream
from .memory import Located, Memory, Share, Tensor
from .numerics.regions import Region

Shares = tuple[Share, ...]


class HbmView:
    """Resolves addresses for one PE. Raises AhbmcError where an access leaves its tensor."""

    def __init__(self, memory: Memory, pe: int):
        self.memory = memory
        self.pe = pe
        self._burst = memory.machine.hbm.burst_bytes
        # A tensor that lies in one slice needs no look at its shards.
        self._whole: dict[int, int | None] = {}

    def _owner(self, located: Located) -> int | None:
        """The slice that holds all of a tensor; None where several do."""
        if located.base not in self._whole:
            _, owners = located.seen_by(self.pe)
            self._whole[located.base] = int(owners[0]) if len(owners) == 1 else None
        return self._whole[located.base]

    def owners_of(self, tensors: Sequence[Tensor]) -> set[int]:
        """The slices in which anything of these tensors lies that this PE could touch."""
        located = [self.memory.located_of(tensor) for tensor in tensors]
        return {int(o) for tensor in located for o in tensor.seen_by(self.pe)[1]}

    def region(self, region: Region, what: str, place: Place | None) -> tuple[Range, Shares]:
        """The addresses that bound a region, and where its valid bytes lie; no shares where there are none."""
        first, end = bounds = region.byte_range()
        if first == end:
            return bounds, ()
        located = self.memory.locate(first, end, what, place)
        owner = self._owner(located)
        if owner is not None:
            return bounds, ((owner, region.valid_bytes),)
        return bounds, located.shares(self.pe, region, first, end)

    def element(self, address: int, size: int, what: str, place: Place | None) -> Shares:
        """A scalar's access: one burst."""
        located = self.memory.locate(address, address + size, what, place)
        return ((located.share_of(self.pe, address), self._burst),)

    def lanes(self, addresses: Any, size: int, what: str, place: Place | None) -> tuple[Range, Shares]:
        """Elements of `size` bytes at a list of addresses: whole bursts for each run of consecutive ones."""
        if not len(addresses):
            return (0, 0), ()
        first, end = int(addresses.min()), int(addresses.max()) + size
        located = self.memory.locate(first, end, what, place)
        starts, owners = located.seen_by(self.pe)
        owner = owners[np.searchsorted(starts, addresses - located.base, side="right") - 1]
        breaks = (np.diff(addresses) != size) | (owner[1:] != owner[:-1])
        heads = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        lengths = np.diff(np.append(heads, len(addresses))) * size
        moved = -(-lengths // self._burst) * self._burst
        shares = {int(o): 0 for o in owner[heads]}
        for o, n in zip(owner[heads].tolist(), moved.tolist(), strict=True):
            shares[o] += n
        return (first, end), tuple(shares.items())

    def stream(
        self,
        region: Region,
        tile: tuple[int, int],
        across: tuple[int, int],
        reads: int,
        what: str,
        place: Place | None,
    ) -> Stream:
        """The tiles of a region of two axes, cut to `tile`, `across` many along each axis, each moved `reads` times.

        Every tile moves its full padded bytes; where a tile lies in several slices, the padding goes with the first.
        """
        tile_bytes = tile[0] * tile[1] * region.dtype.itemsize
        bounds, shares = self.region(region, what, place)
        useful = region.valid_bytes * reads
        if len(shares) == 1:
            return Stream(tile_bytes, shares[0][0], bounds, useful)
        if not shares:  # every lane is masked off: only padding moves
            return Stream(tile_bytes, self.pe, bounds, useful)
        tiles: list[Shares] = []
        for row in range(across[0]):
            rows = region.cut(0, row * tile[0], min(tile[0], region.sizes[0] - row * tile[0]))
            for column in range(across[1]):
                width = min(tile[1], region.sizes[1] - column * tile[1])
                _, parts = self.region(rows.cut(1, column * tile[1], width), what, place)
                tiles.append(_padded(parts or shares[:1], tile_bytes))
        return Stream(tile_bytes, shares[0][0], bounds, useful, tiles)


def _padded(parts: Sequence[Share], tile_bytes: int) -> Shares:
    """The shares of a tile with its padding."""
    rest = sum(size for _, size in parts[1:])
    return ((parts[0][0], tile_bytes - rest), *parts[1:])
