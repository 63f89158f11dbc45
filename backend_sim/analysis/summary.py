"""The object that `run --json` writes: figures of one run, by name. The keys are a contract; times are ns.

    kernel machine pipeline latency_ns check commands issue_cycles issue_cycles_max
    bytes {hbm_read, hbm_read_useful, hbm_write, ipcq, noc}
    engines {name: {busy_ns, utilization, servers, min, median, max}}   critical_pe
    slices [{slice, busy_ns, utilization}]   links [{link, busy_ns, utilization}]   launches [{kernel, latency_ns}]
    attribution {part: ns}   attribution_commands [{part, ns, command, programs, what, place}]
    roofline {bound, floor_ns, fraction, floors_ns}   outputs   wall_s   events   gemm
    remarks [{pass, subject, outcome, reason, place}]

`hbm_read` counts the bytes that moved, `hbm_read_useful` those of them that were asked for; `noc` the bytes that came
from or went to another PE's slice. `engines` adds up the servers of a name (`servers` of them); `utilization` is their
busy share of the latency, `min`, `median` and `max` are of single servers. `slices` and `links` are the busiest ones,
`critical_pe` is the PE whose last command ends the run. `gemm` is there if the workload has a GEMM:
    {window_ns, tflops, mac_utilization, useful_macs, useful_utilization, engine_utilization}
the first three in the window (see `gemm_windows`), the others over the latency: of the multiply-adds that the result
needs (those of the GEMMs without padding, if the workload does not say), and of what the engines are busy with.
`ideal` is there if it was asked for: {cost: ns}, the latency if that cost, or those, were nothing.
`autotune` is there if it was asked for: [{kernel, config, latency_ns, best}], with `error` and a latency of null where
a configuration does not run.
`interrupted` is there if the user ended the run, and says how far it had come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...dialects.remarks import Remark
from ..oplog import ENGINES, OpLog
from ..target.machine import Machine
from ..target.topology import pe_name
from .attribution import Attribution, Share, attribute, site_of, site_text
from .roofline import Roofline, roofline
from .servers import Busy, Server, busiest_links, busiest_slices, busy_of, engines

SCHEMA = 1
GEMM_FIGURES = ("window_ns", "tflops", "mac_utilization", "useful_macs", "useful_utilization", "engine_utilization")
"""The keys of `gemm`, in order."""
_MOST_INSTANCES = 1000  # command instances listed behind the parts, the biggest first
_MOST_SERVERS = 50  # slices and links listed, the busiest first


@dataclass(frozen=True)
class Run:
    """What a summary says beside the op-log: names, outcome of the checks, what it cost, the compiler's remarks.

    `scratch_peak` is the most bytes of scratch that one of the programs needs; None where no pass has placed them.
    `ideal` has the latencies in ps without a cost, or without several with commas between their names. `useful_macs`
    are the multiply-adds that the result of each launch needs; None where the workload does not say.
    """

    kernel: str
    pipeline: str
    check: str
    outputs: Mapping[str, Mapping[str, Any]]
    wall_s: Mapping[str, float]
    events: int
    remarks: tuple[Remark, ...] = ()
    interrupted: str | None = None
    ideal: Mapping[str, int] = field(default_factory=dict[str, int])
    useful_macs: tuple[int | None, ...] = ()
    autotune: tuple[Mapping[str, Any], ...] = ()
    scratch_peak: int | None = None


@dataclass(frozen=True)
class Analysis:
    """The views of one op-log that summary and report share, each made when it is first asked for."""

    log: OpLog
    machine: Machine

    @cached_property
    def attribution(self) -> Attribution:
        return attribute(self.log)

    @cached_property
    def roofline(self) -> Roofline:
        return roofline(self.log, self.machine)

    @cached_property
    def engines(self) -> dict[str, dict[str, float]]:
        return engines(self.log, self._busy)

    @cached_property
    def slices(self) -> list[Server]:
        return busiest_slices(self.log, self._busy, self.machine)

    @cached_property
    def links(self) -> list[Server]:
        return busiest_links(self.log, self._busy)

    @cached_property
    def pes(self) -> tuple[int, ...]:
        """The PEs that ran programs."""
        return tuple(_pes(self.log))

    @property
    def critical_pe(self) -> str:
        """The PE whose last command ends the run; nothing if there was no program."""
        programs = self.log.programs
        return pe_name(self.machine, int(programs["pe"][np.argmax(programs["end"])])) if self.pes else ""

    @cached_property
    def _busy(self) -> Busy:
        return busy_of(self.log, self.machine)

    @cached_property
    def moved_bytes(self) -> dict[str, int]:
        return moved_bytes(self.log, self.machine)

    @cached_property
    def issue_cycles(self) -> tuple[int, int]:
        return issue_cycles(self.log, self.machine)


def summary(analysis: Analysis, run: Run) -> dict[str, Any]:
    """The object of `run --json`, plain JSON."""
    log, machine, roof = analysis.log, analysis.machine, analysis.roofline
    total, most = analysis.issue_cycles
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "kernel": run.kernel,
        "machine": machine.name,
        "pipeline": run.pipeline,
        "latency_ns": ns(log.latency_ps),
        "check": run.check,
        "commands": log.commands(),
        "issue_cycles": total,
        "issue_cycles_max": most,
        "bytes": analysis.moved_bytes,
        "scratch_peak": run.scratch_peak,
        "engines": analysis.engines,
        "critical_pe": analysis.critical_pe,
        "slices": [_server("slice", server) for server in analysis.slices[:_MOST_SERVERS]],
        "links": [_server("link", server) for server in analysis.links[:_MOST_SERVERS]],
        "launches": [{"kernel": name, "latency_ns": ns(ps)} for name, ps in launches(log)],
        "attribution": {part: ns(ps) for part, ps in analysis.attribution.parts.items()},
        "attribution_commands": [_instance(analysis, share) for share in analysis.attribution.shares[:_MOST_INSTANCES]],
        "roofline": {
            "bound": roof.bound,
            "floor_ns": ns(roof.floor_ps),
            "fraction": roof.fraction,
            "floors_ns": {name: ns(ps) for name, ps in roof.floors_ps.items()},
        },
        "outputs": {name: dict(output) for name, output in run.outputs.items()},
        "wall_s": dict(run.wall_s),
        "events": run.events,
        "remarks": [_remark(remark) for remark in run.remarks],
    }
    if run.autotune:
        found["autotune"] = [dict(entry) for entry in run.autotune]
    if run.ideal:
        found["ideal"] = {costs: ns(ps) for costs, ps in run.ideal.items()}
    if run.interrupted:
        found["interrupted"] = run.interrupted
    if log.total("flops"):
        found["gemm"] = gemm(analysis, run)
    return found


def launches(log: OpLog) -> list[tuple[str, int]]:
    """The kernel of each launch and how long it took in ps; they add up to the latency."""
    return [(launch["kernel"], launch["end"] - launch["start"]) for launch in log.header.get("launches", ())]


def _server(what: str, server: Server) -> dict[str, Any]:
    return {what: server.name, "busy_ns": ns(server.busy_ps), "utilization": server.utilization}


def _instance(analysis: Analysis, share: Share) -> dict[str, Any]:
    site = site_of(analysis.log, share.record)
    return {
        "part": share.part,
        "ns": ns(share.ps),
        "command": f"{pe_name(analysis.machine, share.pe)}#{share.number}",
        "programs": share.programs,
        "what": site_text(site),
        "place": f"{site.file}:{site.line}:{site.column}" if site.line else "",
    }


def _remark(remark: Remark) -> dict[str, str]:
    place = str(remark.place) if remark.place else ""
    return {
        "pass": remark.pass_name,
        **{k: getattr(remark, k) for k in ("subject", "outcome", "reason")},
        "place": place,
    }


def ns(ps: int) -> float:
    """Picoseconds as nanoseconds; exact to the last digit that a float prints."""
    return ps / 1000


def issue_cycles(log: OpLog, machine: Machine) -> tuple[int, int]:
    """Cycles that PE_CPUs spent on issuing: over all PEs, and of the busiest."""
    if not len(log.programs["pe"]):
        return 0, 0
    spent = np.concatenate(([0], np.cumsum(log.records["issue_end"] - log.records["issue_start"])))
    first = log.programs["first"]
    per_program = spent[first + log.programs["rows"]] - spent[first]
    per_pe = np.zeros(int(log.programs["pe"].max()) + 1, dtype=np.int64)
    np.add.at(per_pe, log.programs["pe"], per_program)

    def cycles(ps: int) -> int:
        return round(Fraction(ps) / machine.pe.cpu.ps_per_cycle)

    return cycles(int(per_pe.sum())), cycles(int(per_pe.max()))


def moved_bytes(log: OpLog, machine: Machine) -> dict[str, int]:
    """Bytes by where they moved, over all command instances."""
    return {
        "hbm_read": log.total("bytes_read"),
        "hbm_read_useful": log.total("useful_read"),
        "hbm_write": log.total("bytes_written"),
        "ipcq": 0,
        "noc": _remote_bytes(log, machine),
    }


def _remote_bytes(log: OpLog, machine: Machine) -> int:
    """Bytes served by slices of other PEs, from their services (a byte takes several ps, so it is exact)."""
    runs, programs = log.runs, log.programs
    chosen = np.flatnonzero((runs["engine"] == ENGINES.index("hbm")) & (runs["unit"] >= 0))
    record = runs["record"][chosen]
    rate = float(machine.hbm.slice_gb_per_s) / 1000
    size = np.rint(runs["service"][chosen] * rate).astype(np.int64) * runs["count"][chosen]
    total = 0
    for pe, shift in sorted(set(zip(programs["pe"].tolist(), programs["shift"].tolist(), strict=True))):
        rows = (programs["pe"] == pe) & (programs["shift"] == shift)
        low = np.searchsorted(record, programs["first"][rows], "left")
        high = np.searchsorted(record, (programs["first"] + programs["rows"])[rows], "left")
        before = np.concatenate(([0], np.cumsum(np.where(runs["unit"][chosen] + shift != pe, size, 0))))
        total += int((before[high] - before[low]).sum())
    return total


def _pes(log: OpLog) -> list[int]:
    """The PEs that ran programs. (`np.unique` would import numpy's masked arrays, a twentieth of a short run.)"""
    return sorted(set(log.programs["pe"].tolist()))


def gemm(analysis: Analysis, run: Run) -> dict[str, float]:
    """Throughput of the GEMMs in their window, 2MNK without padding, and use over the latency: of the multiply-adds
    that are needed, and of the engines. Shares are of the PEs that ran.
    """
    log = analysis.log
    window_ps = sum(end - start for start, end in gemm_windows(log))
    peak = float(analysis.machine.pe.gemm.peak_tflops) * len(analysis.pes)
    tflops = log.total("flops") / window_ps if window_ps else 0.0
    useful = useful_macs(log, run.useful_macs)
    busy = analysis.engines["gemm"]["utilization"]
    figures = (ns(window_ps), tflops, tflops / peak, useful, 2 * useful / log.latency_ps / peak, busy)
    return dict(zip(GEMM_FIGURES, figures, strict=True))


def useful_macs(log: OpLog, said: Sequence[int | None]) -> int:
    """The multiply-adds that results need: what is `said` of a launch, else what its GEMMs do without padding."""
    flops = np.concatenate(([0], np.cumsum(log.records["flops"])))
    first = log.programs["first"]
    done: list[int] = (flops[first + log.programs["rows"]] - flops[first]).tolist()
    by_launch: dict[int, int] = {}
    for launch, each in zip(log.programs["launch"].tolist(), done, strict=True):
        by_launch[launch] = by_launch.get(launch, 0) + each
    total = 0
    for launch, each in by_launch.items():
        given = said[launch] if launch < len(said) else None
        total += given if given is not None else each // 2
    return total


def gemm_windows(log: OpLog) -> list[tuple[int, int]]:
    """The window of each launch that has a GEMM, in absolute ps.

    It opens when the DMA engine sends the request of the first streamed operand of a composite or, if that is earlier,
    of the first load behind the last `wait` for staged operands; it closes with the last write ack, or with the end of
    the last stage if nothing is written. Issue and staging before it are outside, everything between counts.
    """
    return [
        found
        for launch in np.unique(log.programs["launch"]).tolist()
        if (found := _window(log, np.flatnonzero(log.programs["launch"] == launch))) is not None
    ]


def _window(log: OpLog, rows: np.ndarray) -> tuple[int, int] | None:
    opens: list[int] = []
    closes: list[int] = []
    last: list[int] = []
    known: dict[int, tuple[int | None, int | None, int] | None] = {}
    columns = (log.programs[name][rows].tolist() for name in ("first", "rows", "start"))
    for first, count, start in zip(*columns, strict=True):
        if first not in known:
            known[first] = _program_window(log, first, count)
        if (window := known[first]) is None:
            continue
        begin, written, end = window
        if begin is not None:
            opens.append(start + begin)
        if written is not None:
            closes.append(start + written)
        last.append(start + end)
    return (min(opens), max(closes or last)) if opens else None


def _program_window(log: OpLog, first: int, count: int) -> tuple[int | None, int | None, int] | None:
    """(opening, last write ack, end of the last stage) of a program, from its start; None if it has no GEMM."""
    part = slice(first, first + count)
    column = {name: log.records[name][part] for name in ("site", "start", "end", "window", "flops", "bytes_written")}
    if not column["flops"].any():
        return None
    kinds = np.array([site.kind for site in log.sites])[column["site"]]
    composite = (kinds == "composite") & (column["flops"] > 0)
    opens = column["window"][composite].tolist()
    if (column["flops"][~composite] > 0).any():
        waits = np.flatnonzero(kinds == "wait")
        first_gemm = int(np.flatnonzero((column["flops"] > 0) & ~composite)[0])
        staged = [int(wait) for wait in waits if wait < first_gemm]
        loads = np.flatnonzero(np.isin(kinds, ("dma_read", "gather")))
        loads = loads[loads > (staged[-1] if staged else -1)]
        opens += column["start"][loads[:1]].tolist() or column["start"][[first_gemm]].tolist()
    written = column["end"][column["bytes_written"] > 0]
    begin = min(opens, default=None)
    return begin, (int(written.max()) if len(written) else None), int(column["end"].max())
