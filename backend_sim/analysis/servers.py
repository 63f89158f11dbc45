"""How busy servers were over the whole run: each kind of engine over its PEs, and the busiest slices and links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..oplog import ENGINES, OpLog, busy_ps
from ..target.machine import Machine
from ..target.topology import pe_name

Busy = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class Server:
    """A slice or a link, how long it was busy, and which share of the latency that is."""

    name: str
    busy_ps: int
    utilization: float


def busy_of(log: OpLog) -> Busy:
    """Engine -> owner (see `oplog.Stays`) -> ps that this server was busy. Servers that never were are not in it."""
    return {engine: busy_ps(log, engine) for engine in ENGINES}


def engines(log: OpLog, busy: Busy) -> dict[str, dict[str, float]]:
    """Of each kind of engine: `busy_ns` over all its servers, how many `servers` there are, and their share of the
    latency: `utilization` of all of them, and `min`, `median` and `max` of single ones.

    Every PE that ran a program has one server of a kind; the servers of `hbm` and `noc` are the slices and the links
    that were used.
    """
    pes, latency_ps = len(set(log.programs["pe"].tolist())), log.latency_ps
    found: dict[str, dict[str, float]] = {}
    for name, of in busy.items():
        servers = len(of) if name in ("hbm", "noc") else max(pes, len(of))
        single = sorted([*of.values(), *[0] * (servers - len(of))]) or [0]
        span = latency_ps or 1
        found[name] = {
            "busy_ns": sum(single) / 1000,
            "utilization": sum(single) / (max(servers, 1) * span),
            "servers": servers,
            "min": single[0] / span,
            "median": (single[(len(single) - 1) // 2] + single[len(single) // 2]) / (2 * span),
            "max": single[-1] / span,
        }
    return found


def busiest_slices(log: OpLog, busy: Busy, machine: Machine) -> list[Server]:
    """The slices that were used, the busiest first."""
    return _busiest(log, busy["hbm"], [slice_name(machine, owner) for owner in busy["hbm"]])


def busiest_links(log: OpLog, busy: Busy) -> list[Server]:
    """The directed links that were used, the busiest first."""
    return _busiest(log, busy["noc"], [log.links[owner] for owner in busy["noc"]])


def slice_name(machine: Machine, owner: int) -> str:
    """`sip0.cube0.hbm3`: the slice of PE 3 of the cube."""
    cube, _, pe = pe_name(machine, owner).rpartition(".pe")
    return f"{cube}.hbm{pe}"


def _busiest(log: OpLog, busy: Mapping[int, int], names: list[str]) -> list[Server]:
    order = sorted(zip(busy.items(), names, strict=True), key=lambda item: (-item[0][1], item[0][0]))
    return [Server(name, ps, ps / log.latency_ps) for (_, ps), name in order]
