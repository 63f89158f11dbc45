"""The way between the DMA of a PE and an HBM slice: where transfers go, and their times when nothing else is in
flight."""

from __future__ import annotations

from ..target.quantities import service_ps
from ..target.routing import route
from ..target.topology import pe_node, slice_node
from ..target.transfer import empty_ps, send
from .hbm import Slice
from .network import Hop, Network, Passage


class Way:
    """Transfers between one PE and one slice."""

    def __init__(self, network: Network, pe: int, slice_: Slice):
        machine = self.machine = network.machine
        self.slice = slice_
        slice_.users.add(pe)
        self._network = network
        self._there = route(machine, pe_node(machine, pe), slice_node(machine, slice_.owner))
        self._back = route(machine, slice_node(machine, slice_.owner), pe_node(machine, pe))
        self.request_ps = empty_ps(self._there)
        self.ack_ps = empty_ps(self._back)
        self.burst_ps = machine.hbm.burst_ps
        self.gap_ps = service_ps(machine.noc.flit_bytes, machine.hbm.slice_gb_per_s)
        self._ordered: bool | None = None
        self._hops: dict[bool, tuple[tuple[Hop, ...], ...]] = {}
        self._reads: dict[int, tuple[int, int, Passage]] = {}
        self._writes: dict[int, tuple[int, int, int, Passage]] = {}

    def hops(self, *, write: bool) -> tuple[tuple[Hop, ...], ...]:
        """The hops of the data of reads, or of writes."""
        found = self._hops.get(write)
        if found is None:
            found = self._hops[write] = self._network.hops(self._there if write else self._back)
        return found

    def ordered(self) -> bool:
        """Whether other traffic can come between the packets of reads."""
        if self._ordered is None:
            hops = [hop for leg in self.hops(write=False) for hop in leg]
            self._ordered = any(hop.gate.ordered for hop in hops[1:])
        return self._ordered

    def read(self, size: int) -> tuple[int, int, Passage]:
        """(how long the slice is held; from the start of that until the last byte is in TCM; the passage of the
        data)."""
        times = self._reads.get(size)
        if times is None:
            rate = self.machine.hbm.slice_gb_per_s
            back = send(self.machine, size, self._back, rate)
            passage = self._network.passage(self.hops(write=False), size)
            times = self._reads[size] = (service_ps(size, rate), self.burst_ps + back.last, passage)
        return times

    def write(self, size: int) -> tuple[int, int, int, Passage]:
        """(how long the DMA sends; from then on until the last flit is at the slice; how long that is held; the
        passage)."""
        times = self._writes.get(size)
        if times is None:
            machine = self.machine
            passage = self._network.passage(self.hops(write=True), size)
            sending, arrived = passage[0].whole[0][-1], send(machine, size, self._there).last
            times = self._writes[size] = (sending, arrived, service_ps(size, machine.hbm.slice_gb_per_s), passage)
        return times
