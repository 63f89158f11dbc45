"""HBM slices and the way to them. A slice is one server of its full rate (packed transfers); each transfer holds it
for its bytes, in the order of arrival.

A read of n bytes: its request arrives at the slice, waits until the slice is free, holds it for n / rate; the first
data come one burst later and travel back. A write: the head of its data arrives, waits, holds the slice for n / rate;
it is committed one burst after the later of that and the arrival of its last flit; the ack travels back.
"""

from __future__ import annotations

from ..target.machine import Machine
from ..target.quantities import service_ps
from ..target.routing import route
from ..target.topology import pe_node, slice_node
from ..target.transfer import empty_ps, send
from .paths import START, Path


class Slice:
    """One slice: until when it is taken, by whom last, and that transfer's end as its PE sees it, with the path to it.

    `shared`: several PEs of the launch may use it, so its bookings must happen in the order of simulated time.
    """

    __slots__ = ("available", "end", "holder", "owner", "path", "shared")

    def __init__(self, owner: int, *, shared: bool = False):
        self.owner = owner
        self.available = 0
        self.holder = -1
        self.end = 0
        self.path: Path = START
        self.shared = shared


class Way:
    """Times of transfers between the DMA of one PE and one slice, nothing else in flight."""

    def __init__(self, machine: Machine, pe: int, slice_: Slice):
        self.machine = machine
        self.slice = slice_
        self._there = route(machine, pe_node(machine, pe), slice_node(machine, slice_.owner))
        self._back = route(machine, slice_node(machine, slice_.owner), pe_node(machine, pe))
        self.request_ps = empty_ps(self._there)
        self.ack_ps = empty_ps(self._back)
        self.burst_ps = machine.hbm.burst_ps
        self._reads: dict[int, tuple[int, int]] = {}
        self._writes: dict[int, tuple[int, int, int, int]] = {}

    def read(self, size: int) -> tuple[int, int]:
        """(how long the slice is held, from the start of that until the last byte is in TCM)."""
        times = self._reads.get(size)
        if times is None:
            rate = self.machine.hbm.slice_gb_per_s
            back = send(self.machine, size, self._back, rate)
            times = self._reads[size] = (service_ps(size, rate), self.burst_ps + back.last)
        return times

    def write(self, size: int) -> tuple[int, int, int, int]:
        """(how long the DMA sends, from then on: until the head is at the edge of the slice, until the last flit is
        there; how long the slice is held)."""
        times = self._writes.get(size)
        if times is None:
            machine = self.machine
            train = send(machine, size, self._there)
            head = train.first - self._there[-1].flit_ps(min(size, machine.noc.flit_bytes))
            sending = service_ps(size, machine.cube.pe_gb_per_s)
            times = (sending, head, train.last, service_ps(size, machine.hbm.slice_gb_per_s))
            self._writes[size] = times
        return times
