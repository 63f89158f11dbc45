"""Command instances on byte memories: each kind does what it says, and composites do what their op lists say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.addresses import AddressSpace, Allocation, bytes_of
from ahbmc.backend_sim.numerics.commands import PeMemory, read_scalar
from ahbmc.backend_sim.numerics.device import Device, run_device
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.backend_sim.numerics.operands import Buffer, Index
from ahbmc.dialects.errors import AhbmcError
from ahbmc.dialects.text import parse_module
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

FLOAT32 = np.dtype(np.float32)


def run(arguments: str, body: str, *values: Any) -> None:
    text = f"func.func @k({arguments}) attributes {{tl.kernel}} {{\n{body}\n  func.return\n}}"
    run_device(parse_module(text, "k.mlir"), list(values), (1,))


CONSTANTS = "\n".join(f"%{n} = arith.constant {n} : i64" for n in (0, 1, 2, 3, 4, 6, 8))


def region(name: str, pointer: str, rows: int, columns: int, valid_rows: int | None = None, kind: str = "f32") -> str:
    """A region of a packed matrix, valid up to some row."""
    return (
        f"%{name} = ahbm.region %{pointer}[%0] sizes(%{rows}, %{columns}) strides(%{columns}, %1) "
        f"lo(%0, %0) hi(%{valid_rows or rows}, %{columns}) "
        f'{{axes = ["affine", "affine"]}} : !tl.ptr<{kind}> -> !ahbm.region<{kind}, 2>\n'
    )


def block(rows: int, columns: int, kind: str = "f32") -> str:
    return f"!ahbm.buffer<{rows}x{columns}x{kind}, tcm>"


COPY = f"""{CONSTANTS}
{region("rx", "x", 4, 6, 3)}{region("ro", "o", 4, 6)}
%b = ahbm.alloc : {block(4, 6)}
ahbm.dma_read %rx, %b : !ahbm.region<f32, 2>, {block(4, 6)}
%t = ahbm.view %b {{axes = array<i64: 1, 0>}} : {block(4, 6)} -> {block(6, 4)}
%c = ahbm.alloc : {block(6, 4)}
ahbm.copy %t, %c : {block(6, 4)}, {block(6, 4)}
%d = ahbm.reshape %c : {block(6, 4)} -> {block(4, 6)}
ahbm.dma_write %d, %ro : {block(4, 6)}, !ahbm.region<f32, 2>
"""


def test_reads_pad_views_transpose_and_reshapes_keep_the_order() -> None:
    x, o = np.arange(18, dtype=np.float32).reshape(3, 6), np.full((4, 6), -1, np.float32)
    run("%x: !tl.ptr<f32>, %o: !tl.ptr<f32>", COPY, x, o)
    padded = np.vstack([x, np.zeros((1, 6), np.float32)])
    np.testing.assert_array_equal(o, padded.T.reshape(4, 6))


GATHER = f"""{CONSTANTS}
%i = ahbm.index %1 steps(%2) : !ahbm.index<4xi32>
%m = ahbm.alloc : !ahbm.buffer<4xi1, tcm>
ahbm.math "cmp_slt" ins(%i, %limit : !ahbm.index<4xi32>, i32) out(%m : !ahbm.buffer<4xi1, tcm>)
%b = ahbm.alloc : !ahbm.buffer<4xf32, tcm>
ahbm.gather %x[%i] mask(%m : !ahbm.buffer<4xi1, tcm>), %b {{pad = 9.0 : f32}}
  : !tl.ptr<f32>, !ahbm.index<4xi32>, !ahbm.buffer<4xf32, tcm>
