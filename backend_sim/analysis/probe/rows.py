"""One row of a probe: the closed form of one message with nothing else in flight, and the terms that explain it.

    dma   PE to a slice: a write with its ack; slice to PE: a read
    raw   PE to PE through HBM: a read of the own slice, then a write with its ack into the other PE's slice
    ipcq  PE to PE through the queues: the read, the TCM port, the train to the other PE, its drain there, a credit home
    h2d   host to slice, until the last byte is committed
    d2h   slice to host: a read, then the host end's overhead and a second full drain (as published)

Sources of the formulas: latency model, sections 2 and 3. Only `raw` and `ipcq` pay PE_CPU's issue, of two commands:
that is how the figures were published.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

from ....dialects.ahbm.commands import DMA_BYTES
from ...target.cost import issue_ps
from ...target.machine import Machine
from ...target.quantities import Rate, service_ps
from ...target.routing import Route, route
from ...target.transfer import bottleneck, device_to_host_ps, empty_ps, read_ps, send, write_ack_ps, write_commit_ps
from .ends import Pair

PROBE_BYTES = 32 * 1024
"""The size of the published probe, at which the constant of D2H saturation is taken."""


@dataclass(frozen=True)
class Row:
    """One probed message of `size` bytes, whose data took `way`, its request or acknowledgement `back`. Times in ps.

    `overhead_ps` and `wire_ps` are sums over the way of the data, for h2d over that of its command, for d2h over that
    of its request; `drain_ps` is the size at the `slowest` rate of the way, slice included; no latency can be below
    `floor_ps`, but by `rounding_ps`, what the flits gain in it by whole ps; `constant_ps` is the X of the published
    saturation, drain / (drain + X) (None: none is published for the path); `issue_ps` is the part of the latency that
    PE_CPU pays to issue commands.
    """

    pair: Pair
    size: int
    way: Route
    back: Route
    latency_ps: int
    issue_ps: int
    overhead_ps: int
    drain_ps: int
    wire_ps: int
    floor_ps: int
    rounding_ps: int
    slowest: Rate
    constant_ps: int | None

    @property
    def hops(self) -> int:
        """Links from UCIe port to UCIe port on the way."""
        return sum(_is_port(edge.source) and _is_port(edge.target) for edge in self.way)

    @property
    def inter_sip_links(self) -> int:
        """Links between SIPs on the way."""
        return inter_sip_links(self.way)

    @property
    def utilization(self) -> Fraction:
        """bytes / latency / slowest rate: the share of the bottleneck that the message reaches."""
        return Fraction(self.size * 1000) / self.latency_ps / self.slowest

    @property
    def saturation(self) -> Fraction | None:
        """drain / (drain + X) by the published rule; it is not measured per size."""
        return None if self.constant_ps is None else Fraction(self.drain_ps, self.drain_ps + self.constant_ps)

    def described(self) -> dict[str, Any]:
        """The object of `probe --json`."""
        return {
            "case": self.pair.case,
            "path": self.pair.path,
            "src": str(self.pair.source),
            "dst": str(self.pair.target),
            "bytes": self.size,
            "hops": self.hops,
            "inter_sip_links": self.inter_sip_links,
            "latency_ns": self.latency_ps / 1000,
            "issue_ns": self.issue_ps / 1000,
            "overhead_ns": self.overhead_ps / 1000,
            "drain_ns": self.drain_ps / 1000,
            "wire_ns": self.wire_ps / 1000,
            "floor_ns": self.floor_ps / 1000,
            "bottleneck_gbs": float(self.slowest),
            "effective_gbs": self.size * 1000 / self.latency_ps,
            "utilization": float(self.utilization),
            "saturation": None if self.saturation is None else float(self.saturation),
        }


def measure(machine: Machine, pair: Pair, size: int) -> Row:
    """The row of `size` bytes (at least 1) between the ends of `pair`, which its path fits."""
    way = _way(machine, pair)
    explained = _explaining_way(machine, pair, way)
    slowest = bottleneck(way) if pair.path == "ipcq" else min(bottleneck(way), machine.hbm.slice_gb_per_s)
    drain_ps, issue = service_ps(size, slowest), _issue_ps(machine, pair)
    constant_ps = None
    if pair.path in ("dma", "h2d"):
        constant_ps = empty_ps(explained)
    elif pair.path == "d2h":
        constant_ps = _latency_ps(machine, pair, way, PROBE_BYTES) - service_ps(PROBE_BYTES, slowest)
    return Row(
        pair=pair,
        size=size,
        way=way,
        back=route(machine, way[-1].target, way[0].source),
        latency_ps=_latency_ps(machine, pair, way, size) + issue,
        issue_ps=issue,
        overhead_ps=sum(edge.overhead_ps for edge in explained),
        drain_ps=drain_ps,
        wire_ps=sum(edge.wire_ps for edge in explained),
        floor_ps=max(drain_ps, empty_ps(way)) + issue,
        rounding_ps=_rounding_ps(size, machine.noc.flit_bytes, slowest),
        slowest=slowest,
        constant_ps=constant_ps,
    )


def _rounding_ps(size: int, flit: int, rate: Rate) -> int:
    """How much sooner than exactly `size` bytes are through at `rate`, where each flit takes whole ps."""
    full, tail = divmod(size, flit)
    taken_ps = full * service_ps(flit, rate) + service_ps(tail, rate)
    return max(0, ceil(Fraction(size * 1000) / rate - taken_ps))


def inter_sip_links(way: Route) -> int:
    """How many links of `way` join SIPs, or a SIP and a switch, which lies in none."""
    return sum(edge.source.partition(".")[0] != edge.target.partition(".")[0] for edge in way)


def _way(machine: Machine, pair: Pair) -> Route:
    """The way of the data; of `raw` that of its write."""
    target = pair.target.own_slice if pair.path == "raw" else pair.target
    return route(machine, pair.source.node, target.node)


def _explaining_way(machine: Machine, pair: Pair, way: Route) -> Route:
    """The way whose overhead and wire are published with the latency: that of the data, of a command or of a request.

    h2d: its command goes pcie_ep, io_cpu, the N port of the cube, M_CPU (where the cube has one), slice. d2h: its
    request goes the way of the data backwards, and starts at the host end, which has an overhead of its own.
    """
    match pair.path:
        case "h2d":
            stops = [pair.source.node, f"sip{pair.target.sip}.io0.io_cpu", pair.target.node]
            if machine.cube.m_cpu is not None:
                stops.insert(2, f"sip{pair.target.sip}.cube{pair.target.cube}.m_cpu")
            return tuple(edge for a, b in pairwise(stops) for edge in route(machine, a, b))
        case "d2h":
            return route(machine, pair.target.node, pair.source.node)
        case _:
            return way


def _issue_ps(machine: Machine, pair: Pair) -> int:
    """What PE_CPU pays for the two commands of `raw` and `ipcq`: a read and a write, or a read and a send."""
    return 2 * issue_ps(machine, DMA_BYTES, composite=False) if pair.path in ("raw", "ipcq") else 0


def _latency_ps(machine: Machine, pair: Pair, way: Route, size: int) -> int:
    """The latency without the issue of commands."""
    source, target = pair.source.node, pair.target.node
    match pair.path, pair.source.kind:
        case "dma", "pe":
            return write_ack_ps(machine, size, source, target)
        case "dma", _:
            return read_ps(machine, size, target, source)
        case "h2d", _:
            return write_commit_ps(machine, size, source, target)
        case "d2h", _:
            return device_to_host_ps(machine, size, target, source)
        case "raw", _:
            write_ps = write_ack_ps(machine, size, source, pair.target.own_slice.node)
            return _own_read_ps(machine, pair, size) + machine.pe.sched.entry_dma_ps + write_ps
        case _:
            queue, rate = machine.pe.ipcq, bottleneck(way)
            sent_ps = queue.entry_ps + service_ps(size, machine.pe.tcm.gb_per_s) + send(machine, size, way).last
            credit_ps = empty_ps(route(machine, target, source)) + service_ps(queue.credit_bytes, rate)
            return _own_read_ps(machine, pair, size) + sent_ps + service_ps(size, rate) + credit_ps


def _own_read_ps(machine: Machine, pair: Pair, size: int) -> int:
    """A read of the source PE's own slice, from the end of its issue."""
    return machine.pe.sched.entry_dma_ps + read_ps(machine, size, pair.source.node, pair.source.own_slice.node)


def _is_port(node: str) -> bool:
    """Whether `node` is a UCIe port of a cube or of an IO chiplet (a port's connections are not)."""
    return node.rpartition(".")[2].startswith(("ucie_", "io_ucie"))
