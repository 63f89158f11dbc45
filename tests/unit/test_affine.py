"""Polynomials, the affine analysis, and regions read back from what was written of them."""

from __future__ import annotations

import time
from typing import TypeVar

import pytest
from ahbmc.dialects import tl
from ahbmc.dialects.region import RegionOp
from ahbmc.dialects.text import parse_module
from ahbmc.dialects.verify import verify
from ahbmc.passes import run_pipeline
from ahbmc.passes.analysis.affine import Affine, AffineAnalysis
from ahbmc.passes.analysis.masks import box_of
from ahbmc.passes.analysis.materialise import Materialiser
from ahbmc.passes.analysis.poly import ONE, ZERO, Poly, Positive, Symbols
from ahbmc.passes.analysis.region_form import Axis, Fold, RegionForm, read, write
from support_tl_passes import function_of
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue


def analysed(text: str) -> tuple[ModuleOp, AffineAnalysis]:
    module = parse_module(text, "affine.mlir")
    verify(module)
    return module, AffineAnalysis(function_of(module))


def stored(module: ModuleOp) -> list[SSAValue]:
    """The values that the function stores, in order."""
    return [op.value for op in module.walk() if isinstance(op, tl.StoreOp)]


OpT = TypeVar("OpT", bound=Operation)


def sole(module: ModuleOp, kind: type[OpT]) -> OpT:
    found = [op for op in module.walk() if isinstance(op, kind)]
    assert len(found) == 1
    return found[0]


# --- polynomials ---


def test_sums_and_products_cancel_and_are_equal_in_any_order() -> None:
    x, y, two = Poly.symbol(0), Poly.symbol(1), Poly.of(2)
    assert (x + y) * (x - y) == x * x - y * y
    assert x - x == ZERO
    assert hash(two * x * y) == hash(y * two * x)
    assert (two * two - Poly.of(4)).constant == 0
    assert (x * two).constant is None


def test_a_polynomial_is_split_by_a_symbol_unless_it_occurs_squared() -> None:
    x, t = Poly.symbol(0), Poly.symbol(7)
    assert (x * t + t * Poly.of(3) + x).split(7) == (x, x + Poly.of(3))
    assert (t * t).split(7) is None


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        ("div", -7, 2, -3),
        ("rem", -7, 2, -1),
        ("floor", -7, 2, -4),
        ("div", 7, 2, 3),
        ("rem", 7, 2, 1),
        ("floor", 8, 4, 2),
    ],
)
def test_known_quotients_round_as_their_kind_says(kind: str, a: int, b: int, expected: int) -> None:
    assert kind in ("div", "rem", "floor")
    assert Symbols().quotient(kind, Poly.of(a), Poly.of(b)).constant == expected


def test_the_values_inside_of_a_quotient_are_found() -> None:
    module, analysis = analysed("func.func @f(%n: i32, %m: i32) {\n  func.return\n}")
    n, m = function_of(module).body.block.args
    inner = analysis.symbols.quotient("div", analysis.poly(n), analysis.poly(m))
    assert list(analysis.symbols.leaves(inner)) in ([n, m], [m, n])


# --- values ---


def test_lanes_of_a_block_of_pointers() -> None:
    """`p + (r[:, None] * stride + c[None, :] + 5)` over 4 x 8 lanes."""
    module, analysis = analysed("""
    func.func @f(%p: !tl.ptr<f32>, %stride: i32) {
      %r = tl.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
      %c = tl.make_range {start = 2 : i32, end = 10 : i32} : tensor<8xi32>
      %r1 = tl.expand_dims %r {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
      %s = tl.splat %stride : i32 -> tensor<4x1xi32>
      %rs = arith.muli %r1, %s : tensor<4x1xi32>
      %c1 = tl.expand_dims %c {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
      %a = tl.broadcast %rs : tensor<4x1xi32> -> tensor<4x8xi32>
      %b = tl.broadcast %c1 : tensor<1x8xi32> -> tensor<4x8xi32>
      %o = arith.addi %a, %b : tensor<4x8xi32>
      %base = tl.splat %p : !tl.ptr<f32> -> tensor<4x8x!tl.ptr<f32>>
      %at = tl.addptr %base, %o : tensor<4x8x!tl.ptr<f32>>, tensor<4x8xi32> -> tensor<4x8x!tl.ptr<f32>>
      %x = tl.load %at : tensor<4x8x!tl.ptr<f32>> -> tensor<4x8xf32>
      func.return
    }
    """)
    p, stride = function_of(module).body.block.args
    known = analysis.of(sole(module, tl.LoadOp).pointer)
    assert known == Affine((4, 8), Poly.of(2), (analysis.poly(stride), ONE), base=p)


