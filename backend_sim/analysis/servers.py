"""How busy servers were over the whole run: each kind of engine over its PEs, and the busiest slices and links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..oplog import ENGINES, OpLog, busy_ps
from ..target.machine import Machine
from ..target.topology import pe_name

Busy = Mapping[str, Mapping[int, int] | Mapping[str, int]]


@dataclass(frozen=True)
class Server:
    """A slice or a link, how long it was busy, and which share of the latency that is."""

    name: str
    busy_ps: int
    utilization: float


def busy_of(log: OpLog, machine: Machine) -> Busy:
    """Engine -> owner (see `oplog.Stays`; of `noc` the name of the link) -> ps that this server was busy. Servers that
    never were are not in it."""
    found = {engine: busy_ps(log, engine) for engine in ENGINES if engine != "noc"}
    return {**found, "noc": link_loads(log, machine)}


def link_loads(log: OpLog, machine: Machine, share: npt.NDArray[np.float64] | float = 1.0) -> dict[str, int]:
    """How long packets held each link of the network, in ps, by its name; of each row of `loads` the `share` of it."""
    found: dict[str, float] = {}
    for shift in sorted(set(log.programs["shift"].tolist())):
        held = log.loads["ps"] * log.repeats(shift)[log.loads["record"]] * share
        rows: list[tuple[int, float]] = list(zip(log.loads["link"].tolist(), held.tolist(), strict=True))
        for link, ps in rows:
            if ps:
                name = _further(log.links[link], shift // machine.pes_per_cube, machine)
                found[name] = found.get(name, 0) + ps
    return {name: round(ps) for name, ps in found.items()}


def _further(link: str, cubes: int, machine: Machine) -> str:
    """The name of the same link of a cube so many cubes further on."""
    if not cubes:
        return link
    source, _, _ = link.partition(">")
    sip, cube, _ = source.split(".", 2)
    number = int(sip.removeprefix("sip")) * machine.cubes_per_sip + int(cube.removeprefix("cube")) + cubes
    there = "sip{}.cube{}.".format(*divmod(number, machine.cubes_per_sip))
    return link.replace(f"{sip}.{cube}.", there)


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
    return _busiest(log, {slice_name(machine, int(owner)): ps for owner, ps in busy["hbm"].items()})


def busiest_links(log: OpLog, busy: Busy) -> list[Server]:
    """The directed links that were used, the busiest first."""
    return _busiest(log, {str(name): ps for name, ps in busy["noc"].items()})


def slice_name(machine: Machine, owner: int) -> str:
    """`sip0.cube0.hbm3`: the slice of PE 3 of the cube."""
    cube, _, pe = pe_name(machine, owner).rpartition(".pe")
    return f"{cube}.hbm{pe}"


def _busiest(log: OpLog, busy: Mapping[str, int]) -> list[Server]:
    order = sorted(busy.items(), key=lambda item: -item[1])
    return [Server(name, ps, ps / log.latency_ps) for name, ps in order]
