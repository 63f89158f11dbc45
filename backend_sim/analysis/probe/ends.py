"""The ends of a probe as a user writes them, and which of them fit which path.

    sip0.cube0.pe0      a PE                       sip0.host   the host end of the IO chiplet of a SIP (its pcie_ep)
    sip0.cube4.hbm0     slice 0 of HBM of a cube   host        that of sip0

Their nodes in the graph (sip0.cube0.pe0.pe_dma, sip0.cube4.hbm_ctrl.0, sip0.io0.pcie_ep) name them too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....dialects.errors import Place, fail
from ...target.machine import Machine

_FORM = re.compile(
    r"(?:(?:sip(?P<host>[0-9]+)\.)?host|sip(?P<sip>[0-9]+)\.cube(?P<cube>[0-9]+)\.(?P<end>pe|hbm)(?P<index>[0-9]+))"
)
_EXAMPLES = "sip0.cube0.pe0, sip0.cube0.hbm0 (slice 0 of the cube) or sip0.host"
_WORDS = {"pe": "a PE", "hbm": "a slice of HBM", "host": "a host end"}


@dataclass(frozen=True)
class End:
    """One end of a probe: `kind` is pe, hbm or host; a host end has no cube and no index."""

    kind: str
    sip: int
    cube: int = 0
    index: int = 0

    def __str__(self) -> str:
        return (
            f"sip{self.sip}.host" if self.kind == "host" else f"sip{self.sip}.cube{self.cube}.{self.kind}{self.index}"
        )

    @property
    def node(self) -> str:
        """Its node in the graph of the machine (`topology.py`)."""
        match self.kind:
            case "pe":
                return f"sip{self.sip}.cube{self.cube}.pe{self.index}.pe_dma"
            case "hbm":
                return f"sip{self.sip}.cube{self.cube}.hbm_ctrl.{self.index}"
            case _:
                return f"sip{self.sip}.io0.pcie_ep"

    @property
    def own_slice(self) -> End:
        """The slice of a PE; a slice itself."""
        return End("hbm", self.sip, self.cube, self.index)


@dataclass(frozen=True)
class Pair:
    """What is probed: a path between two ends that it fits; `case` names it in reports."""

    case: str
    path: str
    source: End
    target: End


_FITTING = {
    "dma": (("pe", "hbm"), ("hbm", "pe")),
    "raw": (("pe", "pe"),),
    "ipcq": (("pe", "pe"),),
    "h2d": (("host", "hbm"), ("host", "pe")),
    "d2h": (("hbm", "host"), ("pe", "host")),
}
"""Paths, and the kinds of the ends (from, to) that each goes between."""


def parse_end(machine: Machine, text: str, place: Place | None = None) -> End:
    """The end that `text` names. Raises AhbmcError if it has no such form or the machine has no such end."""
    short = text.removesuffix(".pe_dma").replace(".hbm_ctrl.", ".hbm").replace(".io0.pcie_ep", ".host")
    found = _FORM.fullmatch(short)
    if found is None:
        raise fail(f"`{text}` is no end of a probe", place, hint=f"write {_EXAMPLES}")
    if found["end"] is None:
        sip = int(found["host"] or 0)
        counts = [("sip", sip, machine.sips)]
        if machine.sip.io is None:
            hint = "its ends are PEs and slices; `sip.io` in the machine file gives it one"
            raise fail(f"machine {machine.name} has no IO chiplet, so no host end", place, hint=hint)
        end = End("host", sip)
    else:
        end = End(found["end"], int(found["sip"]), int(found["cube"]), int(found["index"]))
        counts = [
            ("sip", end.sip, machine.sips),
            ("cube", end.cube, machine.cubes_per_sip),
            (end.kind, end.index, machine.pes_per_cube),
        ]
    for word, number, count in counts:
        if number >= count:
            there = f"{word}0 to {word}{count - 1}" if count > 1 else f"{word}0 alone"
            hint = "name an end that the machine has, or choose another with --machine"
            raise fail(f"machine {machine.name} has no `{word}{number}`; it has {there}", place, hint=hint)
    return end


def pairs_between(path: str | None, source: End, target: End, place: Place | None = None) -> list[Pair]:
    """`path`, or each that fits (None), between these ends; to the host a PE is its slice. Raises AhbmcError."""
    asked = _FITTING if path is None else (path,)
    fitting = [name for name in asked if (source.kind, target.kind) in _FITTING[name]]
    if not fitting:
        what = f"path {path} does not go" if path else "no path goes"
        ways = [f"{name} goes from {_WORDS[a]} to {_WORDS[b]}" for name in asked for a, b in _FITTING[name]]
        found = f"{_WORDS[source.kind]} to {_WORDS[target.kind]}"
        raise fail(f"{what} from {found} ({source} to {target})", place, hint="; ".join(ways))
    if source == target:
        raise fail(f"a PE does not send to itself ({source})", place, hint=f"name another PE, or {source.own_slice}")
    if "host" in (source.kind, target.kind):
        source, target = (end if end.kind == "host" else end.own_slice for end in (source, target))
    return [Pair(name, name, source, target) for name in fitting]
