"""What commands and services cost: pure functions of (facts of a command, machine), the same for all who ask.

It knows no IR: sizes, counts, kinds and names of element types come in, picoseconds go out. Numbers stand in the
machine file; here are the formulas. The way through the network is `transfer.py`'s.

    issue of a command    round-half-even(FIXED + logical bytes * R) cycles, FIXED by composite or single-op
    GEMM                  2 M K N / (peak * rate of the element type); a tile of a composite is always a whole tile
    MATH                  ceil(elements / lanes) * passes of the kind
    FETCH, STORE          bytes / rate for each of the servers in series
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ...dialects.elementwise import BY_KIND
from ...dialects.errors import Category, fail
from .machine import GemmRates, Machine
from .quantities import Rate, round_half_up, service_ps
from .topology import pe_node, slice_node
from .transfer import read_ps, write_ack_ps

_RATE_OF = {
    "f8E4M3FN": "f8",
    "f8E4M3FNUZ": "f8",
    "f8E4M3B11FNUZ": "f8",
    "f8E4M3": "f8",
    "f8E5M2": "f8",
    "f8E5M2FNUZ": "f8",
    "i8": "i8",
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
}
GEMM_ELEMENTS = tuple(_RATE_OF)
"""Names of the element types that the GEMM engine takes."""
_BITS = {"f8": 8, "i8": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def issue_cycles(machine: Machine, logical_bytes: int, *, composite: bool) -> int:
    """Cycles of PE_CPU to issue one command of `logical_bytes`."""
    cpu = machine.pe.cpu
    fixed = cpu.fixed_cycles_composite if composite else cpu.fixed_cycles_single
    return round(fixed + logical_bytes * cpu.cycles_per_byte)


def cycles_ps(machine: Machine, cycles: int) -> int:
    """Time of `cycles` of PE_CPU."""
    return round_half_up(cycles * machine.pe.cpu.ps_per_cycle)


def issue_ps(machine: Machine, logical_bytes: int, *, composite: bool) -> int:
    """Time of PE_CPU to issue one command of `logical_bytes`."""
    return cycles_ps(machine, issue_cycles(machine, logical_bytes, composite=composite))


def gemm_rate(machine: Machine, element: str) -> Rate:
    """Share of the GEMM engine's peak on operands of this element type (`f16`, `f8E4M3FN`, ...)."""
    rates: GemmRates = machine.pe.gemm.rates
    if element not in _RATE_OF:
        message = f"the GEMM engine does not take {element} (it takes {', '.join(_BITS)})"
        raise fail(message, category=Category.UNSUPPORTED, hint="cast the operands of the dot")
    return getattr(rates, _RATE_OF[element])


def gemm_ps(machine: Machine, m: int, k: int, n: int, element: str) -> int:
    """Service of the GEMM engine for an M x K by K x N product."""
    return round_half_up(Fraction(2 * m * k * n) / (machine.pe.gemm.peak_tflops * gemm_rate(machine, element)))


def gemm_tile_ps(machine: Machine, element: str) -> int:
    """Service of the GEMM engine for one tile of a composite, padded or not."""
    return gemm_ps(machine, *machine.pe.gemm.tile, element)


