"""Messages between nodes by themselves, without PEs that compute: what the network alone does with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..target.machine import Machine
from ..target.routing import route
from .calendar import Calendar, order_of
from .flight import Flight
from .network import Network, Passage

_MESSAGE = 2


@dataclass(frozen=True)
class Message:
    """`size` bytes from the node `source` to `target`: the first flit is ready at `time_ps`, one more each `gap_ps`.

    `ipcq`: on the channel for messages between PEs, if the machine has one apart (`noc.channels: 2`).
    """

    time_ps: int
    source: str
    target: str
    size: int
    gap_ps: int = 0
    ipcq: bool = False


class _Sent(Flight):
    """Notes when a message is there."""

    __slots__ = ("arrivals", "gap", "number")

    def __init__(self, number: int, gap: int, passage: Passage, calendar: Calendar, arrivals: list[int]):
        super().__init__(number, passage, calendar.request_ordered, order_of(number, 0, class_=_MESSAGE))
        self.number, self.gap = number, gap
        self.arrivals = arrivals

    def start(self, now: int, _: None) -> None:
        """Its first flit is at the source."""
        self.depart(now, self.gap)

    def arrived(self, time: int) -> None:
        self.arrivals[self.number] = time


def deliver(machine: Machine, messages: Sequence[Message]) -> list[int]:
    """When the last byte of each message is at its target, in ps. At equal times the earlier in the list goes first.

    Messages of one source leave it in the order of their times, each after all of the one before."""
    network, calendar = Network(machine, None), Calendar(0)
    arrivals = [0] * len(messages)
    for number, message in enumerate(messages):
        channel = int(message.ipcq and machine.noc.channels == 2)
        hops = network.hops(route(machine, message.source, message.target), channel)
        sent = _Sent(number, message.gap_ps, network.passage(hops, message.size), calendar, arrivals)
        calendar.request(message.time_ps, order_of(number, 0, class_=_MESSAGE), sent.start, None)
    for _ in calendar.drain():
        pass
    return arrivals
