"""The clock: SimPy's environment, and the one kind of event that PEs wait for in it."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import simpy

from .pe import Arrival


class At(simpy.Event):
    """Happens after a delay. Among events of the same time the one with the lower key comes first."""

    def __init__(self, clock: simpy.Environment, delay: int, key: int):
        super().__init__(clock)
        self._ok = True
        self._value = None
        clock.schedule(self, key, delay)  # pyright: ignore[reportArgumentType]  # any integer orders


def pe_process(clock: simpy.Environment, arrivals: Iterator[Arrival]) -> Generator[simpy.Event, None, None]:
    """The process of one PE: waits in simulated time before each arrival at a slice that others use too."""
    for time, key in arrivals:
        yield At(clock, time - int(clock.now), key)