def math_passes(machine: Machine, kind: str, axis_size: int = 1) -> int:
    """Passes over its elements that a MATH command of `kind` makes; `axis_size`: the length of a sort or topk."""
    passes = machine.pe.math.passes
    if kind in BY_KIND:
        return passes.elementwise * BY_KIND[kind].passes
    family = kind.partition("_")[0]
    match family:
        case "reduce":
            return passes.reduce
        case "scan":
            return passes.scan
        case "permute":
            return passes.permute
        case "gather":
            return passes.gather
        case "histogram":
            return passes.histogram
        case "sort" | "topk":
            levels = max(0, axis_size - 1).bit_length()
            return passes.elementwise * max(1, levels * (levels + 1) // 2)
        case _:  # select, cast, copy, compare, and the fused forms of a recipe
            return passes.elementwise


def math_ps(machine: Machine, kind: str, elements: int, axis_size: int = 1) -> int:
    """Service of the MATH engine for `elements` (of the larger of input and output)."""
    math = machine.pe.math
    return -(-elements // math.lanes) * math_passes(machine, kind, axis_size) * math.pass_ps


def fetch_ps(machine: Machine, size: int) -> int:
    """Service of one FETCH server for the operands of a tile, `size` bytes together."""
    return service_ps(size, machine.pe.fetch.gb_per_s)


def store_ps(machine: Machine, size: int) -> int:
    """Service of one STORE server for an output tile of `size` bytes."""
    return service_ps(size, machine.pe.store.gb_per_s)


def dma_read_ps(machine: Machine, size: int) -> int:
    """A read of `size` bytes from the PE's own slice, unloaded; 0 for nothing."""
    return read_ps(machine, size, pe_node(machine, 0), slice_node(machine, 0)) if size else 0


def dma_write_ps(machine: Machine, size: int) -> int:
    """A write of `size` bytes into the PE's own slice with its ack, unloaded; 0 for nothing."""
    return write_ack_ps(machine, size, pe_node(machine, 0), slice_node(machine, 0)) if size else 0


def element_bytes(element: str) -> int:
    """Bytes of one element that the GEMM engine takes."""
    return _BITS[_RATE_OF[element]] // 8


@dataclass(frozen=True)
class GemmFacts:
    """One GEMM as `auto` weighs it: valid extents, the blocks of its single-op form, where operands lie.

    `block` is (M, K, N) of one single-op GEMM; `a_in_tcm` and `b_in_tcm` say that a block is there already. `staged`
    names the operand that the composite reads as a whole before it starts, if any. `epilogue` counts MATH ops on the
    output, `a_ops` and `b_ops` those on the tiles of an operand before they are multiplied; `a_bytes` and `b_bytes` are
    the bytes of one of its elements where it lies, 0 for those of `element`. `sharers` PEs do the same at the same time
    on the same slice.
    """

    m: int
    k: int
    n: int
    block: tuple[int, int, int]
    element: str
    out_element: str
    a_in_tcm: bool = False
    b_in_tcm: bool = False
    staged: str = "none"
    out_in_hbm: bool = False
    epilogue: int = 0
    a_ops: int = 0
    b_ops: int = 0
    a_bytes: int = 0
    b_bytes: int = 0
    sharers: int = 1

    @property
    def widths(self) -> tuple[int, int]:
        """Bytes of an element of a and of b where they lie."""
        width = element_bytes(self.element)
        return self.a_bytes or width, self.b_bytes or width


# Logical bytes of the usual commands; the exact ones are the ops' own (`dialects/ahbm`). An estimate needs no more.
_COMPOSITE_BYTES, _DMA_BYTES, _GEMM_BYTES, _MATH_BYTES, _SPEC_BYTES = 54, 17, 40, 30, 28


def composite_gemm_ps(machine: Machine, facts: GemmFacts) -> int:
    """Estimate of the GEMM as one composite: its issue, and the slowest of DMA, FETCH and GEMM with fill and tail."""
    tile_m, tile_k, tile_n = machine.pe.gemm.tile
    across_m, across_k, across_n = -(-facts.m // tile_m), -(-facts.k // tile_k), -(-facts.n // tile_n)
    tiles, outputs = across_m * across_k * across_n, across_m * across_n
    if not tiles:
        return issue_ps(machine, _COMPOSITE_BYTES, composite=True)
    a_width, b_width = facts.widths
    a_tile, b_tile = tile_m * tile_k * a_width, tile_k * tile_n * b_width
    reads_a = not facts.a_in_tcm and facts.staged != "a"
    reads_b = not facts.b_in_tcm and facts.staged != "b"
    out_tile = tile_m * tile_n * element_bytes(facts.out_element)
    staged = 0
    if facts.staged == "a" and not facts.a_in_tcm:
        staged = facts.m * facts.k * a_width
    if facts.staged == "b" and not facts.b_in_tcm:
        staged = facts.k * facts.n * b_width
    specs = facts.epilogue + facts.a_ops + facts.b_ops
    issue = issue_ps(machine, _COMPOSITE_BYTES + _SPEC_BYTES * specs, composite=True)
    rate = machine.hbm.slice_gb_per_s
    written = outputs * out_tile if facts.out_in_hbm else 0
    moved = tiles * (a_tile * reads_a + b_tile * reads_b) + written
    # All A reads of a group come before its B reads, so the first tile waits for them.
    first_group = min(tiles, machine.pe.sched.stream_tiles)
    lead = service_ps(first_group * a_tile, rate) if reads_a and reads_b else 0
    fill = dma_read_ps(machine, b_tile if reads_b else a_tile) if reads_a or reads_b else 0
    fetch = fetch_ps(machine, a_tile + b_tile)
    gemm = gemm_tile_ps(machine, facts.element)
    math = facts.epilogue * math_ps(machine, "add", tile_m * tile_n)
    store = machine.pe.store.servers * store_ps(machine, out_tile)
    write = dma_write_ps(machine, out_tile) if facts.out_in_hbm else 0
    on_tiles = facts.a_ops * math_ps(machine, "mul", tile_m * tile_k)
    on_tiles += facts.b_ops * math_ps(machine, "mul", tile_k * tile_n)
    fill += fetch * (machine.pe.fetch.servers - 1) + on_tiles
    b_rate = service_ps(b_tile, rate) if reads_b else 0
    steady = lead + tiles * max(fetch, gemm, b_rate, on_tiles + math // max(1, across_k)) + fetch
    streaming = fill + max(steady, service_ps(moved, rate)) + math + store + write
    alone = dma_read_ps(machine, staged) + issue + machine.pe.sched.entry_dma_ps + streaming
    return max(alone, _slice_ps(machine, facts, staged + moved))


def pieces_gemm_ps(machine: Machine, facts: GemmFacts, chunk: int, *, in_loop: bool = False) -> int:
    """Estimate of the GEMM as composites over pieces of `chunk` lanes of K, both operands of a piece read as blocks
    while the piece before is computed: the slower of the two for all pieces, the first read and the last composite.
    `in_loop`: other such products come before and behind it, which hide its first read and its end.
    """
    pieces = max(1, -(-facts.k // chunk))
    block_m, _, block_n = facts.block
    tile_m, tile_k, tile_n = machine.pe.gemm.tile
    a_width, b_width = facts.widths
    lane = facts.m * a_width * (not facts.a_in_tcm) + facts.n * b_width * (not facts.b_in_tcm)
    issue = 2 * issue_ps(machine, _DMA_BYTES, composite=False) + machine.pe.sched.entry_dma_ps
    read = dma_read_ps(machine, min(chunk, facts.k) * lane) + issue
    tiles = -(-block_m // tile_m) * -(-block_n // tile_n) * -(-min(chunk, facts.k) // tile_k)
    fetched = (tile_m * a_width + tile_n * b_width) * tile_k
    busy = tiles * max(gemm_tile_ps(machine, facts.element), fetch_ps(machine, fetched))
    # A piece is read into the blocks of the last but one, whose composite must have ended.
    period = max(read + issue_ps(machine, _COMPOSITE_BYTES, composite=True), busy)
    # What a block holds is computed, valid or not.
    block = replace(facts, m=block_m, n=block_n, a_in_tcm=True, b_in_tcm=True, staged="none")
    last = replace(block, k=facts.k - (pieces - 1) * chunk, epilogue=facts.epilogue + (pieces > 1))
    alone = read + (pieces - 1) * period + composite_gemm_ps(machine, last)
    total = min(alone, pieces * period) if in_loop else alone
    return max(total, _slice_ps(machine, facts, facts.k * lane))


def single_math_ps(machine: Machine, elements: int) -> int:
    """Estimate of an element-wise single-op command on a block: PE_CPU issues it and waits for its end."""
    issue = issue_ps(machine, _MATH_BYTES, composite=False)
    return issue + machine.pe.sched.entry_engine_ps + math_ps(machine, "mul", elements)


def single_gemm_ps(machine: Machine, facts: GemmFacts, *, loaded: bool = False) -> int:
    """Estimate of the GEMM as single-op commands, block by block along K: load, wait, gemm and add in turn. `loaded`:
    the loads are issued so early that there is no wait.
    """
    block_m, block_k, block_n = facts.block
    steps = max(1, -(-facts.k // block_k))
    a_width, b_width = facts.widths
    sched = machine.pe.sched

    def single(logical_bytes: int) -> int:
        return issue_ps(machine, logical_bytes, composite=False)

    size = (not facts.a_in_tcm) * block_m * block_k * a_width + (not facts.b_in_tcm) * block_k * block_n * b_width
    loads = (not facts.a_in_tcm) + (not facts.b_in_tcm)
    read = single(_DMA_BYTES) * loads
    if loads and not loaded:
        read += dma_read_ps(machine, size) + sched.entry_dma_ps
    gemm = single(_GEMM_BYTES) + sched.entry_engine_ps + gemm_ps(machine, block_m, block_k, block_n, facts.element)
    ops = facts.a_ops * single_math_ps(machine, block_m * block_k)
    ops += facts.b_ops * single_math_ps(machine, block_k * block_n)
    math = single_math_ps(machine, block_m * block_n)
    total = steps * (read + ops + gemm) + (steps - 1 + facts.epilogue) * math
    moved = steps * size
    if facts.out_in_hbm:
        size = min(facts.m, block_m) * min(facts.n, block_n) * element_bytes(facts.out_element)
        total += single(_DMA_BYTES) + sched.entry_dma_ps + dma_write_ps(machine, size)
        moved += size
    return max(total, _slice_ps(machine, facts, moved))


def _slice_ps(machine: Machine, facts: GemmFacts, moved: int) -> int:
    """How long a slice works for all that share it, each of whom moves `moved` bytes."""
    return service_ps(moved * facts.sharers, machine.hbm.slice_gb_per_s)
