"""A composite in PE_SCHED: ops that run once, the tiles of its GEMM streamed through the engines, ops that run once
again.

Each stage waits for its own hazards: a read for whoever still writes its bytes, FETCH for operands in TCM that an
earlier composite makes, MATH for what it reads, STORE and the write for whoever still uses the bytes of the output.

Tiles come in groups of at most `pe.sched.stream_tiles`; the reads of a group are queued at once, all of A before all
of B, when the group before has left FETCH. Each tile then goes through FETCH, MATH on its operands, GEMM and MATH on
the sum, and the last tile of an output through MATH, STORE and the write. While no other command of the PE can
interfere, the tiles of a group run through these servers in one pass (`recurrence.py`); else each stage of each tile
is a request of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from .calendar import order_of
from .commands import Composite, Once, Range, Stream
from .paths import FETCH, GEMM, ISSUE, MATH, STORE, Completion, Path, step
from .pe import (
    ON_DMA_READ,
    ON_DMA_WRITE,
    ON_FETCH,
    ON_GEMM,
    ON_MATH,
    ON_STORE,
    STAGE_ARRIVAL,
    STAGE_FETCH,
    STAGE_GEMM,
    STAGE_MATH,
    STAGE_SEND,
    STAGE_STORE,
    WRITES,
    Pe,
    Ready,
)
from .reads import Arrival, GroupReads, TileReads
from .recurrence import later, run_group, run_tile
from .server import Server
from .trains import Train
from .transfers import Transit, send_write
from .way import Way

Waits = list[Completion]


class Hazards:
    """The commands that were in flight when a composite was issued, sorted by which of its stages waits for them."""

    __slots__ = ("after", "before", "fetch", "math", "read", "send", "store")

    def __init__(self, pe: Pe, command: Composite):
        self.before = [_waits(pe, op.reads, op.writes) for op in command.before]
        self.after = [_waits(pe, op.reads, op.writes) for op in command.after]
        tiles = command.tiles
        self.read: Waits = []
        self.fetch, self.math, self.store, self.send = self.read, self.read, self.read, self.read
        if command.back is not None:
            self.send = _waits(pe, (), (command.back.range,))
        if tiles is not None:
            self.read = _waits(pe, [s.range for s in (tiles.a, tiles.b) if s is not None], ())
            self.fetch = _waits(pe, tiles.fetch_reads, ())
            self.math = _waits(pe, tiles.math_reads, ())
            self.store = _waits(pe, (), tiles.store_writes)
            self.send = _waits(pe, (), () if tiles.out is None else (tiles.out.range,))


def _waits(pe: Pe, reads: Sequence[Range], writes: Sequence[Range]) -> Waits:
    writers = pe.flights.writers(reads) if reads else []
    return writers + pe.flights.users(writes) if writes else writers


def _ended(waits: Waits) -> Ready | None:
    """When the last of these ended; None if there are none."""
    last: Ready | None = None
    for completion in waits:
        assert completion.end is not None
        if last is None or completion.end > last[0]:
            last = completion.end, completion.node
    return last


class CompositeFlow:
    """One composite on its way through a PE."""

    def __init__(self, pe: Pe, command: Composite, record: int, issued: int, done: Completion):
        self.pe, self.command, self.record, self.done = pe, command, record, done
        self.hazards = Hazards(pe, command)
        self.started: int | None = None
        self.window: int | None = None
        self.end: Ready = (issued, 2 * record)
        pe.active += 1
        tiles = command.tiles
        dma_first = tiles is not None and (tiles.a or tiles.b) is not None and not command.before
        entry = pe.entry_dma if dma_first else pe.entry_engine
        if tiles is None and not command.before and not command.after:
            entry = 0
        self._once(
            command.before, self.hazards.before, (issued + entry, step(2 * record, record, ISSUE, entry)), self._begin
        )

    # Ops that run once.

    def _once(self, ops: Sequence[Once], waits: Sequence[Waits], ready: Ready, then: Callable[[Ready], None]) -> None:
        """Run `ops` in order, the first when it is ready, then go on."""
        if not ops:
            then(ready)
            return
        op, pe = ops[0], self.pe

        def serve(now: int, path: Path) -> None:
            end, path = self._math(now, path, op.service_ps)
            self._start(end - op.service_ps)
            self._once(ops[1:], waits[1:], (end, path), then)

        def free() -> None:
            at, path = later(ready, _ended(waits[0]))
            pe.request(at, order_of(self.record, STAGE_MATH), serve, path)

        pe.when(waits[0], free)

    def _start(self, time: int) -> None:
        if self.started is None:
            self.started = time

    # Tiles.

    def _begin(self, ready: Ready) -> None:
        tiles, hazards, pe = self.command.tiles, self.hazards, self.pe
        if tiles is None:
            self._write_back(ready)
            return
        self.tiles, self.outputs_left, self.first = tiles, tiles.across_m * tiles.across_n, 0
        self.staged = 0  # tiles that are on their way from FETCH to STORE one request at a time
        self.fetch_gate, self.math_gate = Gate(pe, hazards.fetch), Gate(pe, hazards.math)
        self.store_gate, self.send_gate = Gate(pe, hazards.store), Gate(pe, hazards.send)
        # What streams through one server alone, in the order of its tiles, needs no request per tile.
        maths = (tiles.k_math_before_ps > 0) + (tiles.k_math_ps > 0) + (tiles.out_math_ps > 0)
        self.plain = not pe.exact and maths <= 1 and not pe.machine.pe.fetch_store_shared
        pe.when(hazards.read, lambda: self._request_group(later(ready, _ended(hazards.read))))

    def _write_back(self, ready: Ready) -> None:
        """What ops without a GEMM have made goes to HBM, if it belongs there."""
        back, pe = self.command.back, self.pe
        if back is None or not back.shares:  # every lane may be masked off
            self._end_tiles(ready)
            return
        self.outputs_left = len(back.shares)

        def send(now: int, argument: tuple[int, Path]) -> None:
            part, path = argument
            owner, size, bursts = back.shares[part]
            order = order_of(self.record, STAGE_SEND, 0, WRITES, part)
            send_write(pe, pe.way(owner), size, bursts, order, self.record, now, path, self._written)

        def free() -> None:
            time, path = later(ready, _ended(self.hazards.send))
            for part in range(len(back.shares)):
                pe.request(time, order_of(self.record, STAGE_SEND, 0, WRITES, part), send, (part, path))

        pe.when(self.hazards.send, free)

    def _request_group(self, ready: Ready) -> None:
        """Queue the reads of the tiles from `first` on, as many as may be on the way to FETCH."""
        pe, tiles = self.pe, self.tiles
        sent, path = ready
        self.count = min(pe.machine.pe.sched.stream_tiles, tiles.count - self.first)
        ways = [pe.way(owner) for owner in self._owners()]
        if not ways:
            self.reads = GroupReads(ready, self.count, 0)
            pe.request(sent, order_of(self.record, STAGE_ARRIVAL, self.first), self._nothing_to_read, None)
            return
        self._start(sent)
        self.window = sent if self.window is None else self.window
        if pe.exact or any(way.ordered() for way in ways):
            self.tile_reads = TileReads(ready, self._parts(), partial(self._released, sent))
            arrive = self._arrive_each
            self.tile_reads.start()
        else:
            self.reads = GroupReads(ready, self.count, len(ways))
            arrive = self._arrive
        for number, way in enumerate(ways):
            order = order_of(self.record, STAGE_ARRIVAL, self.first + number)
            pe.calendar.request(sent + way.request_ps, order, arrive, (way, sent, path), way.slice.ordered)

    def _nothing_to_read(self, _now: int, _argument: None) -> None:
        self.fetch_gate.when(self._group_ready)

    def _streams(self) -> list[tuple[Stream, int]]:
        """The streamed operands, A first, each with the distance of its tile numbers: A by (m, k), B by (k, n)."""
        return [(s, n) for n, s in enumerate((self.tiles.a, self.tiles.b)) if s is not None]

    def _tile_of(self, which: int, tile: int) -> int:
        """The number of the operand's own tile that tile `tile` of the loop reads."""
        tiles = self.tiles
        output, k = divmod(tile, tiles.across_k)
        m, n = divmod(output, tiles.across_n)
        return m * tiles.across_k + k if which == 0 else k * tiles.across_n + n

    def _owners(self) -> list[int]:
        owners: dict[int, None] = {}
        for stream, which in self._streams():
            if stream.shares is None:
                owners[stream.owner] = None
                continue
            for tile in range(self.first, self.first + self.count):
                owners.update((owner, None) for owner, _, _ in stream.of(self._tile_of(which, tile)))
        return list(owners)

    def _parts(self) -> list[int]:
        """How many reads each tile of the group waits for."""
        tiles = range(self.first, self.first + self.count)
        return [sum(len(stream.of(self._tile_of(which, tile))) for stream, which in self._streams()) for tile in tiles]

    def _arrive(self, now: int, argument: tuple[Way, int, Path]) -> None:
        """All reads of the group that go to one slice arrive there, A before B."""
        way, sent, path = argument
        pe, reads = self.pe, self.reads
        arrival = Arrival(self.count, pe, way, now, self.record, sent, path)
        for stream, which in self._streams():
            if stream.shares is None and stream.owner != way.slice.owner:
                continue
            train = arrival.uniform(stream.tile_bytes) if stream.shares is None else None
            if train is not None:
                reads.merge(train)
            else:
                shares = [stream.of(self._tile_of(which, self.first + i)) for i in range(self.count)]
                reads.merge_each(arrival.tiles(shares))
        reads.arrivals_left -= 1
        if not reads.arrivals_left:
            pe.records.run(self.record, ON_DMA_READ, sent, reads.end - sent)
            self.fetch_gate.when(self._group_ready)

    def _arrive_each(self, now: int, argument: tuple[Way, int, Path]) -> None:
        """The same where other traffic can come between the data of the tiles."""
        way, sent, path = argument
        arrival, reads = Arrival(self.count, self.pe, way, now, self.record, sent, path), self.tile_reads

        for stream, which in self._streams():
            for i in range(self.count):
                for part, (owner, size, bursts) in enumerate(stream.of(self._tile_of(which, self.first + i))):
                    if owner == way.slice.owner:
                        arrival.read(size, bursts, 2 * (self.first + i) + which, part, partial(reads.ended, i))

    def _released(self, sent: int, number: int, ready: Ready) -> None:
        """A tile of the group is in TCM, and so are those before it."""
        if number == self.count - 1 and ready[0] > sent:
            self.pe.records.run(self.record, ON_DMA_READ, sent, ready[0] - sent)
        self.fetch_gate.when(partial(self._tile_ready, self.first + number, ready))

    def _tile_ready(self, tile: int, ready: Ready, hazard: Ready | None) -> None:
        """It is known when FETCH may take a tile."""
        time, path = later(ready, hazard)
        self._start(time)
        if not self._undisturbed():
            self._request_tile(tile, time, path)
            return
        fetched, output = run_tile(
            self.pe, self.record, self.tiles, (time, path), tile, self.math_gate.hazard, self.store_gate.hazard
        )
        self._fetched(tile, fetched)
        if output is not None:
            self._stored(output, tile)

    def _undisturbed(self) -> bool:
        """Whether no other command can ask for the servers of the PE before the end of this one, and no tile of this
        one is still on its way through them."""
        pe, idle = self.pe, not self.staged
        return (
            self.plain
            and idle
            and pe.active == 1
            and not pe.singles
            and self.math_gate.is_open
            and self.store_gate.is_open
        )

    def _request_tile(self, tile: int, time: int, path: Path) -> None:
        self.staged += 1
        self.pe.request(time, order_of(self.record, STAGE_FETCH, tile), self._on_fetch, (tile, path))

    def _fetched(self, tile: int, end: Ready) -> None:
        """A tile has left FETCH: behind the last one of the group the next may come."""
        if tile + 1 == self.first + self.count < self.tiles.count:
            self.first += self.count
            self._request_group(end)

    def _group_ready(self, hazard: Ready | None) -> None:
        """It is known when FETCH may take each tile of the group."""
        train = self.reads.train().not_before(hazard)
        self._start(train.at(0)[0])
        if self._undisturbed():
            self._run_group(train)
            return
        for i in range(self.count):
            self._request_tile(self.first + i, *train.at(i))

    def _run_group(self, inputs: Train) -> None:
        """The whole group in one pass: nothing else can ask for these servers before its end."""
        first, self.first = self.first, self.first + self.count
        fetched, outputs = run_group(
            self.pe, self.record, self.tiles, inputs, first, self.math_gate.hazard, self.store_gate.hazard
        )
        if self.first < self.tiles.count:
            self._request_group(fetched)
        for tile, ready in outputs:
            self._stored(ready, tile)

    def _on_fetch(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        pe, tiles = self.pe, self.tiles
        end, path = self._serve(pe.fetch, now, path, FETCH, ON_FETCH, tiles.fetch_ps)
        self._fetched(tile, (end, path))
        if tiles.k_math_before_ps:
            pe.request(end, order_of(self.record, STAGE_MATH, tile), self._on_math_before, (tile, path))
        else:
            pe.request(end, order_of(self.record, STAGE_GEMM, tile), self._on_gemm, (tile, path))

    def _serve(self, servers: Sequence[Server], now: int, path: Path, part: int, engine: int, service: int) -> Ready:
        """Through servers in series: they have one feeder, so the order at the first is the order at all."""
        for lane, server in enumerate(servers):
            now, path = server.book(now, path, self.record, part, service)
            self.pe.records.run(self.record, engine, now - service, service, -1, lane)
        return now, path

    def _on_math_before(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        end, path = self._math(now, path, self.tiles.k_math_before_ps)
        self.pe.request(end, order_of(self.record, STAGE_GEMM, tile), self._on_gemm, (tile, path))

    def _math(self, now: int, path: Path, service: int) -> Ready:
        return self._serve((self.pe.math,), now, path, MATH, ON_MATH, service)

    def _on_gemm(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        pe, tiles = self.pe, self.tiles
        end, path = self._serve((pe.gemm,), now, path, GEMM, ON_GEMM, tiles.gemm_ps)
        if tiles.k_math_ps:
            self._after_gate(self.math_gate, (end, path), STAGE_MATH, tile, self._on_k_math)
        else:
            self._summed((end, path), tile)

    def _on_k_math(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        self._summed(self._math(now, path, self.tiles.k_math_ps), tile)

    def _summed(self, ready: Ready, tile: int) -> None:
        """A tile is added to its output tile, which may be complete now."""
        if tile % self.tiles.across_k != self.tiles.across_k - 1:
            self.staged -= 1
        elif self.tiles.out_math_ps:
            self._after_gate(self.math_gate, ready, STAGE_MATH, tile, self._on_out_math)
        else:
            self._after_gate(self.store_gate, ready, STAGE_STORE, tile, self._on_store)

    def _on_out_math(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        ready = self._math(now, path, self.tiles.out_math_ps)
        self._after_gate(self.store_gate, ready, STAGE_STORE, tile, self._on_store)

    def _on_store(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        self.staged -= 1
        self._stored(self._serve(self.pe.store, now, path, STORE, ON_STORE, self.tiles.store_ps), tile)

    def _stored(self, ready: Ready, tile: int) -> None:
        """An output tile is in TCM; it goes on to HBM if it belongs there."""
        if self.tiles.out is None:
            self._output_ended(ready)
        else:
            self._after_gate(self.send_gate, ready, STAGE_SEND, tile, self._on_send)

    def _on_send(self, now: int, argument: tuple[int, Path]) -> None:
        tile, path = argument
        out, pe = self.tiles.out, self.pe
        assert out is not None
        shares = out.of(tile // self.tiles.across_k)
        if not shares:  # every lane is masked off
            self._output_ended((now, path))
            return
        self.outputs_left += len(shares) - 1
        for part, (owner, size, bursts) in enumerate(shares):
            order = order_of(self.record, STAGE_SEND, tile, WRITES, part)
            send_write(pe, pe.way(owner), size, bursts, order, self.record, now, path, self._written)

    def _written(self, transit: Transit) -> None:
        end, path = transit.ready
        self.pe.records.run(self.record, ON_DMA_WRITE, transit.sent, end - transit.sent)
        self._output_ended((end, path))

    def _after_gate(
        self, gate: Gate, ready: Ready, stage: int, tile: int, handler: Callable[[int, tuple[int, Path]], None]
    ) -> None:
        """Put the next stage of a tile in the calendar, once its gate is open."""

        def request(hazard: Ready | None) -> None:
            time, path = later(ready, hazard)
            order = order_of(self.record, stage, tile, WRITES if stage == STAGE_SEND else 0)
            self.pe.request(time, order, handler, (tile, path))

        gate.when(request)

    def _output_ended(self, ready: Ready) -> None:
        if ready[0] > self.end[0]:
            self.end = ready
        self.outputs_left -= 1
        if not self.outputs_left:
            self._end_tiles(self.end)

    def _end_tiles(self, ready: Ready) -> None:
        self._once(self.command.after, self.hazards.after, ready, self._finish)

    def _finish(self, ready: Ready) -> None:
        end, path = ready
        self.pe.active -= 1
        start = end if self.started is None else self.started
        self.pe.records.count_composite(self.record, self.command, start if self.window is None else self.window)
        self.pe.finish(self.record, start, end, path, GEMM, self.done)


class Gate:
    """What a stage of every tile waits for: open once the end of the hazard is known (None: there is none)."""

    __slots__ = ("_waiting", "hazard", "is_open")

    def __init__(self, pe: Pe, waits: Waits):
        self.is_open = False
        self.hazard: Ready | None = None
        self._waiting: list[Callable[[Ready | None], None]] = []
        pe.when(waits, lambda: self._open(_ended(waits)))

    def _open(self, hazard: Ready | None) -> None:
        self.is_open, self.hazard = True, hazard
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(hazard)

    def when(self, then: Callable[[Ready | None], None]) -> None:
        """Call `then` with the hazard once it is known."""
        if self.is_open:
            then(self.hazard)
        else:
            self._waiting.append(then)
