"""The machine as data: the one schema of the machine files in `machines/` and of every `--set machine.PATH=VALUE`.

What it is not: no formula (`cost.py`, `transfer.py`), no graph (`topology.py`), no reading (`machine_file.py`: there
are `load_machine` and `machine_of`). The paths below are the paths in the YAML. Times are integer picoseconds, sizes
integer bytes, rates exact rationals (GB/s is bytes per ns). Numbers and their sources stand in the machine files alone.

What a compiler or an engine asks, and where it stands:

    issue cycles of PE_CPU              pe.cpu.fixed_cycles_composite .fixed_cycles_single .cycles_per_byte
                                        .ps_per_cycle
    from the issue to an engine's start pe.sched.entry_dma_ps .entry_engine_ps, pe.ipcq.entry_ps
    tiles from DMA issue to FETCH's end pe.sched.stream_tiles
    GEMM: peak, tile (M, K, N), dtypes  pe.gemm.peak_tflops .tile .rates
    MATH: lanes, time and count of pass pe.math.lanes .pass_ps .passes
    FETCH, STORE: servers and rate      pe.fetch .servers .gb_per_s, pe.store, pe.fetch_store_shared
    TCM and the kernel scratch in it    pe.tcm.bytes .scratch_bytes .gb_per_s
    DMA channels of a PE                pe.dma.read_channels .write_channels
    HBM slice of a PE                   hbm.slice_bytes .channels .burst_bytes .burst_ps .slice_gb_per_s .strided
    network                             routing, noc.flit_bytes .packet_bytes .channels .ps_per_mm .serial_routers
    largest composite                   composite_max_bytes
    counts                              sips, cubes_per_sip, pes_per_cube, pes
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta, Struct

from .quantities import Bytes, Rate, round_half_up

Count = Annotated[int, Meta(ge=1)]
Ps = Annotated[int, Meta(ge=0)]
RouterName = Annotated[
    str, Meta(pattern=r"^r(0|[1-9]\d*)c(0|[1-9]\d*)$", description="the name of a router: r0c0, r0c1, ...")
]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts of a machine are: frozen, and strict about their keys."""


class Cpu(Part, frozen=True):
    """PE_CPU. Issue cycles of one command = round-half-even(fixed + logical bytes * `cycles_per_byte`)."""

    clock_ghz: Rate
    fixed_cycles_composite: Ps
    fixed_cycles_single: Ps
    cycles_per_byte: Fraction

    @property
    def ps_per_cycle(self) -> Fraction:
        return Fraction(1000) / self.clock_ghz


class Sched(Part, frozen=True):
    """PE_SCHED. Entry times run from the end of the issue to the earliest start of the engine."""

    entry_dma_ps: Ps
    entry_engine_ps: Ps
    stream_tiles: Count


class GemmRates(Part, frozen=True):
    """Share of the peak that the GEMM engine reaches on operands of each type."""

    f8: Rate
    i8: Rate
    f16: Rate
    bf16: Rate
    f32: Rate
    f64: Rate


class Gemm(Part, frozen=True):
    """The GEMM engine. `tile` is (M, K, N)."""

    peak_tflops: Rate
    tile: tuple[Count, Count, Count]
    rates: GemmRates


class MathPasses(Part, frozen=True):
    """Passes over its elements that one MATH command makes, by what it does. `sort` is by formula (`cost.py`)."""

    elementwise: Count
    reduce: Count
    scan: Count
    permute: Count
    gather: Count
    histogram: Count


class Math(Part, frozen=True):
    """The MATH engine: `pass_ps` for each started group of `lanes` elements and each pass."""

    lanes: Count
    pass_ps: Count
    passes: MathPasses


class Mover(Part, frozen=True):
    """FETCH or STORE: `servers` FIFO servers in series, each `bytes / gb_per_s` for a tile."""

    servers: Count
    gb_per_s: Rate


class Tcm(Part, frozen=True):
    """The memory of a PE; kernels get `scratch_bytes` of it."""

    bytes: Bytes
    scratch_bytes: Bytes
    gb_per_s: Rate


class Dma(Part, frozen=True):
    """DMA channels of a PE. A channel is free again once its request is queued."""

    read_channels: Count
    write_channels: Count


class Ipcq(Part, frozen=True):
    """Queues between PEs: entry time, how many queues a PE has, bytes of the credit that comes back."""

    entry_ps: Ps
    queues: Count
    credit_bytes: Bytes


class Pe(Part, frozen=True):
    """One processing element and its engines."""

    cpu: Cpu
    sched: Sched
    gemm: Gemm
    math: Math
    fetch: Mover
    store: Mover
    fetch_store_shared: bool
    tcm: Tcm
    dma: Dma
    ipcq: Ipcq


