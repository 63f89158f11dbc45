"""The op-log as text: a line per command instance, in the order of launches, PEs and issue. For readers and for diffs.

    sip0.cube0.pe0 #2  program 0  gemm 32x64x32  k.py:5:9
        issue 48.510 - 58.510 after #1, runs 59.520 - 75.904 after its issue, 131,072 flops

Times are absolute ns; the causes are those that the attribution follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ..oplog import OpLog
from ..target.machine import Machine
from ..target.topology import pe_name
from .attribution import site_of, site_text

_SIZES = (("bytes_read", "B read"), ("useful_read", "B of them asked for"), ("bytes_written", "B written"))


def write_text(log: OpLog, machine: Machine, file: TextIO) -> None:
    """Write every command instance of the op-log."""
    for line in lines(log, machine):
        file.write(line + "\n")


def lines(log: OpLog, machine: Machine) -> Iterator[str]:
    """The lines of `write_text`, a header first."""
    yield f"op-log of {log.header.get('machine', machine.name)}, latency {_ns(log.latency_ps)} ns, sha256 {log.hash()}"
    records = {name: column.tolist() for name, column in log.records.items()}
    programs = {name: column.tolist() for name, column in log.programs.items()}
    for row, record, start in log.instances():
        site = site_of(log, record)
        first, number = programs["first"][row], programs["number"][row]
        place = f"  {site.file}:{site.line}:{site.column}" if site.line else ""
        pe = pe_name(machine, programs["pe"][row])
        yield f"{pe} #{number + record - first}  program {programs['program'][row]}  {site_text(site)}{place}"
        of = {name: column[record] for name, column in records.items()}
        issue = f"issue {_ns(start + of['issue_start'])} - {_ns(start + of['issue_end'])}"
        ran = f"runs {_ns(start + of['start'])} - {_ns(start + of['end'])}"
        after = [_node(of[cause], record - first, number) for cause in ("issue_cause", "cause")]
        sizes = [f"{of[name]:,} {what}" for name, what in _SIZES if of[name]]
        sizes = [text for text in sizes if of["useful_read"] != of["bytes_read"] or "asked" not in text]
        if of["flops"]:
            sizes.append(f"{of['flops']:,} flops")
        yield f"    {', '.join([f'{issue} {after[0]}', f'{ran} {after[1]}', *sizes])}"


def _node(node: int, own: int, number: int) -> str:
    """A cause in words: the start of the program, an issue, or the end of a command."""
    if node < 0:
        return "at the start"
    if node == 2 * own:
        return "after its issue"
    return f"after {'' if node % 2 else 'the issue of '}#{number + node // 2}"


def _ns(ps: int) -> str:
    return f"{ps / 1000:.3f}"
