"""Latency and utilization over size as a picture, two panels for each path. The same rows give the same bytes.

It needs matplotlib, an extra of the package: only `driver/probe.py` imports this module, and only for `--plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

from ...target.machine import Machine
from .rows import Row
from .suite import GROUPS, Measured

# Any: matplotlib's own types are partly unknown, and type checking must not need the extra.
_rc_context: Any = import_module("matplotlib").rc_context
_figure: Any = import_module("matplotlib.figure")
_ticker: Any = import_module("matplotlib.ticker")

_WIDTH, _HEIGHT = 13.0, 3.0  # inches, of the panels of one path
# Text stays text, and the ids of an SVG follow from what it shows.
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "ahbmc", "font.size": 8, "lines.markersize": 3}
_UNDATED = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}

Series = dict[str, list[Row]]  # case -> its rows by size


def draw(machine: Machine, measured: Sequence[Measured], kind: str) -> bytes:
    """The picture as the contents of a file of `kind` (svg or png). There is at least one row."""
    paths: dict[str, Series] = {}
    for _, row in sorted(measured, key=lambda item: item[1].size):
        paths.setdefault(row.pair.path, {}).setdefault(row.pair.case, []).append(row)
    names = [path for path in GROUPS if path in paths]
    with _rc_context(_SETTINGS):
        figure = _figure.Figure(figsize=(_WIDTH, _HEIGHT * len(names)), layout="constrained")
        figure.suptitle(f"Probe of {machine.name}: single messages on an idle machine")
        panels = figure.subplots(len(names), 2, squeeze=False)
        for path, (latency, utilization) in zip(names, panels, strict=True):
            series = {case: paths[path][case] for _, row in measured if (case := row.pair.case) in paths[path]}
            _latency(latency, f"{GROUPS[path]} ({path})", series)
            _utilization(utilization, series)
        out = BytesIO()
        figure.savefig(out, format=kind, metadata=_UNDATED[kind], dpi=150)
    return out.getvalue()


def _latency(axes: Any, title: str, series: Series) -> None:
    axes.set_title(title, loc="left")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(_ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter(_ticker.NullFormatter())
    axes.set_ylabel("latency, ns")
    for rows in series.values():
        axes.plot([row.size for row in rows], [row.latency_ps / 1000 for row in rows], marker="o")
    _sizes(axes)


def _utilization(axes: Any, series: Series) -> None:
    axes.set_ylabel("bytes / latency / bottleneck, %")
    for case, rows in series.items():
        axes.plot([row.size for row in rows], [float(100 * row.utilization) for row in rows], marker="o", label=case)
    axes.set_ylim(0, 105)
    _sizes(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def _sizes(axes: Any) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes")
    axes.xaxis.set_major_formatter(_size)
    axes.grid(visible=True, alpha=0.3)


def _size(value: float, _: int) -> str:
    size = int(value)
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"
