"""The report of a run as one HTML page: what `report.py` says, and how busy engines, slices and links are over time.

It needs nothing else: no network, no scripts, no fonts. Of many PEs it shows cubes, so that its size does not grow with
the machine; whatever it leaves out it says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

import numpy as np
from rich.table import Table

from ...dialects.errors import Sources
from ..oplog import ENGINES, OpLog
from ..target.topology import pe_name
from .attribution import per_site, site_text
from .busy import BusyOverTime, Shares, busy_over_time
from .charts import COLOUR_OF_PART, bar, heat_map, over_time
from .html import END, begin, section, table_in_html
from .report import by_line, head, ns, plain_table, tables
from .servers import slice_name
from .summary import Analysis, Run
from .verdict import verdict

_BINS = 180
_MOST_ROWS = 64  # of a map
_MOST_SITES = 200  # commands of the kernel listed
_NEUTRAL = "#4e79a7"


def page(analysis: Analysis, run: Run, sources: Sources | None = None) -> Iterator[str]:
    """The page, piece by piece."""
    yield begin(run.kernel)
    yield f"<pre>{escape(head(analysis, run).plain)}</pre>\n"
    found = verdict(analysis, run.pipeline)
    yield f"<h2>Verdict</h2><p>{escape(found.bound)}</p>"
    yield f"<ul>{''.join(f'<li>{escape(advice)}</li>' for advice in found.advice)}</ul>\n"
    parts = {part: ps for part, ps in analysis.attribution.parts.items() if ps}
    yield f"<h2>The critical path</h2>{bar(dict(sorted(parts.items(), key=lambda item: -item[1])))}\n"
    yield from _engines_over_time(analysis)
    if len(analysis.pes) > 1:
        yield from _maps(analysis)
    for table in (*tables(analysis, run), _sites(analysis), by_line(analysis, sources)):
        yield table_in_html(table)
    yield END


def _engines_over_time(analysis: Analysis) -> Iterator[str]:
    log = analysis.log
    if not log.latency_ps:
        return
    yield section("Engines over time", f"Share of each {_bin(log)} in which an engine is busy, mean over its servers.")
    for engine in ENGINES:
        row = analysis.engines[engine]
        if row["busy_ns"]:
            share = busy_over_time(log, engine, _BINS).mean(int(row["servers"]))
            yield f"<p class='note'>{engine}, {row['utilization']:.1%} of the run</p>"
            yield over_time(share, COLOUR_OF_PART.get(engine, _NEUTRAL)) + "\n"


def _maps(analysis: Analysis) -> Iterator[str]:
    """Which PEs, slices and links are busy when."""
    log, machine = analysis.log, analysis.machine
    busiest = max((e for e in ENGINES if e not in ("hbm", "noc")), key=lambda e: analysis.engines[e]["busy_ns"])
    for title, engine in ((f"{busiest} of PEs over time", busiest), ("HBM slices over time", "hbm")):
        found = busy_over_time(log, engine, _BINS)
        owners = analysis.pes if engine != "hbm" else sorted(found.share)
        if len(owners) <= _MOST_ROWS:
            rows = {(slice_name if engine == "hbm" else pe_name)(machine, owner): _of(found, owner) for owner in owners}
            yield _map(title, f"The darker, the busier in each {_bin(log)}.", rows)
        else:
            cubes = _cubes(analysis, found, owners)
            note = f"The darker, the busier in each {_bin(log)}: means over the {len(owners):,} servers of each cube."
            yield _map(title, note, cubes)
    links = busy_over_time(log, "noc", _BINS)
    if links.share:
        shown = links.busiest[:_MOST_ROWS]
        note = f"The {len(shown)} busiest of {len(links.share):,} links that carried anything, the busiest first."
        yield _map("Links over time", note, {log.links[owner]: links.share[owner] for owner in shown})


def _of(found: BusyOverTime, owner: int) -> Shares:
    share = found.share.get(owner)
    return share if share is not None else np.zeros(len(found.edges_ps) - 1)


def _cubes(analysis: Analysis, found: BusyOverTime, owners: Sequence[int]) -> dict[str, Shares]:
    """The mean share of the servers of each cube."""
    cubes: dict[str, list[Shares]] = {}
    for owner in owners:
        cubes.setdefault(pe_name(analysis.machine, owner).rpartition(".")[0], []).append(_of(found, owner))
    return {cube: np.mean(np.array(shares), axis=0) for cube, shares in cubes.items()}


def _map(title: str, note: str, rows: Mapping[str, Shares]) -> str:
    shown = dict(list(rows.items())[: 4 * _MOST_ROWS])
    if len(shown) < len(rows):
        note += f" The first {len(shown)} of {len(rows)}."
    return section(title, note) + heat_map(list(shown), list(shown.values()), _NEUTRAL) + "\n"


def _bin(log: OpLog) -> str:
    return f"{log.latency_ps / _BINS / 1000:,.2f} ns"


def _sites(analysis: Analysis) -> Table:
    """Every command of the kernel: how often it was issued, what it moved, what it holds of the critical path."""
    log = analysis.log
    sites = log.records["site"]
    path: dict[int, int] = {}
    for share in analysis.attribution.shares:
        path[int(sites[share.record])] = path.get(int(sites[share.record]), 0) + share.ps

    counts = per_site(log, np.ones_like(sites))
    moved = per_site(log, log.records["bytes_read"]), per_site(log, log.records["bytes_written"])
    issued = sorted((i for i, count in enumerate(counts) if count), key=lambda i: (-path.get(i, 0), i))
    title = "Commands" if len(issued) <= _MOST_SITES else f"Commands, {_MOST_SITES} of {len(issued):,}"
    names = ("command", "left"), ("place", "left")
    table = plain_table(title, *names, *((n, "right") for n in ("issued", "B read", "B written", "ns of the path")))
    for i in issued[:_MOST_SITES]:
        site = log.sites[i]
        place = f"{site.file.rpartition('/')[2]}:{site.line}" if site.line else ""
        figures = (f"{n:,}" for n in (counts[i], moved[0][i], moved[1][i]))
        table.add_row(site_text(site), place, *figures, ns(path.get(i, 0)))
    return table
