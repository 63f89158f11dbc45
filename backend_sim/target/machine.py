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

Natural = Annotated[int, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Ps = Annotated[int, Meta(ge=0)]
Side = Annotated[int, Meta(ge=1, le=64)]
RouterName = Annotated[str, Meta(pattern=r"^r(0|[1-9]\d*)c(0|[1-9]\d*)$", description="a router such as r0c0")]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts of a machine are: frozen, and strict about their keys."""


class Cpu(Part, frozen=True):
    """PE_CPU. Issue cycles of one command = round-half-even(fixed + logical bytes * `cycles_per_byte`)."""

    clock_ghz: Annotated[Rate, Meta(description="clock of PE_CPU")]
    fixed_cycles_composite: Annotated[
        Natural, Meta(description="issue cycles of a composite, beside those of its bytes")
    ]
    fixed_cycles_single: Annotated[
        Natural, Meta(description="issue cycles of any other command, beside those of its bytes")
    ]
    cycles_per_byte: Annotated[Fraction, Meta(description="issue cycles for each logical byte of a command")]

    @property
    def ps_per_cycle(self) -> Fraction:
        return Fraction(1000) / self.clock_ghz


class Sched(Part, frozen=True):
    """PE_SCHED. Entry times run from the end of the issue to the earliest start of the engine."""

    entry_dma_ps: Annotated[Ps, Meta(description="from the issue of a command to the earliest start of the DMA engine")]
    entry_engine_ps: Annotated[Ps, Meta(description="the same for GEMM and MATH")]
    stream_tiles: Annotated[Count, Meta(description="most tiles of a composite between DMA issue and the end of FETCH")]


class GemmRates(Part, frozen=True):
    """Share of the peak that the GEMM engine reaches on operands of each type."""

    f8: Annotated[Rate, Meta(description="fp8 of any kind")]
    i8: Annotated[Rate, Meta(description="int8")]
    f16: Annotated[Rate, Meta(description="fp16")]
    bf16: Annotated[Rate, Meta(description="bfloat16")]
    f32: Annotated[Rate, Meta(description="fp32, run as tf32")]
    f64: Annotated[Rate, Meta(description="fp64")]


class Gemm(Part, frozen=True):
    """The GEMM engine. `tile` is (M, K, N)."""

    peak_tflops: Annotated[Rate, Meta(description="peak of the engine, 2 M K N operations a product")]
    tile: Annotated[tuple[Count, Count, Count], Meta(description="M, K, N of a tile of a composite")]
    rates: Annotated[GemmRates, Meta(description="share of the peak by element type")]


class MathPasses(Part, frozen=True):
    """Passes over its elements that one MATH command makes, by what it does. `sort` is by formula (`cost.py`)."""

    elementwise: Annotated[Count, Meta(description="element-wise, select, cast, compare, copy")]
    reduce: Annotated[Count, Meta(description="reductions")]
    scan: Annotated[Count, Meta(description="scans")]
    permute: Annotated[Count, Meta(description="permute and transpose that move data")]
    gather: Annotated[Count, Meta(description="gather in TCM")]
    histogram: Annotated[Count, Meta(description="histograms")]


class Math(Part, frozen=True):
    """The MATH engine: `pass_ps` for each started group of `lanes` elements and each pass."""

    lanes: Annotated[Count, Meta(description="elements of a group")]
    pass_ps: Annotated[Count, Meta(description="time of one pass over a group")]
    passes: Annotated[MathPasses, Meta(description="passes by what a command does")]


class Mover(Part, frozen=True):
    """FETCH or STORE: `servers` FIFO servers in series, each `bytes / gb_per_s` for a tile."""

    servers: Annotated[Count, Meta(description="FIFO servers in series")]
    gb_per_s: Annotated[Rate, Meta(description="rate of each server")]


class Tcm(Part, frozen=True):
    """The memory of a PE; kernels get `scratch_bytes` of it."""

    bytes: Annotated[Bytes, Meta(description="size of the TCM of a PE")]
    scratch_bytes: Annotated[Bytes, Meta(description="the part of it that kernels get")]
    gb_per_s: Annotated[Rate, Meta(description="rate at which a message is read out of it")]


class Dma(Part, frozen=True):
    """DMA channels of a PE. A channel is free again once its request is queued."""

    read_channels: Annotated[Count, Meta(description="reads that can be queued at once")]
    write_channels: Annotated[Count, Meta(description="writes that can be queued at once")]


class Ipcq(Part, frozen=True):
    """Queues between PEs: entry time, how many queues a PE has, bytes of the credit that comes back."""

    entry_ps: Annotated[Ps, Meta(description="from PE_CPU over PE_IPCQ to PE_DMA")]
    queues: Annotated[Count, Meta(description="queues of a PE")]
    credit_bytes: Annotated[Bytes, Meta(description="bytes of the credit that comes back")]


class Pe(Part, frozen=True):
    """One processing element and its engines."""

    cpu: Annotated[Cpu, Meta(description="PE_CPU")]
    sched: Annotated[Sched, Meta(description="PE_SCHED")]
    gemm: Annotated[Gemm, Meta(description="the GEMM engine")]
    math: Annotated[Math, Meta(description="the MATH engine")]
    fetch: Annotated[Mover, Meta(description="from TCM to the engines")]
    store: Annotated[Mover, Meta(description="from the engines to TCM")]
    fetch_store_shared: Annotated[bool, Meta(description="FETCH and STORE are one engine")]
    tcm: Annotated[Tcm, Meta(description="the memory of a PE")]
    dma: Annotated[Dma, Meta(description="the DMA engine")]
    ipcq: Annotated[Ipcq, Meta(description="queues between PEs")]


class Hbm(Part, frozen=True, dict=True):
    """One slice of HBM. A strided transfer costs `packed`: the slice is one server for its bytes; or `bursts`: each run
    pays its bursts on their pseudo-channels.
    """

    slice_bytes: Annotated[Bytes, Meta(description="size of a slice")]
    channels: Annotated[Count, Meta(description="pseudo-channels of a slice: (address / burst) % channels")]
    channel_gb_per_s: Annotated[Rate, Meta(description="rate of one of them")]
    burst_bytes: Annotated[
        Bytes, Meta(description="what a channel serves at once; a part of a burst costs a whole one")
    ]
    strided: Annotated[
        Literal["packed", "bursts"],
        Meta(description="what a strided transfer costs: its bytes as if packed, or the bursts of each of its runs"),
    ]

    @cached_property
    def burst_ps(self) -> int:
        """Service of one burst, whole or part, on its pseudo-channel; the first data of a read come after it."""
        return round_half_up(Fraction(self.burst_bytes * 1000) / self.channel_gb_per_s)

    @cached_property
    def slice_gb_per_s(self) -> Rate:
        return Rate(self.channel_gb_per_s * self.channels)


class Noc(Part, frozen=True):
    """What all links share."""

    flit_bytes: Annotated[Bytes, Meta(description="what an edge serves at once")]
    packet_bytes: Annotated[Literal[256, 2048, 4096], Meta(description="what other traffic can interleave with")]
    channels: Annotated[Literal[1, 2], Meta(description="virtual channels of an edge")]
    ps_per_mm: Annotated[Fraction, Meta(description="wire delay")]
    serial_routers: Annotated[bool, Meta(description="a head flit holds the router's one worker for its overhead")] = (
        False
    )


class Link(Part, frozen=True):
    """A pair of directed edges of one rate and length."""

    gb_per_s: Annotated[Rate, Meta(description="rate of each direction")]
    mm: Annotated[Fraction, Meta(description="length")]


class Mesh(Part, frozen=True):
    """Routers at the crossings of rows and columns, named rRcC; neighbours are joined, over the missing ones too."""

    rows_mm: Annotated[tuple[Fraction, ...], Meta(description="where the rows of routers lie on the die, rising")]
    columns_mm: Annotated[tuple[Fraction, ...], Meta(description="where the columns lie, rising")]
    missing: Annotated[tuple[RouterName, ...], Meta(description="the routers of the hole")]
    router_overhead_ps: Annotated[Ps, Meta(description="what a head flit pays at a router")]
    gb_per_s: Annotated[Rate, Meta(description="rate of a link between routers")]


class Attached(Part, frozen=True):
    """A node that hangs at one router."""

    router: Annotated[RouterName, Meta(description="the router that it hangs at")]
    overhead_ps: Annotated[Ps, Meta(description="what a head flit pays at it")]
    gb_per_s: Annotated[Rate, Meta(description="rate of its link")]


class Sram(Part, frozen=True):
    """The cube's SRAM at its router."""

    router: Annotated[RouterName, Meta(description="the router that it hangs at")]
    bytes: Annotated[Bytes, Meta(description="its size")]
    gb_per_s: Annotated[Rate, Meta(description="rate of its link")]


class Ucie(Part, frozen=True):
    """The four ports of a cube. Connection i of a port joins it to the i-th router of its list."""

    overhead_ps: Annotated[Ps, Meta(description="what a head flit pays at a port")]
    connection_gb_per_s: Annotated[Rate, Meta(description="rate of each connection of a port to a router")]
    n: Annotated[
        tuple[RouterName, ...], Meta(description="routers that the connections of the north port join, each once")
    ]
    e: Annotated[
        tuple[RouterName, ...], Meta(description="routers that the connections of the east port join, each once")
    ]
    s: Annotated[
        tuple[RouterName, ...], Meta(description="routers that the connections of the south port join, each once")
    ]
    w: Annotated[
        tuple[RouterName, ...], Meta(description="routers that the connections of the west port join, each once")
    ]


class Cube(Part, frozen=True):
    """One HBM stack with its logic die. PE i and slice i hang at the i-th router of `pes`."""

    mesh: Annotated[Mesh, Meta(description="its routers")]
    pes: Annotated[
        tuple[RouterName, ...], Meta(description="the router of each PE and of its slice; several may share one")
    ]
    pe_gb_per_s: Annotated[Rate, Meta(description="rate of the link of a PE")]
    slice_gb_per_s: Annotated[Rate, Meta(description="rate of the link of a slice")]
    m_cpu: Annotated[Attached | None, Meta(description="its command processor")] = None
    sram: Annotated[Sram | None, Meta(description="its SRAM")] = None
    ucie: Annotated[Ucie | None, Meta(description="its ports, needed by several cubes and by IO")] = None


class Io(Part, frozen=True):
    """The IO chiplet of a SIP. Its port i feeds the N port of the i-th cube of `cubes`."""

    pcie_ep_overhead_ps: Annotated[Ps, Meta(description="what a head flit pays at the host end")]
    io_cpu_overhead_ps: Annotated[Ps, Meta(description="the same at the command processor")]
    io_noc_overhead_ps: Annotated[Ps, Meta(description="the same at the network of the chiplet")]
    port_overhead_ps: Annotated[Ps, Meta(description="the same at a port")]
    noc_link: Annotated[Link, Meta(description="pcie_ep and io_cpu to the network")]
    port_link: Annotated[Link, Meta(description="the network to each port")]
    cube_link: Annotated[Link, Meta(description="a port to the N port of its cube")]
    cubes: Annotated[tuple[Natural, ...], Meta(description="the cube of the top row that each port feeds")]


class InterSip(Part, frozen=True):
    """How the pcie_eps of SIPs are joined (`inter_sip.py` has the ways): `link` leads from a pcie_ep to a switch, one
    for all SIPs or one for each pair of neighbours. `grid`, for mesh and torus alone: rows, columns.
    `store_and_forward`: a pcie_ep sends on when it has all.
    """

    topology: Annotated[Literal["switch", "ring", "mesh", "torus"], Meta(description="how the pcie_eps are joined")]
    link: Annotated[Link, Meta(description="a pcie_ep to a switch")]
    switch_overhead_ps: Annotated[Ps, Meta(description="what a head flit pays at a switch")]
    store_and_forward: Annotated[bool, Meta(description="a pcie_ep sends a message on when it has all of it")]
    grid: Annotated[
        tuple[Count, Count] | None, Meta(description="rows and columns of SIPs, for mesh and torus alone")
    ] = None


class Sip(Part, frozen=True):
    """One package: cubes in a mesh (cube id = row * columns + column), joined port to port."""

    cubes: Annotated[tuple[Side, Side], Meta(description="rows and columns of cubes; id = row * columns + column")]
    cube_link: Annotated[Link, Meta(description="a port to that of the next cube")]
    io: Annotated[Io | None, Meta(description="its IO chiplet, needed by several SIPs")] = None


# Two machines are the same only if they are one object: loading is cached, and so is much that is asked of a machine.
class Machine(Part, frozen=True, eq=False):
    """The whole machine."""

    name: Annotated[str, Meta(description="its name; that of the file if it gives none")]
    about: Annotated[str, Meta(description="a line for `ahbmc machines`")]
    routing: Annotated[Literal["min_wire", "xy"], Meta(description="least wire as published, or XY over cubes")]
    composite_max_bytes: Annotated[Bytes, Meta(description="logical bytes of the largest composite")]
    sips: Annotated[int, Meta(ge=1, le=1024, description="how many SIPs")]
    sip: Annotated[Sip, Meta(description="one package; all are alike")]
    cube: Annotated[Cube, Meta(description="one HBM stack with its logic die; all are alike")]
    hbm: Annotated[Hbm, Meta(description="one slice of HBM; each PE has one")]
    noc: Annotated[Noc, Meta(description="what all links share")]
    pe: Annotated[Pe, Meta(description="one processing element; all are alike")]
    inter_sip: Annotated[InterSip | None, Meta(description="how SIPs are joined, needed by several")] = None

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
