"""Live ranges of values, in instants: op number p reads at 2p and writes at 2p + 1."""

from __future__ import annotations

from collections.abc import Iterator

from ahbmc.dialects.text import parse_module
from ahbmc.passes.analysis.liveness import Liveness, live_ranges, overlap, union
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue


class Blocks:
    """All blocks are kept; an op reads its operands before it writes."""

    def tracked(self, value: SSAValue) -> bool:
        return isinstance(value.type, TensorType)

    def read(self, op: Operation) -> Iterator[tuple[SSAValue, bool]]:
        yield from ((v, False) for v in op.operands if self.tracked(v))


def _ranges(body: str) -> tuple[Liveness, dict[str, list[tuple[int, int]]]]:
    text = f"func.func @f(%n: index, %c: i1, %x: tensor<8xf32>) {{\n{body}\nfunc.return\n}}"
    module = parse_module(text, "text")
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    found = live_ranges(function.body, Blocks())
    return found, {v.name_hint or "?": r for v, r in found.ranges.items()}


def test_a_value_lives_from_its_op_to_its_last_user() -> None:
    """%a is written by op 2 and read by ops 3 and 4, %b by op 4 only; an unused value lives for an instant."""
    _, ranges = _ranges(
        "%a = math.exp %x : tensor<8xf32>\n%b = math.exp %a : tensor<8xf32>\n%d = arith.addf %a, %b : tensor<8xf32>"
    )
    assert ranges == {"x": [(3, 4)], "a": [(5, 8)], "b": [(7, 8)], "d": [(9, 9)]}


def test_the_writer_may_take_the_place_of_what_it_reads_last() -> None:
    """%a ends at the read of op 3, %b starts at its write."""
    _, ranges = _ranges("%a = math.exp %x : tensor<8xf32>\n%b = math.exp %a : tensor<8xf32>")
    assert not overlap(ranges["a"], ranges["b"])


LOOP = """
%a = math.exp %x : tensor<8xf32>
%z = math.exp %x : tensor<8xf32>
%r = scf.for %i = %n to %n step %n iter_args(%s = %z) -> (tensor<8xf32>) {
  %t = arith.addf %s, %a : tensor<8xf32>
  %u = math.exp %t : tensor<8xf32>
  scf.yield %u : tensor<8xf32>
}
%e = math.exp %r : tensor<8xf32>
"""


def test_what_a_loop_takes_from_outside_lives_to_its_end() -> None:
    """The next iteration reads %a again; what an iteration makes for itself, %t, does not outlive its reader."""
    found, ranges = _ranges(LOOP)
    loop = next(op for op in found.begin if op.name == "scf.for")
    assert ranges["a"][-1][1] == 2 * found.end[loop]
    assert overlap(ranges["a"], ranges["u"])
    assert not overlap(ranges["s"], ranges["t"])


def test_a_carried_value_is_free_between_its_last_reader_and_its_successor() -> None:
    """Init, argument, successor and result never live at the same instant, so they can share one place."""
    _, ranges = _ranges(LOOP)
    names = ("z", "s", "u", "r")
    assert not any(overlap(ranges[a], ranges[b]) for a in names for b in names if a < b)


def test_a_value_read_in_one_branch_is_dead_in_the_other() -> None:
    """%a is read by the second branch only, so %b of the first may take its place; %x lives through both."""
    _, ranges = _ranges("""
%a = math.exp %x : tensor<8xf32>
%r = scf.if %c -> (tensor<8xf32>) {
  %b = math.sin %x : tensor<8xf32>
  scf.yield %b : tensor<8xf32>
} else {
  %d = math.exp %a : tensor<8xf32>
  scf.yield %d : tensor<8xf32>
}
%e = arith.addf %r, %x : tensor<8xf32>
""")
    assert not overlap(ranges["a"], ranges["b"])
    assert not overlap(ranges["a"], ranges["d"])
    assert overlap(ranges["x"], ranges["b"]) and overlap(ranges["x"], ranges["d"])


def test_ranges_are_sorted_and_disjoint() -> None:
    """Neighbours are joined; an instant in common is found wherever it lies."""
    assert union([(5, 6), (1, 2)], [(3, 4), (9, 9)]) == [(1, 6), (9, 9)]
    assert overlap([(1, 2), (8, 9)], [(3, 4), (9, 12)])
    assert not overlap([(1, 2), (8, 9)], [(3, 7), (10, 12)])
