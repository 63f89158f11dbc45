"""The network: directed edges that take packets first come, first served.

A message is a train of flits. Other traffic can come between its packets (of `noc.packet_bytes`, and two at least), not
between the flits of one. A packet is known at a node by three instants: the arrival of its first flit, of its last but
one, and of its last (as in `target/transfer.py`, whose closed form this is when nothing else is in flight). An edge is
a number, the time until which it is taken; so what only one edge feeds is walked in one pass, because it takes packets
in the order in which its feeder did. What several edges feed is `ordered`: a packet takes it when simulated time has
got there.

At equal times reads come before writes, and these before messages between PEs; then comes the lower PE, then the
earlier command, then its earlier tile, part of it (in one slice) and packet. Read requests and acknowledgements have
no bytes: they take the time of their way, hold no edge and wait for none.

With `noc.serial_routers` every router has one worker that a head flit holds for the router's overhead, whatever edges
it comes and goes by, and that other flits pass in their turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from ..target.machine import Machine
from ..target.routing import Route
from ..target.topology import Edge
from .hbm import Slice
from .paths import Holder

# No flits that are still coming in.
NO_TRAIN = (0, 0, 1, 0, 0)


class Link:
    """A directed edge, or the worker of a router. `busy` counts its work alone, `tail` is when the last flit it took
    has left; where both differ a packet from elsewhere fits in between.

    `train` is the packet it took last that nothing went before: (arrival of its first flit at the source of the edge,
    of its last, distance of its flits, when the edge began with it, how long it holds the edge for one flit), and
    `between` the work of others that went between its flits, the last of them until `between_until`.
    """

    __slots__ = (
        "between",
        "between_until",
        "busy",
        "feeders",
        "holder",
        "last",
        "name",
        "number",
        "ordered",
        "tail",
        "train",
    )

    def __init__(self, name: str, number: int, *, ordered: bool):
        self.name = name
        self.number = number
        self.ordered = ordered
        self.busy = 0
        self.tail = 0
        self.last: Link | None = None  # whose packet it took last
        self.train: tuple[int, int, int, int, int] = NO_TRAIN
        self.between = 0
        self.between_until = 0
        self.holder: Holder | None = None
        self.feeders: set[str] = set()


@dataclass(frozen=True, slots=True)
class Hop:
    """An edge on a route, with the nodes before it that take no time for bytes. `gate` is what decides the order: the
    link, or the worker of the router before it. `feeder` is the link that packets come from, None at the source."""

    edge: Edge
    link: Link
    gate: Link
    worker: Link | None
    feeder: Link | None
    overhead_ps: int


# One packet at one hop: gate, link, feeder, worker; the overhead that its first flit pays; how long the edge is held by
# the first flit, by those between first and last, by one whole flit, by the last one; and by all.
Step = tuple[Link, Link, Link | None, Link | None, int, int, int, int, int, int]
Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Leg:
    """A message of `flits` flits over hops between two nodes that both wait for all of it: what it takes as one train,
    and packet by packet (first flit, flits, steps)."""

    flits: int
    whole: Steps
    packets: tuple[tuple[int, int, Steps], ...]

    @cached_property
    def ordered(self) -> bool:
        """Whether other traffic can come in between. The first hop is taken in the order of its source."""
        return any(step[0].ordered for step in self.whole[1:])


Passage = tuple[Leg, ...]


@dataclass
class Network:
    """The links and slices of PEs that run under one clock, made as they are used. `ordered` names those whose order is
    decided in simulated time; None: all of them. `numbers` are those of links in the op-log, `logs`
    whether it says when they are taken."""

    machine: Machine
    ordered: Collection[str | int] | None = ()
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    logs: bool = False
    links: dict[str, Link] = field(default_factory=dict[str, Link])
    slices: dict[int, Slice] = field(default_factory=dict[int, Slice])

    def slice_of(self, owner: int) -> Slice:
        """The slice of a PE."""
        found = self.slices.get(owner)
        if found is None:
            found = self.slices[owner] = Slice(owner, ordered=self.ordered is None or owner in self.ordered)
        return found

    def link(self, name: str) -> Link:
        """The link with this name: "source>target", or the name of a router for its worker."""
        found = self.links.get(name)
        if found is None:
            ordered = self.ordered is None or name in self.ordered
            found = self.links[name] = Link(name, self.numbers.setdefault(name, len(self.numbers)), ordered=ordered)
        return found

    def hops(self, route: Route, channel: int = 0) -> tuple[tuple[Hop, ...], ...]:
        """The hops of a route, cut where a node waits for whole messages. Counts who feeds whom."""
        legs: list[list[Hop]] = [[]]
        feeder, overhead_ps, name = None, 0, route[0].source
        for edge in route:
            if edge.whole and legs[-1]:
                legs.append([])
            overhead_ps += edge.overhead_ps
            if edge.gb_per_s is None and not edge.wire_ps:
                continue
            link = self.link(f"{edge.source}>{edge.target}" + (f"#{channel}" if channel else ""))
            worker = self.link(edge.source) if self.machine.noc.serial_routers and _is_router(edge.source) else None
            gate = worker or link
            gate.feeders.add(name)
            legs[-1].append(Hop(edge, link, gate, worker, feeder, overhead_ps))
            feeder, overhead_ps, name = link, 0, link.name
        return tuple(tuple(leg) for leg in legs)

    def passage(self, hops: tuple[tuple[Hop, ...], ...], size: int) -> Passage:
        """What a message of `size` bytes takes over `hops`."""
        flit = self.machine.noc.flit_bytes
        half = -(-size // (2 * flit)) * flit  # one packet alone would hide what comes into a short message
        packet = min(self.machine.noc.packet_bytes, half)
        starts = range(0, size, packet)
        return tuple(
            Leg(
                -(-size // flit),
                _steps(leg, size, flit, head=True),
                tuple(
                    (at // flit, -(-min(packet, size - at) // flit), _steps(leg, min(packet, size - at), flit, not at))
                    for at in starts
                ),
            )
            for leg in hops
        )

    def contested(self) -> set[str | int]:
        """The links with several feeders, and the slices with several users."""
        links = {link.name for link in self.links.values() if len(link.feeders) > 1}
        return links | {owner for owner, slice_ in self.slices.items() if len(slice_.users) > 1}


def _is_router(node: str) -> bool:
    return node.rpartition(".")[2].startswith("r")


def _steps(hops: tuple[Hop, ...], size: int, flit: int, head: bool) -> Steps:
    count = -(-size // flit)
    tail = size - (count - 1) * flit
    steps: list[Step] = []
    for hop in hops:
        full, last = hop.edge.flit_ps(flit), hop.edge.flit_ps(tail)
        overhead = hop.overhead_ps if head else 0
        where = (hop.gate, hop.link, hop.feeder, hop.worker, overhead)
        if count == 1:
            steps.append((*where, last, 0, 0, 0, last))
        else:
            steps.append((*where, full, (count - 2) * full, full, last, (count - 1) * full + last))
    return tuple(steps)
