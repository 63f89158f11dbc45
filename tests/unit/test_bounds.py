"""Bounds of scalars from constants and facts of the launch."""

from __future__ import annotations

import pytest
from ahbmc.dialects.text import parse_module
from ahbmc.passes.analysis.bounds import Bounds, bounds_of

HEAD = """
func.func @f(%k: i32 {ahbm.value = 520 : i32}, %free: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %pid = tl.program_id {axis = 0 : i32}
"""


@pytest.mark.parametrize(
    ("ops", "low", "high"),
    [
        ("%r = arith.addi %k, %c64 : i32", 584, 584),
        ("%r = arith.subi %k, %c64 : i32", 456, 456),
        ("%r = arith.ceildivsi %k, %c64 : i32", 9, 9),
        ("%r = arith.divsi %k, %c64 : i32", 8, 8),
        ("%r = arith.remsi %k, %c64 : i32", 8, 8),
        ("%r = arith.remsi %pid, %c64 : i32", 0, 63),
        ("%r = arith.muli %pid, %c64 : i32", 0, None),
        ("%r = arith.minsi %free, %k : i32", None, 520),
        ("%r = arith.maxsi %free, %k : i32", 520, None),
        ("%s = arith.subi %k, %pid : i32\n%m = arith.maxsi %s, %c0 : i32\n%r = arith.minsi %m, %c64 : i32", 0, 64),
        ("%r = tl.cast %k : i32 -> i64", 520, 520),
        ("%r = arith.muli %free, %c64 : i32", None, None),
        ("%b = arith.cmpi slt, %pid, %k : i32\n%r = arith.select %b, %k, %c64 : i32", 64, 520),
        ("%r = tl.num_programs {axis = 1 : i32}", 1, None),
    ],
)
def test_bounds(ops: str, low: int | None, high: int | None) -> None:
    """What is known of the last result: argument %k is 520 in this launch, %free is not known."""
    module = parse_module(HEAD + ops + "\nfunc.return\n}", "text")
    result = next(v for op in module.walk() for v in op.results if v.name_hint == "r")
    assert bounds_of(result) == Bounds(low, high)


def test_induction_variable() -> None:
    """It runs from the lower bound to one below the upper one."""
    text = HEAD + "scf.for %i = %c1 to %k step %c1 : i32 {\n%r = arith.addi %i, %c0 : i32\n}\nfunc.return\n}"
    result = next(v for op in parse_module(text, "text").walk() for v in op.results if v.name_hint == "r")
    assert bounds_of(result) == Bounds(1, 519)
