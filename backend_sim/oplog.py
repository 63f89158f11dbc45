"""The op-log: everything that leaves the engine, as columns of 64-bit integers. Reports, traces and pictures are
views of it.

Times are integer picoseconds, sizes integer bytes. These are the tables.

`sites` (tuple of `Site`): a command op of a lowered function: its kind, its text, the place of kernel text it is from.

`programs`: one program that ran, or several that a PE took up at once because they overlap. Ordered by launch, then PE,
then time; rows of one PE never overlap.
    launch       index into the header's `launches`
    pe           machine-wide PE number: sip * cubes * pes + cube * pes + pe
    program      number in the launch grid: x + X * (y + Y * z); of several, the first one's (`turns` has all)
    start        absolute time at which PE_CPU takes the program up
    end          absolute time at which its last command has ended
    first, rows  its records are rows [first, first + rows) of `records`. Programs that differ in nothing but addresses
                 SHARE these rows: they ran alike, each from its own `start`
    number       issue number, within the PE, of its first command: (pe, number + i) names the i-th command instance
    shift        its slices are those of its records that many PEs further on: of a program on another cube that does
                 there what the program does whose rows it shares

`turns`: one program. Ordered by row, then in the order in which PE_CPU took them up.
    row          row of `programs` that it belongs to
    program      number in the launch grid
    first        its first record, a row of `records`: those up to the `first` of the next one in the row are its own

`records`: one command instance. Times count from the `start` of its program.
    site         index into `sites`
    issue_start  PE_CPU issues it in [issue_start, issue_end); before that it may have waited for operands
    issue_end
    issue_cause  the node (see below) for whose end the issue waited: an operand, or what held PE_CPU before
    start        when its first engine takes it up: a DMA request leaves, a GEMM or a composite's first stage begins
    end          when it has ended, write acks included. What has no engine (wait, cycles) has start = end = issue_end
    cause        the node for whose end its execution waited
    entry        part of [end of cause, end] that is the way from PE_CPU to the engine; it counts as `issue`
    queue        part of [end of cause, end] in which a server was held by another PE
    bytes_read   bytes moved from HBM
    useful_read  those of them that were asked for (padding of edge tiles is moved, not asked for)
    bytes_written
    flops        multiply-adds of its GEMM times two, on its valid extents
    window       when the first streamed request of a composite left (or its first stage began, if it streams nothing)

    A *node* is the end of something within the same program: 2 * i is the end of the issue of record i, 2 * i + 1 the
    end of record i itself (i counts from `first`); -1 is the start of the program. The time from the end of its cause
    to its own end is what a node adds to a path; walking causes back from the last end attributes the whole latency
    (`analysis/attribution.py`).

`segments`: how a record's time since its cause divides, where `entry`, `queue` and its own service do not say it: of
composites, from the binding servers of their tiles, and of what waited for a server that a composite held. Only
records on the path that ends their program have segments. Ordered by record, then time.
    record       row of `records` whose time is divided; its segments add up to its end minus the end of its cause
    of           row of `records` that the time went to (another composite may have held the server)
    part         index into PARTS
    ps           how long

`loads`: how long packets of a program held a link of the network, in all. Ordered by record.
    record       the first row of the program in `records`; of programs with a `shift` it is the same link so many PEs
                 further on (within a cube)
    link         index into the header's `links`
    ps           how long

`runs`: when engines were busy: `count` equal services, the k-th in [start + k * period, start + k * period + service).
Ordered by record.
    record       row of `records`
    engine       index into ENGINES
    unit         of `hbm`: the PE that owns the slice; of `noc`: index into the header's `links`, directed edges of the
                 network that packets of a record occupied; -1 for the other engines, which are the PE's own
    start        counts from the start of the program
    service, period, count
    On `dma_read` and `dma_write` a service is a transfer in flight, and transfers overlap; FETCH and STORE are servers
    in series, whose services overlap; on all others services are exclusive.

An engine's busy time is the union of its runs over all programs of the PE (`busy_intervals`). Tiles are not stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SCHEMA_VERSION = 3

Ints = npt.NDArray[np.int64]
Table = Mapping[str, Ints]

# Commands that PE_CPU issues, and the part of the attribution that the service of each counts as.
PART_OF_KIND: Mapping[str, str] = {
    "dma_read": "dma_read",
    "gather": "dma_read",
    "load_scalar": "dma_read",
    "atomic": "dma_read",
    "dma_write": "dma_write",
    "scatter": "dma_write",
    "store_scalar": "dma_write",
    "gemm": "gemm",
    "math": "math",
    "copy": "copy",
    "wait": "wait",
    "cycles": "issue",
    "composite": "gemm",  # only where a composite has no segments; its segments say the rest
}
PARTS = ("issue", "dma_read", "fetch", "gemm", "math", "store", "dma_write", "copy", "ipcq", "queue", "wait", "idle")
ENGINES = ("pe_cpu", "dma_read", "dma_write", "fetch", "gemm", "math", "store", "ipcq", "hbm", "noc")
EXCLUSIVE = ("pe_cpu", "gemm", "math", "noc")  # engines whose servers hold one service at a time

PROGRAM_COLUMNS = ("launch", "pe", "program", "start", "end", "first", "rows", "number", "shift")
TURN_COLUMNS = ("row", "program", "first")
RECORD_COLUMNS = (
    "site",
    "issue_start",
    "issue_end",
    "issue_cause",
    "start",
    "end",
    "cause",
    "entry",
    "queue",
    "bytes_read",
    "useful_read",
    "bytes_written",
    "flops",
    "window",
)
SEGMENT_COLUMNS = ("record", "of", "part", "ps")
LOAD_COLUMNS = ("record", "link", "ps")
RUN_COLUMNS = ("record", "engine", "unit", "start", "service", "period", "count")
TABLES: Mapping[str, tuple[str, ...]] = {
    "programs": PROGRAM_COLUMNS,
    "turns": TURN_COLUMNS,
    "records": RECORD_COLUMNS,
    "segments": SEGMENT_COLUMNS,
    "runs": RUN_COLUMNS,
    "loads": LOAD_COLUMNS,
}


@dataclass(frozen=True)
class Site:
    """A command op: what it is called, what it does, how many logical bytes it has, and where in the kernel it comes
    from.

    `line` and `column` count from 1; an op without a place has file "" and line 0.
    """

    kind: str
    label: str
    logical_bytes: int
    file: str
    line: int
    column: int


@dataclass(frozen=True)
class OpLog:
    """The tables of one simulation. `header` is plain JSON: `schema`, `machine`, `launches`, hashes, and `links`, the
    names "source>target" of the directed edges that `runs` refer to."""

    header: Mapping[str, Any]
    sites: tuple[Site, ...]
    programs: Table
    turns: Table
    records: Table
    segments: Table
    runs: Table
    loads: Table

    @property
    def latency_ps(self) -> int:
        """From the instant at which the PE_CPUs of the first launch start to the end of the last command."""
        end = self.programs["end"]
        return int(end.max()) if len(end) else 0

    @property
    def program_count(self) -> int:
        """How many programs there were, each by itself."""
        return len(self.turns["program"])

    @property
    def links(self) -> tuple[str, ...]:
        """The names "source>target" of the directed edges that `runs` of `noc` refer to."""
        names: Sequence[str] = self.header.get("links", ())
        return tuple(names)

    def repeats(self, shift: int | None = None) -> Ints:
        """How many programs ran each record; of those with one `shift`, if it is given."""
        chosen = slice(None) if shift is None else self.programs["shift"] == shift
        first, rows = self.programs["first"][chosen], self.programs["rows"][chosen]
        counts = np.zeros(len(self.records["site"]) + 1, dtype=np.int64)
        np.add.at(counts, first, 1)
        np.add.at(counts, first + rows, -1)
        return np.cumsum(counts)[:-1]

    def commands(self) -> dict[str, int]:
        """Command instances per kind, and `total`. Kinds that were not issued are left out."""
        per_site = np.bincount(self.records["site"], weights=self.repeats(), minlength=len(self.sites))
        counts: dict[str, int] = {}
        for site, n in zip(self.sites, per_site, strict=True):
            if n:
                counts[site.kind] = counts.get(site.kind, 0) + int(n)
        return {**counts, "total": sum(counts.values())}

    def total(self, column: str) -> int:
        """The sum of a column of `records` over every command instance."""
        return int(np.dot(self.records[column], self.repeats()))

    def instances(self) -> Iterator[tuple[int, int, int]]:
        """(row of `programs`, row of `records`, absolute start of the program) of every command instance."""
        columns = (self.programs[name].tolist() for name in ("first", "rows", "start"))
        for row, (first, rows, start) in enumerate(zip(*columns, strict=True)):
            for record in range(first, first + rows):
                yield row, record, start

    def programs_of(self, row: Ints, record: Ints) -> Ints:
        """The numbers in their grids of the programs that command instances belong to, each given by its row of
        `programs` and its row of `records`."""
        size = len(self.records["site"]) + 1
        begins = self.turns["row"] * size + self.turns["first"]
        return self.turns["program"][np.searchsorted(begins, row * size + record, "right") - 1]

    def hash(self) -> str:
        """SHA-256 of all tables: equal if and only if two simulations gave the same op-log."""
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return digest.hexdigest()

    def chunks(self) -> Iterator[bytes]:
        """All of it as bytes, by columns (the format is in `oplog_files.py`)."""
        tables = {name: getattr(self, name) for name in TABLES}
        head = {
            "header": self.header,
            "sites": [astuple(site) for site in self.sites],
            "tables": list(TABLES.items()),  # a list: their order is that of the bytes
            "rows": {name: len(next(iter(table.values()))) for name, table in tables.items()},
        }
        yield json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        for name, columns in TABLES.items():
            for column in columns:
                yield tables[name][column].astype("<i8").tobytes()


@dataclass(frozen=True)
class Stays:
    """Stays of command instances on servers of one engine, a row each, in no order; times are absolute.

    `owner` is the PE (of the slice's owner for `hbm`, the link for `noc`), `record` and `program` are rows of those
    tables. Services of a run that follow each other without a gap are one stay.
    """

    owner: Ints
    start: Ints
    end: Ints
    record: Ints
    program: Ints


def stays(log: OpLog, engine: str) -> Stays:
    """Every stay on an engine, of all programs. PE_CPU is held by what it issues."""
    if engine == "pe_cpu":
        program, record = _pairs(log.programs["first"], log.programs["rows"])
        base = log.programs["start"][program]
        start, end = base + log.records["issue_start"][record], base + log.records["issue_end"][record]
        return Stays(log.programs["pe"][program], start, end, record, program)
    chosen = np.flatnonzero(log.runs["engine"] == ENGINES.index(engine))
    column = {name: values[chosen] for name, values in log.runs.items()}
    whole = column["period"] <= column["service"]
    held = column["service"] + np.where(whole, (column["count"] - 1) * column["period"], 0)
    count = np.where(whole, 1, column["count"])
    # Runs are ordered by record, so those of a program are one slice of them.
    low = np.searchsorted(column["record"], log.programs["first"], "left")
    high = np.searchsorted(column["record"], log.programs["first"] + log.programs["rows"], "left")
    program, run = _pairs(low, high - low)
    which, step = _pairs(np.zeros(len(run), dtype=np.int64), count[run])
    program, run = program[which], run[which]
    start = log.programs["start"][program] + column["start"][run] + step * column["period"][run]
    owner = np.where(column["unit"][run] >= 0, column["unit"][run], log.programs["pe"][program])
    if engine == "hbm":
        owner = owner + log.programs["shift"][program]
    return Stays(owner, start, start + held[run], column["record"][run], program)


def busy_intervals(log: OpLog, engine: str) -> dict[int, tuple[Ints, Ints]]:
    """When each server of `engine` was busy: its owner (see `Stays`) -> (starts, ends), absolute, ascending, disjoint
    and not touching."""
    found = stays(log, engine)
    order = np.lexsort((found.end, found.start, found.owner))
    owner, start, end = found.owner[order], found.start[order], found.end[order]
    bounds = np.flatnonzero(np.diff(owner, prepend=-1, append=-1)) if len(owner) else np.zeros(0, dtype=np.int64)
    return {
        int(owner[low]): _union(start[low:high], end[low:high])
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    }


def busy_ps(log: OpLog, engine: str) -> dict[int, int]:
    """How long each server of `engine` was busy: its owner (see `Stays`) -> ps, by ascending owner."""
    if engine not in EXCLUSIVE:
        return {owner: int((end - start).sum()) for owner, (start, end) in busy_intervals(log, engine).items()}
    found = stays(log, engine)
    total = np.zeros(int(found.owner.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(total, found.owner, found.end - found.start)
    return {owner: ps for owner, ps in enumerate(total.tolist()) if ps}


def _union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Merge intervals that are sorted by start; those that touch become one."""
    reach = np.maximum.accumulate(end)
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    firsts = np.flatnonzero(opens)
    return start[firsts], reach[np.append(firsts[1:], len(start)) - 1]


def _pairs(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """(i, j) for every i and every j of [first[i], first[i] + count[i])."""
    i = np.repeat(np.arange(len(first)), count)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
