"""The graphs of a cube, of a SIP and between SIPs: nodes with an overhead, directed edges with a length.

Node names are text and part of the machine's meaning (equal distances are decided by them, see `routing.py`):

    sip0.cube10.r0c0        a router                    sip0.cube0.ucie_n        a port (n, e, s, w)
    sip0.cube0.pe0.pe_dma   DMA of a PE                 sip0.cube0.ucie_n.conn0  its connection to a router
    sip0.cube0.hbm_ctrl.0   HBM slice of PE 0           sip0.cube0.m_cpu, sip0.cube0.sram
    sip0.io0.pcie_ep, .io_cpu, .io_noc, .io_ucie0       the IO chiplet
    switch, switch0-1       the switch that joins the pcie_eps of all SIPs, or of the neighbours 0 and 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import lcm

from .inter_sip import switch_joints
from .machine import Machine
from .quantities import Rate, round_half_up, service_ps

# The nodes that a message starts or ends at, and never passes through.
_ENDS = ("pe_dma", "m_cpu", "sram", "pcie_ep", "io_cpu")
_OPPOSITE = {"n": "s", "s": "n", "e": "w", "w": "e"}


@dataclass(frozen=True)
class Edge:
    """One direction of a link. A head flit pays `overhead_ps` of `source`; each flit holds the edge for `flit_ps`.

    `gb_per_s` None: the edge takes no time for bytes. `whole`: `source` sends a message on only when all of it is there
    (store and forward).
    """

    source: str
    target: str
    overhead_ps: int
    gb_per_s: Rate | None
    mm: Fraction
    wire_ps: int
    whole: bool = False

    def flit_ps(self, size: int) -> int:
        """How long a flit of `size` bytes holds the edge: its bytes, and the wire (it is not pipelined)."""
        return self.wire_ps if self.gb_per_s is None else service_ps(size, self.gb_per_s) + self.wire_ps


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes (name -> overhead in ps) and their edges (source -> target -> edge), as built."""

    nodes: dict[str, int]
    edges: dict[str, dict[str, Edge]]

    @cached_property
    def lengths(self) -> dict[str, dict[str, int]]:
        """Edge lengths as whole numbers of one unit, so that distances add exactly."""
        unit = lcm(*(edge.mm.denominator for targets in self.edges.values() for edge in targets.values()))
        return {a: {b: int(edge.mm * unit) for b, edge in targets.items()} for a, targets in self.edges.items()}


def is_end(node: str) -> bool:
    """Whether messages only start and end at `node`."""
    return node.rpartition(".")[2] in _ENDS or ".hbm_ctrl." in node


def cube_of(node: str) -> str | None:
    """`sip0.cube3` of a node in a cube; None elsewhere."""
    sip, _, rest = node.partition(".")
    part = rest.partition(".")[0]
    return f"{sip}.{part}" if part.startswith("cube") else None


def sip_of(node: str) -> int:
    """The number of the SIP that `node` lies in."""
    return int(node.partition(".")[0].removeprefix("sip"))


def pe_name(machine: Machine, pe: int) -> str:
    """`sip0.cube0.pe3`: the PE with this number in the whole machine."""
    cube, index = divmod(pe, machine.pes_per_cube)
    sip, cube = divmod(cube, machine.cubes_per_sip)
    return f"sip{sip}.cube{cube}.pe{index}"


def pe_node(machine: Machine, pe: int) -> str:
    """The DMA node of the PE with this number."""
    return f"{pe_name(machine, pe)}.pe_dma"


def slice_node(machine: Machine, pe: int) -> str:
    """The HBM slice of the PE with this number."""
    cube, index = divmod(pe, machine.pes_per_cube)
    sip, cube = divmod(cube, machine.cubes_per_sip)
    return f"sip{sip}.cube{cube}.hbm_ctrl.{index}"


@lru_cache(maxsize=64)
def sip_graph(machine: Machine, sip: int) -> Graph:
    """The graph of one SIP."""
    build = _Builder(machine)
    for cube in range(machine.cubes_per_sip):
        build.cube(f"sip{sip}.cube{cube}")
    build.cube_links(f"sip{sip}")
    if machine.sip.io is not None:
        build.io(sip)
    return Graph(build.nodes, build.edges)


@lru_cache(maxsize=64)
def cube_graph(machine: Machine, cube: str) -> Graph:
    """The graph of one cube (`sip0.cube3`) without what joins it to others: all that a way within it needs."""
    build = _Builder(machine)
    build.cube(cube)
    return Graph(build.nodes, build.edges)


@lru_cache(maxsize=64)
def inter_sip_graph(machine: Machine) -> Graph:
    """The pcie_eps of all SIPs and the switches between them."""
    build, inter = _Builder(machine), machine.inter_sip
    for sip in range(machine.sips):
        build.pcie_ep(sip)
    for switch, sip in switch_joints(machine):
        assert inter is not None
        if switch not in build.nodes:
            build.node(switch, inter.switch_overhead_ps)
        build.link(f"sip{sip}.io0.pcie_ep", switch, inter.link.gb_per_s, inter.link.mm)
    return Graph(build.nodes, build.edges)