class Hbm(Part, frozen=True, dict=True):
    """One slice of HBM (each PE has one). `strided` says what a strided transfer costs: `packed` books the slice as one
    server for the bytes; `bursts` books each run's bursts on their pseudo-channels."""

    slice_bytes: Bytes
    channels: Count
    channel_gb_per_s: Rate
    burst_bytes: Bytes
    strided: Literal["packed", "bursts"]

    @cached_property
    def burst_ps(self) -> int:
        """Service of one burst, whole or part, on its pseudo-channel; the first data of a read come after it."""
        return round_half_up(Fraction(self.burst_bytes * 1000) / self.channel_gb_per_s)

    @cached_property
    def slice_gb_per_s(self) -> Rate:
        return Rate(self.channel_gb_per_s * self.channels)


class Noc(Part, frozen=True):
    """What all links share: flits, the packet that other traffic can interleave with, wire delay, virtual channels.
    `serial_routers`: a head flit holds the router's one worker for the overhead, whatever edges it comes and goes by.
    """

    flit_bytes: Bytes
    packet_bytes: Literal[256, 2048, 4096]
    channels: Literal[1, 2]
    ps_per_mm: Fraction
    serial_routers: bool = False


class Link(Part, frozen=True):
    """A pair of directed edges of one rate and length."""

    gb_per_s: Rate
    mm: Fraction


class Mesh(Part, frozen=True):
    """Routers at the crossings of rows and columns, named rRcC; neighbours are joined, over the missing ones too."""

    rows_mm: tuple[Fraction, ...]
    columns_mm: tuple[Fraction, ...]
    missing: tuple[RouterName, ...]
    router_overhead_ps: Ps
    gb_per_s: Rate


class Attached(Part, frozen=True):
    """A node that hangs at one router."""

    router: RouterName
    overhead_ps: Ps
    gb_per_s: Rate


class Sram(Part, frozen=True):
    """The cube's SRAM at its router."""

    router: RouterName
    bytes: Bytes
    gb_per_s: Rate


class Ucie(Part, frozen=True):
    """The four ports of a cube. Connection i of a port joins it to the i-th router of its list."""

    overhead_ps: Ps
    connection_gb_per_s: Rate
    n: tuple[RouterName, ...]
    e: tuple[RouterName, ...]
    s: tuple[RouterName, ...]
    w: tuple[RouterName, ...]


class Cube(Part, frozen=True):
    """One HBM stack with its logic die. PE i and slice i hang at the i-th router of `pes`."""

    mesh: Mesh
    pes: tuple[RouterName, ...]
    pe_gb_per_s: Rate
    slice_gb_per_s: Rate
    m_cpu: Attached | None = None
    sram: Sram | None = None
    ucie: Ucie | None = None


class Io(Part, frozen=True):
    """The IO chiplet of a SIP. Its port i feeds the N port of the i-th cube of `cubes`."""

    pcie_ep_overhead_ps: Ps
    io_cpu_overhead_ps: Ps
    io_noc_overhead_ps: Ps
    port_overhead_ps: Ps
    noc_link: Link
    port_link: Link
    cube_link: Link
    cubes: tuple[Ps, ...]


class InterSip(Part, frozen=True):
    """How the pcie_eps of SIPs are joined (`inter_sip.py` has the ways): `link` leads from a pcie_ep to a switch, one
    for all SIPs or one for each pair of neighbours. `grid`, for mesh and torus alone: rows, columns.
    `store_and_forward`: a pcie_ep sends on when it has all.
    """

    topology: Literal["switch", "ring", "mesh", "torus"]
    link: Link
    switch_overhead_ps: Ps
    store_and_forward: bool
    grid: tuple[Count, Count] | None = None


class Sip(Part, frozen=True):
    """One package: cubes in a mesh (cube id = row * columns + column), joined port to port."""

    cubes: tuple[Count, Count]
    cube_link: Link
    io: Io | None = None


class Machine(Part, frozen=True, eq=False):
    """The whole machine. Two machines are the same only if they are one object: loading is cached."""

    name: str
    about: str
    routing: Literal["min_wire", "xy"]
    composite_max_bytes: Bytes
    sips: Count
    sip: Sip
    cube: Cube
    hbm: Hbm
    noc: Noc
    pe: Pe
    inter_sip: InterSip | None = None

    @property
    def cubes_per_sip(self) -> int:
        return self.sip.cubes[0] * self.sip.cubes[1]

    @property
    def pes_per_cube(self) -> int:
        """PEs of a cube, and so slices: each PE has one."""
        return len(self.cube.pes)

    @property
    def pes(self) -> int:
        """PEs of the whole machine."""
        return self.sips * self.cubes_per_sip * self.pes_per_cube
