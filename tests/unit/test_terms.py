"""Terms: what is one number whatever its spelling, and what is not."""

from __future__ import annotations

import time

import pytest
from ahbmc.dialects.text import parse_module
from ahbmc.passes.analysis.terms import Ref, Terms
from support_tl_passes import function_of
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue


def terms_of(body: str, results: str, arguments: str) -> list[Ref]:
    """The terms of what a function of `arguments` returns."""
    text = f"func.func @f({arguments}) {{\n{body}\n  func.return {results}\n}}"
    block = function_of(parse_module(text, "terms.mlir")).body.block
    assert isinstance(block.last_op, ReturnOp)
    terms = Terms(block)
    values: list[SSAValue] = list(block.last_op.operands)
    return [terms.of(v) for v in values]


def pair(first: str, second: str, kind: str = "tensor<8xf32>") -> tuple[Ref, Ref]:
    """The terms %x of two bodies over %a, %b and %c, in one function."""
    body = first + "\n" + second.replace("%x", "%y").replace("%t", "%u")
    arguments = ", ".join(f"%{name}: {kind}" for name in "abc")
    x, y = terms_of(body, f"%x, %y : {kind}, {kind}", arguments)
    return x, y


T = "tensor<8xf32>"


def _where(predicate: str, left: str, right: str, then: str, other: str) -> str:
    """%x of two bodies: then where a comparison holds, else other."""
    return (
        f'%t = tl.cmp "{predicate}", {left}, {right} : {T}, {T} -> tensor<8xi1>\n'
        f"%x = tl.select %t, {then}, {other} : tensor<8xi1>, {T}, {T} -> {T}"
    )


SAME = {
    "sums in any order": (f"%t = arith.addf %a, %b : {T}\n%x = arith.addf %t, %c : {T}",
                          f"%t = arith.addf %c, %b : {T}\n%x = arith.addf %a, %t : {T}"),
    "a difference is a sum with a negative": (f"%x = arith.subf %a, %b : {T}",
                                              f"%t = arith.negf %b : {T}\n%x = arith.addf %t, %a : {T}"),
    "the negative of a difference": (f"%t = arith.subf %a, %b : {T}\n%x = arith.negf %t : {T}",
                                     f"%x = arith.subf %b, %a : {T}"),
    "products in any order": (f"%t = arith.mulf %a, %b : {T}\n%x = arith.mulf %t, %c : {T}",
                              f"%t = arith.mulf %b, %c : {T}\n%x = arith.mulf %a, %t : {T}"),
    "a maximum of three": (f"%t = arith.maxnumf %a, %b : {T}\n%x = arith.maxnumf %t, %c : {T}",
                           f"%t = arith.maxnumf %c, %a : {T}\n%x = arith.maxnumf %t, %b : {T}"),
    "a fused multiply and add": (f"%x = math.fma %a, %b, %c : {T}",
                                 f"%t = arith.mulf %a, %b : {T}\n%x = arith.addf %c, %t : {T}"),
    "a comparison the other way round": (_where("olt", "%a", "%b", "%a", "%c"), _where("ogt", "%b", "%a", "%a", "%c")),
    "a choice and its denial": (_where("oge", "%a", "%b", "%a", "%c"), _where("olt", "%a", "%b", "%c", "%a")),
    "a choice and the denied condition": (
        _where("ole", "%a", "%b", "%a", "%c"),
        f'%t = tl.cmp "ole", %a, %b : {T}, {T} -> tensor<8xi1>\n%true = arith.constant dense<true> : tensor<8xi1>\n'
        f"%n = arith.xori %t, %true : tensor<8xi1>\n"
        f"%x = tl.select %n, %c, %a : tensor<8xi1>, {T}, {T} -> {T}",
    ),
}  # fmt: skip
OTHER = {
    "two comparisons": (_where("olt", "%a", "%b", "%a", "%c"), _where("ogt", "%a", "%b", "%a", "%c")),
    "below, and not above": (_where("olt", "%a", "%b", "%a", "%c"), _where("ole", "%a", "%b", "%a", "%c")),
    "both branches exchanged": (_where("olt", "%a", "%b", "%a", "%c"), _where("olt", "%a", "%b", "%c", "%a")),
    "sum and product": (f"%x = arith.addf %a, %b : {T}", f"%x = arith.mulf %a, %b : {T}"),
    "a difference the other way": (f"%x = arith.subf %a, %b : {T}", f"%x = arith.subf %b, %a : {T}"),
    "two kinds of maximum": (f"%x = arith.maxnumf %a, %b : {T}", f"%x = arith.maximumf %a, %b : {T}"),
    "two exponentials": (f"%x = math.exp %a : {T}", f"%x = math.exp2 %a : {T}"),
    "twice an addend": (f"%x = arith.addf %a, %a : {T}", f"%x = arith.addf %a, %b : {T}"),
}


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME.keys())
def test_one_term_in_two_spellings(first: str, second: str) -> None:
    x, y = pair(first, second)
    assert x == y


