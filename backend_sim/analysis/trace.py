"""A trace that Perfetto and Chrome open, ordered by SIP, cube and PE.

A PE is a process, its engines are threads, a stay of a command on an engine is a slice; links are threads of a process
per SIP. Counters show how busy HBM slices and the busiest links are over time.

Slices of one thread never overlap: where transfers do, the later one begins where the earlier one's slice ends. So the
durations of an engine's slices add up to its busy time, which is `engines[...]["busy_ns"]` of the summary:

    select thread.name, sum(extract_arg(slice.arg_set_id, 'args.dur_ps')) / 1000.0 as busy_ns
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) group by thread.name

Times of the format are microseconds; Perfetto keeps whole nanoseconds, so `args.dur_ps` has the exact duration too.
With more than `MOST_SLICES` stays, those that begin on a thread within one interval of time are drawn as one slice; its
`args` say how many they are and how long they take. `otherData` and the returned notes say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ..oplog import ENGINES, Ints, OpLog, stays
from ..target.machine import Machine
from ..target.topology import pe_name
from .attribution import site_of, site_text
from .busy import busy_over_time

MOST_SLICES = 400_000  # 100 MB of text, which Perfetto opens
_BINS = 200  # points of a counter
_MOST_LINKS = 64  # links that have a counter
# Perfetto orders processes by their sort index and threads by number, one that has the number of its process first; 0
# means something of its own. So all numbers differ: PEs from 1, their engines from 16, then processes of links, links.
_ENGINES_OF_A_PE = 16
_NETWORK = 1 << 26
_FIRST_LINK = 1 << 27

Event = dict[str, Any]


@dataclass(frozen=True)
class Slices:
    """The slices of one engine, a row each, by owner and time; they never overlap. Times are absolute ps.

    `owner` is the PE (of the slice's owner for `hbm`), for `noc` the link. `record` and `program` are the rows of the
    first stay, `stays` how many there are in it, and `busy` for how long.
    """

    engine: str
    owner: Ints
    start: Ints
    end: Ints
    record: Ints
    program: Ints
    stays: Ints
    busy: Ints


def slices(log: OpLog, engine: str) -> Slices:
    """All stays on an engine without overlap. Those that touch and belong to one command are one."""
    found = stays(log, engine)
    order = np.lexsort((found.record, found.end, found.start, found.owner))
    owner, start, end = found.owner[order], found.start[order], found.end[order]
    # The latest end before each stay, of its owner: times of different owners are kept apart by more than the latency.
    apart = owner * (log.latency_ps + 1)
    reached = np.concatenate(([0], np.maximum.accumulate(end + apart)[:-1])) - apart if len(owner) else end
    start = np.maximum(start, reached)
    order, keep = order[end > start], end > start
    owner, start, end = owner[keep], start[keep], end[keep]
    record, program = found.record[order], found.program[order]
    touch = (owner[1:] == owner[:-1]) & (start[1:] == end[:-1])
    same = touch & (record[1:] == record[:-1]) & (program[1:] == program[:-1])
    first, last = _groups(~same, len(owner))
    one = np.ones(len(first), dtype=np.int64)
    start, end = start[first], end[last]
    return Slices(engine, owner[first], start, end, record[first], program[first], one, end - start)


def merged(given: Slices, interval_ps: int) -> Slices:
    """Slices that begin within one interval of time as one."""
    begins = given.start // interval_ps
    first, last = _groups((given.owner[1:] != given.owner[:-1]) | (begins[1:] != begins[:-1]), len(given.owner))

    def total(column: Ints) -> Ints:
        return np.add.reduceat(column, first) if len(first) else column

    owner, record, program = (column[first] for column in (given.owner, given.record, given.program))
    start, end = given.start[first], given.end[last]
    return Slices(given.engine, owner, start, end, record, program, total(given.stays), total(given.busy))


def _groups(opens: np.ndarray, rows: int) -> tuple[Ints, Ints]:
    """(first, last) row of each group; `opens` says of each row but the first whether a group begins there."""
    first = np.flatnonzero(np.concatenate((np.ones(min(rows, 1), dtype=np.bool_), opens)))
    return first, np.append(first[1:], rows)[: len(first)] - 1


def write_trace(log: OpLog, machine: Machine, file: TextIO) -> tuple[str, ...]:
    """Write the trace as JSON, one event a line. Returns what a reader must know about what it shows."""
    found = [slices(log, engine) for engine in ENGINES]
    notes: list[str] = []
    total = _rows(found)
    if total > MOST_SLICES:
        found, interval_ps = _fewer(found, log.latency_ps)
        notes.append(
            f"{total:,} stays on engines and links are drawn as {_rows(found):,} slices: those of a thread that begin"
            f" within {interval_ps / 1000:,.0f} ns are one, with their number and their busy time in its args"
        )
    if len(log.links) > _MOST_LINKS:
        notes.append(f"the {_MOST_LINKS} busiest of {len(log.links):,} links have a counter")
    head = {"machine": log.header.get("machine", machine.name), "latency_ps": log.latency_ps, "notes": notes}
    file.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(head)},"traceEvents":[')
    separator = "\n"
    for event in _events(log, machine, found):
        file.write(separator + json.dumps(event, separators=(",", ":")))
        separator = ",\n"
    file.write("\n]}\n")
    return tuple(notes)


def _rows(found: list[Slices]) -> int:
    return sum(len(engine.owner) for engine in found)


def _fewer(found: list[Slices], latency_ps: int) -> tuple[list[Slices], int]:
    """No more than MOST_SLICES slices (or one per thread), and the interval within which slices are one."""
    interval_ps = 1000
    drawn = [merged(engine, interval_ps) for engine in found]
    while _rows(drawn) > MOST_SLICES and interval_ps <= latency_ps:
        interval_ps *= 2
        drawn = [merged(engine, interval_ps) for engine in found]
    return drawn, interval_ps


def _events(log: OpLog, machine: Machine, found: list[Slices]) -> Iterator[Event]:
    yield from _names(log, machine, found)
    for engine in found:
        yield from _slices(log, machine, engine)
    yield from _counters(log)


def _names(log: OpLog, machine: Machine, found: list[Slices]) -> Iterator[Event]:
    """Names of processes and threads and their order: PEs as they are numbered, then the links of each SIP."""
    pes = sorted({owner for s in found if s.engine != "noc" for owner in set(s.owner.tolist())})
    for pe in pes:
        yield from _named("process", pe + 1, 0, pe_name(machine, pe), pe + 1)
    for s in found:
        for owner in sorted(set(s.owner.tolist())) if s.engine != "noc" else ():
            yield from _named("thread", owner + 1, _thread(owner, s.engine), s.engine, _thread(owner, s.engine))
    networks = {_network(link): _sip(link) for link in log.links}
    for process, sip in sorted(networks.items()):
        yield from _named("process", process, 0, f"{sip} links".strip(), process)
    for i, link in enumerate(log.links):
        yield from _named("thread", _network(link), _FIRST_LINK + i, link, _FIRST_LINK + i)


def _thread(pe: int, engine: str) -> int:
    """The number of the thread of an engine."""
    return (pe + 1) * _ENGINES_OF_A_PE + ENGINES.index(engine)


def _sip(link: str) -> str:
    """`sip0` of a link that begins in SIP 0; nothing for one that begins outside of all."""
    first = link.partition(".")[0]
    return first if first.startswith("sip") else ""


def _network(link: str) -> int:
    """The number of the process of a link."""
    sip = _sip(link)
    return _NETWORK + (1 + int(sip.removeprefix("sip")) if sip else 0)


def _named(what: str, process: int, thread: int, name: str, order: int) -> Iterator[Event]:
    where = {"ph": "M", "pid": process, "tid": thread}
    yield {"name": f"{what}_name", **where, "args": {"name": name}}
    yield {"name": f"{what}_sort_index", **where, "args": {"sort_index": order}}


def _slices(log: OpLog, machine: Machine, found: Slices) -> Iterator[Event]:
    """Complete events ("X"), by thread and time."""
    links = log.links if found.engine == "noc" else ()
    first, numbers, pes = (log.programs[name].tolist() for name in ("first", "number", "pe"))
    columns = (
        column.tolist()
        for column in (
            found.owner,
            found.start,
            found.end,
            found.record,
            found.program,
            log.programs_of(found.program, found.record),
            found.stays,
            found.busy,
        )
    )
    for owner, start, end, record, row, program, count, busy in zip(*columns, strict=True):
        process, thread = owner + 1, _thread(owner, found.engine)
        if links:
            process, thread = _network(links[int(owner)]), _FIRST_LINK + owner
        event: Event = {"ph": "X", "pid": process, "tid": thread, "ts": start / 1e6, "dur": (end - start) / 1e6}
        if count > 1:
            yield {**event, "name": f"{count:,} stays", "cat": "merged", "args": {"stays": count, "dur_ps": busy}}
            continue
        site = site_of(log, record)
        args = {
            "command": numbers[row] + record - first[row],
            "issued_by": pe_name(machine, pes[row]),
            "program": program,
            "source": f"{site.file}:{site.line}:{site.column}" if site.line else "",
            "dur_ps": busy,
        }
        yield {**event, "name": site_text(site), "cat": site.kind, "args": args}


def _counters(log: OpLog) -> Iterator[Event]:
    """How busy HBM slices and the busiest links are, in percent of each interval."""
    links = log.links
    for engine, most in (("hbm", None), ("noc", _MOST_LINKS)):
        found = busy_over_time(log, engine, _BINS)
        edges = found.edges_ps.tolist()
        for owner in sorted(found.busiest[:most]):
            name, process = ("hbm busy %", owner + 1) if engine == "hbm" else (links[owner], _network(links[owner]))
            last = None
            for at, share in zip(edges, [*found.share[owner].tolist(), 0.0], strict=True):
                percent = round(100 * share, 1)
                if percent != last:
                    yield {"ph": "C", "pid": process, "name": name, "ts": at / 1e6, "args": {"busy": percent}}
                    last = percent
