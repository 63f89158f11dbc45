"""One PE: its servers, its calendar, and gemm, math and copy as single-op commands on them (transfers: `transfers.py`).

The calendar holds requests: something that is ready for a server at some time. They are taken in the order (time,
class, issue number, stage, tile), where class is 0 for reads and everything inside the PE and 1 for writes; so
servers serve first come, first served, and ties go to reads, then to the earlier command. Whoever takes a request
books the server until it is done: a server is a number (until when it is busy), and what is done on it needs no event
of its own.

What a PE does is private to it but for slices and links whose order is decided in simulated time (`network.py`): a
request for one of these waits until the clock has got there; everything else runs ahead of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..oplog import ENGINES
from .calendar import Calendar, order_of
from .commands import Compute
from .hazards import Flights
from .network import Network
from .paths import START, Completion, Path, Waiter
from .records import ProgramRecords
from .server import Server
from .values import Traced
from .way import Way

(_, ON_DMA_READ, ON_DMA_WRITE, ON_FETCH, ON_GEMM, ON_MATH, ON_STORE, _, ON_HBM, ON_NOC) = range(len(ENGINES))

# Stages of one command, for the order of requests that are ready at the same time.
STAGE_ARRIVAL, STAGE_DATA, STAGE_FETCH, STAGE_GEMM, STAGE_MATH, STAGE_STORE, STAGE_SEND = range(7)
# The class of writes in that order.
WRITES = 1

# When something is ready, and the path that led there.
Ready = tuple[int, Path]


class Pe:
    """The state of one PE through a launch. `program` gives the commands of the program that is running."""

    def __init__(self, network: Network, number: int, *, exact: bool = False):
        machine = self.machine = network.machine
        self.network = network
        self.number = number
        self.exact = exact  # every tile is a request of its own
        self.logs_links = network.logs  # whether the op-log says when links were taken
        self.calendar = Calendar(number)
        self.gemm, self.math, self.send = Server(), Server(), Server()
        self.fetch = tuple(Server() for _ in range(machine.pe.fetch.servers))
        shared = machine.pe.fetch_store_shared
        self.store = self.fetch if shared else tuple(Server() for _ in range(machine.pe.store.servers))
        self.entry_dma = machine.pe.sched.entry_dma_ps
        self.entry_engine = machine.pe.sched.entry_engine_ps
        self._ways: dict[int, Way] = {}
        self.traced: list[Traced | None] | None = None  # instances of the running program, if values are wanted
        self.begin(0)

    def begin(self, start: int) -> None:
        """A new program starts: nothing is in flight, every server is idle."""
        self.start = start
        self.end = start
        self.served: list[int] = []  # when ordered slices and links took what it sent, since its start
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
            way = self._ways[owner] = Way(self.network, self.number, self.network.slice_of(owner))
        return way

    def request(self, time: int, order: int, handler: Callable[[int, Any], None], argument: Any) -> None:
        """Put a request for one of the PE's own servers in the calendar."""
        self.calendar.request(time, order, handler, argument)

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