%j = ahbm.index %3 steps(%s) : !ahbm.index<4xi32>
ahbm.scatter %b, %o[%j] mask(%m : !ahbm.buffer<4xi1, tcm>) : !ahbm.buffer<4xf32, tcm>, !tl.ptr<f32>, !ahbm.index<4xi32>
%last = ahbm.addptr %o, %6 : !tl.ptr<f32>, i64 -> !tl.ptr<f32>
%one = ahbm.alloc : !ahbm.buffer<f32, tcm>
ahbm.load_scalar %x, %one : !tl.ptr<f32>, !ahbm.buffer<f32, tcm>
%v = ahbm.read_scalar %one : !ahbm.buffer<f32, tcm> -> f32
%w = arith.addf %v, %v : f32
ahbm.store_scalar %w, %last : f32, !tl.ptr<f32>
"""


def test_gathers_scatters_and_scalars_go_by_index_and_mask() -> None:
    x, o = np.arange(10, 20, dtype=np.float32), np.zeros(7, np.float32)
    run("%x: !tl.ptr<f32>, %o: !tl.ptr<f32>, %limit: i32, %s: i64", GATHER, x, o, 6, -1)
    # Lanes 1, 3, 5 of x go to 3, 2, 1 of o; lane 7 is masked off.
    assert o.tolist() == [0, 15, 13, 11, 0, 0, 20]


@pytest.mark.parametrize("limit", [0, 6])
def test_a_gather_pads_the_lanes_that_are_masked_off(limit: int) -> None:
    body = GATHER.replace("%o[%j] mask(%m : !ahbm.buffer<4xi1, tcm>)", "%o[%j]")
    x, o = np.arange(10, 20, dtype=np.float32), np.zeros(7, np.float32)
    run("%x: !tl.ptr<f32>, %o: !tl.ptr<f32>, %limit: i32, %s: i64", body, x, o, limit, -1)
    assert o[:4].tolist() == ([9, 9, 9, 9] if limit == 0 else [9, 15, 13, 11])


def composite(parts: dict[str, str], specs: str, extents: str = "", writes: str = "") -> str:
    names = ", ".join(f"%{name}" for name in parts)
    return (
        f"ahbm.composite({names} : {', '.join(parts.values())}) {extents} "
        f"{{specs = [{specs}], writes = array<i64{': ' + writes if writes else ''}>}} plan {{}}\n"
    )


REGION = "!ahbm.region<f32, 2>"
EXTENTS = "extents(%4, %4, %6)"
MATRICES = f"{CONSTANTS}\n{region('ra', 'a', 4, 6)}{region('rb', 'b', 6, 4)}{region('rc', 'c', 4, 4)}"
ARGUMENTS = "%a: !tl.ptr<f32>, %b: !tl.ptr<f32>, %c: !tl.ptr<f32>"


def matrices() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    return (
        rng.normal(size=(4, 6)).astype(np.float32),
        rng.normal(size=(6, 4)).astype(np.float32),
        rng.normal(size=(4, 4)).astype(np.float32),
    )


def test_an_accumulation_reads_the_output_before_it_is_written() -> None:
    """The product goes through the add on its way out; the output is both an operand and the destination."""
    body = f"""{MATRICES}
%o = ahbm.alloc : {block(4, 4)}
ahbm.dma_read %rc, %o : {REGION}, {block(4, 4)}
{
        composite(
            {"ra": REGION, "rb": REGION, "o": block(4, 4)},
            '#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>',
            EXTENTS,
            "2",
        )
    }
ahbm.dma_write %o, %rc : {block(4, 4)}, {REGION}"""
    a, b, c = matrices()
    wanted = c + a @ b
    run(ARGUMENTS, body, a, b, c)
    np.testing.assert_allclose(c, wanted, rtol=1e-6)


def test_ops_on_the_output_run_in_order_and_a_mask_is_one_more_output() -> None:
    body = f"""{MATRICES}
%m = ahbm.alloc : {block(4, 4, "i1")}
%half = arith.constant 0.5 : f32
%zero = arith.constant 0.0 : f32
{
        composite(
            {"ra": REGION, "rb": REGION, "rc": REGION, "m": block(4, 4, "i1"), "half": "f32", "zero": "f32"},
            '#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 4], 2>, '
            '#ahbm.spec<"cmp_ogt", output_tile, [-1, 5], 3>, #ahbm.spec<"select", output_tile, [3, -1, 5], 2>',
            EXTENTS,
            "2, 3",
        )
    }"""
    a, b, c = matrices()
    run(ARGUMENTS, body, a, b, c)
    np.testing.assert_allclose(c, np.maximum(0.5 * (a @ b), 0), rtol=1e-6)


def test_ops_before_the_gemm_run_once_and_repeat_vectors_along_their_axis() -> None:
    """exp(x - max of the row) times b, then a last op that runs once on what came out."""
    body = f"""{MATRICES}
%x = ahbm.alloc : {block(4, 6)}
ahbm.dma_read %ra, %x : {REGION}, {block(4, 6)}
%top = ahbm.alloc : !ahbm.buffer<4xf32, tcm>
%p = ahbm.alloc : {block(4, 6)}
%o = ahbm.alloc : {block(4, 4)}
%n = ahbm.alloc : {block(4, 4)}
{
        composite(
            {
                "x": block(4, 6),
                "top": "!ahbm.buffer<4xf32, tcm>",
                "p": block(4, 6),
                "rb": REGION,
                "o": block(4, 4),
                "n": block(4, 4),
            },
            '#ahbm.spec<"reduce_max", once, [0], 1, {axis = 1 : i64}>, '
            '#ahbm.spec<"exp_diff", once, [0, 1], 2, {axis = 1 : i64}>, '
            '#ahbm.spec<"gemm", k_tile, [2, 3], 4>, #ahbm.spec<"neg", once, [4], 5>',
            EXTENTS,
            "4, 5",
        )
    }
