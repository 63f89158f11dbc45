"""The op-log as text: the schedule, a line for each stay of a command on a server, in the order of time. For readers,
for diffs and for FileCheck.

     0.000 -    9.000  sip0.cube0.pe0  pe_cpu    #0 dma_read (32, 64)  k.py:3:9  at the start
     9.000 -   18.000  sip0.cube0.pe0  pe_cpu    #1 dma_read (64, 32)  k.py:4:9  after the issue of #0
    10.510 -   39.510  sip0.cube0.pe0  dma_read  #0 dma_read (32, 64), 4,096 B read  k.py:3:9  after its issue
    19.510 -   55.510  sip0.cube0.pe0  dma_read  #1 dma_read (64, 32), 4,096 B read  k.py:4:9  after #0  beside #0
    55.510 -   65.510  sip0.cube0.pe0  pe_cpu    #2 gemm  k.py:5:9  after #1

Times are absolute ns. The causes are those that the attribution follows: for whose end an issue, or the end of an
execution, waited. `beside` names the commands of the PE that are under way when the line begins. What a composite does
as a whole is a line of the server `pe_sched`; a line for each of its engines goes from the first service to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from typing import TextIO

import numpy as np

from ..oplog import ENGINES, PART_OF_KIND, OpLog
from ..target.machine import Machine
from ..target.topology import pe_name
from .attribution import site_of, site_text

_SIZES = (("bytes_read", "B read"), ("useful_read", "B of them asked for"), ("bytes_written", "B written"))
_STAGES = ("dma_read", "fetch", "math", "gemm", "store", "dma_write")
_NAMED = 8  # of more commands beside a line, only the first and the last are named


def write_text(log: OpLog, machine: Machine, file: TextIO) -> None:
    """Write the schedule of the op-log."""
    for line in lines(log, machine):
        file.write(line + "\n")


def lines(log: OpLog, machine: Machine) -> Iterator[str]:
    """The lines of `write_text`, a header first."""
    yield f"op-log of {log.header.get('machine', machine.name)}, latency {_ns(log.latency_ps)} ns, sha256 {log.hash()}"
    writer = _Writer(log, machine)
    stays = merge(*(writer.of_pe(pe) for pe in sorted(set(log.programs["pe"].tolist()))))
    yield from (stay.text for stay in stays)


@dataclass(slots=True, order=True)
class _Stay:
    """A line to be: it begins at `start`; lines that begin together go by PE, command, and servers in their order."""

    start: int
    pe: int
    number: int
    server: int
    end: int
    text: str


class _Writer:
    """Makes lines of the rows of an op-log."""

    def __init__(self, log: OpLog, machine: Machine):
        self.log, self.machine = log, machine
        self.records = {name: column.tolist() for name, column in log.records.items()}
        self.programs = {name: column.tolist() for name, column in log.programs.items()}
        self.runs: dict[str, list[int]] = {name: column.tolist() for name, column in log.runs.items()}
        self.turns = {name: column.tolist() for name, column in log.turns.items()}

    def of_pe(self, pe: int) -> Iterator[_Stay]:
        """The lines of a PE in order: rows of `programs` never overlap."""
        rows = np.flatnonzero(self.log.programs["pe"] == pe).tolist()
        for row in sorted(rows, key=lambda row: (self.programs["start"][row], self.programs["number"][row])):
            yield from self._of_row(pe, row)

    def _of_row(self, pe: int, row: int) -> Iterator[_Stay]:
        first, rows = self.programs["first"][row], self.programs["rows"][row]
        start, number = self.programs["start"][row], self.programs["number"][row]
        stays = [stay for record in range(first, first + rows) for stay in self._of_record(pe, row, record)]
        stays += self._of_turns(pe, row)
        executions = sorted(
            (start + self.records["start"][record], start + self.records["end"][record], number + record - first)
            for record in range(first, first + rows)
        )
        yield from _with_others(sorted(stays), executions)

    def _of_turns(self, pe: int, row: int) -> Iterator[_Stay]:
        """A line for each program, from its first issue (of the first one: from the start) to its last end."""
        start, base = self.programs["start"][row], self.programs["number"][row] - self.programs["first"][row]
        turns = range(*np.searchsorted(self.log.turns["row"], [row, row + 1]).tolist())
        firsts = [self.turns["first"][turn] for turn in turns]
        ends = [*firsts[1:], self.programs["first"][row] + self.programs["rows"][row]]
        for turn, first, end in zip(turns, firsts, ends, strict=True):
            begin = self.records["issue_start"][first] if turn > turns[0] and first < end else 0
            last = max(self.records["end"][first:end], default=begin)
            yield self._stay(
                pe, base + first, -1, start + begin, start + last, f"program {self.turns['program'][turn]}"
            )

    def _of_record(self, pe: int, row: int, record: int) -> Iterator[_Stay]:
        site, start = site_of(self.log, record), self.programs["start"][row]
        own = record - self.programs["first"][row]
        number = self.programs["number"][row] + own
        of = {name: column[record] for name, column in self.records.items()}
        place = f"  {site.file}:{site.line}:{site.column}" if site.line else ""
        command = f"#{number} {site_text(site)}"

        def stay(server: int, begin: int, end: int, text: str) -> _Stay:
            return self._stay(pe, number, server, start + begin, start + end, text)

        issued = f"{command}{place}  {_cause(of['issue_cause'], own, number - own)}"
        yield stay(0, of["issue_start"], of["issue_end"], issued)
        if site.kind in ("wait", "cycles"):  # PE_CPU alone
            return
        server = _SERVERS.index("pe_sched" if site.kind == "composite" else PART_OF_KIND[site.kind])
        ran = f"{command}{_sizes(of)}{place}  {_cause(of['cause'], own, number - own)}"
        yield stay(server, of["start"], of["end"], ran)
        if site.kind == "composite":
            for engine, (begin, end) in self._stages(record):
                yield stay(_SERVERS.index(engine), begin, end, f"#{number} composite{place}")

    def _stages(self, record: int) -> Iterator[tuple[str, tuple[int, int]]]:
        """From when to when a composite used each engine."""
        low, high = np.searchsorted(self.log.runs["record"], [record, record + 1]).tolist()
        spans: dict[str, tuple[int, int]] = {}
        for run in range(low, high):
            engine, of = ENGINES[self.runs["engine"][run]], {name: column[run] for name, column in self.runs.items()}
            end = of["start"] + (of["count"] - 1) * of["period"] + of["service"]
            begun, ended = spans.get(engine, (of["start"], end))
            spans[engine] = min(begun, of["start"]), max(ended, end)
        yield from ((engine, spans[engine]) for engine in _STAGES if engine in spans)

    def _stay(self, pe: int, number: int, server: int, start: int, end: int, text: str) -> _Stay:
        name = _SERVERS[server] if server >= 0 else ""
        head = f"{_ns(start):>12} - {_ns(end):>12}  {pe_name(self.machine, pe)}  {name:<9} "
        return _Stay(start, pe, number, server, end, head + text)


_SERVERS = ("pe_cpu", "pe_sched", "dma_read", "fetch", "math", "gemm", "copy", "store", "dma_write", "ipcq")


def _with_others(stays: Iterable[_Stay], executions: list[tuple[int, int, int]]) -> Iterator[_Stay]:
    """Lines in order of time, each with the commands that are under way as it begins; `executions` are (start, end,
    number) by start.
    """
    under_way: list[tuple[int, int]] = []
    coming = 0
    for stay in stays:
        while coming < len(executions) and executions[coming][0] <= stay.start:
            _, end, number = executions[coming]
            heappush(under_way, (end, number))
            coming += 1
        while under_way and under_way[0][0] <= stay.start:
            heappop(under_way)
        others = sorted(number for _, number in under_way if number != stay.number)
        if others and stay.server >= 0:
            stay.text += f"  beside {_names(others)}"
        yield stay


def _names(numbers: list[int]) -> str:
    if len(numbers) > _NAMED:
        return f"{len(numbers)} from #{numbers[0]} to #{numbers[-1]}"
    return ", ".join(f"#{number}" for number in numbers)


def _sizes(of: dict[str, int]) -> str:
    """What a record moves and computes; bytes asked for only where they are not all."""
    names = [(name, what) for name, what in _SIZES if of[name]]
    if of["useful_read"] == of["bytes_read"]:
        names = [(name, what) for name, what in names if name != "useful_read"]
    sizes = [f"{of[name]:,} {what}" for name, what in names]
    if of["flops"]:
        sizes.append(f"{of['flops']:,} flops")
    return "".join(f", {size}" for size in sizes)


def _cause(node: int, own: int, number: int) -> str:
    """A cause in words: the start of the program, an issue, or the end of a command."""
    if node < 0:
        return "at the start"
    if node == 2 * own:
        return "after its issue"
    return f"after {'' if node % 2 else 'the issue of '}#{number + node // 2}"


def _ns(ps: int) -> str:
    return f"{ps / 1000:.3f}"
