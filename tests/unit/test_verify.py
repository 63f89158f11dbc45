"""The verifier: every fault once, at the place of its op, and values used where they are not visible."""

from __future__ import annotations

import pytest
from ahbmc.dialects.errors import AhbmcError, Category, Place
from ahbmc.dialects.text import parse_module
from ahbmc.dialects.verify import verify
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i1, i32
from xdsl.dialects.scf import IfOp
from xdsl.ir import Block, Region


def faults(text: str) -> list[tuple[int, str]]:
    """Line and message of every fault of a module."""
    with pytest.raises(AhbmcError) as caught:
        verify(parse_module(text, "m.mlir"))
    assert all(f.category is Category.INVALID_IR for f in caught.value.faults)
    return [(f.place.line if f.place else 0, f.message) for f in caught.value.faults]


def test_valid_ir_passes() -> None:
    """Nothing is raised."""
    verify(parse_module("func.func @f(%x: i32) -> i32 { func.return %x : i32 }", "m.mlir"))


def test_every_independent_fault_is_reported_once() -> None:
    """Two bad ops, two faults, each with its own line."""
    text = "tl.cycles {cycles = -1 : i64}\ntl.cycles {cycles = 1 : i64}\ntl.cycles {cycles = -2 : i64}\n"
    assert faults(text) == [(1, "'tl.cycles': -1 cycles"), (3, "'tl.cycles': -2 cycles")]


def test_the_place_is_the_location_of_the_op() -> None:
    """An op that came from kernel text is shown there, not in the text of the IR."""
    module = parse_module('tl.cycles {cycles = -1 : i64} loc("k.py":7:5)', "m.mlir")
    with pytest.raises(AhbmcError) as caught:
        verify(module)
    assert caught.value.faults[0].place == Place("k.py", 7, 5)


def test_a_value_used_before_it_is_defined() -> None:
    """xDSL's own verifier accepts this."""
    text = "%a = arith.addi %b, %b : i32\n%b = arith.constant 1 : i32\n"
    assert faults(text)[0] == (1, "'arith.addi': operand 0 (%b) is used where its value is not defined")


def test_a_value_used_after_its_region_has_ended() -> None:
    """A value of one branch is not there in the next op, though the text reads as if it were."""
    text = """
    func.func @f(%c: i1) {
      scf.if %c {
        %x = arith.constant 1 : i32
        scf.yield
      }
      %y = arith.addi %x, %x : i32
      func.return
    }"""
    with pytest.raises(AhbmcError) as caught:
        verify(parse_module(text, "m.mlir"))
    assert "%x" in str(caught.value)


def test_a_value_of_the_sibling_region() -> None:
    """Built rather than read, since the reader has scopes of its own."""
    inner = test.TestOp(result_types=[i32])
    user = test.TestOp(operands=[inner.res[0]])
    module = ModuleOp([test.TestOp(regions=[Region(Block([inner]))]), test.TestOp(regions=[Region(Block([user]))])])
    with pytest.raises(AhbmcError, match="operand 0 is used where its value is not defined"):
        verify(module)


def test_a_value_from_outside_an_isolated_region() -> None:
    """A function sees nothing of the module around it."""
    text = "%a = arith.constant 1 : i32\nfunc.func @f() -> i32 {\n  func.return %a : i32\n}\n"
    with pytest.raises(AhbmcError):
        verify(parse_module(text, "m.mlir"))


def test_an_empty_block_where_a_terminator_is_needed() -> None:
    """The fault names the op that holds the block."""
    condition = test.TestOp(result_types=[i1])
    broken = IfOp(condition.res[0], [], Region(Block()), Region())
    for op in list(broken.true_region.block.ops):
        op.detach()
    with pytest.raises(AhbmcError, match="an empty block where at least a terminator is needed"):
        verify(ModuleOp([condition, broken]))