@pytest.mark.parametrize(("first", "second"), OTHER.values(), ids=OTHER.keys())
def test_two_terms(first: str, second: str) -> None:
    x, y = pair(first, second)
    assert x != y


def test_new_axes_and_broadcasts_vanish_but_the_axis_counts() -> None:
    body = """
    %r = tl.expand_dims %a {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
    %e = math.exp %r : tensor<8x1xf32>
    %x = tl.broadcast %e : tensor<8x1xf32> -> tensor<8x8xf32>
    %f = math.exp %a : tensor<8xf32>
    %s = tl.expand_dims %f {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
    %y = tl.broadcast %s : tensor<8x1xf32> -> tensor<8x8xf32>
    %t = tl.expand_dims %f {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>
    %z = tl.broadcast %t : tensor<1x8xf32> -> tensor<8x8xf32>
    """
    kind = "tensor<8x8xf32>"
    x, y, z = terms_of(body, f"%x, %y, %z : {kind}, {kind}, {kind}", "%a: tensor<8xf32>")
    assert x == y == Ref(x.term, (0,))
    assert z == Ref(x.term, (1,))


def test_a_reduction_along_each_axis_is_a_term_of_its_own() -> None:
    body = """
    %x = tl.reduce "sum", %a {axis = 0 : i32} : tensor<8x8xf32> -> tensor<8xf32>
    %t = tl.trans %a {order = array<i64: 1, 0>} : tensor<8x8xf32> -> tensor<8x8xf32>
    %y = tl.reduce "sum", %t {axis = 1 : i32} : tensor<8x8xf32> -> tensor<8xf32>
    %z = tl.reduce "sum", %a {axis = 1 : i32} : tensor<8x8xf32> -> tensor<8xf32>
    """
    x, y, z = terms_of(body, f"%x, %y, %z : {T}, {T}, {T}", "%a: tensor<8x8xf32>")
    assert x != z
    assert y.axes == z.axes == (0,)


def test_a_dot_with_an_accumulator_is_a_sum() -> None:
    kind = "tensor<8x8xf32>"
    body = f"""
    %x = tl.dot %a, %b acc(%c) : {kind}, {kind} acc_type {kind} -> {kind}
    %d = tl.dot %a, %b : {kind}, {kind} -> {kind}
    %y = arith.addf %c, %d : {kind}
    """
    x, y = terms_of(body, f"%x, %y : {kind}, {kind}", f"%a: {kind}, %b: {kind}, %c: {kind}")
    assert x == y


def test_a_chain_of_thousands_of_sums_is_neither_slow_nor_too_deep() -> None:
    lines = [f"%x0 = arith.addf %a, %a : {T}", *(f"%x{n} = arith.addf %x{n - 1}, %a : {T}" for n in range(1, 3000))]
    text = "\n".join(lines)
    started = time.process_time()
    (last,) = terms_of(text, f"%x2999 : {T}", f"%a: {T}")
    assert last.axes == (0,)
    # Parsing takes nearly all of this; the square of the length would take many times as long.
    assert time.process_time() - started < 20


def test_a_quotient_by_a_sum_over_an_axis_is_a_product_with_its_reciprocal() -> None:
    body = """
  %s = tl.reduce "sum", %a {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %e = tl.expand_dims %s {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %b = tl.broadcast %e : tensor<4x1xf32> -> tensor<4x8xf32>
  %x = arith.divf %a, %b : tensor<4x8xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %r = arith.divf %one, %s : tensor<4xf32>
  %f = tl.expand_dims %r {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %c = tl.broadcast %f : tensor<4x1xf32> -> tensor<4x8xf32>
  %y = arith.mulf %a, %c : tensor<4x8xf32>"""
    x, y = terms_of(body, "%x, %y : tensor<4x8xf32>, tensor<4x8xf32>", "%a: tensor<4x8xf32>")
    assert x == y


@pytest.mark.parametrize(
    "line",
    [
        "%x = tl.reshape %t : tensor<4x1xf32> -> tensor<4xf32>",
        '%x = tl.reduce "sum", %t {axis = 1 : i32} : tensor<4x1xf32> -> tensor<4xf32>',
        '%x = tl.reduce "max", %t {axis = 1 : i32} : tensor<4x1xf32> -> tensor<4xf32>',
    ],
)
def test_an_axis_of_one_lane_may_go(line: str) -> None:
    body = f"""
  %e = math.exp %a : tensor<4xf32>
  %t = tl.expand_dims %e {{axis = 1 : i32}} : tensor<4xf32> -> tensor<4x1xf32>
  {line}"""
    x, e = terms_of(body, "%x, %e : tensor<4xf32>, tensor<4xf32>", "%a: tensor<4xf32>")
    assert x == e


def test_a_reshape_that_moves_lanes_is_a_leaf() -> None:
    body = """
  %e = math.exp %a : tensor<4x8xf32>
  %x = tl.reshape %e : tensor<4x8xf32> -> tensor<8x4xf32>"""
    x, e = terms_of(body, "%x, %e : tensor<8x4xf32>, tensor<4x8xf32>", "%a: tensor<4x8xf32>")
    assert x.term != e.term
