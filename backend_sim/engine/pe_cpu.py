"""PE_CPU: takes the commands of a program in order, waits, pays, sends.

For each command: it waits for the operands that commands in flight still write, pays the issue cycles, and sends it;
the engine may start an entry time later, once it is free and the bytes it writes are no longer in use. A blocking
command holds PE_CPU until its end. A composite waits here only for loads of its operands; everything else PE_SCHED
awaits. PE_CPU runs ahead of the calendar as long as nothing it needs to know is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from .commands import Command, Composite, Compute, Fill, Hold, Issued, NextProgram, ReadValues
from .composite import CompositeFlow
from .paths import ISSUE, START, Completion, Path, step
from .pe import Pe
from .transfers import Transfer

# Takes the answer to the last ReadValues (None after other commands), gives the next command.
Commands = Generator[Command, Any, None]


def latest(completions: Sequence[Completion], time: int, node: int) -> tuple[int, int]:
    """(time, node) of what ended last: one of the completions, or `node` at `time` if that is later than all of
    them."""
    for completion in completions:
        assert completion.end is not None
        if completion.end > time:
            time, node = completion.end, completion.node
    return time, node


class OverLimitError(Exception):
    """A PE is not done at the time up to which a run is of interest."""


class PeCpu:
    """Runs one program, or several that overlap, on a PE. `parts` says for each site what its service counts as;
    `read_values` gives the value of a buffer at a time. Raises OverLimitError where it goes on after `limit`."""

    def __init__(
        self,
        pe: Pe,
        commands: Commands,
        parts: Sequence[int],
        read_values: Callable[[int, ReadValues], Any],
        limit: int | None = None,
    ):
        self.pe = pe
        self.parts = parts
        self.read_values = read_values
        self.finished = False
        self.site = -1  # of the last command: where it stands if it never goes on
        self.turns = [0]  # how many records there were when each program was taken up
        self._commands = commands
        self._limit = limit
        self._steps = self._run()
        self.advance()

    def advance(self) -> None:
        """Go on, as far as what is known allows."""
        next(self._steps, None)

    def _run(self) -> Generator[None, None, None]:
        pe, commands, flights = self.pe, self._commands, self.pe.flights
        time, holder, answer = pe.start, START, None
        while True:
            try:
                command = commands.send(answer)
            except StopIteration:
                break
            answer = None
            flights.forget(time)
            if isinstance(command, NextProgram):
                flights.forget_hbm()
                self.turns.append(len(pe.records.rows))
                continue
            if isinstance(command, Fill):
                self._fill(command, time, holder)
                continue
            operands = flights.writers(command.reads, scheduled=False if isinstance(command, Composite) else None)
            if any(c.end is None for c in operands):
                pe.when(operands, self.advance)
                yield
            time, holder = latest(operands, time, holder)
            if isinstance(command, ReadValues):
                answer = self.read_values(time, command)
                continue
            self.site = command.site
            record = pe.records.issue(command.site, time, time + command.issue_ps, holder)
            time, holder = time + command.issue_ps, 2 * record
            if time > pe.end:
                pe.end, pe.last = time, holder
                if self._limit is not None and time > self._limit:
                    raise OverLimitError
            done = self._send(command, record, time)
            if done is not None:
                if done.end is None:
                    pe.when((done,), self.advance)
                    yield
                assert done.end is not None
                time, holder = done.end, done.node
        self.finished = True

    def _send(self, command: Issued, record: int, time: int) -> Completion | None:
        """Send an issued command; returns its completion if PE_CPU is held until then."""
        pe, part = self.pe, self.parts[command.site]
        if isinstance(command, Hold):
            return None
        done = Completion(2 * record + 1)
        pe.trace(done, command.operands)
        if isinstance(command, Composite):
            CompositeFlow(pe, command, record, time, done)
            pe.flights.add(done, command.reads, command.writes, scheduled=True)
        elif isinstance(command, Compute):
            self._when_free(
                command.writes, record, time, pe.entry_engine, lambda r: pe.compute(command, record, part, r, done)
            )
            return done
        else:
            self._when_free(
                command.writes, record, time, pe.entry_dma, lambda r: Transfer(pe, command, record, r, done)
            )
            if command.blocking:
                return done
            pe.flights.add(done, command.reads, command.writes, scheduled=False)
        return None

    def _when_free(
        self,
        writes: Sequence[tuple[int, int]],
        record: int,
        time: int,
        entry: int,
        start: Callable[[tuple[int, Path]], object],
    ) -> None:
        """Call `start` with the time (and its path) from which the bytes that a sent command writes are free."""
        users = self.pe.flights.users(writes)

        def known() -> None:
            ready: tuple[int, Path] = (time + entry, step(2 * record, record, ISSUE, entry))
            free, node = latest(users, START, START)
            start((free, node) if free >= ready[0] else ready)

        self.pe.when(users, known)

    def _fill(self, command: Fill, time: int, holder: int) -> None:
        """The bytes are filled as soon as nobody uses them; whoever reads them waits for that, PE_CPU does not."""
        pe = self.pe
        users = pe.flights.users(command.writes)
        if not users:
            pe.trace(time, command.operands)
            return
        done = Completion(holder)
        pe.trace(done, command.operands)

        def known() -> None:
            end, done.node = latest(users, time, holder)
            done.resolve(end)

        pe.flights.add(done, (), command.writes, scheduled=True)
        pe.when(users, known)
