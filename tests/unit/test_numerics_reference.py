"""The reference: memory, masks, products and composites of the `tl` level, written as IR: no pass is in between."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.dialects.text import parse_module
from xdsl.dialects.builtin import ModuleOp


def kernel(arguments: str, body: str) -> ModuleOp:
    text = f"func.func @k({arguments}) attributes {{tl.kernel}} {{\n{body}\n  func.return\n}}"
    return parse_module(text, "k.mlir")


ROW = """
  %r = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %xs = tl.splat %x : !tl.ptr<i32> -> tensor<8x!tl.ptr<i32>>
  %xp = tl.addptr %xs, %r : tensor<8x!tl.ptr<i32>>, tensor<8xi32> -> tensor<8x!tl.ptr<i32>>
  %n8 = tl.splat %n : i32 -> tensor<8xi32>
  %m = tl.cmp "slt", %r, %n8 : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
"""
COPY = kernel(
    "%x: !tl.ptr<i32>, %o: !tl.ptr<i32>, %n: i32",
    ROW
    + """
  %seven = arith.constant dense<7> : tensor<8xi32>
  %v = tl.load %xp mask(%m : tensor<8xi1>) other(%seven)
    : tensor<8x!tl.ptr<i32>> other_type tensor<8xi32> -> tensor<8xi32>
  %os = tl.splat %o : !tl.ptr<i32> -> tensor<8x!tl.ptr<i32>>
  %op = tl.addptr %os, %r : tensor<8x!tl.ptr<i32>>, tensor<8xi32> -> tensor<8x!tl.ptr<i32>>
  tl.store %op, %v : tensor<8x!tl.ptr<i32>>, tensor<8xi32>
""",
)


def test_a_masked_load_gives_other_and_touches_nothing_there() -> None:
    x, o = np.arange(5, dtype=np.int32), np.zeros(8, np.int32)
    run = run_reference(COPY, [x, o, 5], (1,))
    assert o.tolist() == [0, 1, 2, 3, 4, 7, 7, 7]
    assert run.programs == 1 and run.wraps == ()


def test_an_unmasked_access_outside_is_an_error_with_place_and_program() -> None:
    x, o = np.arange(5, dtype=np.int32), np.zeros(8, np.int32)
    with pytest.raises(AhbmcError) as caught:
        run_reference(COPY, [x, o, 6], (1,), [(0, 0, 0)])
    (fault,) = caught.value.faults
    assert fault.message == "the load touches elements 0 to 5 of 'x', which has 5"
    assert fault.place is not None and fault.place.file == "k.mlir" and fault.place.line == 10
    assert fault.notes == ("in program (0, 0, 0)",)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(8, np.float32), "holds float32"),
        (np.zeros((8, 2), np.int32)[:, 0], "not contiguous"),
        (3, "pointer to i32, but got int"),
    ],
)
def test_an_argument_that_does_not_fit_its_parameter_is_refused(array: object, reason: str) -> None:
    with pytest.raises(AhbmcError, match=reason):
        run_reference(COPY, [array, np.zeros(8, np.int32), 5], (1,))


def test_the_number_of_arguments_must_be_that_of_the_parameters() -> None:
    with pytest.raises(AhbmcError, match="1 arguments for 3 parameters"):
        run_reference(COPY, [1], (1,))


GRID = kernel(
    "%o: !tl.ptr<i32>",
    """
  %x = tl.program_id {axis = 0 : i32}
  %y = tl.program_id {axis = 1 : i32}
  %nx = tl.num_programs {axis = 0 : i32}
  %row = arith.muli %y, %nx : i32
  %at = arith.addi %row, %x : i32
  %p = tl.addptr %o, %at : !tl.ptr<i32>, i32 -> !tl.ptr<i32>
  %v = tl.load %p : !tl.ptr<i32> -> i32
  %w = arith.addi %v, %at : i32
  tl.store %p, %w : !tl.ptr<i32>, i32
""",
)


def test_every_program_of_the_grid_runs_once() -> None:
    o = np.full(6, 100, np.int32)
    assert run_reference(GRID, [o], (3, 2)).programs == 6
    assert o.tolist() == [100, 101, 102, 103, 104, 105]


def test_only_the_programs_that_are_asked_for_run() -> None:
    o = np.zeros(6, np.int32)
    run_reference(GRID, [o], (3, 2), [(2, 1, 0)])
    assert o.tolist() == [0, 0, 0, 0, 0, 5]


def test_an_index_that_wraps_on_its_way_to_an_address_is_reported() -> None:
    """100000 * 100000 does not fit in i32; the product that only a value takes is nobody's concern."""
    module = kernel(
        "%o: !tl.ptr<i32>, %n: i32",
        """
  %square = arith.muli %n, %n : i32
  %zero = arith.constant 0 : i32
  %none = arith.muli %square, %zero : i32
  %value = arith.muli %n, %n : i32
  %p = tl.addptr %o, %none : !tl.ptr<i32>, i32 -> !tl.ptr<i32>
  tl.store %p, %value : !tl.ptr<i32>, i32
""",
    )
    o = np.zeros(1, np.int32)
    run = run_reference(module, [o, 100000], (1,))
    (fault,) = run.wraps
    assert "wraps in i32: the exact value is 10000000000" in fault.message
    assert fault.place is not None and fault.place.line == 3 and fault.hint == "cast an operand to tl.int64"
    assert int(o[0]) == 10**10 - 2 * 2**32 - (2**32 if 10**10 - 2 * 2**32 >= 2**31 else 0)
    assert run_reference(module, [o, 10], (1,)).wraps == ()


