"""The report of a run for a reader: latency, where it went, engines, commands, bytes, what the compiler did, a verdict.

It renders with rich (terminal, text); `page.py` makes an HTML page of the same tables. Every figure comes from the
op-log through `summary.py`'s views.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...dialects.errors import Place, Sources
from ...dialects.remarks import Remark
from ..target.topology import pe_name
from .attribution import NOWHERE, Share, per_site, site_of, site_text
from .attribution import by_line as attribution_by_line
from .summary import Analysis, Run, gemm, launches
from .verdict import verdict

_COMMANDS = 3  # commands of kernel text named per part
_SERVERS = 4  # slices, and links, named
_NAME = 40
_WIDTH = 110
WIDE = 180  # for `by_line`, whose lines are those of the kernel
_BAR = 20
_GAP = 12  # lines without commands that are shown between two that have some
_MANY_NS = 100_000  # from here the latency is given in microseconds too
_WORTH_A_LOOK = ("refused", "gathered")


def report(analysis: Analysis, run: Run) -> RenderableType:
    """The whole report; `text` makes text of it."""
    parts: list[RenderableType] = [head(analysis, run), *tables(analysis, run), _verdict(analysis, run)]
    return Group(*(item for part in parts for item in (part, Text(""))))


def tables(analysis: Analysis, run: Run) -> list[Table]:
    """The tables of the report; those that would say nothing are left out."""
    found = [_launches(analysis)] if len(launches(analysis.log)) > 1 else []
    found += [_attribution(analysis), _engines(analysis)]
    if run.autotune:
        found.append(_autotune(run))
    if run.ideal:
        found.append(_ideal(analysis, run))
    if len(analysis.pes) > 1:
        found.append(_busiest(analysis))
    found.append(_figures(analysis, run))
    if run.remarks:
        found.append(_remarks(run.remarks))
    if run.outputs:
        found.append(_outputs(run))
    return found


def text(renderable: RenderableType, width: int = _WIDTH) -> str:
    """The report as plain text, without colour."""
    out = StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False).print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def by_line(analysis: Analysis, sources: Sources | None = None) -> Table:
    """The text of the kernel with what each line holds of the latency, and its parts; how many commands it issued and
    what they moved, on the critical path or not.
    """
    log, sources = analysis.log, sources or Sources()
    lines = attribution_by_line(log, analysis.attribution)
    counts: dict[tuple[str, int], list[int]] = {}
    read, written = log.records["bytes_read"], log.records["bytes_written"]
    columns = [per_site(log, column) for column in (np.ones_like(read), read, written)]
    for site, *figures in zip(log.sites, *columns, strict=True):
        if figures[0]:
            of_line = counts.setdefault((site.file, site.line) if site.line else NOWHERE, [0, 0, 0])
            of_line[:] = map(sum, zip(of_line, figures, strict=True))
    figures = (("ns", "right"), ("share", "right"), ("commands", "right"), ("B read", "right"), ("B written", "right"))
    files = dict.fromkeys(file for file, line in sorted({*lines, *counts}) if line)
    title = f"Latency by line of {Path(next(iter(files))).name}" if len(files) == 1 else "Latency by line"
    table = plain_table(title, ("line", "right"), *figures, ("text and parts", "left"))
    table.columns[-1].no_wrap = True
    for file, line in _lines_between({*lines, *counts}):
        parts, moved = lines.get((file, line), {}), counts.get((file, line), [])
        ps, code = sum(parts.values()), (sources.line(Place(file, line, 1)) or "") if line else ""
        what = ", ".join(f"{part} {ns(of)}" for part, of in sorted(parts.items(), key=lambda item: -item[1]))
        table.add_row(
            _where(file, line) if len(files) != 1 or not line else str(line),
            *((ns(ps), f"{ps / log.latency_ps:.1%}") if ps else ("", "")),
            *(f"{n:,}" if n else "" for n in (moved or (0, 0, 0))),
            Text("\n".join(filter(None, (code.rstrip(), what)))),
        )
    return table


def _lines_between(found: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The lines `found` in the order of the text, with the few that stand between two of them."""
    before = NOWHERE
    for file, line in sorted(found):
        if file == before[0] and line and line - before[1] <= _GAP:
            yield from ((file, between) for between in range(before[1] + 1, line))
        yield file, line
        before = file, line


def ns(ps: int) -> str:
    """Picoseconds as ns with two decimals and thousands apart."""
    return f"{ps / 1000:,.2f}"