ahbm.dma_write %n, %rc : {block(4, 4)}, {REGION}"""
    a, b, c = matrices()
    run(ARGUMENTS, body, a, b, c)
    np.testing.assert_allclose(c, -(np.exp(a - a.max(1, keepdims=True)) @ b), rtol=1e-5)


def test_ops_on_a_fetched_operand_change_what_the_gemm_takes() -> None:
    """The scale belongs to b's tiles, not to b: what lies in memory stays."""
    body = f"""{MATRICES}
%two = arith.constant 2.0 : f32
{
        composite(
            {"ra": REGION, "rb": REGION, "rc": REGION, "two": "f32"},
            '#ahbm.spec<"mul", k_tile, [1, 3], 1>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>',
            EXTENTS,
            "2",
        )
    }"""
    a, b, c = matrices()
    kept = b.copy()
    run(ARGUMENTS, body, a, b, c)
    np.testing.assert_allclose(c, a @ (2 * kept), rtol=1e-6)
    np.testing.assert_array_equal(b, kept)


def test_a_recipe_must_be_expanded_first() -> None:
    body = f"""{MATRICES}
%o = ahbm.alloc : {block(4, 4)}
{composite({"o": block(4, 4)}, '#ahbm.spec<"softmax_merge", once, [0], 0>', "", "0")}"""
    with pytest.raises(AhbmcError, match="recipe"):
        run(ARGUMENTS, body, *matrices())


def test_a_read_of_what_nobody_wrote_shows_as_nan() -> None:
    body = f"""{MATRICES}
%o = ahbm.alloc : {block(4, 4)}
ahbm.dma_write %o, %rc : {block(4, 4)}, {REGION}"""
    a, b, c = matrices()
    run(ARGUMENTS, body, a, b, c)
    assert np.isnan(c).all()


def test_a_command_goes_to_the_memory_of_its_pe() -> None:
    """One compiled command, two PEs: each has its own scratch."""
    text = f"""func.func @k() {{
  %b = ahbm.alloc : {block(2, 2)}
  ahbm.fill %b {{value = 3.0 : f32}} : {block(2, 2)}
  func.return
}}"""
    fill = next(op for op in parse_module(text, "k.mlir").walk() if op.name == "ahbm.fill")
    memories = [PeMemory(np.zeros(64, np.uint8), AddressSpace(())) for _ in range(2)]
    _fill(Device(), fill, memories[1])
    assert [read_scalar(Buffer(8, (), (), FLOAT32), m) for m in memories] == [0.0, 3.0]


def _fill(device: Device, op: Operation, memory: PeMemory) -> None:
    device.execute(op, [Buffer.packed(0, (2, 2), FLOAT32)], memory)


def test_a_buffer_beyond_the_scratch_is_never_touched() -> None:
    with pytest.raises((TypeError, ValueError)):
        Buffer.packed(60, (2, 2), FLOAT32).array(np.zeros(64, np.uint8))


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 3), st.integers(-5, 5))
def test_views_of_buffers_and_of_indices_are_numpys(order: list[int], repeated: int, start: int) -> None:
    """A permutation with one more axis that repeats."""
    shape, scratch = (2, 3, 4), np.arange(24, dtype=np.int32)
    axes = [*order[:repeated], -1, *order[repeated:]]
    new = tuple(5 if a < 0 else shape[a] for a in axes)
    wanted = np.broadcast_to(np.expand_dims(scratch.reshape(shape).transpose(order), repeated), new)
    buffer = Buffer.packed(0, shape, np.dtype(np.int32))
    np.testing.assert_array_equal(buffer.view(axes, new).array(bytes_of(scratch)), wanted)
    index = Index(start, (12, 4, 1), shape, np.dtype(np.int32))
    np.testing.assert_array_equal(index.view(axes, new).array(), wanted + start)


def test_the_byte_range_of_a_view_is_that_of_what_it_shows() -> None:
    buffer = Buffer.packed(64, (4, 8), np.dtype(np.float16))
    assert buffer.byte_range == (64, 128)
    assert buffer.view([1, 0], (8, 4)).byte_range == (64, 128)


def test_allocations_share_bytes_with_the_arrays_that_they_are_of() -> None:
    array = np.zeros((2, 2), np.float32)
    bytes_of(array)[:4] = np.array([1.0], np.float32).view(np.uint8)
    assert array[0, 0] == 1.0 and Allocation("x", 100, bytes_of(array)).end == 116
