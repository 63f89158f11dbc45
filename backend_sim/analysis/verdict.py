"""The verdict under every report: what bounds the run, how far it is from its floor, and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .servers import Server
from .summary import Analysis

_LIMITS = {
    "gemm": "the GEMM engine",
    "math": "the MATH engine",
    "hbm": "the HBM slice",
    "noc": "a link of the network",
    "issue": "PE_CPU, which issues the commands",
}
_SHARE_TO_NAME = 0.10  # a part below this share of the latency is not worth a sentence
_NEAR_FLOOR = 0.85
_MOSTLY_BUSY = 0.6


@dataclass(frozen=True)
class Verdict:
    """`bound` in a sentence, and `advice`, the most promising change first."""

    bound: str
    advice: tuple[str, ...]


def verdict(analysis: Analysis, pipeline: str) -> Verdict:
    """What bounds the run and what to change, each with its figures; `pipeline` is the one that compiled it."""
    roof, latency_ps = analysis.roofline, analysis.log.latency_ps
    if not latency_ps:
        return Verdict("Nothing was issued: every program ended without a command.", ())
    limit = _LIMITS[roof.bound] if roof.bound != "noc" else f"the link {analysis.links[0].name}"
    bound = (
        f"Bound by {limit}: its useful work alone needs {roof.floor_ps / 1000:,.2f} ns of the"
        f" {latency_ps / 1000:,.2f} ns, {roof.fraction:.0%} of the latency."
    )
    if roof.fraction < _NEAR_FLOOR:
        part = max(analysis.attribution.parts, key=lambda name: analysis.attribution.parts[name])
        share = analysis.attribution.parts[part] / latency_ps
        above = f" The run takes {1 / roof.fraction:.1f} times that floor" if roof.fraction else " It has no floor"
        bound += f"{above}; the largest part of its path is {part} ({share:.0%})."
    advice = [*_machine_advice(analysis), *_part_advice(analysis, pipeline)]
    if not advice:
        advice = [f"The run is near the floor of {limit}: only less work, or a faster {roof.bound}, makes it shorter."]
    return Verdict(bound, tuple(advice))


def _by_size(analysis: Analysis) -> list[str]:
    parts, total = analysis.attribution.parts, analysis.attribution.total_ps
    named = [part for part, ps in parts.items() if ps >= _SHARE_TO_NAME * total]
    return sorted(named, key=lambda part: -parts[part])


def _part_advice(analysis: Analysis, pipeline: str) -> list[str]:
    """A sentence for each large part of the critical path, the largest first; parts with the same cure share one."""
    parts_of: dict[str, list[str]] = {}
    for part in _by_size(analysis):
        if text := _advice(analysis, part, pipeline):
            share = analysis.attribution.parts[part] / analysis.attribution.total_ps
            parts_of.setdefault(text, []).append(f"{part}, {share:.0%}")
    return [f"{', '.join(parts)}: {text}" for text, parts in parts_of.items()]


def _advice(analysis: Analysis, part: str, pipeline: str) -> str | None:
    commands = analysis.log.commands()
    match part:
        case "issue":
            how = "pipeline composite or fused issues fewer" if pipeline == "primitive" else "larger blocks need fewer"
            return f"{commands['total']:,} commands are issued; {how}."
        case "dma_read":
            return _read_advice(analysis)
        case "dma_write":
            if _a_link_holds(analysis):
                return _nearer(analysis)
            if commands.get("dma_write", 0):
                return "PE_CPU waits for the ack of each store; larger blocks store less often."
            return "the path ends with write acks of composites; a narrower output type writes less."
        case "gemm":
            return _gemm_advice(analysis)
        case "math" | "copy":
            if pipeline in ("primitive", "composite") and commands.get("gemm", 0) + commands.get("composite", 0):
                return "MATH commands run one by one; pipeline fused puts them into composites."
            return "only fewer element-wise ops per output, or more PEs, shorten it."
        case "fetch" | "store":
            return "tiles move between TCM and the engines; larger K per output tile hides it."
        case "queue":
            return _queue_advice(analysis)
        case "wait":
            return "al.wait costs its issue; results of commands are awaited without it."
        case "idle":
            return "the critical PE has nothing to do; balance the programs over the PEs (`map`)."
        case _:
            return None


def _read_advice(analysis: Analysis) -> str:
    moved, latency_ps = analysis.moved_bytes, analysis.log.latency_ps
    busy = analysis.roofline.floors_ps["hbm"] / latency_ps
    if moved["hbm_read"] > 1.25 * moved["hbm_read_useful"]:
        waste = moved["hbm_read"] / max(1, moved["hbm_read_useful"])
        return f"{waste:.1f} times the useful bytes move; sizes that fill the tile pad less."
    if busy >= _MOSTLY_BUSY:
        return (
            f"the HBM slice is busy with useful bytes for {busy:.0%}; read less (stage an operand that is read more"
            " than once, a narrower type), or spread the work over PEs and their slices."
        )
    if _a_link_holds(analysis):
        return _nearer(analysis)
    if 2 * moved["noc"] > moved["hbm_read"] + moved["hbm_write"]:
        return (
            "it waits for transfers from other slices; place tensors nearer to the PEs that use them (`place`), or load"
            " ahead of use."
        )
    return (
        f"it waits for single transfers, the HBM slice is busy for {busy:.0%} only; load ahead of use, or use larger"
        " blocks."
    )


def _queue_advice(analysis: Analysis) -> str:
    if _busiest(analysis.links) > _busiest(analysis.slices):
        return _nearer(analysis)
    return "other PEs hold the same HBM slice; spread the tensor (`place: {pe: row_wise}`)."


def _a_link_holds(analysis: Analysis) -> bool:
    """Whether transfers are slow because of a link rather than one by one."""
    return _busiest(analysis.links) >= max(_MOSTLY_BUSY, _busiest(analysis.slices))


def _busiest(servers: Sequence[Server]) -> float:
    return max((server.utilization for server in servers), default=0.0)


def _nearer(analysis: Analysis) -> str:
    """What to change where the busiest link holds the run up."""
    link = analysis.links[0]
    return (
        f"PEs share links, {link.name} is busy for {link.utilization:.0%}; place tensors nearer to the PEs that use"
        " them (`place`), or copy what all read (`replicate`)."
    )


def _gemm_advice(analysis: Analysis) -> str | None:
    engine, useful_ns = analysis.engines["gemm"], analysis.roofline.floors_ps["gemm"] / 1000
    if useful_ns and engine["busy_ns"] / engine["servers"] > 1.25 * useful_ns:
        m, k, n = analysis.machine.pe.gemm.tile
        return f"tiles are padded; sizes that are multiples of {m} x {k} x {n} (M x K x N) waste less."
    if analysis.roofline.bound == "gemm" and analysis.roofline.fraction >= _NEAR_FLOOR:
        return None
    if "composite" not in analysis.log.commands():
        return "the engine works alone meanwhile; pipeline composite streams operands beside it."
    return "the tiles run at the engine's rate; only a GEMM split over more PEs takes less."


def _machine_advice(analysis: Analysis) -> list[str]:
    pes = len(set(analysis.log.programs["pe"].tolist()))
    programs = analysis.log.program_count
    free = min(analysis.machine.pes_per_cube, programs)
    if pes < free:
        usable = f"{pes} of {free} usable PEs of a cube work on {programs:,} programs"
        return [f"{usable}: `map: {{pes: sip0.cube0.pe0-{free - 1}}}` spreads them."]
    return []
