"""The network flit by flit: the oracle of the engine's packets. Every flit is an event at every edge.

An edge takes flits in the order of their arrival at its source; at equal times the message with the lower number goes
first, then the earlier flit. Edges that take no time are none: only the overhead before them counts. A head flit pays
the overhead of a node while it waits there; with serial routers it holds the router's worker for that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from ahbmc.backend_sim.engine.traffic import Message
from ahbmc.backend_sim.target.machine import Machine
from ahbmc.backend_sim.target.routing import route
from ahbmc.backend_sim.target.topology import Edge


def deliver_flits(machine: Machine, messages: Sequence[Message]) -> list[int]:
    """When the last flit of each message is at its target, in ps."""
    flit = machine.noc.flit_bytes
    routes = [_hops(machine, message) for message in messages]
    counts = [-(-message.size // flit) for message in messages]
    left, arrivals = [0] * len(messages), [0] * len(messages)
    free: dict[object, int] = {}
    queue = [(m.time_ps + f * m.gap_ps, i, f, 0) for i, m in enumerate(messages) for f in range(counts[i])]
    queue.sort()
    waiting: dict[tuple[int, int], int] = {}
    while queue:
        time, i, f, hop = heappop(queue)
        edge, overhead, channel = routes[i][hop]
        if edge.whole and hop and waiting.get((i, hop)) != counts[i]:
            waiting[i, hop] = waiting.get((i, hop), 0) + 1
            if waiting[i, hop] == counts[i]:
                for flit_number in range(counts[i]):
                    heappush(queue, (time, i, flit_number, hop))
            continue
        overhead = 0 if f else overhead
        if machine.noc.serial_routers and edge.source.rpartition(".")[2].startswith("r"):
            time = max(time, free.get(edge.source, 0))
            free[edge.source] = time + overhead
        size = flit if f < counts[i] - 1 else messages[i].size - f * flit
        start = max(time + overhead, free.get((edge, channel), 0))
        end = free[edge, channel] = start + edge.flit_ps(size)
        if hop + 1 < len(routes[i]):
            heappush(queue, (end, i, f, hop + 1))
        else:
            left[i] += 1
            arrivals[i] = end
    assert left == counts
    return arrivals


def _hops(machine: Machine, message: Message) -> list[tuple[Edge, int, int]]:
    hops: list[tuple[Edge, int, int]] = []
    overhead = 0
    for edge in route(machine, message.source, message.target):
        overhead += edge.overhead_ps
        if edge.gb_per_s is not None or edge.wire_ps:
            hops.append((edge, overhead, int(message.ipcq and machine.noc.channels == 2)))
            overhead = 0
    return hops