def plain_table(title: str, *columns: tuple[str, str]) -> Table:
    """An empty table without lines; each column is (name, side)."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, side in columns:
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=side == "right")
    return table


def head(analysis: Analysis, run: Run) -> Text:
    """What ran, its latency, the outcome of its checks."""
    log = analysis.log
    programs, pes = log.program_count, len(analysis.pes)
    said = Text()
    said.append(run.kernel, style="bold")
    said.append(
        f" on {analysis.machine.name}, pipeline {run.pipeline}, {_many(programs, 'program')} on {_many(pes, 'PE')}\n"
    )
    said.append("latency ")
    said.append(f"{ns(log.latency_ps)} ns", style="bold")
    if log.latency_ps >= _MANY_NS * 1000:
        said.append(f" ({log.latency_ps / 1e6:,.1f} us)")
    if log.total("flops"):
        figures = gemm(analysis, run)
        said.append(
            f"   GEMM {figures['tflops']:.3f} TFLOP/s, {figures['mac_utilization']:.2%} of peak,"
            f" in a window of {figures['window_ns']:,.2f} ns"
        )
        if any(macs is not None for macs in run.useful_macs):
            said.append(
                f"\nneeded {figures['useful_macs']:,} multiply-adds, {figures['useful_utilization']:.2%} of peak over"
                f" the latency; GEMM engine busy {figures['engine_utilization']:.2%}"
            )
    style = {"pass": "green", "fail": "bold red"}.get(run.check, "")
    if pes > 1:
        said.append(f"\ncritical PE {analysis.critical_pe}")
    said.append("\ncheck ").append(run.check, style=style)
    if run.interrupted:
        said.append(f"\n{run.interrupted}", style="bold red")
    return said


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _attribution(analysis: Analysis) -> Table:
    table = plain_table(
        "Where the time went", ("part", "left"), ("ns", "right"), ("share", "right"), ("largest commands", "left")
    )
    total = analysis.log.latency_ps
    for part, ps in sorted(analysis.attribution.parts.items(), key=lambda item: -item[1]):
        if ps:
            shares = [share for share in analysis.attribution.shares if share.part == part]
            table.add_row(part, ns(ps), f"{ps / total:.1%}", Text(_instances(analysis, shares)))
    table.add_row("total", ns(analysis.attribution.total_ps), "100.0%" if total else "", "")
    return table


def _instances(analysis: Analysis, shares: list[Share]) -> str:
    """The commands of kernel text that hold most of a part, one a line, each with its largest instance."""
    alike: dict[tuple[str, str, int], list[Share]] = {}
    for share in shares:
        site = site_of(analysis.log, share.record)
        alike.setdefault((site_text(site), site.file, site.line), []).append(share)
    groups = sorted(alike.values(), key=lambda group: -sum(share.ps for share in group))
    lines = [_group(analysis, group) for group in groups[:_COMMANDS]]
    if rest := groups[_COMMANDS:]:
        lines.append(f"and {ns(sum(share.ps for group in rest for share in group))} in {len(rest)} more")
    return "\n".join(lines)


def _group(analysis: Analysis, shares: list[Share]) -> str:
    """Commands that are alike: their time, what they are and where, and the largest of them (shares come so)."""
    largest, site = shares[0], site_of(analysis.log, shares[0].record)
    where = f" at {_where(site.file, site.line)}" if site.line else ""
    which = f"{pe_name(analysis.machine, largest.pe)} #{largest.number}"
    count = sum(share.programs for share in shares)
    if count > 1:
        which = f"{count:,} times, up to {ns(largest.ps // largest.programs)} in {which}"
    return f"{ns(sum(share.ps for share in shares))} {_short(site_text(site))}{where} ({which})"


def _short(name: str) -> str:
    """The name of a composite of many ops: the first and the last of them, and how many there are."""
    ops = name.split(", ")
    return name if len(name) <= _NAME or len(ops) < 4 else f"{ops[0]}, ..., {ops[-2]}, {ops[-1]} ({len(ops)} ops)"


def _where(file: str, line: int) -> str:
    return f"{Path(file).name}:{line}" if line else "(no line)"


def _engines(analysis: Analysis) -> Table:
    """Of several PEs also the least, the middle and the most busy one of each kind."""
    several = len(analysis.pes) > 1
    spread = (("min", "right"), ("median", "right"), ("max", "right")) if several else ()
    table = plain_table(
        "Engines", ("engine", "left"), ("busy ns", "right"), ("utilization", "right"), *spread, ("", "left")
    )
    for name, row in analysis.engines.items():
        if row["busy_ns"]:
            bar = "█" * round(row["utilization"] * _BAR)
            of = {"hbm": "slices", "noc": "links"}.get(name, "PEs")
            over = f" over {row['servers']:.0f} {of}" if row["servers"] > 1 else ""
            shares = [f"{row[key]:.1%}" for key in ("utilization", *(key for key, _ in spread))]
            table.add_row(name, f"{row['busy_ns']:,.2f}", *shares, bar.ljust(_BAR) + over)
    return table


def _autotune(run: Run) -> Table:
    """The configurations that were tried."""
    table = plain_table("Configurations", ("", "left"), ("kernel", "left"), ("latency ns", "right"), ("", "left"))
    for entry in run.autotune:
        config = ", ".join(f"{name}={value}" for name, value in entry["config"].items())
        latency = f"{entry['latency_ns']:,.2f}" if entry["latency_ns"] is not None else "-"
        remark = "best" if entry["best"] else entry.get("error", "")
        table.add_row(Text(config), Text(entry["kernel"]), latency, Text(remark))
    return table


def _ideal(analysis: Analysis, run: Run) -> Table:
    """The latency without costs, beside the real one."""
    table = plain_table(
        "If a cost were nothing", ("cost", "left"), ("latency ns", "right"), ("change", "right"), ("", "left")
    )
    latency = analysis.log.latency_ps
    table.add_row("as it is", ns(latency), "")
    for costs, ps in run.ideal.items():
        table.add_row(f"no {costs.replace(',', ', ')}", ns(ps), f"{ps / latency - 1:+.1%}" if latency else "")
    if any(ps > latency for ps in run.ideal.values()):
        table.add_row("", "", "", "longer: servers take what is ready first, and another order may be worse")
    return table


def _busiest(analysis: Analysis) -> Table:
    """The slices and links that are busy for longest."""
    table = plain_table(
        "Busiest slices and links", ("slice or link", "left"), ("busy ns", "right"), ("utilization", "right")
    )
    for servers in (analysis.slices, analysis.links):
        for server in servers[:_SERVERS]:
            table.add_row(Text(server.name), ns(server.busy_ps), f"{server.utilization:.1%}")
        if rest := servers[_SERVERS:]:
            table.add_row(f"and {len(rest):,} more", "", f"to {rest[-1].utilization:.1%}")
    return table


def _launches(analysis: Analysis) -> Table:
    table = plain_table("Launches", ("launch", "right"), ("kernel", "left"), ("ns", "right"))
    for i, (kernel, ps) in enumerate(launches(analysis.log), 1):
        table.add_row(str(i), kernel, ns(ps))
    return table


def _figures(analysis: Analysis, run: Run) -> Table:
    log, moved = analysis.log, analysis.moved_bytes
    total, most = analysis.issue_cycles
    table = plain_table("Commands and bytes", ("what", "left"), ("how many", "left"))
    commands = log.commands()
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in commands.items() if kind != "total")
    table.add_row("commands", f"{commands['total']:,}" + (f" ({kinds})" if kinds else ""))
    table.add_row("issue cycles", f"{total:,}" + (f", {most:,} of the busiest PE" if most != total else ""))
    useful = f" ({moved['hbm_read_useful']:,} asked for)" if moved["hbm_read_useful"] != moved["hbm_read"] else ""
    table.add_row("HBM read", f"{moved['hbm_read']:,} B{useful}")
    table.add_row("HBM written", f"{moved['hbm_write']:,} B")
    if moved["noc"]:
        table.add_row("from and to other slices", f"{moved['noc']:,} B")
    if run.scratch_peak is not None:
        bound = analysis.machine.pe.tcm.scratch_bytes
        table.add_row("scratch peak", f"{run.scratch_peak:,} B of {bound:,} in a program")
    table.add_row("strided transfers", f"cost as {analysis.machine.hbm.strided} (hbm.strided)")
    return table


def _remarks(remarks: Sequence[Remark]) -> Table:
    """Counts by subject and outcome; each refusal with its line and reason, once."""
    table = plain_table("What the compiler did", ("subject", "left"), ("outcome", "right"), ("where and why", "left"))
    counts: dict[tuple[str, str], list[Remark]] = {}
    for remark in remarks:
        counts.setdefault((remark.subject, remark.outcome), []).append(remark)
    for (subject, outcome), found in counts.items():
        where = Text("\n".join(dict.fromkeys(_reasons(found))))
        table.add_row(subject, f"{len(found)} {outcome}", where, style="yellow" if outcome in _WORTH_A_LOOK else "")
    return table


def _reasons(remarks: Iterable[Remark]) -> Iterable[str]:
    for remark in remarks:
        place = f"{Path(remark.place.file).name}:{remark.place.line}" if remark.place else ""
        reason = f"{place}: {remark.reason}" if place and remark.reason else place or remark.reason
        if reason:
            yield reason


def _outputs(run: Run) -> Table:
    table = plain_table(
        "Outputs", ("name", "left"), ("shape", "left"), ("dtype", "left"), ("max error", "left"), ("ok", "left")
    )
    for name, output in run.outputs.items():
        shape = "x".join(map(str, output.get("shape", ())))
        worst = output.get("max_abs_err")
        error = (
            "not checked" if worst is None else f"{worst:.3g} absolute, {output.get('max_rel_err') or 0:.3g} relative"
        )
        ok = "-" if output.get("ok") is None else "yes" if output["ok"] else "no"
        table.add_row(name, shape, str(output.get("dtype", "")), error, ok)
    return table


def _verdict(analysis: Analysis, run: Run) -> Text:
    found = verdict(analysis, run.pipeline)
    body = Text()
    body.append("Verdict\n", style="bold").append(found.bound)
    for advice in found.advice:
        body.append(f"\n- {advice}")
    return body
