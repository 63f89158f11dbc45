"""What a run gives to Python: latency, outputs, report, IR, and how it shows itself in a notebook."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from ..backend_sim.analysis import report as reports
from ..backend_sim.analysis.trace import write_trace
from ..backend_sim.numerics.dtypes import Array
from ..backend_sim.oplog import OpLog
from ..dialects.text import print_module
from .forms import settled
from .lowering import Level, Request, compile_request
from .run import Outcome


class Result:
    """A finished run.

    `latency_ns`; `outputs` (name -> array of what the kernel wrote, none if no values were computed); `check` ("pass",
    "fail", "skipped"); `summary()` (the object of `ahbmc run --json`); `report()` (text); `ir(level)` (text).
    """

    def __init__(self, outcome: Outcome, outputs: dict[str, Array] | None = None):
        self._outcome = outcome
        executed = outcome.executed
        self.outputs = outputs if outputs is not None else {t.name: v for t, v in executed.written().items()}

    @property
    def latency_ns(self) -> float:
        return self._outcome.executed.execution.latency_ps / 1000

    @property
    def check(self) -> str:
        return self._outcome.run.check

    @property
    def failures(self) -> tuple[str, ...]:
        """Why checks failed, a text each."""
        return tuple(fault.message for fault in self._outcome.failures)

    @property
    def oplog(self) -> OpLog:
        """Every command instance, with times and causes."""
        return self._outcome.executed.execution.oplog

    def summary(self) -> dict[str, Any]:
        """The figures, by the keys of `ahbmc run --json`."""
        return self._outcome.summary()

    def report(self, *, by_line: bool = False) -> str:
        """The report as text; `by_line` adds the latency of each line of the kernel."""
        said, *lines = self._parts(by_line=by_line)
        return reports.text(said) + "".join(reports.text(each, reports.WIDE) for each in lines)

    def ir(self, level: Level = "pe") -> str:
        """The IR of the kernels at a level: `tl`, `ahbm` or `pe`."""
        return "// -----\n".join(print_module(compile_request(settled(r), level).module) for r in self._requests)

    def write_trace(self, path: str | Path) -> None:
        """Write a trace that Perfetto opens."""
        with Path(path).open("w", encoding="utf-8") as file:
            write_trace(self.oplog, self._outcome.executed.machine, file)

    @property
    def _requests(self) -> tuple[Request, ...]:
        return self._outcome.requests

    def _parts(self, *, by_line: bool) -> list[Any]:
        analysis = self._outcome.executed.analysis
        parts: list[Any] = [reports.report(analysis, self._outcome.run)]
        if by_line:
            parts.append(reports.by_line(analysis, self._outcome.sources))
        return parts

    def __repr__(self) -> str:
        run = self._outcome.run
        return f"<{run.kernel}: {self.latency_ns:,.2f} ns, check {run.check}>"

    def _repr_html_(self) -> str:
        console = Console(record=True, width=110, file=StringIO(), force_jupyter=False)
        for part in self._parts(by_line=False):
            console.print(part)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
