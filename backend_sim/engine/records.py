"""Collects the rows of the op-log while the engine runs. Times come in absolute and leave relative to their program."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ..oplog import (
    LOAD_COLUMNS,
    PROGRAM_COLUMNS,
    RECORD_COLUMNS,
    RUN_COLUMNS,
    SEGMENT_COLUMNS,
    TURN_COLUMNS,
    OpLog,
    Site,
    Table,
)
from .commands import Composite
from .paths import ISSUE, QUEUE, Path, flatten
from .paths import START as NO_CAUSE

(SITE, ISSUE_START, ISSUE_END, ISSUE_CAUSE, START, END, CAUSE, ENTRY, QUEUED, READ, USEFUL, WRITTEN, FLOPS, WINDOW) = (
    range(len(RECORD_COLUMNS))
)
_TIMES = (ISSUE_START, ISSUE_END, START, END, WINDOW)

Row = list[int]
Rows = npt.NDArray[np.int64]
# A row of `programs`, the numbers of its programs, and with which of its records each of them begins.
Programs = tuple[tuple[int, ...], Sequence[int], Sequence[int]]


class ProgramRecords:
    """The records of one program that is running; a record is known by its number in it."""

    __slots__ = ("_chains", "_open", "_paths", "_runs", "loads", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._runs = array("q")
        self.loads: dict[int, int] = {}  # how long its packets held each link, by number
        self._chains: dict[int, list[tuple[int, int, int]]] = {}
        self._paths: list[tuple[int, Path, int]] = []
        self._open: dict[tuple[int, int, int, int], int] = {}

    def issue(self, site: int, start: int, end: int, cause: int) -> int:
        """A command is issued in [start, end); returns the number of its record."""
        self.rows.append([site, start, end, cause, end, end, 2 * len(self.rows), 0, 0, 0, 0, 0, 0, end])
        return len(self.rows) - 1

    def finish(self, record: int, start: int, end: int, path: Path, part: int) -> None:
        """A record's execution: `part` is what its own service counts as, `path` what led to its end."""
        row = self.rows[record]
        row[START], row[END] = start, end
        self._paths.append((record, path, part))

    def close(self) -> None:
        """All records of the program have ended: say what they waited for."""
        for record, path, part in self._paths:
            row = self.rows[record]
            row[CAUSE], steps = flatten(path)
            plain = all(of == record and p in (part, ISSUE, QUEUE) for of, p, _ in steps) and part not in (ISSUE, QUEUE)
            if plain and len(steps) <= 3:
                for _, p, ps in steps:
                    if p == ISSUE:
                        row[ENTRY] += ps
                    elif p == QUEUE:
                        row[QUEUED] += ps
            else:
                self._chains[record] = steps

    def segments(self) -> list[tuple[int, int, int, int]]:
        """(record, of, part, ps) of the records on the path that ends the program, in time within a record.

        Only these: what a chain of composites waited for may go back through all of them, for each of them.
        """
        found: list[tuple[int, int, int, int]] = []
        ends = [row[END] for row in self.rows]
        node = 2 * ends.index(max(ends)) + 1 if ends else NO_CAUSE
        while node != NO_CAUSE:
            record, is_end = divmod(node, 2)
            if is_end and record in self._chains:
                found += [(record, *s) for s in reversed(self._chains[record])]
            node = self.rows[record][CAUSE if is_end else ISSUE_CAUSE]
        return sorted(found, key=lambda row: row[0])

    def count(self, record: int, *, read: int = 0, useful: int = 0, written: int = 0, flops: int = 0) -> None:
        """Bytes that a record moves, and what it computes."""
        row = self.rows[record]
        row[READ], row[USEFUL], row[WRITTEN], row[FLOPS] = read, useful, written, flops

    def count_composite(self, record: int, command: Composite, window: int) -> None:
        """The same of a composite, and when its window opens."""
        read = useful = written = 0
        tiles = command.tiles
        if tiles is not None:
            for stream in (tiles.a, tiles.b):
                if stream is not None:
                    read += stream.moved(tiles.count)
                    useful += stream.useful
            if tiles.out is not None:
                written = tiles.out.moved(tiles.across_m * tiles.across_n)
        elif command.back is not None:
            written = sum(size for _, size, _ in command.back.shares)
        self.count(record, read=read, useful=useful, written=written, flops=command.flops)
        self.rows[record][WINDOW] = window

    def run(self, record: int, engine: int, start: int, service: int, slice_: int = -1, lane: int = 0) -> None:
        """An engine served a record in [start, start + service); equal services at equal distances become one row.

        `lane` tells the servers of one engine apart.
        """
        if service == 0:
            return
        key = (record, engine, slice_, lane)
        runs, at = self._runs, self._open.get(key)
        if at is not None and runs[at + 4] == service:
            begun, count = runs[at + 3], runs[at + 6]
            if count == 1 and start > begun:
                runs[at + 5], runs[at + 6] = start - begun, 2
                return
            if start == begun + runs[at + 5] * count:
                runs[at + 6] = count + 1
                return
        self._open[key] = len(runs)
        runs.extend((record, engine, slice_, start, service, service, 1))

    def series(
        self, record: int, engine: int, start: int, service: int, period: int, count: int, slice_: int = -1
    ) -> None:
        """`count` services of one length at equal distances."""
        if service and count:
            self._runs.extend((record, engine, slice_, start, service, period if count > 1 else service, count))

    def runs(self, first: int, start: int) -> Rows:
        """The rows of `runs`, ordered, where records count from `first` and times from `start`."""
        rows = np.array(self._runs, dtype=np.int64).reshape(-1, len(RUN_COLUMNS))
        rows[:, 0] += first
        rows[:, 3] -= start
        return rows[np.lexsort(rows.T[::-1])]


