"""Values of command instances: which have completed when, handed to the device in that order.

Timing needs no values. Where they are wanted, each PE keeps its instances with their ends; they are executed at the
end of the launch, those of all PEs in the order of completion. Only where PE_CPU must read what a buffer holds
(`ReadValues`) the instances of its PE that have completed by then are executed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

from ..numerics.commands import PeMemory
from ..numerics.device import Device
from .commands import Command, ReadValues
from .paths import Completion

# (end, the op and its operands); relative to the start of the program in a pattern.
Ended = tuple[int, Any]
Traced = tuple[Completion | int, Any]
# Of each instance of a program, in order of completion: its end since the start, its place in issue order.
Pattern = tuple[tuple[int, int], ...]


@dataclass
class PeValues:
    """The instances of one PE that have not been executed yet.

    `eager`: those of a program are executed as soon as it has ended, because another PE may wait for what they write.
    """

    pe: int
    memory: PeMemory
    device: Device
    eager: bool = False
    _programs: list[Callable[[], Sequence[Ended]]] = field(default_factory=list[Callable[[], Sequence[Ended]]])

    def restart(self) -> None:
        """The programs of the PE run again, from the first."""
        self._programs = []

    def read(self, time: int, request: ReadValues, running: list[Traced | None]) -> Any:
        """What a request of PE_CPU finds at a time; `running` are the instances of its program, those executed become
        None.
        """
        self._flush()
        known = [(t[0] if isinstance(t[0], int) else t[0].end, i) for i, t in enumerate(running) if t is not None]
        for _, i in sorted((end, i) for end, i in known if end is not None and end <= time):
            traced = running[i]
            assert traced is not None
            running[i] = None
            self.execute((time, traced[1]))
        return request.read(self.memory)

    def _flush(self) -> None:
        for ended in self.take():
            self.execute(ended)

    def execute(self, ended: Ended) -> None:
        op, operands = ended[1]
        self.device.execute(op, operands, self.memory)

    def ran(self, start: int, traced: Sequence[Traced | None], later: int = 0) -> Pattern:
        """A program has run to its end, `later` than the clock says; returns how its instances completed."""
        ends = [(_end(t), i) for i, t in enumerate(traced) if t is not None]
        order = sorted(ends)
        ended = [(end + later, t[1]) for end, i in order if (t := traced[i]) is not None]
        self._programs.append(lambda: ended)
        if self.eager:
            self._flush()
        return tuple((end - start, i) for end, i in order)

    def repeated(self, start: int, pattern: Pattern, commands: Callable[[], Iterator[Command]]) -> None:
        """A program ran as another did, whose pattern this is; its operands are only worked out when they are
        needed.
        """

        def ended() -> Sequence[Ended]:
            operands = [o for command in commands() if (o := getattr(command, "operands", None)) is not None]
            return [(start + end, operands[i]) for end, i in pattern]

        self._programs.append(ended)

    def take(self) -> Iterator[Ended]:
        """All instances that are left, in order of completion."""
        programs, self._programs = self._programs, []
        for ended in programs:
            yield from ended()


def _end(traced: Traced) -> int:
    end = traced[0] if isinstance(traced[0], int) else traced[0].end
    assert end is not None
    return end


def execute_all(values: Sequence[PeValues]) -> None:
    """Execute what is left of all PEs in order of completion; ties go to the lower PE."""

    def stream(of: PeValues) -> Iterator[tuple[int, int, PeValues, Any]]:
        return ((end, of.pe, of, instance) for end, instance in of.take())

    streams = [stream(v) for v in sorted(values, key=lambda v: v.pe)]
    for end, _, pe_values, instance in merge(*streams, key=lambda item: item[:2]):
        pe_values.execute((end, instance))