REGIONS = """
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %4 = arith.constant 4 : i64
  %6 = arith.constant 6 : i64
  %ra = ahbm.region %a[%0] sizes(%4, %6) strides(%k, %1) lo(%0, %0) hi(%4, %k)
    {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %b[%0] sizes(%6, %4) strides(%4, %1) lo(%0, %0) hi(%k, %4)
    {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %c[%0] sizes(%4, %4) strides(%4, %1) lo(%0, %0) hi(%4, %4)
    {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
"""
OPERANDS = "%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %c: !tl.ptr<f16>, %k: i64"


def _operands(k: int) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float16]], ...]:
    rng = np.random.default_rng(3)
    return (
        rng.normal(size=(4, k)).astype(np.float16),
        rng.normal(size=(k, 4)).astype(np.float16),
        np.zeros((4, 4), np.float16),
    )


@pytest.mark.parametrize("k", [1, 5, 6])
def test_a_gemm_of_regions_is_a_dot_of_their_blocks(k: int) -> None:
    """Lanes beyond K are zeros, so the product over six lanes is that over K."""
    ways = (
        "%p = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<4x4xf32>",
        """%x = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x6xf16>
           %y = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<6x4xf16>
           %p = tl.dot %x, %y : tensor<4x6xf16>, tensor<6x4xf16> -> tensor<4x4xf32>""",
        """%p = tl.composite(%ia = %ra : !ahbm.region<f16, 2>, %ib = %rb : !ahbm.region<f16, 2>) -> tensor<4x4xf32> {
             %q = tl.gemm %ia, %ib : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<4x4xf32>
             tl.yield %q : tensor<4x4xf32>
           }""",
    )
    for way in ways:
        module = kernel(
            OPERANDS,
            f"""{REGIONS}{way}
  %h = tl.cast %p : tensor<4x4xf32> -> tensor<4x4xf16>
  tl.store_region %rc, %h : !ahbm.region<f16, 2>, tensor<4x4xf16>""",
        )
        a, b, c = _operands(k)
        run_reference(module, [a, b, c, k], (1,))
        np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


def test_a_region_of_another_size_than_its_block_is_a_fault_of_the_ir() -> None:
    module = kernel(OPERANDS, REGIONS + "%x = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x8xf16>")
    with pytest.raises(AhbmcError) as caught:
        run_reference(module, [*_operands(6), 6], (1,))
    assert caught.value.faults[0].category is Category.INTERNAL


def test_a_dot_rounds_once_with_its_accumulator() -> None:
    """2048 + 1 + 1: rounded after the product and again after the sum, the ones would be lost in f16."""
    module = kernel(
        "%o: !tl.ptr<f16>",
        """
  %a = arith.constant dense<1.0> : tensor<1x2xf16>
  %b = arith.constant dense<1.0> : tensor<2x1xf16>
  %acc = arith.constant dense<2048.0> : tensor<1x1xf16>
  %d = tl.dot %a, %b acc(%acc) : tensor<1x2xf16>, tensor<2x1xf16> acc_type tensor<1x1xf16> -> tensor<1x1xf16>
  %r = tl.reduce "sum", %d {axis = 0 : i32} : tensor<1x1xf16> -> tensor<1xf16>
  %s = tl.reduce "sum", %r {axis = 0 : i32} : tensor<1xf16> -> f16
  tl.store %o, %s : !tl.ptr<f16>, f16
""",
    )
    o = np.zeros(1, np.float16)
    run_reference(module, [o], (1,))
    assert o[0] == 2050


def test_a_swap_of_blocks_and_pointers_in_a_loop() -> None:
    module = kernel(
        "%x: !tl.ptr<i32>, %y: !tl.ptr<i32>, %n: i32",
        """
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %p, %q = scf.for %i = %zero to %n step %one iter_args(%s = %x, %t = %y) -> (!tl.ptr<i32>, !tl.ptr<i32>) : i32 {
    tl.store %s, %i : !tl.ptr<i32>, i32
    scf.yield %t, %s : !tl.ptr<i32>, !tl.ptr<i32>
  }
""",
    )
    x, y = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run_reference(module, [x, y, 4], (1,))
    assert (int(x[0]), int(y[0])) == (2, 3)


def test_rows_of_minus_infinity_give_what_ieee_gives() -> None:
    """A fully masked row: its maximum is -inf, its exponentials NaN, and a guard makes zeros of them."""
    module = kernel(
        "%o: !tl.ptr<f32>",
        """
  %s = arith.constant dense<0xFF800000> : tensor<4xf32>
  %top = tl.reduce "max", %s {axis = 0 : i32} : tensor<4xf32> -> f32
  %tops = tl.splat %top : f32 -> tensor<4xf32>
  %d = arith.subf %s, %tops : tensor<4xf32>
  %e = math.exp %d : tensor<4xf32>
  %sum = tl.reduce "sum", %e {axis = 0 : i32} : tensor<4xf32> -> f32
  tl.store %o, %sum : !tl.ptr<f32>, f32
""",
    )
    o = np.zeros(1, np.float32)
    run_reference(module, [o], (1,))
    assert np.isnan(o[0])
