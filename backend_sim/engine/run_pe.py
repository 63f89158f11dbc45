"""The programs of one launch on one PE, in turn: each starts when the last command of the one before has ended."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects.errors import AhbmcError, Category, Fault, Place
from ..oplog import Site
from .calendar import Arrival
from .commands import ReadValues
from .island import Island
from .paths import PARTS_OF_KIND
from .pe import Pe
from .pe_cpu import Commands, OverLimitError, PeCpu
from .records import Log
from .values import Pattern, PeValues


@dataclass(slots=True)
class Work:
    """A program of a PE, or several that it takes up at once: their numbers in the grid, and their commands. `key` is
    equal for those that differ in nothing but addresses, or a function that gives it; None: it is only like itself."""

    programs: Sequence[int]
    commands: Callable[[], Commands]
    key: Any = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ran: since `start` (on the clock), for how long, with which records and order of completion. Of
    several that were taken up at once, `turns` say with which record each begins."""

    start: int
    duration: int
    first: int
    rows: int
    turns: Sequence[int]
    pattern: Pattern


@dataclass
class PeRun:
    """Runs the programs of a PE. `island` is there if other PEs run with it; if not, alike programs run alike.

    `replay` false: each program is simulated, whatever it is like. Raises OverLimitError behind `limit`.
    """

    pe: Pe
    name: str
    launch: int
    end: int
    works: Sequence[Work]
    sites: Sequence[Site]
    log: Log
    island: Island | None
    values: PeValues | None
    number: int = 0
    replay: bool = True
    limit: int | None = None
    index: int = 0
    keys: Sequence[Any] = ()
    patterns: list[Pattern] = field(default_factory=list[Pattern])
    _seen: dict[Any, Ran] = field(default_factory=dict[Any, Ran])

    def __post_init__(self) -> None:
        # What the programs are like, as far as it is known without looking at their commands.
        self.keys = [work.key for work in self.works]

    @property
    def finished_at(self) -> int:
        """When the last command of the last program has ended."""
        return self.end + self._epoch

    @property
    def _epoch(self) -> int:
        return self.island.epoch if self.island is not None else 0

    def run(self) -> Iterator[Arrival]:
        """Run all programs; yields before each arrival at a shared slice, with the time to wait for."""
        parts = [PARTS_OF_KIND[site.kind] for site in self.sites]
        self.pe.traced = None if self.values is None else []
        while self.index < len(self.works):
            self.pe.begin(self.end)
            if self.island is not None:
                self.island.takes_up(self)
            key, work = None, self.works[self.index]
            if self.island is None and self.replay:
                key = work.key() if callable(work.key) else work.key
            seen = self._seen.get(key) if key is not None else None
            if seen is not None:
                self.again(self.index, seen, self.end - seen.start)
                self.end += seen.duration
            else:
                ran = yield from self._program(work, parts)
                if self.island is not None:
                    self.island.ran(self, self.index, ran)
                elif key is not None:
                    self._seen[key] = ran
            self.index += 1
            if self.limit is not None and self.finished_at > self.limit:
                raise OverLimitError

    def again(self, index: int, ran: Ran, later: int) -> None:
        """Enter a program that ran as another did, that much later."""
        start, work = ran.start + self._epoch + later, self.works[index]
        took = (self.launch, self.pe.number, work.programs, ran.turns)
        self.log.program(*took, start, start + ran.duration, ran.first, ran.rows, self.number)
        self.number += ran.rows
        self.patterns.append(ran.pattern)
        if self.values is not None:
            self.values.repeated(start, ran.pattern, work.commands)

    def followed(self, pe: int, works: Sequence[Work], values: PeValues | None, number: int) -> int:
        """Enter the programs of another PE, which run as those of this one did, in another cube.

        Its issue numbers go on from `number`; returns where they have got to.
        """
        rows = self.log.programs_of(self.pe.number)
        for work, pattern, (row, _, turns) in zip(works, self.patterns, rows, strict=True):
            launch, _, _, start, end, first, count, *_ = row
            self.log.program(launch, pe, work.programs, turns, start, end, first, count, number, pe - self.pe.number)
            number += count
            if values is not None:
                values.repeated(start, pattern, work.commands)
        return number

    def _program(self, work: Work, parts: Sequence[int]) -> Generator[Arrival, None, Ran]:
        pe, start = self.pe, self.end
        cpu = PeCpu(pe, work.commands(), parts, self._read_values, self.limit)
        yield from pe.calendar.drain()
        if not cpu.finished or pe.active or pe.singles:
            raise self._deadlock(cpu.site)
        self.end = pe.end
        first, rows = self.log.records_of(start, pe.records)
        pattern: Pattern = ()
        # While it ran the island may have skipped programs: it is the one of its kind behind them.
        if self.values is not None and pe.traced is not None:
            pattern = self.values.ran(start, pe.traced, self._epoch)
        took = (self.launch, pe.number, self.works[self.index].programs, cpu.turns)
        self.patterns.append(pattern)
        self.log.program(*took, start + self._epoch, pe.end + self._epoch, first, rows, self.number)
        self.number += rows
        return Ran(start, pe.end - start, first, rows, cpu.turns, pattern)

    def _read_values(self, time: int, request: ReadValues) -> Any:
        assert self.values is not None and self.pe.traced is not None, "values are read that nobody computes"
        return self.values.read(time, request, self.pe.traced)

    def _deadlock(self, site: int) -> AhbmcError:
        where = self.sites[site] if site >= 0 else None
        place = Place(where.file, where.line, where.column) if where is not None and where.line else None
        what = f"the command `{where.kind}`" if where is not None else "its first command"
        return AhbmcError(Fault(f"{self.name} never gets past {what}", place, Category.DEADLOCK))
