"""Which commands in flight a new command must wait for, decided on byte ranges.

Only commands that do not block PE_CPU are ever in flight when the next one is issued: loads, composites, and fills.

Whoever writes all bytes of a range ends after everybody who used any of them before, because it waited for them. So the
search goes from the newest command to that writer and no further: PE_CPU runs far ahead, and a loop may have hundreds
in flight.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..memory import FIRST_ADDRESS
from .commands import Range
from .paths import Completion


class _Flight:
    __slots__ = ("done", "reads", "scheduled", "writes")

    def __init__(self, done: Completion, reads: Sequence[Range], writes: Sequence[Range], scheduled: bool):
        self.done = done
        self.reads = reads
        self.writes = writes
        self.scheduled = scheduled


def _overlap(some: Sequence[Range], others: Sequence[Range]) -> bool:
    for first, end in some:
        for other, other_end in others:
            if first < other_end and other < end:
                return True
    return False


def _outside(some: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """Those of some ranges that lie in none of the others."""
    return [(first, end) for first, end in some if not any(low <= first and end <= high for low, high in others)]


def _in_scratch(ranges: Sequence[Range]) -> list[Range]:
    return [each for each in ranges if each[0] < FIRST_ADDRESS]


class Flights:
    """The commands in flight of one program, in issue order."""

    __slots__ = ("_flights", "_kept", "_time")

    def __init__(self) -> None:
        self._flights: list[_Flight] = []
        self._kept = 0
        self._time = 0

    def add(self, done: Completion, reads: Sequence[Range], writes: Sequence[Range], *, scheduled: bool) -> None:
        """A command that was just issued and does not block PE_CPU. `scheduled`: PE_SCHED awaits it, not PE_CPU."""
        self._flights.append(_Flight(done, reads, writes, scheduled))

    def forget(self, time: int) -> None:
        """Forget those that have ended by `time`: nothing later can wait for them."""
        self._time = time
        if len(self._flights) > 2 * self._kept:
            self._flights = [f for f in self._flights if f.done.end is None or f.done.end > time]
            self._kept = len(self._flights)

    def forget_hbm(self) -> None:
        """Another program begins: what it does to HBM does not wait for what those before do there, as programs of a
        launch may run at once. Scratch they share.
        """
        for flight in self._flights:
            flight.reads, flight.writes = _in_scratch(flight.reads), _in_scratch(flight.writes)

    def writers(self, reads: Sequence[Range], *, scheduled: bool | None = None) -> list[Completion]:
        """Who writes bytes that are about to be read; only those of one kind if that is asked."""
        return self._found(reads, scheduled, readers=False)

    def users(self, writes: Sequence[Range]) -> list[Completion]:
        """Who reads or writes bytes that are about to be written."""
        return self._found(writes, None, readers=True)

    def _found(self, ranges: Sequence[Range], scheduled: bool | None, *, readers: bool) -> list[Completion]:
        """Oldest first."""
        found: list[Completion] = []
        for flight in reversed(self._flights):
            if not ranges:
                break
            end = flight.done.end
            if (end is not None and end <= self._time) or (scheduled is not None and flight.scheduled != scheduled):
                continue
            if _overlap(ranges, flight.writes):
                found.append(flight.done)
                ranges = _outside(ranges, flight.writes)
            elif readers and _overlap(ranges, flight.reads):
                found.append(flight.done)
        found.reverse()
        return found
