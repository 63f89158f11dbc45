"""What a machine would be if one of its costs were nothing: `ahbmc run --ideal`. The others stay as they are.

A rate that is ideal is so high that what is moved or computed takes 0 ps once rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from msgspec.structs import replace

from .machine import Link, Machine
from .quantities import Rate

_AT_ONCE = Rate(10**30)
_NO_TIME = Fraction(0)


@dataclass(frozen=True)
class Ideal:
    """One cost: what it is, and the machine without it."""

    about: str
    without: Callable[[Machine], Machine]


def _issue(machine: Machine) -> Machine:
    pe = machine.pe
    cpu = replace(pe.cpu, fixed_cycles_composite=0, fixed_cycles_single=0, cycles_per_byte=_NO_TIME)
    sched = replace(pe.sched, entry_dma_ps=0, entry_engine_ps=0)
    return replace(machine, pe=replace(pe, cpu=cpu, sched=sched, ipcq=replace(pe.ipcq, entry_ps=0)))


def _fetch(machine: Machine) -> Machine:
    return replace(machine, pe=replace(machine.pe, fetch=replace(machine.pe.fetch, gb_per_s=_AT_ONCE)))


def _store(machine: Machine) -> Machine:
    return replace(machine, pe=replace(machine.pe, store=replace(machine.pe.store, gb_per_s=_AT_ONCE)))


def _gemm(machine: Machine) -> Machine:
    return replace(machine, pe=replace(machine.pe, gemm=replace(machine.pe.gemm, peak_tflops=_AT_ONCE)))


def _math(machine: Machine) -> Machine:
    return replace(machine, pe=replace(machine.pe, math=replace(machine.pe.math, pass_ps=0)))


def _hbm(machine: Machine) -> Machine:
    return replace(machine, hbm=replace(machine.hbm, channel_gb_per_s=_AT_ONCE))


def _noc(machine: Machine) -> Machine:
    cube, sip = machine.cube, machine.sip
    cube = replace(
        cube,
        mesh=replace(cube.mesh, router_overhead_ps=0, gb_per_s=_AT_ONCE),
        pe_gb_per_s=_AT_ONCE,
        slice_gb_per_s=_AT_ONCE,
        m_cpu=cube.m_cpu and replace(cube.m_cpu, overhead_ps=0, gb_per_s=_AT_ONCE),
        sram=cube.sram and replace(cube.sram, gb_per_s=_AT_ONCE),
        ucie=cube.ucie and replace(cube.ucie, overhead_ps=0, connection_gb_per_s=_AT_ONCE),
    )
    io = sip.io and replace(
        sip.io,
        pcie_ep_overhead_ps=0,
        io_cpu_overhead_ps=0,
        io_noc_overhead_ps=0,
        port_overhead_ps=0,
        noc_link=_link(sip.io.noc_link),
        port_link=_link(sip.io.port_link),
        cube_link=_link(sip.io.cube_link),
    )
    between = machine.inter_sip
    return replace(
        machine,
        cube=cube,
        sip=replace(sip, cube_link=_link(sip.cube_link), io=io),
        inter_sip=between and replace(between, link=_link(between.link), switch_overhead_ps=0),
        noc=replace(machine.noc, ps_per_mm=_NO_TIME),
    )


def _link(link: Link) -> Link:
    return replace(link, gb_per_s=_AT_ONCE)


IDEAL: Mapping[str, Ideal] = {
    "issue": Ideal("PE_CPU issues in no time and commands enter their engines at once; `al.cycles` stays", _issue),
    "fetch": Ideal("FETCH moves the operands of a tile from TCM to the engines in no time", _fetch),
    "gemm": Ideal("the GEMM engine multiplies in no time", _gemm),
    "math": Ideal("the MATH engine computes in no time", _math),
    "store": Ideal("STORE moves output tiles to TCM in no time", _store),
    "hbm": Ideal("HBM slices serve reads and writes in no time; the network stays", _hbm),
    "noc": Ideal("the network has no overheads, no wires and links of any rate; HBM slices stay", _noc),
}
"""The costs that may be ideal, by name."""