LOOP = """
func.func @f(%p: !tl.ptr<i32>, %n: i32, %k: i32, %a: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %end = scf.for %t = %c0 to %n step %c1 iter_args(%x = %a) -> (i32) : i32 {{
    tl.store %p, %x : !tl.ptr<i32>, i32
{body}
    scf.yield %y : i32
  }}
  tl.store %p, %end : !tl.ptr<i32>, i32
  func.return
}}
"""


def test_a_carried_number_is_its_start_plus_the_iterations_and_after_the_loop_all_of_them() -> None:
    module, analysis = analysed(LOOP.format(body="    %u = arith.addi %k, %x : i32\n    %y = arith.subi %u, %c3 : i32"))
    _, n, k, a = function_of(module).body.block.args
    t = sole(module, scf.ForOp).body.block.args[0]
    inside, after = (analysis.poly(v) for v in stored(module))
    step = analysis.poly(k) - Poly.of(3)
    assert inside == analysis.poly(a) + analysis.poly(t) * step
    assert after == analysis.poly(a) + analysis.symbols.poly(Positive(analysis.poly(n))) * step


@pytest.mark.parametrize(
    "body",
    [
        "    %y = arith.addi %x, %t : i32",
        "    %y = arith.muli %x, %c3 : i32",
        "    %u = tl.load %p : !tl.ptr<i32> -> i32\n    %y = arith.addi %x, %u : i32",
        "    %y = arith.subi %k, %x : i32",
    ],
    ids=["grows by the counter", "is multiplied", "grows by what memory holds", "turns its sign"],
)
def test_a_carried_number_that_grows_otherwise_is_known_by_its_name_only(body: str) -> None:
    module, analysis = analysed(LOOP.format(body=body))
    loop = sole(module, scf.ForOp)
    inside, after = (analysis.poly(v) for v in stored(module))
    assert inside == analysis.symbols.poly(loop.body.block.args[1])
    assert after == analysis.symbols.poly(loop.results[0])


def test_what_is_defined_in_a_loop_is_not_invariant_in_it() -> None:
    module, analysis = analysed(
        LOOP.format(body="    %u = tl.load %p : !tl.ptr<i32> -> i32\n    %y = arith.addi %x, %u : i32")
    )
    loop, load = sole(module, scf.ForOp), sole(module, tl.LoadOp)
    n = function_of(module).body.block.args[1]
    assert analysis.is_invariant(analysis.poly(n), loop)
    assert not analysis.is_invariant(analysis.poly(n) * analysis.poly(load.result), loop)
    hidden = analysis.symbols.quotient("rem", analysis.poly(load.result), analysis.poly(n))
    assert not analysis.is_invariant(hidden, loop)


def test_a_start_that_may_be_negative_is_not_folded() -> None:
    """`(lanes - 1) % n` truncates below 0, a folded axis rounds down: the block itself stays the index."""
    text = """
    func.func @f(%n: i32) {{
      %r = tl.make_range {{start = {start} : i32, end = {end} : i32}} : tensor<8xi32>
      %w = tl.splat %n : i32 -> tensor<8xi32>
      %m = arith.remsi %r, %w : tensor<8xi32>
      func.return
    }}
    """
    kinds: list[str] = []
    for start in (-1, 1):
        module, analysis = analysed(text.format(start=start, end=start + 8))
        known = analysis.of(next(op for op in module.walk() if op.name == "arith.remsi").results[0])
        assert known is not None
        kinds += [term.kind for term in known.terms]
    assert kinds == ["index", "rem"]


