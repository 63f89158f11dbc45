"""Op-logs made by hand, row by row, so that every figure of a view of them is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from ahbmc.backend_sim.analysis.summary import Run
from ahbmc.backend_sim.oplog import ENGINES, SCHEMA_VERSION, TABLES, OpLog, Site, Table
from ahbmc.backend_sim.target.machine_file import load_machine

MACHINE = load_machine("ahbm-2sip")


@dataclass
class Log:
    """Builds an op-log row by row."""

    sites: list[Site] = field(default_factory=list[Site])
    rows: dict[str, list[dict[str, int]]] = field(default_factory=lambda: {name: [] for name in TABLES})
    links: list[str] = field(default_factory=list[str])

    def site(self, kind: str, line: int) -> int:
        self.sites.append(Site(kind, "(64, 32)" if kind.startswith("dma") else kind, 17, "k.py", line, 5))
        return len(self.sites) - 1

    def add(self, table: str, **values: int) -> None:
        self.rows[table].append(values)

    def record(
        self, site: int, issue: tuple[int, int], issue_cause: int, ran: tuple[int, int], cause: int, **more: int
    ) -> None:
        times = {"issue_start": issue[0], "issue_end": issue[1], "start": ran[0], "end": ran[1], "window": ran[0]}
        self.add("records", site=site, issue_cause=issue_cause, cause=cause, **{**times, **more})

    def program(self, pe: int, start: int, end: int, first: int = 0, rows: int | None = None, launch: int = 0) -> None:
        count = len(self.rows["records"]) - first if rows is None else rows
        number = sum(row["rows"] for row in self.rows["programs"] if row["pe"] == pe)
        self.add("turns", row=len(self.rows["programs"]), program=0, first=first)
        self.add(
            "programs", launch=launch, pe=pe, program=0, start=start, end=end, first=first, rows=count, number=number
        )

    def build(self) -> OpLog:
        firsts = [row["first"] for row in self.rows["programs"]]
        for row in self.rows["loads"]:
            row["record"] = max(first for first in firsts if first <= row["record"])
        tables: dict[str, Table] = {
            name: {c: np.array([row.get(c, 0) for row in self.rows[name]], dtype=np.int64) for c in names}
            for name, names in TABLES.items()
        }
        return OpLog({"schema": SCHEMA_VERSION, "links": self.links}, tuple(self.sites), **tables)


def run_on(log: Log, record: int, engine: str, start: int, service: int, count: int = 1, unit: int = -1) -> None:
    """`count` services of a record on an engine, one after the other; on a link they load it."""
    if engine == "noc":
        log.add("loads", record=record, link=unit, ps=service * count)
    log.add(
        "runs",
        record=record,
        engine=ENGINES.index(engine),
        unit=unit,
        start=start,
        service=service,
        period=service,
        count=count,
    )


def one_product(pe: int = 0) -> Log:
    """load, load, gemm (waits for the second load), wait of 8 cycles, store: one program of one PE.

    issue 0-9, 9-18; loads leave at 10.51 and 19.51 and end at 39.51 and 48.51; gemm issued 48.51-58.51, runs
    59.52-75.904; wait to 83.904; store issued to 92.904, leaves at 94.414, ends at 115.414 (ns).
    """
    log = Log()
    load, gemm, wait, store = (
        log.site("dma_read", 3),
        log.site("gemm", 5),
        log.site("wait", 6),
        log.site("dma_write", 7),
    )
    log.record(load, (0, 9000), -1, (10510, 39510), 0, entry=1510, bytes_read=4096, useful_read=4096)
    log.record(load, (9000, 18000), 0, (19510, 48510), 2, entry=1510, bytes_read=4096, useful_read=3000)
    log.record(gemm, (48510, 58510), 3, (59520, 75904), 4, entry=1010, flops=2 * 32 * 64 * 32)
    log.record(wait, (75904, 83904), 5, (83904, 83904), 6)
    log.record(store, (83904, 92904), 6, (94414, 115414), 8, entry=1510, bytes_written=2048)
    run_on(log, 0, "dma_read", 10510, 29000)
    run_on(log, 0, "hbm", 12510, 16000, unit=pe)
    run_on(log, 1, "dma_read", 19510, 29000)
    run_on(log, 1, "hbm", 28510, 16000, unit=pe)
    run_on(log, 2, "gemm", 59520, 16384)
    run_on(log, 4, "dma_write", 94414, 21000)
    run_on(log, 4, "hbm", 97414, 8000, unit=pe)
    log.program(pe, 0, 115414)
    return log


RUN = Run("k.py::kernel", "primitive", "pass", {}, {"compile": 0.1, "simulate": 0.2, "values": 0.0}, 7)
