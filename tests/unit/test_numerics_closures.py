"""Compiled control flow: loops, branches and swaps give what Python gives, in slots."""

from __future__ import annotations

import pytest
from ahbmc.backend_sim.numerics.closures import Builder, Code, Step, compile_function
from ahbmc.dialects.errors import AhbmcError
from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import Builtin, IntegerAttr
from xdsl.ir import Operation
from xdsl.parser import Parser


def _binary(op: Operation, builder: Builder) -> Step:
    a, b = builder.slots(op.operands)
    out = builder.slot(op.results[0])
    sign = 1 if op.name == "arith.addi" else -1

    def step(slots: list[int]) -> None:
        slots[out] = slots[a] + sign * slots[b]

    return step


def _constant(op: Operation, builder: Builder) -> None:
    assert isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr)
    builder.constant(op.result, op.value.value.data)


def _less(op: Operation, builder: Builder) -> Step:
    a, b = builder.slots(op.operands)
    out = builder.slot(op.results[0])

    def step(slots: list[int]) -> None:
        slots[out] = slots[a] < slots[b]

    return step


HANDLERS = {"arith.addi": _binary, "arith.subi": _binary, "arith.constant": _constant, "arith.cmpi": _less}


def _compile(text: str) -> Code:
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, scf.Scf):
        context.load_dialect(dialect)
    function = next(op for op in Parser(context, text).parse_module().ops if isinstance(op, func.FuncOp))
    return compile_function(function, HANDLERS)


def _results(code: Code, *arguments: int) -> list[int]:
    slots = code.frame(arguments)
    code.run(slots)
    return [slots[i] for i in code.results]


FIBONACCI = """
func.func @f(%n: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a, %b = scf.for %i = %zero to %n step %one iter_args(%x = %zero, %y = %one) -> (i32, i32) : i32 {
    %z = arith.addi %x, %y : i32
    scf.yield %y, %z : i32, i32
  }
  func.return %a, %b : i32, i32
}
"""


@pytest.mark.parametrize(("n", "expected"), [(0, [0, 1]), (1, [1, 1]), (10, [55, 89])])
def test_a_loop_swaps_what_it_carries_all_at_once(n: int, expected: list[int]) -> None:
    assert _results(_compile(FIBONACCI), n) == expected


def test_frames_of_one_code_do_not_share_state() -> None:
    code = _compile(FIBONACCI)
    assert [_results(code, n)[0] for n in (10, 3, 10)] == [55, 2, 55]


NESTED = """
func.func @f(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %zero) -> (i32) : i32 {
    %s = scf.for %j = %zero to %i step %one iter_args(%y = %x) -> (i32) : i32 {
      %big = arith.cmpi slt, %one, %j : i32
      %w = scf.if %big -> (i32) {
        %p = arith.addi %y, %j : i32
        scf.yield %p : i32
      } else {
        scf.yield %y : i32
      }
      scf.yield %w : i32
    }
    scf.yield %s : i32
  }
  func.return %r : i32
}
"""


def test_an_inner_loop_starts_from_what_the_outer_one_carries() -> None:
    expected = sum(j for i in range(7) for j in range(i) if j > 1)
    assert _results(_compile(NESTED), 7) == [expected]


WHILE = """
func.func @f(%n: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %one = arith.constant 1 : i32
  %x, %steps = scf.while (%a = %zero, %c = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %a, %n : i32
    scf.condition(%more) %a, %c : i32, i32
  } do {
  ^bb0(%b: i32, %d: i32):
    %e = arith.addi %b, %three : i32
    %f = arith.addi %d, %one : i32
    scf.yield %e, %f : i32, i32
  }
  func.return %x, %steps : i32, i32
}
"""


@pytest.mark.parametrize(("n", "expected"), [(0, [0, 0]), (10, [12, 4])])
def test_a_while_loop_passes_values_through_its_condition(n: int, expected: list[int]) -> None:
    assert _results(_compile(WHILE), n) == expected


def test_a_branch_without_else_runs_only_when_taken() -> None:
    text = """
    func.func @f(%c: i1) -> i32 {
      %one = arith.constant 1 : i32
      scf.if %c {
        %p = arith.addi %one, %one : i32
        scf.yield
      }
      func.return %one : i32
    }
    """
    code = _compile(text)
    steps_run = [len(code.blocks[at].steps) for at in range(len(code.blocks))]
    assert sum(steps_run) == 1
    assert _results(code, 0) == [1] and _results(code, 1) == [1]


def test_an_op_without_a_handler_is_refused_by_name() -> None:
    with pytest.raises(AhbmcError, match=r"'arith.muli' has no values here"):
        _compile("func.func @f(%a: i32) -> i32 { %b = arith.muli %a, %a : i32  func.return %b : i32 }")