def mesh_links(machine: Machine) -> Iterator[tuple[str, str, Fraction]]:
    """The links of a cube's mesh: each router to the next that is there in its row and in its column, with the mm."""
    mesh = machine.cube.mesh
    rows, columns = range(len(mesh.rows_mm)), range(len(mesh.columns_mm))
    there = [[f"r{r}c{c}" not in mesh.missing for c in columns] for r in rows]
    for r in rows:
        for a, b in pairwise(c for c in columns if there[r][c]):
            yield f"r{r}c{a}", f"r{r}c{b}", mesh.columns_mm[b] - mesh.columns_mm[a]
    for c in columns:
        for a, b in pairwise(r for r in rows if there[r][c]):
            yield f"r{a}c{c}", f"r{b}c{c}", mesh.rows_mm[b] - mesh.rows_mm[a]


class _Builder:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.nodes: dict[str, int] = {}
        self.edges: dict[str, dict[str, Edge]] = {}
        self.whole = set[str]()  # nodes that store and forward

    def node(self, name: str, overhead_ps: int) -> None:
        self.nodes[name] = overhead_ps
        self.edges[name] = {}

    def link(self, a: str, b: str, gb_per_s: Rate | None, mm: Fraction) -> None:
        wire_ps = round_half_up(mm * self.machine.noc.ps_per_mm)
        for source, target in ((a, b), (b, a)):
            whole = source in self.whole
            self.edges[source][target] = Edge(source, target, self.nodes[source], gb_per_s, mm, wire_ps, whole)

    def attach(self, name: str, overhead_ps: int, router: str, gb_per_s: Rate) -> None:
        self.node(name, overhead_ps)
        self.link(name, router, gb_per_s, Fraction(0))

    def cube(self, prefix: str) -> None:
        cube = self.machine.cube
        for a, b, mm in mesh_links(self.machine):
            for name in (a, b):
                if f"{prefix}.{name}" not in self.nodes:
                    self.node(f"{prefix}.{name}", cube.mesh.router_overhead_ps)
            self.link(f"{prefix}.{a}", f"{prefix}.{b}", cube.mesh.gb_per_s, mm)
        for i, router in enumerate(cube.pes):
            if f"{prefix}.{router}" not in self.nodes:  # a mesh of a single router has no links
                self.node(f"{prefix}.{router}", cube.mesh.router_overhead_ps)
            self.attach(f"{prefix}.pe{i}.pe_dma", 0, f"{prefix}.{router}", cube.pe_gb_per_s)
            self.attach(f"{prefix}.hbm_ctrl.{i}", 0, f"{prefix}.{router}", cube.slice_gb_per_s)
        if cube.m_cpu is not None:
            router = f"{prefix}.{cube.m_cpu.router}"
            self.attach(f"{prefix}.m_cpu", cube.m_cpu.overhead_ps, router, cube.m_cpu.gb_per_s)
        if cube.sram is not None:
            self.attach(f"{prefix}.sram", 0, f"{prefix}.{cube.sram.router}", cube.sram.gb_per_s)
        self.ports(prefix)

    def ports(self, prefix: str) -> None:
        ucie = self.machine.cube.ucie
        if ucie is None:
            return
        for side, routers in (("n", ucie.n), ("e", ucie.e), ("s", ucie.s), ("w", ucie.w)):
            port = f"{prefix}.ucie_{side}"
            self.node(port, ucie.overhead_ps)
            for i, router in enumerate(routers):
                self.attach(f"{port}.conn{i}", 0, f"{prefix}.{router}", ucie.connection_gb_per_s)
                self.link(f"{port}.conn{i}", port, None, Fraction(0))

    def cube_links(self, sip: str) -> None:
        rows, columns = self.machine.sip.cubes
        link = self.machine.sip.cube_link
        for cube in range(rows * columns):
            row, column = divmod(cube, columns)
            for there, side, other in ((column + 1 < columns, "e", cube + 1), (row + 1 < rows, "s", cube + columns)):
                if there:
                    a, b = f"{sip}.cube{cube}.ucie_{side}", f"{sip}.cube{other}.ucie_{_OPPOSITE[side]}"
                    self.link(a, b, link.gb_per_s, link.mm)

    def pcie_ep(self, sip: int) -> str:
        io, inter, name = self.machine.sip.io, self.machine.inter_sip, f"sip{sip}.io0.pcie_ep"
        assert io is not None
        self.node(name, io.pcie_ep_overhead_ps)
        if inter is not None and inter.store_and_forward:
            self.whole.add(name)
        return name

    def io(self, sip: int) -> None:
        io, chiplet = self.machine.sip.io, f"sip{sip}.io0"
        assert io is not None
        self.node(f"{chiplet}.io_noc", io.io_noc_overhead_ps)
        self.node(f"{chiplet}.io_cpu", io.io_cpu_overhead_ps)
        for name in (self.pcie_ep(sip), f"{chiplet}.io_cpu"):
            self.link(name, f"{chiplet}.io_noc", io.noc_link.gb_per_s, io.noc_link.mm)
        for i, cube in enumerate(io.cubes):
            self.node(f"{chiplet}.io_ucie{i}", io.port_overhead_ps)
            self.link(f"{chiplet}.io_noc", f"{chiplet}.io_ucie{i}", io.port_link.gb_per_s, io.port_link.mm)
            self.link(f"{chiplet}.io_ucie{i}", f"sip{sip}.cube{cube}.ucie_n", io.cube_link.gb_per_s, io.cube_link.mm)
