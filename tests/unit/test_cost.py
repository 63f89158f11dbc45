"""Costs of commands and services against the published and worked figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ahbmc.backend_sim.target.cost import (
    GemmFacts,
    composite_gemm_ps,
    cycles_ps,
    dma_read_ps,
    dma_write_ps,
    fetch_ps,
    gemm_ps,
    gemm_tile_ps,
    issue_cycles,
    issue_ps,
    math_passes,
    math_ps,
    pieces_gemm_ps,
    single_gemm_ps,
    store_ps,
)
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError

MACHINE = load_machine("ahbm-2sip")


@pytest.mark.parametrize(("size", "cycles"), [(54, 43), (314, 60), (322, 60), (1024, 104)])
def test_issue_of_a_composite(size: int, cycles: int) -> None:
    """One GEMM with one written handle is 54 bytes, softmax_merge with its GEMM and add 314."""
    assert issue_cycles(MACHINE, size, composite=True) == cycles


@pytest.mark.parametrize(
    ("size", "cycles"), [(17, 9), (40, 10), (14 + 16, 10), (14 + 8, 9), (24, 10), (4, 8), (8, 8), (25, 10)]
)
def test_issue_of_single_commands(size: int, cycles: int) -> None:
    """DMA, GEMM, MATH with two and one input, copy, wait; halves go to the even cycle (8.5 to 8, 9.5 to 10)."""
    assert issue_cycles(MACHINE, size, composite=False) == cycles


def test_published_dispatch_sums() -> None:
    """The 23 commands of the unfused decode step and the 4 of the fused one."""
    load, dot, reduce, two, one, copy, wait = 17, 40, 26, 30, 22, 24, 4
    unfused = [load] * 3 + [dot] * 2 + [reduce] * 2 + [one] * 3 + [two] * 10 + [copy] * 3
    single = [issue_cycles(MACHINE, size, composite=False) for size in unfused]
    assert len(single) == 23
    assert sum(single) == 224
    fused = [(load, False), (54, True), (314, True), (wait, False)]
    assert sum(issue_cycles(MACHINE, size, composite=composite) for size, composite in fused) == 120
    uniform = load_machine("ahbm-2sip", ["pe.cpu.fixed_cycles_single=40"])
    assert sum(issue_cycles(uniform, size, composite=composite) for size, composite in fused) == 184
    assert sum(issue_cycles(uniform, size, composite=False) for size in unfused) == 960


def test_cycles_follow_the_clock() -> None:
    """At 2 GHz a cycle is 500 ps; at 1.5 GHz cycles are rounded together, not one by one."""
    assert issue_ps(load_machine("ahbm-2sip", ["pe.cpu.clock_ghz=2"]), 54, composite=True) == 21500
    assert cycles_ps(load_machine("ahbm-2sip", ["pe.cpu.clock_ghz=1.5"]), 3) == 2000


@pytest.mark.parametrize(
    ("element", "ps"),
    [("f16", 16384), ("bf16", 16384), ("f8E4M3FN", 16384), ("i8", 16384), ("f32", 32768), ("f64", 262144)],
)
def test_a_tile_by_element_type(element: str, ps: int) -> None:
    """16.384 ns in f16; half the rate in f32, a sixteenth in f64."""
    assert gemm_tile_ps(MACHINE, element) == ps


def test_a_single_gemm_has_its_real_shape() -> None:
    """2 M K N over the peak, rounded once; a peak of 16 halves it."""
    assert gemm_ps(MACHINE, 32, 64, 32, "f16") == 16384
    assert gemm_ps(MACHINE, 3, 5, 7, "f16") == 26
    assert gemm_ps(load_machine("ahbm-2sip", ["pe.gemm.peak_tflops=16"]), 32, 64, 32, "f16") == 8192


def test_the_gemm_engine_refuses_other_types() -> None:
    """i32 operands have no rate."""
    with pytest.raises(AhbmcError, match="does not take i32"):
        gemm_ps(MACHINE, 1, 1, 1, "i32")


@pytest.mark.parametrize(
    ("kind", "elements", "ps"),
    [("add", 1024, 4000), ("exp2", 1, 1000), ("add", 257, 2000), ("reduce_max", 2048, 8000), ("scan_sum", 256, 2000)],
)
def test_math_takes_its_groups_and_passes(kind: str, elements: int, ps: int) -> None:
    """One ns per started 256 elements and pass."""
    assert math_ps(MACHINE, kind, elements) == ps


@pytest.mark.parametrize(
    ("kind", "size", "passes"), [("sort", 64, 21), ("topk", 2, 1), ("cmp_slt", 1, 1), ("cast", 1, 1)]
)
def test_passes_of_a_kind(kind: str, size: int, passes: int) -> None:
    """A sort of n is log2(n) (log2(n) + 1) / 2 passes."""
    assert math_passes(MACHINE, kind, size) == passes


def test_services_of_one_tile() -> None:
    """A and B of a tile pass FETCH in 16 ns a server, its output STORE in 4; DMA takes 29 in and 21 out."""
    assert (fetch_ps(MACHINE, 8192), store_ps(MACHINE, 2048)) == (16000, 4000)
    assert (dma_read_ps(MACHINE, 4096), dma_write_ps(MACHINE, 2048)) == (29000, 21000)
    assert (dma_read_ps(MACHINE, 0), dma_write_ps(MACHINE, 0)) == (0, 0)


def test_the_estimate_of_a_long_composite_is_the_worked_example() -> None:
    """32x3072x32: 876.432 ns with A staged, and 3.826 TFLOP/s with both streamed."""
    before = issue_ps(MACHINE, 54, composite=True) + MACHINE.pe.sched.entry_dma_ps
    staged = GemmFacts(32, 3072, 32, (32, 64, 32), "f16", "f16", staged="a", out_in_hbm=True)
    assert composite_gemm_ps(MACHINE, staged) - before - dma_read_ps(MACHINE, 32 * 3072 * 2) == 876432
    streamed = GemmFacts(32, 3072, 32, (32, 64, 32), "f16", "f16", out_in_hbm=True)
    window_ps = composite_gemm_ps(MACHINE, streamed) - before
    assert abs(2 * 32 * 3072 * 32 / window_ps - 3.83) < 0.01


def test_small_products_are_cheaper_as_single_commands_and_long_ones_as_composites() -> None:
    """A composite pads to whole tiles and pays 43 cycles; a single GEMM per K block pays for each of them."""
    small = GemmFacts(16, 16, 16, (16, 16, 16), "f16", "f16", a_in_tcm=True, b_in_tcm=True)
    assert single_gemm_ps(MACHINE, small) < composite_gemm_ps(MACHINE, small)
    long = GemmFacts(32, 3072, 32, (32, 64, 32), "f16", "f16", out_in_hbm=True)
    assert composite_gemm_ps(MACHINE, long) < single_gemm_ps(MACHINE, long)


def test_a_slice_that_many_share_is_the_bound() -> None:
    """64x512x64 with A staged: alone a composite is faster; eight PEs on one slice wait for bytes, of which single ops
    move fewer.
    """
    alone = GemmFacts(64, 512, 64, (64, 64, 64), "f16", "f16")
    assert composite_gemm_ps(MACHINE, replace(alone, staged="a")) < single_gemm_ps(MACHINE, alone)
    shared = replace(alone, sharers=8)
    a_or_b = 64 * 512 * 2
    assert single_gemm_ps(MACHINE, shared) == 8 * 2 * a_or_b * 1000 // 256
    assert composite_gemm_ps(MACHINE, replace(shared, staged="a")) == 8 * (a_or_b + 2 * a_or_b) * 1000 // 256


def test_pieces_are_read_while_the_piece_before_is_computed() -> None:
    """128x512x128 in pieces of 64: 16 tiles of 16.384 ns take longer than 32 KiB, so a loop of such products runs at
    the rate of the GEMM engine, and one alone has the first read and its end besides.
    """
    facts = GemmFacts(128, 512, 128, (128, 64, 128), "f16", "f16", out_in_hbm=True)
    assert pieces_gemm_ps(MACHINE, facts, 64, in_loop=True) == 8 * 16 * 16384
    first = dma_read_ps(MACHINE, 2 * 128 * 64 * 2)
    assert 8 * 16 * 16384 + first < pieces_gemm_ps(MACHINE, facts, 64) < composite_gemm_ps(MACHINE, facts)


def test_pieces_of_flat_blocks_wait_for_their_reads() -> None:
    """32x512x32 in pieces of 64: a tile takes 16.384 ns, its 8 KiB take 45; eight PEs on one slice take it in turn."""
    facts = GemmFacts(32, 512, 32, (32, 64, 32), "f16", "f16")
    assert pieces_gemm_ps(MACHINE, facts, 64, in_loop=True) > 8 * dma_read_ps(MACHINE, 8192)
    assert pieces_gemm_ps(MACHINE, replace(facts, sharers=80), 64) == 80 * 2 * 32 * 512 * 2 * 1000 // 256
