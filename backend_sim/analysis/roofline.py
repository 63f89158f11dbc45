"""The floor under the latency: what the busiest server of each kind needs for its useful work alone.

| resource | its floor |
|---|---|
| gemm | the GEMMs of a PE on their valid extents (no padding) at the engine's rate for their type |
| math | the MATH passes of a PE |
| hbm | the bytes that commands ask a slice for (no padding), and those that a PE asks for, at the rate of a slice |
| noc | the messages of commands on a link of the network (no padding) |
| issue | the cycles that the PE_CPU of a PE issues |

The highest of them is the bound. It is a floor for this program as compiled: reading an operand twice counts twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..oplog import ENGINES, Ints, OpLog
from ..target.machine import Machine
from .servers import link_loads

RESOURCES = ("gemm", "math", "hbm", "noc", "issue")


@dataclass(frozen=True)
class Roofline:
    """`bound` is the resource with the highest floor, `fraction` its share of the latency; `floors_ps` has all."""

    bound: str
    floor_ps: int
    fraction: float
    floors_ps: dict[str, int]


def roofline(log: OpLog, machine: Machine) -> Roofline:
    """The floors of the busiest servers. A log without commands is bound by `issue` at 0."""
    per_record = {
        "gemm": _gemm_ps(log, machine),
        "math": _service(log, "math").astype(np.float64),
        "hbm": (log.records["useful_read"] + log.records["bytes_written"]) * (1000 / float(machine.hbm.slice_gb_per_s)),
        "issue": (log.records["issue_end"] - log.records["issue_start"]).astype(np.float64),
    }
    floors = dict.fromkeys(RESOURCES, 0) | {name: _busiest(log, of) for name, of in per_record.items()}
    floors["hbm"] = max(floors["hbm"], _busiest_slice(log))
    floors["noc"] = max(link_loads(log, machine, _useful(log)).values(), default=0)
    bound = max(RESOURCES, key=lambda name: floors[name]) if any(floors.values()) else "issue"
    latency_ps = log.latency_ps
    return Roofline(bound, floors[bound], floors[bound] / latency_ps if latency_ps else 0.0, floors)


def _busiest(log: OpLog, per_record: np.ndarray) -> int:
    """The largest sum over the command instances of one PE."""
    if not len(log.programs["pe"]):
        return 0
    before = np.concatenate(([0.0], np.cumsum(per_record)))
    first = log.programs["first"]
    per_program = before[first + log.programs["rows"]] - before[first]
    return round(float(np.bincount(log.programs["pe"], weights=per_program).max()))


def _useful(log: OpLog) -> npt.NDArray[np.float64]:
    """Of each row of `loads`, which share of the bytes of its program was asked for."""
    # A program without commands may begin where another does; it loads nothing.
    programs = zip(log.programs["first"].tolist(), log.programs["rows"].tolist(), strict=True)
    rows: dict[int, int] = {first: count for first, count in programs if count}
    first = log.loads["record"]
    # A program that was interrupted when it ended has loads, and no row.
    last = first + np.array([rows.get(record, 0) for record in first.tolist()], dtype=np.int64)
    useful, moved = (
        np.concatenate(([0], np.cumsum(log.records[column] + log.records["bytes_written"])))
        for column in ("useful_read", "bytes_read")
    )
    return (useful[last] - useful[first]) / np.maximum(moved[last] - moved[first], 1)


def _busiest_slice(log: OpLog) -> int:
    """The largest service of a slice, of each record the share that was asked for."""
    chosen = np.flatnonzero((log.runs["engine"] == ENGINES.index("hbm")) & (log.runs["unit"] >= 0))
    if not len(chosen):
        return 0
    record = log.runs["record"][chosen]
    written = log.records["bytes_written"]
    useful = (log.records["useful_read"] + written) / np.maximum(log.records["bytes_read"] + written, 1)
    service, unit = (log.runs["service"] * log.runs["count"])[chosen] * useful[record], log.runs["unit"][chosen]
    shifts = sorted(set(log.programs["shift"].tolist()))
    units = np.concatenate([unit + shift for shift in shifts])
    weights = np.concatenate([service * log.repeats(shift)[record] for shift in shifts])
    return round(float(np.bincount(units, weights=weights).max()))


def _service(log: OpLog, engine: str) -> Ints:
    """Time that each record's services take on an engine."""
    chosen = log.runs["engine"] == ENGINES.index(engine)
    total = np.zeros(len(log.records["site"]), dtype=np.int64)
    np.add.at(total, log.runs["record"][chosen], (log.runs["service"] * log.runs["count"])[chosen])
    return total


def _gemm_ps(log: OpLog, machine: Machine) -> np.ndarray:
    """GEMM time of each record without padding: the tiles of a composite count with the share of them that is valid."""
    chosen = log.runs["engine"] == ENGINES.index("gemm")
    tiles = np.zeros(len(log.records["site"]), dtype=np.int64)
    np.add.at(tiles, log.runs["record"][chosen], log.runs["count"][chosen])
    m, k, n = machine.pe.gemm.tile
    service = _service(log, "gemm").astype(np.float64)
    whole = np.array([site.kind == "composite" for site in log.sites], dtype=np.bool_)[log.records["site"]]
    valid = log.records["flops"] / np.maximum(tiles * 2 * m * k * n, 1)
    return np.where(whole, service * valid, service)
