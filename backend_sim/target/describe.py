"""A machine in words: what `ahbmc machines NAME` prints."""

from __future__ import annotations

from fractions import Fraction
from textwrap import fill

from .machine import InterSip, Machine
from .topology import pe_node, slice_node
from .transfer import write_ack_ps

_PROBE_BYTES = 32 * 1024
_NOTE = {
    "min_wire": (
        "Routing is the published one (min_wire): least wire, in which UCIe ports serve as free passages inside a cube."
        " The published figures need it. The physical routing is machine ahbm-2sip-xy (routing: xy); single messages"
        " between its cubes are up to 17% apart, more where they meet others."
    ),
    "xy": (
        "Routing is the physical one (xy): along the row of cubes, then along the column. The published figures were"
        " made with min_wire; single messages between the cubes of ahbm-2sip are up to 17% apart, more where they"
        " meet others."
    ),
}


def describe(machine: Machine) -> str:
    """The machine as a reader wants it: counts, engines, memories, links, routing, and what a 32 KiB write takes."""
    rows = [("machine", f"{machine.name}: {machine.about}"), *_counts(machine), *_engines(machine), *_network(machine)]
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"{name:<{width}}  {text}" for name, text in rows) + "\n"
    return text if machine.pes == machine.pes_per_cube else f"{text}\n{fill(routing_note(machine), 110)}\n"


def routing_note(machine: Machine) -> str:
    """Which of the two routings the machine has, and how far the other is from it."""
    return _NOTE[machine.routing]


def number(value: Fraction | int) -> str:
    """A rational as a short decimal."""
    value = Fraction(value)
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


def nanoseconds(ps: Fraction | int) -> str:
    """A time with its unit."""
    return f"{number(Fraction(ps) / 1000)} ns"


def binary_size(size: int) -> str:
    """Bytes in the largest binary unit of which they are a whole number."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def _counts(machine: Machine) -> list[tuple[str, str]]:
    rows, columns = machine.sip.cubes
    text = f"{machine.sips} SIPs x {rows} x {columns} CUBEs x {machine.pes_per_cube} PEs = {machine.pes} PEs"
    return [("size", text)]


def _engines(machine: Machine) -> list[tuple[str, str]]:
    pe, hbm = machine.pe, machine.hbm
    entries = nanoseconds(pe.sched.entry_dma_ps), nanoseconds(pe.sched.entry_engine_ps)
    channels = f"{hbm.channels} pseudo-channels x {number(hbm.channel_gb_per_s)} GB/s"
    peak, tile = number(pe.gemm.peak_tflops), " x ".join(map(str, pe.gemm.tile))
    fixed = f"{pe.cpu.fixed_cycles_single} cycles, composite {pe.cpu.fixed_cycles_composite}"
    sides = [f"{m.servers} x {number(m.gb_per_s)} GB/s" for m in (pe.fetch, pe.store)]
    shared = " (one engine)" if pe.fetch_store_shared else ""
    return [
        ("PE_CPU", f"{number(pe.cpu.clock_ghz)} GHz; a command {fixed}, and {pe.cpu.cycles_per_byte} cycle per byte"),
        ("PE_SCHED", f"entry {entries[0]} to DMA, {entries[1]} to GEMM and MATH"),
        ("GEMM", f"{peak} TFLOP/s in f16, tile {tile} (M x K x N)"),
        ("MATH", f"{pe.math.lanes} lanes, {nanoseconds(pe.math.pass_ps)} a pass"),
        ("FETCH, STORE", f"{sides[0]}, {sides[1]}{shared}"),
        ("TCM", f"{binary_size(pe.tcm.bytes)}, kernel scratch {binary_size(pe.tcm.scratch_bytes)}"),
        (
            "HBM slice",
            f"{binary_size(hbm.slice_bytes)}, {channels}, burst {hbm.burst_bytes} B in {nanoseconds(hbm.burst_ps)},"
            f" strided transfers cost as {hbm.strided}",
        ),
        ("composite", f"at most {machine.composite_max_bytes} logical bytes"),
    ]


def _inter_sip(inter: InterSip) -> str:
    grid = f" of {inter.grid[0]} x {inter.grid[1]}" if inter.grid else ""
    forward = "store and forward" if inter.store_and_forward else "cut through"
    link = f"links {number(inter.link.gb_per_s)} GB/s, a switch {nanoseconds(inter.switch_overhead_ps)}"
    return f"{inter.topology}{grid}, {link}, {forward} at the endpoints"


def _network(machine: Machine) -> list[tuple[str, str]]:
    mesh, noc = machine.cube.mesh, machine.noc
    text = f"{len(mesh.rows_mm)} x {len(mesh.columns_mm)} routers, {len(mesh.missing)} missing"
    rows = [
        ("mesh", f"{text}, {nanoseconds(mesh.router_overhead_ps)} each, links {number(mesh.gb_per_s)} GB/s"),
        ("wire", f"{nanoseconds(noc.ps_per_mm)} per mm, flits of {noc.flit_bytes} B"),
        ("routing", machine.routing),
    ]
    if machine.inter_sip is not None and machine.sips > 1:
        rows.append(("between SIPs", _inter_sip(machine.inter_sip)))
    here = pe_node(machine, 0)
    targets = {0: "own slice", machine.pes_per_cube - 1: "last slice of the cube", machine.pes_per_cube: "next cube"}
    for pe, where in targets.items():
        if pe < machine.pes and (pe or where == "own slice"):
            time_ps = write_ack_ps(machine, _PROBE_BYTES, here, slice_node(machine, pe))
            rows.append(
                ("32 KiB write", f"{nanoseconds(time_ps)} with its ack, PE 0 to {slice_node(machine, pe)} ({where})")
            )
    return rows
