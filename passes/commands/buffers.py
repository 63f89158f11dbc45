"""Which values share a buffer: ties of loops, branches, accumulators and lane-by-lane ops, refused where two values
are needed at once.

A tie that a construct cannot do without (the init of a carried value, a branch's result, an operand that a command
writes) and that is refused gets a value of its own by a `KeepOp`, and the plan is made anew. A carried value whose
next value cannot take its place swaps buffers with it: the loop carries both and yields them the other way round, so
that no copy is needed (`Rotation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import tl
from ...dialects.region import CutOp, RegionOp
from ..analysis.liveness import Liveness, Range, in_program_order, live_ranges, overlap, union
from ..composites.composite_form import reusable_inputs, tile_output, written_inputs
from .math_kinds import is_lane_by_lane
from .residence import KeepOp, Residence, Residences, enters, residences


@dataclass(frozen=True)
class Rotation:
    """A loop that swaps buffers: the classes that it carries (as inits), those it yields, in the same order, and the
    results.

    `results[k]` is the class of the loop's result that the k-th carried buffer is after the loop, None for a spare one.
    """

    carried: tuple[int, ...]
    yielded: tuple[int, ...]
    results: tuple[int | None, ...]

    def renumbered(self, plan: Plan) -> Rotation:
        """The same with the numbers that the classes have at the end."""
        results = tuple(None if c is None else plan.root(c) for c in self.results)
        return Rotation(tuple(map(plan.root, self.carried)), tuple(map(plan.root, self.yielded)), results)


@dataclass
class Plan:
    """The classes of values that share a buffer, by number in order of first definition."""

    residences: Residences
    liveness: Liveness
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    parent: list[int] = field(default_factory=list[int])
    members: list[list[SSAValue]] = field(default_factory=list[list[SSAValue]])
    ranges: list[list[Range]] = field(default_factory=list[list[Range]])
    rotations: dict[scf.ForOp, Rotation] = field(default_factory=dict[scf.ForOp, Rotation])
    dynamic: set[int] = field(default_factory=set[int])

    def class_of(self, value: SSAValue) -> int:
        """The number of the class of a value that has storage."""
        return self.root(self.number[value])

    def root(self, number: int) -> int:
        """The number of the class that a class of this number has become part of."""
        at = number
        while self.parent[at] != at:
            self.parent[at] = self.parent[self.parent[at]]
            at = self.parent[at]
        return at

    def add(self, value: SSAValue) -> None:
        self.number[value] = len(self.parent)
        self.parent.append(len(self.parent))
        self.members.append([value])
        self.ranges.append(self.liveness.ranges.get(value, []))

    def tie(self, a: SSAValue, b: SSAValue) -> bool:
        """Put two values into one buffer, unless their types differ or something in it is needed at the same time."""
        x, y = self.class_of(a), self.class_of(b)
        if x == y:
            return True
        if a.type != b.type or x in self.dynamic or y in self.dynamic or overlap(self.ranges[x], self.ranges[y]):
            return False
        first, second = min(x, y), max(x, y)
        self.parent[second] = first
        self.members[first] += self.members[second]
        self.ranges[first] = union(self.ranges[first], self.ranges[second])
        return True

    def roots(self) -> list[int]:
        """The numbers of the classes there are, in order."""
        return [n for n, parent in enumerate(self.parent) if n == parent]


_Control = scf.ForOp | scf.WhileOp | scf.IfOp


class _Reads:
    """What the ops of a function read of values with storage (`liveness.Uses`)."""

    def __init__(self, known: Residences):
        self.known = known

    def tracked(self, value: SSAValue) -> bool:
        return self.known.has_storage(value)

    def read(self, op: Operation) -> Iterator[tuple[SSAValue, bool]]:
        # A view or a region reads nothing when it is made; what it looks at is read by those who read it.
        if isinstance(op, CutOp) or any(self.known[r] is Residence.VIEW for r in op.results):
            return
        operands = op.operands[: -len(op.indices) or None] if isinstance(op, RegionOp) else op.operands
        in_lane = is_lane_by_lane(op) or isinstance(op, KeepOp | scf.YieldOp | scf.ConditionOp | _Control)
        in_tiles: tuple[int, ...] = (
            (*written_inputs(op), *reusable_inputs(op)) if isinstance(op, tl.CompositeOp) else ()
        )
        for n, operand in enumerate(operands):
            for value, in_place in self.known.roots(operand):
                yield value, not (in_place and (in_lane or n in in_tiles or _is_destination(op, n)))


def _is_destination(op: Operation, n: int) -> bool:
    """Operand number n of `op` is a block that the result is meant to replace: an accumulator or `al.copy_to`'s
    destination.
    """
    if isinstance(op, tl.CopyToOp):
        return n == 1
    return isinstance(op, tl.DotOp | tl.GemmOp) and n == 2


def plan_buffers(function: func.FuncOp) -> Plan:
    """Assign a class to every value with storage. Inserts `KeepOp`s into `function` where a construct needs a buffer
    of its own.
    """
    _keep_what_cannot_be_carried(function)
    while True:
        plan = _ties(function)
        if isinstance(plan, Plan):
            return plan
        for use_op, n in plan:
            # Of values that a `while` swaps the first round gives each a copy, and the second each its place.
            keep(use_op, n)


def keep(op: Operation, n: int) -> None:
    """Give operand number n of `op` a buffer of its own, filled just before `op`."""
    made = KeepOp(op.operands[n])
    made.location = op.location
    Builder(InsertPoint.before(op)).insert(made)
    op.operands[n] = made.result


def loops_and_branches(function: func.FuncOp) -> list[_Control]:
    """All loops and conditions, what they hold before themselves."""
    ops = in_program_order(function.body, enters)
    return [op for op in reversed(ops) if isinstance(op, _Control)]


def _keep_what_cannot_be_carried(function: func.FuncOp) -> None:
    """Inits, yields and branch results that are no buffer, or the same one twice, or defined outside the body that
    yields them.
    """
    known = residences(function)
    for op in loops_and_branches(function):
        if isinstance(op, scf.ForOp):
            carried = [n for n, arg in enumerate(op.body.block.args[1:]) if known.has_storage(arg)]
            _keep_unfit(op, [(n + 3, n) for n in carried], known, None)
            _keep_unfit(_end(op.body.block), [(n, n) for n in carried], known, op.body.block)
        elif isinstance(op, scf.WhileOp):
            before, after = op.before_region.block, op.after_region.block
            carried = [n for n, arg in enumerate(before.args) if known.has_storage(arg)]
            _keep_unfit(op, [(n, n) for n in carried], known, None)
            _keep_unfit(condition_of(op), [(n + 1, n) for n in carried], known, before)
            _keep_unfit(_end(after), [(n, n) for n in carried], known, after)
        else:
            results = [n for n, r in enumerate(op.results) if known.has_storage(r)]
            for region in op.regions if results else ():
                _keep_unfit(_end(region.block), [(n, n) for n in results], known, None)


def _keep_unfit(op: Operation, positions: Iterable[tuple[int, int]], known: Residences, inside: Block | None) -> None:
    seen: dict[SSAValue, None] = {}
    for n, _ in positions:
        value = op.operands[n]
        if not known.has_storage(value) or value in seen or (inside is not None and not _is_within(value, inside)):
            keep(op, n)
        seen[value] = None


def _is_within(value: SSAValue, block: Block) -> bool:
    at = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    return at is block


def condition_of(loop: scf.WhileOp) -> scf.ConditionOp:
    """What ends the head of a `while`: whether it goes on, and what is handed to its body and out of it."""
    last = loop.before_region.block.last_op
    assert isinstance(last, scf.ConditionOp)
    return last


def _end(block: Block) -> scf.YieldOp:
    last = block.last_op
    assert isinstance(last, scf.YieldOp)
    return last


def _ties(function: func.FuncOp) -> Plan | list[tuple[Operation, int]]:
    """The plan, or the operands (op, number) that need a buffer of their own first."""
    known = residences(function)
    liveness = live_ranges(function.body, _Reads(known))
    plan = Plan(known, liveness)
    for value in sorted(liveness.ranges, key=lambda v: liveness.ranges[v][0]):
        plan.add(value)
    refused: list[tuple[Operation, int]] = []
    for op in loops_and_branches(function):
        match op:
            case scf.ForOp():
                refused += _tie_loop(plan, op)
            case scf.WhileOp():
                refused += _tie_while(plan, op)
            case _:
                refused += _tie_branches(plan, op)
    if refused:
        return refused
    ops = in_program_order(function.body, enters)
    for op in ops:
        refused += _tie_written(plan, op)
    if refused:
        return refused
    for op in ops:
        _tie_accumulator(plan, op)
    for op in ops:
        _tie_lanes(plan, op)
    for loop, rotation in plan.rotations.items():
        plan.rotations[loop] = rotation.renumbered(plan)
    return plan


def _tie_branches(plan: Plan, op: scf.IfOp) -> list[tuple[Operation, int]]:
    refused: list[tuple[Operation, int]] = []
    for n, result in enumerate(op.results):
        if plan.residences.has_storage(result):
            for region in op.regions:
                end = _end(region.block)
                if not plan.tie(end.operands[n], result):
                    refused.append((end, n))
    return refused


def _tie_loop(plan: Plan, loop: scf.ForOp) -> list[tuple[Operation, int]]:
    end = _end(loop.body.block)
    carried = [n for n, arg in enumerate(loop.body.block.args[1:]) if plan.residences.has_storage(arg)]
    refused: list[tuple[Operation, int]] = []
    swapped: list[int] = []
    for n in carried:
        arg = loop.body.block.args[n + 1]
        if not plan.tie(loop.iter_args[n], arg):
            refused.append((loop, n + 3))
        elif plan.class_of(end.operands[n]) in plan.dynamic:
            refused.append((end, n))
        elif not plan.tie(end.operands[n], arg):
            swapped.append(n)
        elif not plan.tie(loop.results[n], arg):
            refused.append((loop, n + 3))
    if not refused and swapped:
        plan.rotations[loop] = _rotation(plan, loop, swapped)
    return refused


def _tie_while(plan: Plan, loop: scf.WhileOp) -> list[tuple[Operation, int]]:
    """A carried value has one buffer in head and body, and after the loop: `while` swaps none."""
    condition, end = condition_of(loop), _end(loop.after_region.block)
    refused: list[tuple[Operation, int]] = []
    for n, head in enumerate(loop.before_region.block.args):
        if not plan.residences.has_storage(head):
            continue
        body, result = loop.after_region.block.args[n], loop.results[n]
        if not (plan.tie(loop.arguments[n], head) and plan.tie(body, head) and plan.tie(result, head)):
            refused.append((loop, n))
        elif not plan.tie(condition.args[n], head):
            refused.append((condition, n + 1))
        elif not plan.tie(end.operands[n], head):
            refused.append((end, n))
    return refused


def _rotation(plan: Plan, loop: scf.ForOp, swapped: list[int]) -> Rotation:
    """Let a loop swap buffers for the carried values `swapped`. A next value that is no carried one brings a spare
    buffer along.
    """
    end = _end(loop.body.block)
    carried = [plan.class_of(loop.body.block.args[n + 1]) for n in swapped]
    following = [plan.class_of(end.operands[n]) for n in swapped]
    spares = [c for c in following if c not in carried]
    # The buffers that nobody takes over become the spares of the next iteration; a chain of moves keeps one type
    # throughout.
    moves = dict(zip(carried, following, strict=True))
    taken_over_by = {b: a for a, b in moves.items()}
    released: list[int] = []
    for spare in spares:
        at = spare
        while at in taken_over_by:
            at = taken_over_by[at]
        released.append(at)
    results = [plan.class_of(loop.results[n]) for n in swapped]
    kept: list[Range] = [plan.liveness.span(loop)]
    for c in results:
        plan.dynamic.add(c)
        kept = union(kept, plan.ranges[c])
    for c in (*carried, *spares):
        plan.ranges[c] = union(plan.ranges[c], kept)
    return Rotation((*carried, *spares), (*following, *released), (*results, *(None for _ in spares)))


def _tie_written(plan: Plan, op: Operation) -> list[tuple[Operation, int]]:
    """Ties of operands that the command writes: they must hold."""
    refused: list[tuple[Operation, int]] = []
    pairs: list[tuple[int, SSAValue]] = []
    if isinstance(op, tl.CompositeOp):
        pairs = [(n, result) for n, result in written_inputs(op).items()]
    elif isinstance(op, tl.CopyToOp):
        pairs = [(1, op.result)]
    for n, result in pairs:
        operand = op.operands[n]
        if not plan.residences.has_storage(operand) or not plan.tie(operand, result):
            refused.append((op, n))
    return refused


def _tie_accumulator(plan: Plan, op: Operation) -> None:
    """The result of a product goes where its accumulator is, that of a composite to an operand of its last ops."""
    operands: list[SSAValue] = []
    result = op.results[0] if op.results else None
    if isinstance(op, tl.DotOp | tl.GemmOp) and op.acc is not None:
        operands = [op.acc]
    elif isinstance(op, tl.CompositeOp) and (tile := tile_output(op)) is not None:
        result = tile
        operands = [op.inputs[n] for n in reusable_inputs(op)]
    for operand in operands:
        if result is not None and plan.residences.has_storage(operand) and plan.tie(operand, result):
            return


def _tie_lanes(plan: Plan, op: Operation) -> None:
    if not (is_lane_by_lane(op) or isinstance(op, KeepOp)):
        return
    for result in op.results:
        if plan.residences.has_storage(result):
            for operand in op.operands:
                if plan.residences.has_storage(operand) and plan.tie(operand, result):
                    break