class Log:
    """All programs of a simulation, or of a part of one. Build the op-log with `build`."""

    def __init__(self, links: dict[str, int] | None = None) -> None:
        self.links = {} if links is None else links  # numbers of links, by name
        self._programs: list[Programs] = []
        self._records: list[Row] = []
        self._segments: list[tuple[int, int, int, int]] = []
        self._runs: list[Rows] = []
        self._loads: list[tuple[int, int, int]] = []

    def records_of(self, start: int, ran: ProgramRecords) -> tuple[int, int]:
        """Keep the records of a program that ran from `start` on; returns (first row, rows)."""
        ran.close()
        first, rows = len(self._records), len(ran.rows)
        base = [0] * len(RECORD_COLUMNS)
        for column in _TIMES:
            base[column] = start
        self._records += [[value - b for value, b in zip(row, base, strict=True)] for row in ran.rows]
        self._segments += [(r + first, of + first, part, ps) for r, of, part, ps in ran.segments()]
        self._runs.append(ran.runs(first, start))
        self._loads += [(first, link, ps) for link, ps in sorted(ran.loads.items())]
        return first, rows

    def extend(self, other: Log) -> None:
        """Take over what another log has collected."""
        first = len(self._records)
        self._records += other._records
        self._segments += [(r + first, of + first, part, ps) for r, of, part, ps in other._segments]
        for rows in other._runs:
            rows[:, 0] += first
        self._runs += other._runs
        self._loads += [(r + first, link, ps) for r, link, ps in other._loads]
        self._programs += [((*row[:5], row[5] + first, *row[6:]), ids, turns) for row, ids, turns in other._programs]

    def program(
        self,
        launch: int,
        pe: int,
        programs: Sequence[int],
        turns: Sequence[int],
        start: int,
        end: int,
        first: int,
        rows: int,
        number: int,
        shift: int = 0,
    ) -> None:
        """Programs that a PE took up at once, with records of their own or those of others that ran alike. `turns` say
        with which of the records each begins."""
        self._programs.append(((launch, pe, programs[0], start, end, first, rows, number, shift), programs, turns))

    def programs_of(self, pe: int) -> list[Programs]:
        """What `program` was told of a PE, in turn."""
        return sorted((each for each in self._programs if each[0][1] == pe), key=lambda each: each[0][7])

    def build(self, header: Mapping[str, Any], sites: Sequence[Site]) -> OpLog:
        ran = sorted(self._programs, key=lambda each: (*each[0][:2], each[0][3], each[0][7]))
        return OpLog(
            header,
            tuple(sites),
            _table(PROGRAM_COLUMNS, [row for row, _, _ in ran]),
            _turns(ran),
            _table(RECORD_COLUMNS, self._records),
            _table(SEGMENT_COLUMNS, self._segments),
            _table(RUN_COLUMNS, np.concatenate(self._runs) if self._runs else ()),
            _table(LOAD_COLUMNS, self._loads),
        )


def _table(columns: Sequence[str], rows: Sequence[Sequence[int]] | Rows) -> Table:
    array = np.array(rows, dtype=np.int64).reshape(-1, len(columns))
    return {name: np.ascontiguousarray(array[:, i]) for i, name in enumerate(columns)}


def _turns(ran: Sequence[Programs]) -> Table:
    counts = np.array([len(programs) for _, programs, _ in ran], dtype=np.int64)
    row = np.repeat(np.arange(len(ran)), counts)
    first = np.array([row[5] for row, _, _ in ran], dtype=np.int64)
    columns = (row, _flat(programs for _, programs, _ in ran), first[row] + _flat(turns for _, _, turns in ran))
    return dict(zip(TURN_COLUMNS, columns, strict=True))


def _flat(parts: Iterable[Sequence[int]]) -> npt.NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)
