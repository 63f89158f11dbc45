"""Tensors in HBM: where each byte lies, and what it holds.

A tensor has one contiguous range of virtual addresses, which is all that kernels see. Its placement cuts it into
shards, one per PE's slice; a replicated tensor has a copy for each PE, and a PE reads and writes its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..dialects.errors import AhbmcError, Category, Fault, Place, fail
from .numerics.addresses import AddressSpace, Allocation, bytes_of
from .numerics.dtypes import Array, DType
from .numerics.regions import Region
from .target.machine import Machine
from .target.topology import pe_name

Split = Literal["replicate", "row_wise", "column_wise"]
Ints = npt.NDArray[np.int64]
# (number of the PE that owns the slice, bytes)
Share = tuple[int, int]

# Virtual addresses start here, so that none is ever an offset in a TCM. Tensors never touch: a stray access shows.
FIRST_ADDRESS = 1 << 40
_ALIGNMENT = 4096


@dataclass(frozen=True)
class Placement:
    """How a tensor lies over SIPs, over the cubes of each and over the PEs of each cube.

    `row_wise` cuts the first axis, `column_wise` the last, in equal parts (the last may be shorter); `replicate`
    keeps a copy in each. None for a count is all from the start on.
    """

    cube: Split = "replicate"
    pe: Split = "replicate"
    num_cubes: int | None = None
    num_pes: int | None = None
    cube_start: int = 0
    pe_start: int = 0
    sip: Split = "replicate"
    num_sips: int = 1
    sip_start: int = 0


# Where a tensor lies that nobody placed: in the slice of sip0.cube0.pe0.
ONE_SLICE = Placement(num_cubes=1, num_pes=1)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor argument, contiguous in row-major order. `data` is what it holds at first (zeros if None); the
    simulation leaves it alone. `place` is where the user named it. A tensor of several launches is one object."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    placement: Placement = ONE_SLICE
    data: Array | None = None
    place: Place | None = None

    @property
    def size(self) -> int:
        """Bytes of one copy."""
        count = self.dtype.itemsize
        for extent in self.shape:
            count *= extent
        return count


@dataclass(frozen=True)
class Shard:
    """A box of a tensor in one slice: elements [row, row_end) of the first axis and [column, column_end) of the last.

    `offset` counts bytes in the HBM of the cube; the slice is `offset // slice_bytes`.
    """

    owner: int
    row: int
    row_end: int
    column: int
    column_end: int
    size: int
    offset: int = 0


# Where each piece of a tensor begins, who owns the slice it lies in, and its offset in the HBM of the cube.
_Pieces = tuple[Ints, Ints, Ints]
# (SIP, cube of the SIP, PE of the cube), of an owner; -1 stands for all of a level.
_Home = tuple[int, int, int]
# How a tensor lies over SIPs, cubes of a SIP and PEs of a cube, and over which of them.
_Levels = tuple[tuple[Split, range], tuple[Split, range], tuple[Split, range]]


@dataclass
class Located:
    """A tensor with its addresses: virtual from `base` on, and its shards, SIP by SIP, cube by cube, PE by PE."""

    tensor: Tensor
    base: int
    shards: tuple[Shard, ...]
    machine: Machine
    _maps: dict[_Home, _Pieces] = field(default_factory=dict[_Home, _Pieces])
    _owners: dict[_Home, frozenset[int]] = field(default_factory=dict[_Home, frozenset[int]])
    _copies: dict[int, _Home] = field(default_factory=dict[int, _Home])

    @property
    def end(self) -> int:
        return self.base + self.tensor.size

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """The PEs in whose slices it lies."""
        return tuple(dict.fromkeys(shard.owner for shard in self.shards))

    def seen_by(self, pe: int) -> tuple[Ints, Ints]:
        """(starts, owners): the bytes of the tensor from starts[i] on belong to owners[i], as this PE reads them."""
        return self._map(pe)[:2]

    def places(self, pe: int, addresses: Ints) -> tuple[Ints, Ints]:
        """(owners, offsets in the HBM of their cubes) of virtual addresses, as this PE sees them."""
        starts, owners, offsets = self._map(pe)
        piece = np.searchsorted(starts, addresses - self.base, side="right") - 1
        return owners[piece], offsets[piece] + addresses - self.base - starts[piece]

    def _map(self, pe: int) -> _Pieces:
        wanted = self.copy_of(pe)
        if wanted not in self._maps:
            self._maps[wanted] = self._pieces(wanted)
        return self._maps[wanted]

    def shares(self, pe: int, region: Region, first: int, end: int) -> tuple[Share, ...]:
        """How many valid bytes of a region lie in which slice; [first, end) are the addresses that bound them."""
        owner = self.owner_of(pe, first, end)
        if owner is not None:
            return ((owner, region.valid_bytes),)
        starts, owners = self.seen_by(pe)
        itemsize = region.dtype.itemsize
        offsets = region.offsets().reshape(-1) * itemsize + (region.base - self.base)
        pieces = np.searchsorted(starts, offsets, side="right") - 1
        found, counts = np.unique(owners[pieces], return_counts=True)
        return tuple((int(o), int(n) * itemsize) for o, n in zip(found, counts, strict=True))

    def owner_of(self, pe: int, first: int, end: int) -> int | None:
        """The owner of all the bytes at the addresses [first, end), as this PE sees them; None where they are cut."""
        starts, owners = self.seen_by(pe)
        low = bisect_right(starts, first - self.base) - 1
        return int(owners[low]) if low + 1 == len(starts) or starts[low + 1] >= end - self.base else None

    def share_of(self, pe: int, address: int) -> int:
        """The owner of the byte at a virtual address, as this PE sees it."""
        starts, owners = self.seen_by(pe)
        return int(owners[bisect_right(starts, address - self.base) - 1])

    def owners_seen_by(self, pe: int) -> frozenset[int]:
        """The owners of all slices that this PE finds the tensor in."""
        wanted = self.copy_of(pe)
        if wanted not in self._owners:
            self._owners[wanted] = frozenset(np.flatnonzero(np.bincount(self._map(pe)[1])).tolist())
        return self._owners[wanted]

    def copy_of(self, pe: int) -> _Home:
        """The home of the copies that a PE uses, -1 where a level is cut and all of its parts count: on each level that
        of the PE's own number where there is one, else the first.
        """
        if pe not in self._copies:
            sip, cube, index = [
                -1 if how != "replicate" else own if own in numbers else numbers.start
                for (how, numbers), own in zip(self._levels, _home(self.machine, pe), strict=True)
            ]
            self._copies[pe] = sip, cube, index
        return self._copies[pe]

    @cached_property
    def _levels(self) -> _Levels:
        return _levels(self.machine, self.tensor)

    def _shards_at(self, wanted: _Home) -> list[Shard]:
        """The shards at a home; of all parts of a level where it says -1."""
        counts = [len(numbers) for _, numbers in self._levels]
        sips, cubes, pes = [
            range(count) if own < 0 else (own - numbers.start,)
            for own, count, (_, numbers) in zip(wanted, counts, self._levels, strict=True)
        ]
        return [self.shards[(sip * counts[1] + cube) * counts[2] + pe] for sip in sips for cube in cubes for pe in pes]

    def _pieces(self, wanted: _Home) -> _Pieces:
        shape, itemsize = self.tensor.shape, self.tensor.dtype.itemsize
        columns = shape[-1]
        per_row = self.tensor.size // (itemsize * max(1, shape[0]))
        starts: list[Ints] = []
        owners: list[Ints] = []
        offsets: list[Ints] = []
        for shard in self._shards_at(wanted):
            if shard.size == 0:
                continue
            if len(shape) == 1 or (shard.column == 0 and shard.column_end == columns):
                low = max(shard.row, shard.column) if len(shape) == 1 else shard.row * per_row
                at = np.array([low], dtype=np.int64)
            else:
                lines = np.arange(shard.row * per_row // columns, shard.row_end * per_row // columns, dtype=np.int64)
                at = lines * columns + shard.column
            starts.append(at * itemsize)
            owners.append(np.full(len(at), shard.owner, dtype=np.int64))
            width = shard.size // len(at)
            offsets.append(shard.offset + np.arange(len(at), dtype=np.int64) * width)
        if not starts:  # an empty tensor
            return np.zeros(1, np.int64), np.array([self.shards[0].owner], dtype=np.int64), np.zeros(1, np.int64)
        start, owner, offset = np.concatenate(starts), np.concatenate(owners), np.concatenate(offsets)
        order = np.argsort(start, kind="stable")
        start, owner, offset = start[order], owner[order], offset[order]
        # Neighbouring pieces of one owner that go on in its slice are one piece.
        goes_on = (owner[1:] == owner[:-1]) & (np.diff(offset) == np.diff(start))
        keep = np.concatenate(([True], ~goes_on))
        return start[keep], owner[keep], offset[keep]


class Memory:
    """The HBM of a machine with tensors in it. Raises AhbmcError `does-not-fit` where a slice overflows, and
    `invalid-input` where a placement asks for cubes or PEs that are not there."""

    def __init__(self, machine: Machine, tensors: Sequence[Tensor]):
        self.machine = machine
        self.located: list[Located] = []
        self._spaces: dict[int, AddressSpace] = {}
        self._copies: dict[tuple[int, _Home], Allocation] = {}
        used: dict[int, int] = {}
        terms: dict[int, list[str]] = {}
        faults: list[Fault] = []
        address = FIRST_ADDRESS
        for tensor in tensors:
            try:
                shards = _shards(machine, tensor)
            except AhbmcError as error:
                faults += error.faults
                continue
            slice_bytes, placed = machine.hbm.slice_bytes, list[Shard]()
            for shard in shards:
                low = used.get(shard.owner, 0)
                offset = (shard.owner % machine.pes_per_cube) * slice_bytes + low
                placed.append(
                    Shard(shard.owner, shard.row, shard.row_end, shard.column, shard.column_end, shard.size, offset)
                )
                used[shard.owner] = low + -(-shard.size // machine.hbm.burst_bytes) * machine.hbm.burst_bytes
                terms.setdefault(shard.owner, []).append(f"'{tensor.name}' {shard.size:,} bytes")
                if low <= slice_bytes < used[shard.owner]:
                    faults.append(_overflow(machine, tensor, shard.owner, used[shard.owner], terms[shard.owner]))
            self.located.append(Located(tensor, address, tuple(placed), machine))
            address += -(-(tensor.size + 1) // _ALIGNMENT) * _ALIGNMENT
        if faults:
            raise AhbmcError(*faults)
        self._bases = [located.base for located in self.located]
        self._of = {located.tensor: located for located in self.located}

    def base(self, tensor: Tensor) -> int:
        """The virtual address of a tensor's first byte: what a kernel gets as the pointer."""
        return self._of[tensor].base

    def located_of(self, tensor: Tensor) -> Located:
        """A tensor with its addresses and shards."""
        return self._of[tensor]

    def locate(self, first: int, end: int, what: str, place: Place | None) -> Located:
        """The tensor that holds the bytes [first, end). Raises AhbmcError where no tensor holds all of them."""
        at = bisect_right(self._bases, first) - 1
        if at >= 0 and end <= self.located[at].end:
            return self.located[at]
        bounds = AddressSpace(
            [Allocation(x.tensor.name, x.base, np.broadcast_to(np.uint8(0), x.tensor.size)) for x in self.located]
        )
        itemsize = self.located[max(at, 0)].tensor.dtype.itemsize if self.located else 1
        bounds.checked(first, end, itemsize, what, place)
        raise AssertionError("an access that no check refuses")

    def space(self, pe: int) -> AddressSpace:
        """The bytes as a PE sees them: its own copy of what is replicated, the one copy of everything else."""
        if pe not in self._spaces:
            self._spaces[pe] = AddressSpace([self._allocation(n, pe) for n in range(len(self.located))])
        return self._spaces[pe]

    def _allocation(self, number: int, pe: int) -> Allocation:
        located = self.located[number]
        key = (number, located.copy_of(pe))
        if key not in self._copies:
            data = bytes_of(np.array(_initial(located.tensor), order="C"))
            self._copies[key] = Allocation(located.tensor.name, located.base, data)
        return self._copies[key]

    def arrays(self) -> tuple[dict[str, Array], tuple[str, ...]]:
        """(contents by name, names of tensors whose written copies differ). Copies that changed count as written."""
        contents: dict[str, Array] = {}
        differing: list[str] = []
        for number, located in enumerate(self.located):
            tensor = located.tensor
            first = bytes_of(np.ascontiguousarray(_initial(tensor)))
            copies = [a.data for key, a in sorted(self._copies.items()) if key[0] == number]
            written = [c for c in copies if not np.array_equal(c, first)]
            chosen = written[0] if written else first
            if any(not np.array_equal(chosen, c) for c in written[1:]):
                differing.append(tensor.name)
            contents[tensor.name] = chosen.view(tensor.dtype).reshape(tensor.shape).copy()
        return contents, tuple(differing)


