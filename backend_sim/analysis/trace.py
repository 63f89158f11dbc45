"""A trace that Perfetto and Chrome open: a process per PE, a thread per engine, a slice per stay of a command there.

Slices of one engine never overlap: where transfers do, the later one begins where the earlier one's slice ends. So the
durations of an engine's slices add up to its busy time, which is `engines[...]["busy_ns"]` of the summary:

    select thread.name, sum(extract_arg(slice.arg_set_id, 'args.dur_ps')) / 1000.0 as busy_ns
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) group by thread.name

Times of the format are microseconds; Perfetto keeps whole nanoseconds, so `args.dur_ps` has the exact duration too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ..oplog import ENGINES, Ints, OpLog
from ..target.machine import Machine
from ..target.topology import pe_name
from .attribution import site_of, site_text


@dataclass(frozen=True)
class Slice:
    """One stay of a command instance on an engine of a PE (for `hbm`, of the slice's owner); absolute ps."""

    pe: int
    engine: str
    start: int
    end: int
    record: int
    program: int  # row of `programs`


def slices(log: OpLog) -> Iterator[Slice]:
    """All slices, by PE, engine and time. Those that touch and belong to one command are one."""
    owner, engine, start, end, record, program = _stays(log)
    order = np.lexsort((record, end, start, engine, owner))
    columns = (column[order].tolist() for column in (owner, engine, start, end, record, program))
    open_: Slice | None = None
    for pe, number, begin, finish, row, of in zip(*columns, strict=True):
        name = ENGINES[int(number)]
        if open_ is not None and (open_.pe, open_.engine) == (pe, name):
            begin = max(begin, open_.end)
            if finish <= begin:
                continue
            if begin == open_.end and (open_.record, open_.program) == (row, of):
                open_ = Slice(pe, name, open_.start, finish, row, of)
                continue
        elif finish <= begin:
            continue
        if open_ is not None:
            yield open_
        open_ = Slice(pe, name, begin, finish, row, of)
    if open_ is not None:
        yield open_


def _stays(log: OpLog) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """(owner, engine, start, end, record, program) of every issue and every single service."""
    programs, runs = log.programs, log.runs
    rows, records = _pairs(programs["first"], programs["rows"])
    base = programs["start"][rows]
    issues = (
        programs["pe"][rows],
        np.full(len(rows), ENGINES.index("pe_cpu"), dtype=np.int64),
        base + log.records["issue_start"][records],
        base + log.records["issue_end"][records],
        records,
        rows,
    )
    low = np.searchsorted(runs["record"], programs["first"], "left")
    high = np.searchsorted(runs["record"], programs["first"] + programs["rows"], "left")
    rows, run = _pairs(low, high - low)
    which, step = _pairs(np.zeros(len(run), dtype=np.int64), runs["count"][run])
    rows, run = rows[which], run[which]
    start = programs["start"][rows] + runs["start"][run] + step * runs["period"][run]
    owner = np.where(runs["unit"][run] >= 0, runs["unit"][run], programs["pe"][rows])
    services = (owner, runs["engine"][run], start, start + runs["service"][run], runs["record"][run], rows)
    joined = [np.concatenate(pair) for pair in zip(issues, services, strict=True)]
    return joined[0], joined[1], joined[2], joined[3], joined[4], joined[5]


def _pairs(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """(i, j) for every i and every j of [first[i], first[i] + count[i])."""
    i = np.repeat(np.arange(len(first)), count)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)


def trace_events(log: OpLog, machine: Machine) -> Iterator[dict[str, Any]]:
    """The events of Chrome's trace format: names of processes and threads, then complete events ("X")."""
    named: set[tuple[int, str]] = set()
    for found in slices(log):
        thread = ENGINES.index(found.engine) + 1
        if (found.pe, "") not in named:
            named.add((found.pe, ""))
            yield _meta("process_name", found.pe, 0, pe_name(machine, found.pe))
        if (found.pe, found.engine) not in named:
            named.add((found.pe, found.engine))
            yield _meta("thread_name", found.pe, thread, found.engine)
        site = site_of(log, found.record)
        first, number = (int(log.programs[name][found.program]) for name in ("first", "number"))
        yield {
            "ph": "X",
            "name": site_text(site),
            "cat": site.kind,
            "pid": found.pe + 1,
            "tid": thread,
            "ts": found.start / 1e6,
            "dur": (found.end - found.start) / 1e6,
            "args": {
                "command": number + found.record - first,
                "issued_by": pe_name(machine, int(log.programs["pe"][found.program])),
                "program": int(log.programs["program"][found.program]),
                "source": f"{site.file}:{site.line}:{site.column}" if site.line else "",
                "dur_ps": found.end - found.start,
            },
        }


def _meta(kind: str, pe: int, thread: int, name: str) -> dict[str, Any]:
    # Perfetto gives process 0 a meaning of its own, so numbers start at 1.
    return {"ph": "M", "name": kind, "pid": pe + 1, "tid": thread, "args": {"name": name}}


def write_trace(log: OpLog, machine: Machine, file: TextIO) -> None:
    """Write the trace as JSON, one event a line."""
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for i, event in enumerate(trace_events(log, machine)):
        file.write(("" if i == 0 else ",\n") + json.dumps(event, separators=(",", ":")))
    file.write("\n]}\n")
