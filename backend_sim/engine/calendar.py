"""A calendar: requests that are ready at some time, taken in the order (time, order, who asked first)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

# When an ordered request is due, and its key among the requests of all PEs at that time.
Arrival = tuple[int, int]
Handler = Callable[[int, Any], None]

# Bits of an order: class (0 for reads and everything inside a PE, 1 for writes, 2 for messages between PEs), number of
# the command, stage, tile, part of it (each in another slice), packet.
_PACKET_BITS, _PART_BITS, _TILE_BITS, _STAGE_BITS, _NUMBER_BITS = 24, 24, 28, 4, 40
_CLASS_SHIFT = _PACKET_BITS + _PART_BITS + _TILE_BITS + _STAGE_BITS + _NUMBER_BITS


def order_of(number: int, stage: int, tile: int = 0, class_: int = 0, part: int = 0) -> int:
    """The rank of a request among those of its calendar that are ready at the same time; packets of one transfer count
    on from it."""
    order = (((number << _STAGE_BITS | stage) << _TILE_BITS | tile) << _PART_BITS | part) << _PACKET_BITS
    return order + (class_ << _CLASS_SHIFT)


class Calendar:
    """The requests of one PE (or of another source, by `number`)."""

    def __init__(self, number: int):
        self.number = number
        self.events = 0
        self._asked = 0
        self._requests: list[tuple[int, int, int, bool, Handler, Any]] = []

    def request(self, time: int, order: int, handler: Handler, argument: Any, ordered: bool = False) -> None:
        """Put a request in the calendar. What is `ordered` waits until simulated time has got there."""
        self._asked += 1
        heappush(self._requests, (time, order, self._asked, ordered, handler, argument))

    def request_ordered(self, time: int, order: int, handler: Handler, argument: Any) -> None:
        """Put an ordered request in the calendar."""
        self.request(time, order, handler, argument, True)

    def drain(self) -> Iterator[Arrival]:
        """Take requests until there are none; yields before each that is ordered."""
        requests, base = self._requests, 2 + (self.number << 2)  # 0 and 1 are SimPy's own priorities
        while requests:
            time, order, _, ordered, handler, argument = heappop(requests)
            if ordered:
                yield time, base + (order >> _CLASS_SHIFT << 62)
            self.events += 1
            handler(time, argument)