def _initial(tensor: Tensor) -> Array:
    if tensor.data is None:
        return np.zeros(tensor.shape, tensor.dtype)
    return np.asarray(tensor.data, dtype=tensor.dtype).reshape(tensor.shape)


def _overflow(machine: Machine, tensor: Tensor, owner: int, demand: int, terms: Sequence[str]) -> Fault:
    bound = machine.hbm.slice_bytes
    return Fault(
        f"the slice of {pe_name(machine, owner)} would hold {demand:,} bytes, {demand - bound:,} over its {bound:,}",
        tensor.place,
        Category.DOES_NOT_FIT,
        hint="place the tensor over more PEs: place: {pe: row_wise}",
        notes=(f"in this slice: {', '.join(terms)}",),
    )


def sharers(machine: Machine, tensor: Tensor, pes: Sequence[int]) -> int:
    """How many of the PEs that use a tensor there are for each slice that they find it in, rounded up."""
    if len(pes) < 2:
        return 1
    try:
        shards = tuple(_shards(machine, tensor))
    except AhbmcError:
        return 1  # a placement that cannot be: `Memory` tells, of all tensors at once
    located = Located(tensor, 0, shards, machine)
    used = frozenset[int]().union(*[located.owners_seen_by(pe) for pe in pes])
    return -(-len(pes) // len(used))


def _home(machine: Machine, pe: int) -> _Home:
    cube, index = divmod(pe, machine.pes_per_cube)
    return *divmod(cube, machine.cubes_per_sip), index


def _levels(machine: Machine, tensor: Tensor) -> _Levels:
    """Raises AhbmcError where a placement asks for what is not there."""
    p = tensor.placement
    return (
        (p.sip, _numbers(tensor, "SIP", "machine", p.sip_start, p.num_sips, machine.sips)),
        (p.cube, _numbers(tensor, "cube", "SIP", p.cube_start, p.num_cubes, machine.cubes_per_sip)),
        (p.pe, _numbers(tensor, "PE", "cube", p.pe_start, p.num_pes, machine.pes_per_cube)),
    )


def _shards(machine: Machine, tensor: Tensor) -> list[Shard]:
    levels = _levels(machine, tensor)
    rank_one = len(tensor.shape) == 1
    rows, columns = tensor.shape[0], tensor.shape[-1]
    middle = tensor.size // max(1, tensor.dtype.itemsize * rows * (1 if rank_one else columns))
    boxes = [(0, (0, rows, 0, columns))]
    for (how, numbers), there in zip(levels, (machine.sips, machine.cubes_per_sip, machine.pes_per_cube), strict=True):
        boxes = [
            (owner * there + number, _part(box, how, i, len(numbers), rank_one))
            for owner, box in boxes
            for i, number in enumerate(numbers)
        ]
    shards: list[Shard] = []
    for owner, (row, row_end, column, column_end) in boxes:
        count = row_end - row if rank_one else (row_end - row) * middle * (column_end - column)
        shards.append(Shard(owner, row, row_end, column, column_end, count * tensor.dtype.itemsize))
    return shards


def _numbers(tensor: Tensor, what: str, of: str, start: int, count: int | None, there: int) -> range:
    """The SIPs, cubes or PEs that a placement names. Raises AhbmcError where there are not so many."""
    if start >= there:
        hint = f"numbers of {what}s are 0 to {there - 1}"
        raise fail(f"{what.lower()}_start {start}: a {of} has {there} {what}s", tensor.place, hint=hint)
    if count is not None and count > there - start:
        found = f"num_{what.lower()}s {count} for '{tensor.name}': at most {there - start} are there"
        key = what.lower()
        hint = f"a {of} has {there} {what}s, counted from 0; make num_{key}s or {key}_start smaller"
        raise fail(found, tensor.place, hint=hint)
    return range(start, there if count is None else start + count)


def _part(
    box: tuple[int, int, int, int], how: Split, number: int, parts: int, rank_one: bool
) -> tuple[int, int, int, int]:
    """The part of a box (row, row end, column, column end) that falls to one of `parts`. A vector has rows only."""
    row, row_end, column, column_end = box
    if how == "replicate":
        return box
    if how == "row_wise" or rank_one:
        step = -(-(row_end - row) // parts)
        return min(row + number * step, row_end), min(row + (number + 1) * step, row_end), column, column_end
    step = -(-(column_end - column) // parts)
    return row, row_end, min(column + number * step, column_end), min(column + (number + 1) * step, column_end)


__all__ = ["ONE_SLICE", "Located", "Memory", "Placement", "Shard", "Share", "Tensor", "pe_name"]
