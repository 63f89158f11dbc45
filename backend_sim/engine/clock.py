"""The clock: SimPy's environment, and the one kind of event that PEs wait for in it."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import simpy

from .calendar import Arrival


class Alarm(simpy.Event):
    """An event that is set again and again. Among alarms of the same time the one with the lower key comes first."""

    def __init__(self, clock: simpy.Environment):
        super().__init__(clock)
        self._ok = True
        self._value = None

    def set(self, delay: int, key: int) -> Alarm:
        """Let it happen after `delay`; it must not be set at the time."""
        self.callbacks = []
        self.env.schedule(self, key, delay)  # pyright: ignore[reportArgumentType]  # any integer orders
        return self


def pe_process(clock: simpy.Environment, arrivals: Iterator[Arrival]) -> Generator[simpy.Event, None, None]:
    """The process of one PE: waits in simulated time before each of its ordered requests."""
    alarm = Alarm(clock)
    for time, key in arrivals:
        yield alarm.set(time - int(clock.now), key)
