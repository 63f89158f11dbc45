"""How long one message takes when nothing else is in flight: closed forms of the flit train over a route.

A message is a train of flits. Each flit holds an edge for its service (`Edge.flit_ps`); only the head pays overheads of
nodes. Three instants describe a train at a node: arrival of its first flit, of its last but one, and of its last. All
times are integer picoseconds made of the same rounded terms that the flit-by-flit recursion has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .machine import Machine
from .quantities import Rate, service_ps
from .routing import Route, route


@dataclass(frozen=True)
class Train:
    """Arrival of the first, the last but one, and the last flit at a node, in ps."""

    first: int
    last_but_one: int
    last: int


def send(machine: Machine, size: int, way: Route, source_gb_per_s: Rate | None = None) -> Train:
    """When a message of `size` bytes (at least 1) arrives at the end of `way`, sent at 0.

    `source_gb_per_s`: the rate at which its flits become available at the source; None: all at once.
    """
    assert size > 0, "a train has at least one flit"
    flit = machine.noc.flit_bytes
    count = -(-size // flit)
    tail = size - (count - 1) * flit
    head = min(size, flit)
    ready = service_ps(flit, source_gb_per_s) if source_gb_per_s is not None else 0
    train = Train(0, max(0, count - 2) * ready, (count - 1) * ready)
    for edge in way:
        if edge.whole:
            train = Train(train.last, train.last, train.last)
        full = edge.flit_ps(flit)
        first = train.first + edge.overhead_ps + edge.flit_ps(head)
        if count == 1:
            train = Train(first, first, first)
            continue
        last_but_one = first if count == 2 else max(first + (count - 2) * full, train.last_but_one + full)
        last = max(last_but_one, train.last) + edge.flit_ps(tail)
        train = Train(first, last_but_one, last)
    return train


def empty_ps(way: Route) -> int:
    """Time of a message without bytes (a read request, a write's acknowledgement): overheads and wire."""
    return sum(edge.overhead_ps + edge.wire_ps for edge in way)


def bottleneck(way: Route) -> Rate:
    """The rate of the slowest edge of `way`."""
    return min(edge.gb_per_s for edge in way if edge.gb_per_s is not None)


@lru_cache(maxsize=65536)
def write_commit_ps(machine: Machine, size: int, source: str, target: str) -> int:
    """From the sending at `source` to the commit of the last byte in the HBM slice `target`: one burst after the last
    flit is there and the slice, which takes the bytes at its own rate from the head on, is through with them.
    """
    way = route(machine, source, target)
    train = send(machine, size, way)
    head = train.first - way[-1].flit_ps(min(size, machine.noc.flit_bytes))
    taken = head + service_ps(size, machine.hbm.slice_gb_per_s)
    return max(train.last, taken) + machine.hbm.burst_ps


@lru_cache(maxsize=65536)
def write_ack_ps(machine: Machine, size: int, source: str, target: str) -> int:
    """A write from `source` into the slice `target`, with its acknowledgement back at `source`."""
    return write_commit_ps(machine, size, source, target) + empty_ps(route(machine, target, source))


@lru_cache(maxsize=65536)
def read_ps(machine: Machine, size: int, source: str, target: str) -> int:
    """A read of `size` bytes by `source` out of the slice `target`: request there, first burst, the train back."""
    back = send(machine, size, route(machine, target, source), machine.hbm.slice_gb_per_s)
    return empty_ps(route(machine, source, target)) + machine.hbm.burst_ps + back.last


def device_to_host_ps(machine: Machine, size: int, host: str, target: str) -> int:
    """D2H as published: a read, then the host end's overhead and a second full drain at the slowest rate of the way,
    that of the slice among them.
    """
    slowest = min(bottleneck(route(machine, target, host)), machine.hbm.slice_gb_per_s)
    overhead_ps = route(machine, host, target)[0].overhead_ps
    return read_ps(machine, size, host, target) + overhead_ps + service_ps(size, slowest)
