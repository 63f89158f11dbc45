"""Reads and writes of a PE at HBM slices: booked at the slice, on their way over the network, and what they waited for.

The critical path to the end of a transfer starts where it was sent, or, where it waited for an earlier transfer of its
own PE, at the end of that; what it waited for others is its queue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .calendar import order_of
from .commands import Bursts, Dma
from .flight import Flight
from .network import Passage
from .paths import DMA_READ, DMA_WRITE, QUEUE, Behind, Completion, Holder, Path, step
from .pe import ON_DMA_READ, ON_DMA_WRITE, ON_HBM, ON_NOC, STAGE_ARRIVAL, STAGE_DATA, STAGE_SEND, WRITES, Pe, Ready
from .way import Way

# Takes a transfer that has ended.
Then = Callable[["Transit"], None]


class Transit(Flight):
    """A transfer between a PE and a slice, sent at `sent` when `led` had led there."""

    __slots__ = ("_before", "_led", "_record", "_then", "_unit", "_waited", "sent")

    def __init__(self, unit: Pe, passage: Passage, order: int, record: int, sent: int, led: Path, then: Then):
        super().__init__(
            unit.number, passage, unit.calendar.request_ordered, order, unit.records.loads, logs=unit.logs_links
        )
        self._unit, self._record, self.sent, self._led, self._then = unit, record, sent, led, then
        self._waited = 0  # how long it waited at the slice
        self._before: Holder | None = None  # for what

    def answered(self, time: int) -> None:
        self._unit.served.append(time - self._unit.start)

    def booked(self, link: int, start: int, work: int) -> None:
        self._unit.records.run(self._record, ON_NOC, start, work, link)

    def reserve(self, way: Way, now: int, held: int, bursts: Bursts) -> tuple[int, int, int]:
        """Book the slice for what arrives there at `now`: (when it is taken, first burst, end of the last)."""
        slice_, pe = way.slice, self._unit
        start, first, last = slice_.reserve(now, held, bursts, way.burst_ps)
        if slice_.ordered:
            pe.served.append(start - pe.start)
        self._waited, self._before, slice_.holder = start - now, slice_.holder, self
        pe.records.run(self._record, ON_HBM, first, last - first, slice_.owner)
        return start, first, last

    def finish(self, end: int, alone: int, part: int) -> None:
        """It ends at `end`; without what it met on its way it would have ended at `alone`."""
        queue, holder = at_slice(self._unit, self._waited, self._before)
        if self.foreign:
            queue += end - alone
        else:
            holder = self.behind or holder
        self.end, self.path = end, path_to(end, self.sent, self._led, self._record, part, queue, holder)
        self._before = self.behind = None  # else what was long ago would live on behind it
        self._then(self)

    @property
    def order(self) -> int:
        """Its rank among the requests of the PE."""
        return self._order

    @property
    def ready(self) -> Ready:
        """Its end, and the path there."""
        assert self.end is not None
        return self.end, self.path


def at_slice(pe: Pe, waited: int, before: Holder | None) -> tuple[int, Holder | None]:
    """What a transfer waited for at its slice, so long: (that time, None) for another PE, whose queue it was in;
    (0, holder) for a transfer of its own."""
    if not waited or before is None:
        return 0, None
    return (0, before) if before.pe == pe.number else (waited, None)


def path_to(end: int, sent: int, led: Path, record: int, part: int, queue: int, holder: Holder | None) -> Path:
    """The path to the end of a transfer that was sent at `sent`, waited `queue` for other PEs, and for `holder` if that
    is of its own PE."""
    queue = min(queue, end - sent)
    path, ps = step(led, record, QUEUE, queue), end - sent - queue
    if holder is None or queue:
        return step(path, record, part, ps)
    behind = Behind(holder, end, path, record, part, ps)
    return behind if holder.end is None else behind.seen()


class Read(Transit):
    """A read whose request, sent at `sent`, is at its slice at `now`."""

    __slots__ = ("_alone",)

    def __init__(
        self,
        unit: Pe,
        way: Way,
        size: int,
        bursts: Bursts,
        order: int,
        record: int,
        now: int,
        sent: int,
        led: Path,
        then: Then,
    ):
        held, data, passage = way.read(size)
        super().__init__(unit, passage, order, record, sent, led, then)
        start, first, last = self.reserve(way, now, held, bursts)
        self._alone = start + data
        if last - first > held:
            self.gaps = (last - first) // passage[0].flits
        self.depart(first + way.burst_ps, way.gap_ps, last if bursts else 0)

    def arrived(self, time: int) -> None:
        self.finish(time, min(time, self._alone), DMA_READ)


class Write(Transit):
    """A write whose first flit leaves at `sent`; its time counts as `part`. `then` comes when its acknowledgement is
    back."""

    __slots__ = ("_bursts", "_committed", "_part", "_size", "_there", "_way")

    def __init__(
        self,
        unit: Pe,
        way: Way,
        size: int,
        bursts: Bursts,
        order: int,
        record: int,
        sent: int,
        led: Path,
        then: Then,
        part: int,
    ):
        passage = way.write(size)[-1]
        super().__init__(unit, passage, order, record, sent, led, then)
        self._way, self._size, self._bursts, self._part = way, size, bursts, part
        self._committed: int | None = None
        self._there: int | None = None
        self.depart(sent)

    def at_edge(self, time: int) -> None:
        self._unit.calendar.request(time, self._order, self._take, None, self._way.slice.ordered)

    def _take(self, now: int, _: None) -> None:
        held = self._way.write(self._size)[2]
        last = self.reserve(self._way, now, held, self._bursts)[2]
        self._committed = last if self._bursts else last + self._way.burst_ps
        self._settle()

    def arrived(self, time: int) -> None:
        self._there = time
        self._settle()

    def _settle(self) -> None:
        if self._there is None or self._committed is None:
            return
        way = self._way
        arrival = way.write(self._size)[1]
        end = max(self._committed, self._there + way.burst_ps) + way.ack_ps
        alone = max(self._committed, self.sent + arrival + way.burst_ps) + way.ack_ps
        self.finish(end, min(end, alone), self._part)


def send_write(
    pe: Pe,
    way: Way,
    size: int,
    bursts: Bursts,
    order: int,
    record: int,
    now: int,
    path: Path,
    then: Then,
    part: int = DMA_WRITE,
) -> int:
    """The DMA sends a write that is ready at `now`, after those before it; returns when it begins."""
    sending = way.write(size)[0]
    server = pe.send
    # Where it waits for an earlier write to leave, its time counts from that.
    led = path if now >= server.busy else server.path
    sent = server.book(now, path, record, part, sending)[0] - sending
    Write(pe, way, size, bursts, order, record, sent, led, then, part)
    return sent


class Transfer:
    """A single-op transfer, one part for each slice that it touches; it ends when its last part does. An update reads a
    part and then writes it; its time counts as reading."""

    __slots__ = ("command", "done", "end", "last", "missing", "path", "pe", "record", "start")

    def __init__(self, pe: Pe, command: Dma, record: int, ready: Ready, done: Completion):
        self.pe, self.command, self.record, self.done = pe, command, record, done
        self.start, self.path = ready
        self.end, self.missing = self.start, len(command.shares)
        self.last = -1  # order of the part that it ends with
        pe.singles += 1
        size = sum(size for _, size, _ in command.shares)
        if command.write:
            pe.records.count(record, written=size)
        else:
            # By bursts, lanes that repeat an address are read once.
            useful = min(size, command.useful)
            pe.records.count(record, read=size, useful=useful, written=size * command.update)
        if not command.shares:
            # Every lane is masked off: nothing moves.
            pe.request(self.start, order_of(record, STAGE_ARRIVAL), self._nothing, None)
        for part, (owner, _, _) in enumerate(command.shares):
            way = pe.way(owner)
            if command.write:
                self._request_send(part, ready)
            else:
                order = order_of(record, STAGE_ARRIVAL, part=part)
                pe.calendar.request(self.start + way.request_ps, order, self._read, (part, ready), way.slice.ordered)

    def _request_send(self, part: int, ready: Ready) -> None:
        time, path = ready
        self.pe.request(time, order_of(self.record, STAGE_SEND, 0, WRITES, part), self._send, (part, path))

    def _nothing(self, _now: int, _argument: None) -> None:
        self._finish()

    def _read(self, now: int, argument: tuple[int, Ready]) -> None:
        part, (sent, path) = argument
        owner, size, bursts = self.command.shares[part]
        order = order_of(self.record, STAGE_DATA, part=part)
        then = partial(self._update, part) if self.command.update else self._ended
        Read(self.pe, self.pe.way(owner), size, bursts, order, self.record, now, sent, path, then)

    def _update(self, part: int, transit: Transit) -> None:
        self._request_send(part, transit.ready)

    def _send(self, now: int, argument: tuple[int, Path]) -> None:
        part, path = argument
        owner, size, bursts = self.command.shares[part]
        order = order_of(self.record, STAGE_SEND, 0, WRITES, part)
        way = self.pe.way(owner)
        sent = send_write(self.pe, way, size, bursts, order, self.record, now, path, self._ended, self._part)
        if not self.command.update:
            self.start = min(self.start, sent) if part else sent

    def _ended(self, transit: Transit) -> None:
        end, path = transit.ready
        if len(self.command.shares) == 1:
            transit.path = 2 * self.record + 1  # what comes next at the slice waits for the command as such
        if (end, transit.order) > (self.end, self.last):
            self.end, self.path, self.last = end, path, transit.order
        self.missing -= 1
        if not self.missing:
            engine = ON_DMA_WRITE if self.command.write else ON_DMA_READ
            self.pe.records.run(self.record, engine, self.start, self.end - self.start)
            self._finish()

    @property
    def _part(self) -> int:
        return DMA_WRITE if self.command.write else DMA_READ

    def _finish(self) -> None:
        self.pe.singles -= 1
        self.pe.finish(self.record, self.start, self.end, self.path, self._part, self.done)
