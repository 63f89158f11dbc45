"""The recipe table: what its rows must be, and what a row that is wrong ends in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ahbmc.dialects import ahbm
from ahbmc.dialects.ahbm.math import MATH_KINDS
from ahbmc.dialects.text import parse_module
from ahbmc.passes import run_pipeline
from ahbmc.passes.recipe import Operand, Row, Scratch, WrongRecipe
from ahbmc.passes.recipes import RECIPES, SOFTMAX_MERGE, SWIGLU_GATE

PLAIN = {"base": "2", "scale": "before", "guard": "none"}


def test_every_row_of_every_choice_is_a_math_op_that_reads_what_was_written_before() -> None:
    for recipe in RECIPES.values():
        for params in recipe.every_choice():
            rows = recipe.rows_for(params)
            assert {row.kind for row in rows} <= MATH_KINDS
            assert {row.out for row in rows} >= set(recipe.outputs(params))
            scratch = {s.name for s in recipe.scratch_for(params)}
            assert {row.out for row in rows} <= scratch | set(recipe.outputs(params))


def test_the_plain_softmax_merge_is_eight_ops_on_m_l_and_o() -> None:
    rows = SOFTMAX_MERGE.rows_for(PLAIN)
    assert [row.kind for row in rows] == [
        "reduce_max",
        "max",
        "exp2_diff",
        "exp2_diff",
        "reduce_sum",
        "fma",
        "mul",
        "copy",
    ]
    assert SOFTMAX_MERGE.outputs(PLAIN) == ("m", "l", "O", "P")
    assert SOFTMAX_MERGE.inputs(PLAIN) == ("s", "m", "l", "O")


def test_parameters_change_rows_and_operands() -> None:
    assert {row.kind for row in SOFTMAX_MERGE.rows_for({**PLAIN, "base": "e"})} >= {"exp_diff"}
    for scale in ("after", "inside"):
        params = {**PLAIN, "scale": scale}
        assert SOFTMAX_MERGE.inputs(params)[-1] == "scale"
        assert any("scale" in row.operands for row in SOFTMAX_MERGE.rows_for(params))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row("no_such_kind", ("s",), "m_loc"), "there is no MATH op 'no_such_kind'"),
        (Row("max", ("m", "nothing"), "m_new"), "nothing is no operand, primary or scratch"),
        (Row("max", ("m",), "m_new"), "max takes 2 operands"),
        (Row("reduce_max", ("s",), "m_loc"), r"s is \[M, N\], m_loc is \[M\]; `axis` must be"),
        (Row("mul", ("s", "m"), "scaled", axis=0), r"m is \[M\], scaled is \[M, N\]; `axis` must be"),
        (
            Row("max", ("m", "m_new"), "m_new", when=(("scale", "sideways"),)),
            r"is for scale = sideways; scale is before \| after \| inside",
        ),
        (Row("max", ("m", "m"), "m_new", when=(("sclae", "after"),)), "parameters: base, scale, guard, mask, products"),
        (Row("max", ("m", "l_loc"), "m_loc"), "reads l_loc, which no row before it has written"),
        (Row("neg", ("s",), "s"), r"a row writes s, an operand that is only read \(R\)"),
        (Row("{nothing}", ("s",), "P"), "`words` has nothing for {nothing}"),
    ],
)
def test_a_wrong_row_is_refused_when_the_table_is_built(row: Row, message: str) -> None:
    with pytest.raises(WrongRecipe, match=message):
        replace(SOFTMAX_MERGE, rows=(row, *SOFTMAX_MERGE.rows))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"place": "tiles"}, "there is no place 'tiles'; places: before, tile, after"),
        ({"tile": None}, "`tile` must name the operand that the GEMM makes, one of t, u"),
        ({"place": "before"}, "leave `tile` out"),
        ({"primary": None}, "rows at 'tile' need a primary output"),
        ({"name": "swiglu gate"}, "the name must be one word"),
        ({"name": 3}, "the name must be one word"),
        ({"name": "exp"}, "a MATH op has this name"),
        ({"parameters": {"product": ()}}, "a parameter has no values"),
        ({"operands": (replace(SWIGLU_GATE.operands[0], access="W"),)}, "access of 't' is 'W'; allowed: R, RW"),
        ({"scratch": (Scratch("g", ("M", "N"), "f31"),)}, "element of 'g' is 'f31'; allowed: b, f32, i1, t, u, y"),
        ({"accumulator": "u"}, "'u' is no operand with RW"),
        ({"scratch": (*SWIGLU_GATE.scratch, Scratch("t", ("M", "N"), "f32"))}, "t stands twice"),
        (
            {"operands": (*SWIGLU_GATE.operands, Operand("c", "R", (), "factor"))},
            "no row reads operand c under product = gate; `when` of an Operand says",
        ),
        ({"rows": (*SWIGLU_GATE.rows[:-1], replace(SWIGLU_GATE.rows[-1], out="g"))}, "no row writes y"),
        ({"rows": (*SWIGLU_GATE.rows, SWIGLU_GATE.rows[0])}, "on tiles the last row, and no other, writes y"),
    ],
)
def test_wrong_parts_are_refused_when_the_table_is_built(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongRecipe, match=message):
        replace(SWIGLU_GATE, **changes)


def test_the_manual_names_operands_parameters_and_rows() -> None:
    text = str(SOFTMAX_MERGE)
    for part in (
        "RW  running sum",
        "scale: before | after | inside",
        "fma(l, corr, l_loc)",
        "GEMM, which takes P as its a",
    ):
        assert part in text


FRAME, GEMM, WRITE = 4 + 2, 3 + 2 * 8 + 8 + 1 + 3 * 4, 8
BYTES = {
    # Of each row: 3, its operands (a handle 8, a number 4, the running tile nothing), its out 8, 1, an axis 4.
    'linear_gelu", output_tile, [-1], 2, {form = "erf", ': FRAME + GEMM + (4 + 8 + 16 + 8 + 4 * 12) + WRITE,
    'linear_gelu", output_tile, [-1], 2, {form = "tanh", ': FRAME + GEMM + (0 + 16 + 8 + 8 + 16 + 8 + 6 * 12) + WRITE,
    'swiglu_gate", output_tile, [-1, 3], 2, {product = "gate", ': FRAME + GEMM + (0 + 8 + 12 + 8 + 16 + 5 * 12) + WRITE,
    'log_sum_exp", once, [3, 4, 5], 5, {base = "e", ': FRAME
    + GEMM
    + (8 + 16 + 16 + 16 + 8 + 24 + 8 + 7 * 12 + 3 * 4)
    + 3 * WRITE,
}


@pytest.mark.parametrize("spec", BYTES)
def test_the_bytes_of_a_composite_are_those_of_its_rows(spec: str) -> None:
    """Counted by hand, rule by rule."""
    blocks = "".join(f"%{name} = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>\n" for name in ("y", "s"))
    blocks += "".join(f"%{name} = ahbm.alloc : !ahbm.buffer<32xf32, tcm>\n" for name in ("m", "l"))
    region, block, row = "!ahbm.region<f16, 2>", "!ahbm.buffer<32x64xf32, tcm>", "!ahbm.buffer<32xf32, tcm>"
    writes = "2, 4, 5" if "log_sum" in spec else "2"
    text = (
        f"func.func @f(%a: {region}, %b: {region}, %n: i64) {{\n{blocks}"
        f"ahbm.composite(%a, %b, %y, %s, %m, %l : {region}, {region}, {block}, {block}, {row}, {row}) "
        f'extents(%n, %n, %n) {{specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, '
        f'#ahbm.spec<"{spec}tile = tensor<32x64xf32>}}>], writes = array<i64: {writes}>}} plan {{\n}}\nfunc.return\n}}'
    )
    module = parse_module(text, "bytes.mlir")
    run_pipeline(module, "expand-recipes")
    (composite,) = [op for op in module.walk() if isinstance(op, ahbm.CompositeOp)]
    assert composite.logical_bytes == BYTES[spec]
