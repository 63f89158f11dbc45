"""One PE: its servers, its calendar, and the single-op commands on them.

The calendar holds requests: something that is ready for a server at some time. They are taken in the order (time,
class, issue number, stage, tile), where class is 0 for reads and everything inside the PE and 1 for writes; so
servers serve first come, first served, and ties go to reads, then to the earlier command. Whoever takes a request
books the server until it is done: a server is a number (until when it is busy), and what is done on it needs no event
of its own.

What a PE does is private to it but for slices that other PEs use as well. A request that arrives at such a slice
waits until simulated time has got there (`run` yields it); everything else runs ahead of the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from ..oplog import ENGINES
from ..target.machine import Machine
from .commands import Bursts, Compute, Dma
from .hazards import Flights
from .hbm import Slice, Way
from .paths import DMA_READ, DMA_WRITE, QUEUE, START, Completion, Path, Waiter, step
from .records import ProgramRecords
from .server import Server
from .values import Traced

(_, ON_DMA_READ, ON_DMA_WRITE, ON_FETCH, ON_GEMM, ON_MATH, ON_STORE, _, ON_HBM, _) = range(len(ENGINES))

# Stages of one command, for the order of requests that are ready at the same time.
STAGE_ARRIVAL, STAGE_FETCH, STAGE_GEMM, STAGE_MATH, STAGE_STORE, STAGE_SEND = range(6)
_TILE_BITS, _STAGE_BITS, _NUMBER_BITS = 28, 4, 40
_WRITES_AFTER_READS = 1 << (_TILE_BITS + _STAGE_BITS + _NUMBER_BITS)

# A request to a shared slice: when, and its key among requests of all PEs at that time (reads first, then by PE).
Arrival = tuple[int, int]
Handler = Callable[[int, Any], None]
# When something is ready, and the path that led there.
Ready = tuple[int, Path]


def order_of(number: int, stage: int, tile: int = 0) -> int:
    """The rank of a request among those of the PE that are ready at the same time."""
    order = ((number << _STAGE_BITS | stage) << _TILE_BITS) + tile
    return order + _WRITES_AFTER_READS if stage == STAGE_SEND else order


class Pe:
    """The state of one PE through a launch. `program` gives the commands of the program that is running."""

    def __init__(self, machine: Machine, number: int, slices: dict[int, Slice], *, exact: bool = False):
        self.machine = machine
        self.number = number
        self.slices = slices
        self.exact = exact  # every tile is a request of its own
        self.gemm, self.math, self.send = Server(), Server(), Server()
        self.fetch = tuple(Server() for _ in range(machine.pe.fetch.servers))
        shared = machine.pe.fetch_store_shared
        self.store = self.fetch if shared else tuple(Server() for _ in range(machine.pe.store.servers))
        self.entry_dma = machine.pe.sched.entry_dma_ps
        self.entry_engine = machine.pe.sched.entry_engine_ps
        self._ways: dict[int, Way] = {}
        self.requests: list[tuple[int, int, int, Handler, Any]] = []
        self.events = 0
        self.traced: list[Traced | None] | None = None  # instances of the running program, if values are wanted
        self.begin(0)

    def begin(self, start: int) -> None:
        """A new program starts: nothing is in flight, every server is idle."""
        self.start = start
        self.end = start
        self.served: list[int] = []  # when shared slices took its transfers, since its start
        self.last: int = START
        self.records = ProgramRecords()
        self.flights = Flights()
        if self.traced is not None:
            self.traced = []
        self.active = 0  # composites that have not ended
        self.singles = 0  # single-op commands that have been sent and have not ended
        for server in (self.gemm, self.math, self.send, *self.fetch, *self.store):
            server.busy, server.path = start, START

    def way(self, owner: int) -> Way:
        """The way to the slice of a PE."""
        way = self._ways.get(owner)
        if way is None:
            way = self._ways[owner] = Way(self.machine, self.number, self.slices[owner])
        return way

    def request(self, time: int, order: int, handler: Handler, argument: Any, slice_: Slice | None = None) -> None:
        """Put a request in the calendar; one to a shared slice waits for simulated time."""
        key = 0
        if slice_ is not None and slice_.shared:
            # 0 and 1 are SimPy's own priorities.
            key = 2 + (self.number << 1) + (order >= _WRITES_AFTER_READS) * (1 << 40)
        heappush(self.requests, (time, order, key, handler, argument))

    def drain(self) -> Iterator[Arrival]:
        """Take requests until there are none; yields before each arrival at a shared slice."""
        requests = self.requests
        while requests:
            time, _, key, handler, argument = heappop(requests)
            if key:
                yield time, key
            self.events += 1
            handler(time, argument)

    def when(self, completions: Iterable[Completion], then: Callable[[], None]) -> None:
        """Call `then` as soon as all ends are known: at once if they are."""
        waiter = Waiter(then)
        for completion in completions:
            if completion.end is None:
                waiter.missing += 1
                completion.waiters.append(waiter)
        if not waiter.missing:
            then()

    def trace(self, end: Completion | int, operands: Any) -> None:
        """Remember an instance for its values; instances without operands have none."""
        if self.traced is not None and operands is not None:
            self.traced.append((end, operands))

    def finish(self, record: int, start: int, end: int, path: Path, part: int, done: Completion) -> None:
        """A command has been worked out to its end."""
        self.records.finish(record, start, end, path, part)
        if end > self.end:
            self.end, self.last = end, 2 * record + 1
        done.resolve(end)

    # Single-op commands.

    def compute(self, command: Compute, record: int, part: int, ready: tuple[int, Path], done: Completion) -> None:
        """A gemm, math or copy is ready for its engine."""
        on_gemm = command.on_gemm
        server = self.gemm if on_gemm else self.math

        def serve(now: int, _: Any) -> None:
            service = command.service_ps
            end, path = server.book(now, ready[1], record, part, service)
            server.path = 2 * record + 1  # what comes next on this server waits for the command as such
            self.records.run(record, ON_GEMM if on_gemm else ON_MATH, end - service, service)
            self.records.count(record, flops=command.flops)
            self.singles -= 1
            self.finish(record, end - service, end, path, part, done)

        self.singles += 1
        self.request(ready[0], order_of(record, STAGE_GEMM if on_gemm else STAGE_MATH), serve, None)

    def transfer(self, command: Dma, record: int, ready: tuple[int, Path], done: Completion) -> None:
        """A single-op transfer is ready for the DMA engine: one transfer for each slice it touches."""
        self.singles += 1
        size = sum(size for _, size, _ in command.shares)
        if command.write:
            self.records.count(record, written=size)
        else:
            self.records.count(record, read=size, useful=command.useful, written=size * command.update)
        Transfer(self, command, record, ready, done)


class Transfer:
    """A single-op transfer on its way; it ends when its last part does."""

    __slots__ = ("done", "end", "missing", "parts", "path", "pe", "record", "start", "update")

    def __init__(self, pe: Pe, command: Dma, record: int, ready: tuple[int, Path], done: Completion):
        self.pe, self.record, self.done, self.update = pe, record, done, command.update
        self.start, self.path = ready
        self.end, self.missing = self.start, len(command.shares)
        self.parts = self.missing
        if not command.shares:
            # Every lane is masked off: nothing moves.
            pe.request(self.start, order_of(record, STAGE_ARRIVAL), self._nothing, command)
        for part, (owner, size, bursts) in enumerate(command.shares):
            way = pe.way(owner)
            if command.write:
                self._request_send(way, size, bursts, part, ready)
            else:
                arrival = self.start + way.request_ps
                order = order_of(record, STAGE_ARRIVAL, part)
                pe.request(arrival, order, self._read, (way, size, bursts, part, ready), way.slice)

    def _request_send(self, way: Way, size: int, bursts: Bursts, part: int, ready: Ready) -> None:
        order = order_of(self.record, STAGE_SEND, part)
        self.pe.request(ready[0], order, self._send, (way, size, bursts, part, ready[1]))

    def _nothing(self, now: int, command: Dma) -> None:
        self._finish(DMA_WRITE if command.write else DMA_READ)

    def _read(self, now: int, argument: tuple[Way, int, Bursts, int, Ready]) -> None:
        way, size, bursts, part, (sent, path) = argument
        ended = book_read(self.pe, way, size, bursts, now, sent, path, self.record)
        if self.update:
            self._request_send(way, size, bursts, part, ended)
        else:
            self._ended(way, ended, ON_DMA_READ, DMA_READ)

    def _send(self, now: int, argument: tuple[Way, int, Bursts, int, Path]) -> None:
        way, size, bursts, part, path = argument
        sending, head, _, _ = way.write(size)
        server = self.pe.send
        # Where it waits for an earlier write to leave, its time counts from that.
        base = path if now >= server.busy else server.path
        sent = server.book(now, path, self.record, DMA_WRITE, sending)[0] - sending
        order = order_of(self.record, STAGE_SEND, part)
        self.pe.request(sent + head, order, self._write, (way, size, bursts, (sent, base)), way.slice)
        if not self.update:
            self.start = min(self.start, sent) if part else sent

    def _write(self, now: int, argument: tuple[Way, int, Bursts, Ready]) -> None:
        way, size, bursts, (sent, path) = argument
        part = DMA_READ if self.update else DMA_WRITE
        ended = book_write(self.pe, way, size, bursts, now, sent, path, self.record, part)
        self._ended(way, ended, ON_DMA_READ if self.update else ON_DMA_WRITE, part)

    def _ended(self, way: Way, ended: Ready, engine: int, part: int) -> None:
        end, path = ended
        if self.parts == 1:
            way.slice.path = 2 * self.record + 1  # what comes next at the slice waits for the command as such
        if end > self.end:
            self.end, self.path = end, path
        self.missing -= 1
        if not self.missing:
            self.pe.records.run(self.record, engine, self.start, self.end - self.start)
            self._finish(part)

    def _finish(self, part: int) -> None:
        self.pe.singles -= 1
        self.pe.finish(self.record, self.start, self.end, self.path, part, self.done)


def came_from(
    pe: Pe, slice_: Slice, now: int, start: int, end: int, sent: int, path: Path, record: int
) -> tuple[Path, int]:
    """(path, its end) from which the time of a transfer counts that a slice takes at `start` and that ends at `end`.

    `path` led to its sending at `sent`; it arrived at `now`. A slice that was held by this PE's own transfer goes on
    from there; one that another PE held is a queue.
    """
    if slice_.shared:
        pe.served.append(start - pe.start)
    if start <= now:
        return path, sent
    if slice_.holder != pe.number or slice_.end < pe.start:
        return step(path, record, QUEUE, start - now), sent + start - now
    # A small transfer may end before the one that held the slice does; then it did not wait for that.
    return (slice_.path, slice_.end) if slice_.end <= end else (path, sent)


def hold(pe: Pe, slice_: Slice, end: int, path: Path) -> Path:
    """The last transfer that a slice has taken is one of this PE, and ends at `end`."""
    slice_.holder, slice_.end, slice_.path = pe.number, end, path
    return path


def book_read(pe: Pe, way: Way, size: int, bursts: Bursts, now: int, sent: int, path: Path, record: int) -> Ready:
    """The request of a read, sent at `sent`, arrives at its slice at `now`. Returns (when its data are in TCM,
    path).
    """
    held, data, tail = way.read(size)
    start, first, last = way.slice.reserve(now, held, bursts, way.burst_ps)
    end = max(first + data, last + tail) if bursts else start + data
    base, base_end = came_from(pe, way.slice, now, start, end, sent, path, record)
    pe.records.run(record, ON_HBM, first, last - first, way.slice.owner)
    return end, hold(pe, way.slice, end, step(base, record, DMA_READ, end - base_end))


def book_write(
    pe: Pe,
    way: Way,
    size: int,
    bursts: Bursts,
    now: int,
    sent: int,
    path: Path,
    record: int,
    part: int = DMA_WRITE,
) -> Ready:
    """The head of a write, sent at `sent`, arrives at its slice at `now`. Returns (end of its ack, path)."""
    _, _, arrived, held = way.write(size)
    start, first, last = way.slice.reserve(now, held, bursts, way.burst_ps)
    committed = last if bursts else last + way.burst_ps
    end = max(committed, sent + arrived + way.burst_ps) + way.ack_ps
    base, base_end = came_from(pe, way.slice, now, start, end, sent, path, record)
    pe.records.run(record, ON_HBM, first, last - first, way.slice.owner)
    return end, hold(pe, way.slice, end, step(base, record, part, end - base_end))
