"""One message on its way over the network: packet by packet where other traffic can come between, else as one train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .network import NO_TRAIN, Leg, Link, Passage, Step, Steps
from .paths import START, Holder, Path

# Takes (time, order, handler, argument): calls `handler(time, argument)` when simulated time has got there.
Request = Callable[[int, int, Callable[[int, Any], None], Any], None]
# A packet: the hop that it comes to, arrival there of its first flit, its last but one, its last; steps and order.
Packet = tuple[int, int, int, int, Steps, int]


class Flight:
    """A message of a PE (or of another source, by number). Subclasses say what happens when it is there."""

    __slots__ = (
        "_left",
        "_leg",
        "_loads",
        "_logs",
        "_order",
        "_passage",
        "_request",
        "_until",
        "behind",
        "end",
        "foreign",
        "gaps",
        "path",
        "pe",
    )

    def __init__(
        self,
        pe: int,
        passage: Passage,
        request: Request,
        order: int,
        loads: dict[int, int] | None = None,
        *,
        logs: bool = False,
    ):
        self.pe = pe
        self.end: int | None = None
        self.path: Path = START
        self.foreign = False  # whether it waited behind a message of another PE
        self.behind: Holder | None = None  # the message of its own PE that it waited behind last
        self.gaps = 0  # how far apart its flits come, if that is farther than those of a train
        self._passage = passage
        self._request = request
        self._order = order
        self._loads: dict[int, int] = {} if loads is None else loads  # how long its packets held each link
        self._logs = logs  # whether `booked` is called
        self._until = -1  # when it last went on from behind a message of its own PE
        self._leg = 0
        self._left = 0

    def depart(self, first: int, gap: int = 0, last: int = 0) -> None:
        """Its first flit is ready at `first`, one more each `gap`, its last not before `last`."""
        leg = self._passage[self._leg]
        self._left = 1
        if leg.ordered:
            self._left = len(leg.packets)
            end = len(leg.packets) - 1
            for number, (begin, flits, steps) in enumerate(leg.packets):
                h = first + begin * gap
                t = h + (flits - 1) * gap
                self._pass(0, h, t - gap if flits > 1 else h, max(t, last) if number == end else t, steps, number)
            return
        t = first + (leg.flits - 1) * gap
        self._pass(0, first, t - gap if leg.flits > 1 else first, max(t, last), leg.whole, 0)

    def at_edge(self, time: int) -> None:
        """Its head is ready for the last edge of its way at `time`."""

    def arrived(self, time: int) -> None:
        """All of it is there."""
        raise NotImplementedError

    def _resume(self, _now: int, packet: Packet) -> None:
        self._pass(*packet)

    def answered(self, time: int) -> None:
        """An ordered edge takes one of its packets at `time`."""

    def booked(self, link: int, start: int, work: int) -> None:
        """A link, by number, is taken by one of its packets in [start, start + work)."""

    def _pass(self, i: int, h: int, p: int, t: int, steps: Steps, number: int) -> None:
        """A packet takes hop `i`, and those behind it up to one that is ordered in simulated time."""
        first, end, loads = i, len(steps), self._loads
        for i in range(first, end):
            gate, link, feeder, worker, overhead, head, rest, full, last, work = steps[i]
            if gate.ordered and i > first:
                self._request(h, self._order + number, self._resume, (i, h, p, t, steps, number))
                return
            if worker is None:
                start = h + overhead
            else:
                begin = worker.busy if worker.busy > h else h
                if begin > h:
                    self._wait(worker.holder, begin)
                worker.busy = start = begin + overhead
                worker.holder = self
            if i == end - 1 and not number and self._leg + 1 == len(self._passage):
                self.at_edge(start)
            free = link.tail if link.last is feeder else link.busy
            if free > start:
                self._wait(link.holder, free)
                if link.train[1] > h and link.last is not feeder:
                    h, p, t = self._between(link, h, t, start, steps[i])
                    continue
                start = free
            if gate.ordered:
                self.answered(start)
            loads[link.number] = loads.get(link.number, 0) + work
            if self._logs:
                self.booked(link.number, start, work)
            link.train = (h, t, (t - h) // (1 + rest // full) or 1, start, full) if full else NO_TRAIN
            link.between = link.between_until = 0
            h = start + head
            p = h + rest if h + rest > p + full else p + full
            t = (p if p > t else t) + last
            if self.gaps > full:  # others fit in between, where the link is not slower still
                link.busy = link.tail = start + head
            else:
                link.busy = start + work
                link.tail = t
            link.last = feeder
            link.holder = self
        self._land(t)

    def _between(self, link: Link, h: int, t: int, start: int, step: Step) -> tuple[int, int, int]:
        """A packet takes a link while the flits of another one are still coming in from elsewhere: behind those that
        are there, before the others. Returns when its first flit, its last but one, and its last leave."""
        gate, _, feeder, _, _, head, _, _, last, work = step
        first, until, gap, begun, full = link.train
        flits = (until - first) // gap + 1
        ahead = begun + link.between
        start = max(start, link.between_until, ahead + ((h - first) // gap + 1) * full)
        end = max(start + work, t + last, ahead + min(flits, (t - first) // gap + 1) * full + work)
        if gate.ordered:
            self.answered(start)
        self._loads[link.number] = self._loads.get(link.number, 0) + work
        if self._logs:
            self.booked(link.number, start, work)
        link.between_until = start + work
        link.busy = max(link.busy + work, start + work)
        link.between += work
        link.tail = max(link.tail, end)
        link.last = feeder
        link.holder = self
        return start + head, end - last if work > head else start + head, end

    def _wait(self, holder: Holder | None, until: int) -> None:
        if holder is None or holder is self:
            return
        if holder.pe != self.pe:
            self.foreign = True
        elif until > self._until:
            # The latest wait counts, in whatever order packets are followed.
            self.behind, self._until = holder, until

    def _land(self, time: int) -> None:
        """A packet is at the end of its leg."""
        self._left -= 1
        if self._left:
            return
        self._leg += 1
        if self._leg == len(self._passage):
            self.arrived(time)
            return
        before, leg = self._passage[self._leg - 1], self._passage[self._leg]
        if before.ordered or leg.whole[0][0].ordered:
            # It goes on in the order in which messages are complete, which is not that of their heads. This is so, or
            # not, for all that come by the same edge, wherever they go.
            self._request(time, self._order, self._relay, None)
        else:
            self.depart(time)

    def _relay(self, now: int, _: None) -> None:
        self.depart(now)


# A link that equal messages take: its number, when the first begins, how long each holds it, the distance of the next.
Series = tuple[int, int, int, int]


def uniform(
    leg: Leg, first: int, gap: int, period: int, count: int, holder: Holder
) -> tuple[int, int, list[Series]] | None:
    """`count` equal messages, one each `period`, as one progression: (arrival of the first, distance of the next, the
    links they take).

    Holds where nothing is ordered and every edge is free when the first message comes: then message i is i times the
    longest service on its way later than the first, at every node. None where it does not hold.
    """
    h, t = first, first + (leg.flits - 1) * gap
    p = t - gap if leg.flits > 1 else h
    booked: list[tuple[Link, Link | None, int, int, Series]] = []
    for gate, link, feeder, worker, overhead, head, rest, full, last, work in leg.whole:
        start = h + overhead
        if worker is not None or link.tail > start or (gate.ordered and booked):
            return None
        h = start + head
        p = max(h + rest, p + full)
        t = max(p, t) + last
        period = max(period, work)
        later = (count - 1) * period
        booked.append((link, feeder, start + later + work, t + later, (link.number, start, work, period)))
    for link, feeder, busy, tail, _ in booked:
        link.busy, link.tail, link.last, link.holder = busy, tail, feeder, holder
    return t, period, [series for *_, series in booked]
