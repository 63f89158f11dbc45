"""HBM slices and the way to them. A slice is one server of its full rate (packed transfers); each transfer holds it
for its bytes, in the order of arrival; or (`hbm.strided: bursts`) its pseudo-channels are servers of one burst at a
time.

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
from .commands import Bursts
from .paths import START, Path


class Slice:
    """One slice: until when it is taken, by whom last, and that transfer's end as its PE sees it, with the path to it.

    `shared`: several PEs of the launch may use it, so its bookings must happen in the order of simulated time.
    """

    __slots__ = ("available", "channels", "end", "holder", "owner", "path", "shared")

    def __init__(self, owner: int, *, shared: bool = False):
        self.owner = owner
        self.available = 0
        self.channels: list[int] = []
        self.holder = -1
        self.end = 0
        self.path: Path = START
        self.shared = shared

    def reserve(self, now: int, held: int, bursts: Bursts, burst_ps: int) -> tuple[int, int, int]:
        """Book what arrives at `now`: (when it is taken, when the first burst begins, when the last has ended).

        As one server it is held for `held`. With bursts each channel takes its own, and "when it is taken" is as late
        as the channels make the last burst later than it would be alone.
        """
        if not bursts:
            start = max(now, self.available)
            self.available = start + held
            return start, start, start + held
        channels = self.channels = self.channels or [0] * len(bursts)
        used = [(max(now, channels[i]), i, n) for i, n in enumerate(bursts) if n]
        if not used:  # all of it comes with bursts that are booked already
            last = max(now, self.available)
            return now, last, last
        for begin, i, n in used:
            channels[i] = begin + n * burst_ps
        last = max(channels[i] for _, i, _ in used)
        self.available = max(channels)
        return last - max(bursts) * burst_ps, min(used)[0], last


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
        self._reads: dict[int, tuple[int, int, int]] = {}
        self._writes: dict[int, tuple[int, int, int, int]] = {}

    def read(self, size: int) -> tuple[int, int, int]:
        """(how long the slice is held; from the start of that, and from the end of its last burst, until the last
        byte is in TCM)."""
        times = self._reads.get(size)
        if times is None:
            rate = self.machine.hbm.slice_gb_per_s
            back = send(self.machine, size, self._back, rate)
            tail = send(self.machine, min(size, self.machine.noc.flit_bytes), self._back)
            times = self._reads[size] = (service_ps(size, rate), self.burst_ps + back.last, tail.last)
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