def test_a_mask_gives_bounds_flags_and_reasons() -> None:
    module, analysis = analysed("""
    func.func @f(%n: i32, %flag: i1, %other: tensor<8xi1>) {
      %r = tl.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
      %w = tl.splat %n : i32 -> tensor<8xi32>
      %c3 = arith.constant dense<3> : tensor<8xi32>
      %a = tl.cmp "sgt", %w, %r : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
      %b = tl.cmp "sge", %r, %c3 : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
      %f = tl.splat %flag : i1 -> tensor<8xi1>
      %ab = arith.andi %a, %b : tensor<8xi1>
      %abf = arith.andi %f, %ab : tensor<8xi1>
      %all = arith.andi %abf, %other : tensor<8xi1>
      func.return
    }
    """)
    n, flag, _ = function_of(module).body.block.args
    box = box_of([op for op in module.walk() if op.name == "arith.andi"][-1].results[0], analysis)
    assert box.uppers == [[analysis.poly(n)]]
    assert box.lowers == [[Poly.of(3)]]
    assert box.flags == [flag]
    assert box.rest == ["a mask that is no comparison"]


# --- regions ---


def test_a_region_that_was_written_is_read_back_as_it_was() -> None:
    module, _ = analysed("""
    func.func @f(%p: !tl.ptr<f16>, %n: i64, %s: i64, %flag: i1, %rows: tensor<4xi32>) {
      func.return
    }
    """)
    function = function_of(module)
    p, n_arg, s_arg, flag, rows = function.body.block.args
    analysis = AffineAnalysis(function)
    n, s = analysis.poly(n_arg), analysis.poly(s_arg)
    form = RegionForm(
        p,
        n * s + Poly.of(3),
        (
            Axis(Poly.of(8), s, lowers=(ONE, n), uppers=(n, s - n), fold=Fold(n, s, Poly.of(2))),
            Axis(Poly.of(4), ONE, index=rows),
            Axis(n, ZERO, uppers=(s,)),
        ),
        flags=(flag, n - s),
    )
    end = function.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    write(form, Materialiser(analysis.symbols, end))
    again = AffineAnalysis(function)
    # The second analysis numbers its symbols anew, so both forms are written in its terms.
    back = read(sole(module, RegionOp), again)
    assert back == _renumbered(form, analysis, again)
    verify(module)


def _renumbered(form: RegionForm, old: AffineAnalysis, new: AffineAnalysis) -> RegionForm:
    def poly(p: Poly) -> Poly:
        total = ZERO
        for monomial, c in p.terms.items():
            product = Poly.of(c)
            for number in monomial:
                meaning = old.symbols.meanings[number]
                assert isinstance(meaning, SSAValue)
                product *= new.poly(meaning)
            total += product
        return total

    axes = tuple(
        Axis(
            poly(a.size),
            poly(a.stride),
            tuple(poly(p) for p in a.lowers),
            tuple(poly(p) for p in a.uppers),
            Fold(poly(a.fold.start), poly(a.fold.width), poly(a.fold.stride)) if a.fold else None,
            a.index,
        )
        for a in form.axes
    )
    flags = tuple(poly(f) if isinstance(f, Poly) else f for f in form.flags)
    return RegionForm(form.base, poly(form.offset), axes, flags, form.pad)


def test_1500_unrolled_increments_are_followed_without_recursion_in_linear_time() -> None:
    steps = "\n".join(
        f"  %x{n} = tl.addptr %x{n - 1}, %by : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>"
        for n in range(1, 1501)
    )
    module, _ = analysed(f"""
    func.func @f(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %n: i32) {{
      %r = tl.make_range {{start = 0 : i32, end = 8 : i32}} : tensor<8xi32>
      %by = tl.splat %n : i32 -> tensor<8xi32>
      %b = tl.splat %p : !tl.ptr<f32> -> tensor<8x!tl.ptr<f32>>
      %x0 = tl.addptr %b, %r : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
    {steps}
      %v = tl.load %x1500 : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
      func.return
    }}
    """)
    started = time.process_time()
    analysis = AffineAnalysis(function_of(module))
    n = function_of(module).body.block.args[2]
    known = analysis.of(sole(module, tl.LoadOp).pointer)
    assert known is not None
    assert known.const == Poly.of(1500) * analysis.poly(n)
    assert time.process_time() - started < 2  # tens of milliseconds; the square of it would be minutes
    run_pipeline(module, "raise-regions", verify=False)
    assert sole(module, RegionOp).axis_kinds == ("affine",)
