"""Which commands in flight a new command must wait for, decided on byte ranges.

Only commands that do not block PE_CPU are ever in flight when the next one is issued: loads, composites, and fills.
"""

from __future__ import annotations

from collections.abc import Sequence

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


class Flights:
    """The commands in flight of one program, in issue order."""

    __slots__ = ("_flights",)

    def __init__(self) -> None:
        self._flights: list[_Flight] = []

    def add(self, done: Completion, reads: Sequence[Range], writes: Sequence[Range], *, scheduled: bool) -> None:
        """A command that was just issued and does not block PE_CPU. `scheduled`: PE_SCHED awaits it, not PE_CPU."""
        self._flights.append(_Flight(done, reads, writes, scheduled))

    def forget(self, time: int) -> None:
        """Drop those that have ended by `time`: nothing later can wait for them."""
        if self._flights:
            self._flights = [f for f in self._flights if f.done.end is None or f.done.end > time]

    def writers(self, reads: Sequence[Range], *, scheduled: bool | None = None) -> list[Completion]:
        """Who writes bytes that are about to be read; only those of one kind if that is asked."""
        return [
            f.done
            for f in self._flights
            if (scheduled is None or f.scheduled == scheduled) and _overlap(reads, f.writes)
        ]

    def users(self, writes: Sequence[Range]) -> list[Completion]:
        """Who reads or writes bytes that are about to be written."""
        return [f.done for f in self._flights if _overlap(writes, f.writes) or _overlap(writes, f.reads)]
