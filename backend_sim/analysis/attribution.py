"""Where the latency went: the walk from the last end back along the causes, a view of the op-log.

Each node of the op-log (the end of an issue, the end of a command) adds the time since the end of its cause. The walk
starts at what ended last, takes each node's time apart into parts, and goes on at its cause, through the programs of
the PE and through earlier launches, until the start. Nothing is left over: the parts add up to the latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..oplog import PART_OF_KIND, PARTS, OpLog, Site

NOWHERE = ("", 0)
"""The line (file, number) of what has no line."""
_START = -1
_Add = Callable[[str, int, int], None]
Column = npt.NDArray[Any]


@dataclass(frozen=True)
class Share:
    """What one command instance holds of one part of the latency.

    `record` is its row; `programs` programs on the path that ran alike are taken together: `ps` is their sum, and
    (`pe`, `number`) is the instance in the first of them.
    """

    part: str
    record: int
    pe: int
    number: int
    programs: int
    ps: int


@dataclass(frozen=True)
class Attribution:
    """The parts of the latency (all of PARTS, in that order) and the command instances behind them, biggest first."""

    parts: dict[str, int]
    shares: tuple[Share, ...]

    @property
    def total_ps(self) -> int:
        return sum(self.parts.values())


def attribute(log: OpLog) -> Attribution:
    """The whole latency by parts and command instances."""
    parts: dict[str, int] = dict.fromkeys(PARTS, 0)
    shares: list[Share] = []
    for pe, first, row, count in _critical_programs(log, parts):
        for (part, record), ps in _walk(log, first, int(log.programs["rows"][row])).items():
            parts[part] += ps * count
            if record != _START:
                number = int(log.programs["number"][row]) + record - first
                shares.append(Share(part, record, pe, number, count, ps * count))
    shares.sort(key=lambda share: (-share.ps, share.record, PARTS.index(share.part)))
    assert sum(parts.values()) == log.latency_ps, "the parts of the attribution do not add up to the latency"
    return Attribution(parts, tuple(shares))


def site_of(log: OpLog, record: int) -> Site:
    """The command op that a row of `records` is an instance of."""
    return log.sites[int(log.records["site"][record])]


def site_text(site: Site) -> str:
    """Kind and label of a command op, the kind once."""
    return site.label if site.label.startswith(site.kind) else f"{site.kind} {site.label}".strip()


def per_site(log: OpLog, column: Column) -> list[int]:
    """The sum of a column of `records` at each site, over all programs."""
    total = np.zeros(len(log.sites), dtype=np.int64)
    np.add.at(total, log.records["site"], column * log.repeats())
    return total.tolist()


def by_line(log: OpLog, attribution: Attribution) -> dict[tuple[str, int], dict[str, int]]:
    """The latency by lines of the kernel: (file, line) -> part -> ps. What no command holds is at no line, ("", 0)."""
    lines: dict[tuple[str, int], dict[str, int]] = {}

    def add(line: tuple[str, int], part: str, ps: int) -> None:
        of_line = lines.setdefault(line, {})
        of_line[part] = of_line.get(part, 0) + ps

    rest = dict(attribution.parts)
    for share in attribution.shares:
        site = site_of(log, share.record)
        add((site.file, site.line) if site.line else NOWHERE, share.part, share.ps)
        rest[share.part] -= share.ps
    for part, ps in rest.items():
        if ps:
            add(NOWHERE, part, ps)
    return lines


def _critical_programs(log: OpLog, parts: dict[str, int]) -> Iterator[tuple[int, int, int, int]]:
    """The programs on the critical path as (PE, first record, row of one of them, how many share those records).

    Time between programs in which the PE had nothing to do is added to `parts` as idle.
    """
    table = log.programs
    reached = log.latency_ps
    for launch in sorted(set(table["launch"].tolist()), reverse=True):
        rows = np.flatnonzero((table["launch"] == launch) & (table["end"] <= reached))
        if not len(rows):
            continue
        pe = int(table["pe"][rows[np.argmax(table["end"][rows])]])
        rows = rows[table["pe"][rows] == pe]
        start, end = table["start"][rows], table["end"][rows]
        # From the end of the last program to the start of the first: what no program covers is idle.
        parts["idle"] += reached - int(end[-1]) + int((start[1:] - end[:-1]).sum())
        reached = int(start[0])
        firsts, which, counts = np.unique(table["first"][rows], return_index=True, return_counts=True)
        for first, index, count in zip(firsts.tolist(), which.tolist(), counts.tolist(), strict=True):
            yield pe, first, int(rows[index]), count
    parts["idle"] += reached


def _walk(log: OpLog, first: int, rows: int) -> dict[tuple[str, int], int]:
    """(part, row of records) -> ps on the critical path of one program, from its last end to its start."""
    found: dict[tuple[str, int], int] = {}

    def add(part: str, record: int, ps: int) -> None:
        if ps:
            found[part, record] = found.get((part, record), 0) + ps

    if not rows:
        return found
    ends = log.records["end"][first : first + rows]
    node = 2 * int(np.argmax(ends)) + 1
    while node != _START:
        record, is_end = first + node // 2, node % 2
        cause = int(log.records["cause" if is_end else "issue_cause"][record])
        since = _end_of(log, first, cause)
        # Not the issue order: a composite may have waited for a server that a later one held.
        assert since <= _end_of(log, first, node), "a cause that comes after its effect"
        if is_end:
            _add_execution(log, record, since, add)
        else:
            _add_issue(log, record, since, add)
        node = cause
    return found


def _end_of(log: OpLog, first: int, node: int) -> int:
    if node == _START:
        return 0
    return int(log.records["end" if node % 2 else "issue_end"][first + node // 2])


def _add_issue(log: OpLog, record: int, since: int, add: _Add) -> None:
    kind = site_of(log, record).kind
    start, end = int(log.records["issue_start"][record]), int(log.records["issue_end"][record])
    add("idle", record, start - since)
    add("wait" if kind == "wait" else "issue", record, end - start)


def _add_execution(log: OpLog, record: int, since: int, add: _Add) -> None:
    low, high = np.searchsorted(log.segments["record"], [record, record + 1]).tolist()
    if low < high:
        columns = (log.segments[name][low:high].tolist() for name in ("of", "part", "ps"))
        for of, part, ps in zip(*columns, strict=True):
            add(PARTS[int(part)], int(of), int(ps))
        return
    entry, queue = int(log.records["entry"][record]), int(log.records["queue"][record])
    add("issue", record, entry)
    add("queue", record, queue)
    kind = site_of(log, record).kind
    add(PART_OF_KIND[kind], record, int(log.records["end"][record]) - since - entry - queue)
