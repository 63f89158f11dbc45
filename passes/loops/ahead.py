"""Doing a part of an iteration some iterations early: the loop carries what has been made until its turn comes.

The part is cloned into an `scf.if` at the head of the body, for the iteration that comes `distance` later, and before
the loop for the first ones. Where the loop has no such iteration the other branch gives a constant that nobody reads:
filling a buffer costs nothing, and no trip count has to be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ...dialects import tl
from ...dialects.shapes import element_of, is_float, shape_of
from ..analysis.loop_arithmetic import LoopArithmetic
from ..commands.cpu_scalars import zero_of
from .carry_more import carry_more


def slice_of(body: Block, op: Operation) -> list[Operation]:
    """`op` and the ops of `body` that it depends on, in order."""
    found: set[Operation] = {op}
    todo: list[SSAValue] = list(_reads(op))
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner.parent is body and owner not in found:
            found.add(owner)
            todo += _reads(owner)
    return [each for each in body.ops if each in found]


def carried_by(body: Block, ops: Iterable[Operation]) -> list[BlockArgument]:
    """The arguments of `body` but the counter that `ops` read, each once."""
    values = dict.fromkeys(v for op in ops for v in _reads(op))
    return [v for v in values if isinstance(v, BlockArgument) and v.owner is body and v.index > 0]


def _reads(op: Operation) -> list[SSAValue]:
    """What an op and the ops that it holds read."""
    return [v for each in op.walk() for v in each.operands]


def is_cheap(op: Operation) -> bool:
    """Arithmetic of PE_CPU, views and regions: doing it twice costs nothing."""
    if isinstance(op, tl.SplatOp | tl.ExpandDimsOp | tl.BroadcastOp):
        return True
    computes = any(shape_of(r.type) and is_float(r.type) for r in op.results)
    return not op.regions and is_side_effect_free(op) and not computes


def early_loads(op: Operation) -> list[tl.LoadRegionOp]:
    """The loads of a later iteration in an `scf.if` that holds nothing else; none if `op` is no such thing."""
    if not isinstance(op, scf.IfOp) or not op.results:
        return []
    inner = [each for each in op.true_region.block.ops if not isinstance(each, scf.YieldOp)]
    loads = [each for each in inner if isinstance(each, tl.LoadRegionOp)]
    return loads if all(isinstance(each, tl.LoadRegionOp) or is_cheap(each) for each in inner) else []


def writer_in(op: Operation) -> Operation | None:
    """An op, `op` itself or one that it holds, that may write memory or that orders it."""
    writers = tl.StoreOp | tl.StoreRegionOp | tl.AtomicOp | tl.WaitOp
    return next((each for each in op.walk() if isinstance(each, writers)), None)


@dataclass(frozen=True)
class Part:
    """What is done early: ops of a body in order, the last of which gives the values that are carried.

    The last op may be an `scf.if` that is early already; then it has its own condition. `at` is where in the body the
    later iteration's part may stand, `following` what the carried values that the part reads are one iteration later:
    a part with `following` runs one iteration early only.
    """

    ops: Sequence[Operation]
    at: InsertPoint
    following: Mapping[SSAValue, SSAValue]

    @property
    def source(self) -> Operation:
        """The op that gives the values."""
        return self.ops[-1]


def run_ahead(loop: scf.ForOp, parts: Sequence[Part], distance: int) -> scf.ForOp:
    """Run `parts` `distance` iterations early in a loop from 0 by 1; the loop that takes the place of `loop`.

    What is done before the loop comes iteration by iteration, so that what is needed first is there first.
    """
    body = loop.body.block
    before = _prologue(loop, parts)
    initial: dict[SSAValue, SSAValue] = dict(zip(body.args[1:], loop.iter_args, strict=True))
    first = [[_early(loop, part, before, n, loop.lb, initial) for part in parts] for n in range(distance)]
    inits: list[SSAValue] = []
    yields: list[SSAValue] = []
    for number, part in enumerate(parts):
        new = _early(loop, part, part.at, distance, body.args[0], part.following)
        for column, value in enumerate(part.source.results):
            chain = [body.insert_arg(value.type, len(body.args)) for _ in range(distance)]
            for arg in chain:
                arg.name_hint = value.name_hint
            value.replace_all_uses_with(chain[0])
            inits += [first[n][number][column] for n in range(distance)]
            yields += [*chain[1:], new[column]]
    _erase(parts, body)
    end = body.last_op
    assert isinstance(end, scf.YieldOp)
    end.operands = [*end.operands, *yields]
    return carry_more(loop, inits)


def _erase(parts: Sequence[Part], body: Block) -> None:
    """Take out what is done early, and the views, regions and arithmetic that nothing else needs."""
    sources = {part.source for part in parts}
    ops = {op for part in parts for op in part.ops}
    for op in reversed([each for each in body.ops if each in ops]):
        if op in sources or (is_cheap(op) and not any(result.uses for result in op.results)):
            op.detach()
            op.erase()


def _prologue(loop: scf.ForOp, parts: Sequence[Part]) -> InsertPoint:
    """Where the first iterations' parts go: loads before the products that are early too, as PE_CPU waits for the
    operands of a product; all else just before the loop.
    """
    block = loop.parent
    assert block is not None
    early = [v.owner for v in loop.iter_args if isinstance(v.owner, scf.IfOp) and v.owner.parent is block]
    products = [op for op in early if any(isinstance(each, tl.CompositeOp) for each in op.walk())]
    if not products or any(isinstance(part.source, tl.CompositeOp) for part in parts):
        return InsertPoint.before(loop)
    order = {op: n for n, op in enumerate(block.ops)}
    first = min(products, key=lambda op: order[op])
    needed = [v.owner for part in parts for op in part.ops for each in op.walk() for v in each.operands]
    needed.append(loop.ub.owner)
    late = any(isinstance(owner, Operation) and order.get(owner, -1) >= order[first] for owner in needed)
    written = any(writer_in(op) is not None for op, n in order.items() if order[first] <= n < order[loop])
    return InsertPoint.before(loop if late or written else first)


def _early(
    loop: scf.ForOp,
    part: Part,
    at: InsertPoint,
    distance: int,
    counter: SSAValue,
    mapping: Mapping[SSAValue, SSAValue],
) -> Sequence[SSAValue]:
    """The values of the part for the iteration `distance` after `counter`, if the loop has it."""
    source, build = part.source, Builder(at)
    arithmetic = LoopArithmetic(at, counter, source.location)
    when = arithmetic.add(counter, arithmetic.constant(distance)) if distance else counter
    clones = {**mapping, loop.body.block.args[0]: when}
    if isinstance(source, scf.IfOp):
        made = [build.insert(_clone(op, clones)) for op in part.ops][-1]
    else:
        yes, no = Block(), Block()
        yes.add_ops(_clone(op, clones) for op in part.ops)
        yes.add_op(scf.YieldOp(*(clones[v] for v in source.results)))
        no.add_op(scf.YieldOp(*(_zeros(no, v.type) for v in source.results)))
        there = build.insert(arith.CmpiOp(when, loop.ub, "slt"))
        made = build.insert(scf.IfOp(there.result, [v.type for v in source.results], Region(yes), Region(no)))
        for op in (there, made, yes.last_op, *no.ops):
            assert op is not None
            op.location = source.location
    for value, result in zip(source.results, made.results, strict=True):
        result.name_hint = value.name_hint
    return made.results


def _clone(op: Operation, clones: dict[SSAValue, SSAValue]) -> Operation:
    made = op.clone(clones)
    for old, new in zip(op.walk(), made.walk(), strict=True):
        new.location = old.location
    return made


def _zeros(block: Block, kind: Attribute) -> SSAValue:
    """What is carried where there is no iteration to do early."""

    def insert(op: Operation) -> Operation:
        block.add_op(op)
        return op

    return insert(tl.SplatOp(zero_of(element_of(kind), insert), shape_of(kind))).results[0]
