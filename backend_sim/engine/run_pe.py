"""The programs of one launch on one PE, in turn: each starts when the last command of the one before has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects.errors import AhbmcError, Category, Fault, Place
from ..oplog import Site
from .commands import ReadValues
from .paths import PARTS_OF_KIND
from .pe import Arrival, Pe
from .pe_cpu import Commands, PeCpu
from .records import Log
from .values import Pattern, PeValues


@dataclass(slots=True)
class Work:
    """A program of a PE: its number in the grid, and its commands. `key` is equal for programs that differ in nothing
    but addresses, or a function that gives it; None: it is only like itself."""

    number: int
    commands: Callable[[], Commands]
    key: Any = None


@dataclass
class _Ran:
    duration: int
    first: int
    rows: int
    pattern: Pattern


@dataclass
class PeRun:
    """Runs the programs of a PE. `private`: no other PE uses a slice that this one uses, so alike programs run
    alike."""

    pe: Pe
    name: str
    launch: int
    start: int
    works: Sequence[Work]
    sites: Sequence[Site]
    log: Log
    private: bool
    values: PeValues | None
    number: int = 0
    end: int = 0
    _seen: dict[Any, _Ran] = field(default_factory=dict[Any, _Ran])

    def run(self) -> Iterator[Arrival]:
        """Run all programs; yields before each arrival at a shared slice, with the time to wait for."""
        parts = [PARTS_OF_KIND[site.kind] for site in self.sites]
        self.end = self.start
        self.pe.traced = None if self.values is None else []
        for work in self.works:
            key = None if not self.private else work.key() if callable(work.key) else work.key
            seen = self._seen.get(key) if key is not None else None
            if seen is None:
                yield from self._program(work, key, parts)
            else:
                self._repeat(work, seen)

    def _repeat(self, work: Work, seen: _Ran) -> None:
        start, self.end = self.end, self.end + seen.duration
        self.log.repeat(self.launch, self.pe.number, work.number, self.number, start, self.end, seen.first, seen.rows)
        self.number += seen.rows
        if self.values is not None:
            self.values.repeated(start, seen.pattern, work.commands)

    def _program(self, work: Work, key: Any, parts: Sequence[int]) -> Iterator[Arrival]:
        pe, start = self.pe, self.end
        pe.begin(start)
        cpu = PeCpu(pe, work.commands(), parts, self._read_values)
        yield from pe.drain()
        if not cpu.finished or pe.active or pe.singles:
            raise self._deadlock(cpu.site)
        self.end = pe.end
        first, rows = self.log.add(self.launch, pe.number, work.number, self.number, start, pe.end, pe.records)
        self.number += rows
        pattern: Pattern = ()
        if self.values is not None and pe.traced is not None:
            pattern = self.values.ran(start, pe.traced)
        if key is not None:
            self._seen[key] = _Ran(pe.end - start, first, rows, pattern)

    def _read_values(self, time: int, request: ReadValues) -> Any:
        assert self.values is not None and self.pe.traced is not None, "values are read that nobody computes"
        return self.values.read(time, request, self.pe.traced)

    def _deadlock(self, site: int) -> AhbmcError:
        where = self.sites[site] if site >= 0 else None
        place = Place(where.file, where.line, where.column) if where is not None and where.line else None
        what = f"the command `{where.kind}`" if where is not None else "its first command"
        return AhbmcError(Fault(f"{self.name} never gets past {what}", place, Category.DEADLOCK))
