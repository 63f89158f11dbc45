"""The recipe table: what its rows must be, and what a row that is wrong ends in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ahbmc.dialects.ahbm.math import MATH_KINDS
from ahbmc.passes.recipes import RECIPES, SOFTMAX_MERGE, Row

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
    "row",
    [
        Row("no_such_kind", ("s",), "m_loc"),
        Row("max", ("m", "nothing"), "m_new"),
        Row("reduce_max", ("s",), "m_loc"),
        Row("max", ("m", "m_new"), "m_new", when=(("scale", "sideways"),)),
        Row("max", ("m", "l_loc"), "m_loc"),
    ],
    ids=["unknown kind", "unknown operand", "reduction without an axis", "unknown parameter", "read before written"],
)
def test_a_wrong_row_is_refused_when_the_table_is_built(row: Row) -> None:
    with pytest.raises(AssertionError):
        replace(SOFTMAX_MERGE, rows=(row, *SOFTMAX_MERGE.rows))


def test_the_manual_names_operands_parameters_and_rows() -> None:
    text = str(SOFTMAX_MERGE)
    for part in (
        "RW  running sum",
        "scale: before | after | inside",
        "fma(l, corr, l_loc)",
        "GEMM, which takes P as its a",
    ):
        assert part in text
