"""`raise-k-loops`: a loop that accumulates dots of regions becomes one GEMM over the whole of K."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ..dialects import tl
from ..dialects.region import RegionOp
from ..dialects.remarks import remark
from ..dialects.shapes import shape_of
from .analysis.affine import AffineAnalysis, is_inside, is_normal
from .analysis.materialise import Materialiser
from .analysis.poly import Poly
from .analysis.region_form import Axis, RegionForm, read, write


@dataclass(frozen=True)
class RaiseKLoopsPass(ModulePass):
    """Make a loop over blocks of K, which loads, dots and accumulates, one GEMM of two regions.

    before:  %acc = scf.for %t = 0 to %trip iter_args(%sum = %zero) {
               %a = tl.load_region %ra(%t) ; %b = tl.load_region %rb(%t) ; %s = tl.dot %a, %b acc(%sum) ; yield %s }
    after:   %acc = tl.gemm %ra_all, %rb_all acc(%zero)

    The K size of the regions is trip * BLOCK_K, at run time; the bound of K in them is the bound of the first
    iteration.

    needs:   `raise-regions`, `dot-accumulate` and `drop-dead-iter-args`. The loop carries the accumulator alone; both
             operands of the dot are loads of regions without another user that move on by one block of K per
             iteration; the body does nothing else.
    keeps:   values within the rounding of the accumulation. Every loop with a dot that is not raised leaves a remark
             with the reason.
    options: none
    """

    name = "raise-k-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in (f for f in op.walk() if isinstance(f, func.FuncOp)):
            loops = [each for each in function.walk() if isinstance(each, scf.ForOp)]
            if not any(_dots(loop) for loop in loops):
                continue
            analysis = AffineAnalysis(function)
            for loop in loops:
                dots = _dots(loop)
                if not dots:
                    continue
                plan = _plan(loop, analysis)
                if isinstance(plan, str):
                    remark(op, self.name, "dot", "refused", plan, dots[0].location)
                else:
                    remark(op, self.name, "dot", "raised", location=dots[0].location)
                    _apply(loop, plan, analysis)


def _dots(loop: scf.ForOp) -> list[tl.DotOp]:
    """The dots that this loop repeats, those of inner loops aside."""
    return [op for op in loop.walk() if isinstance(op, tl.DotOp) and _loop_around(op) is loop]


def _loop_around(op: Operation) -> scf.ForOp | None:
    at = op.parent_op()
    while at is not None and not isinstance(at, scf.ForOp):
        at = at.parent_op()
    return at


@dataclass(frozen=True)
class _Plan:
    dot: tl.DotOp
    a: RegionForm
    b: RegionForm
    trip: Poly


class _Refused(Exception):
    """Why a loop is not raised; caught in `_plan`, so that each condition reads as one line."""


def _plan(loop: scf.ForOp, analysis: AffineAnalysis) -> _Plan | str:
    """What the loop comes to, or why it stays."""
    try:
        if not is_normal(loop):
            raise _Refused("the loop does not run from 0 by 1")
        dot = _the_dot(loop)
        a, b = _operand(dot.a, analysis), _operand(dot.b, analysis)
        block_k = shape_of(dot.a.type)[1]
        whole_a = _whole(a, 1, block_k, "a", loop, analysis)
        whole_b = _whole(b, 0, block_k, "b", loop, analysis)
        _check_effects(loop, dot)
        return _Plan(dot, whole_a, whole_b, analysis.trip(loop))
    except _Refused as refusal:
        return str(refusal)


def _the_dot(loop: scf.ForOp) -> tl.DotOp:
    """The one dot that adds to the one carried value."""
    block = loop.body.block
    if len(loop.iter_args) != 1:
        raise _Refused(f"{len(loop.iter_args)} carried values" if loop.iter_args else "nothing is carried")
    carried, last = block.args[1], block.last_op
    assert last is not None
    dot = last.operands[0].owner
    if not isinstance(dot, tl.DotOp) or dot.acc is not carried:
        raise _Refused("no dot into the carried accumulator")
    if dot.is_batch:
        raise _Refused("a batch of products")
    if not carried.has_one_use() or not dot.result.has_one_use():
        raise _Refused("the accumulator is read inside the loop")
    return dot


def _operand(value: SSAValue, analysis: AffineAnalysis) -> RegionForm:
    """The region that an operand of the dot is loaded from, its axes in the order of the operand."""
    order: tuple[int, ...] = (0, 1)
    if isinstance(value.owner, tl.TransOp) and value.has_one_use():
        order = value.owner.permutation
        value = value.owner.operand
    load = value.owner
    if not isinstance(load, tl.LoadRegionOp):
        source = load.name if isinstance(load, Operation) else "a carried value"
        raise _Refused(f"an operand comes from {source}")
    if not value.has_one_use():
        raise _Refused("a loaded operand has another user")
    region = load.region.owner
    if not isinstance(region, RegionOp):
        raise _Refused("an operand is loaded from a region that is not made here")
    return read(region, analysis).permuted(order)


def _check_effects(loop: scf.ForOp, dot: tl.DotOp) -> None:
    """Nothing in the body may touch memory but the two loads of the dot."""
    loads = {each.operand.owner if isinstance(each := v.owner, tl.TransOp) else each for v in (dot.a, dot.b)}
    for op in loop.body.block.ops:
        if op in loads or isinstance(op, scf.YieldOp) or is_side_effect_free(op):
            continue
        raise _Refused(f"the loop also has {op.name}")
    if any(isinstance(load, Operation) and load.parent_op() is not loop for load in loads):
        raise _Refused("an operand is loaded outside of the loop")


def _whole(form: RegionForm, k: int, block_k: int, name: str, loop: scf.ForOp, analysis: AffineAnalysis) -> RegionForm:
    """The region of all iterations, from the one of iteration t; `k` is its K axis."""
    counter = loop.body.block.args[0]
    named = [leaf for p in form.polys() for leaf in analysis.symbols.leaves(p) if leaf is not counter]
    if any(is_inside(leaf, loop) for leaf in (*named, *form.values())):
        raise _Refused(f"the address or a bound of {name} depends on a value of the loop")
    t = analysis.symbols.number(counter)
    split, axis = form.offset.split(t), form.axes[k]
    if split is None:
        raise _Refused(f"the address of {name} is not linear in the iteration")
    first, advance = split
    if axis.kind != "affine":
        raise _Refused(f"the K axis of {name} is {axis.kind}")
    if axis.lowers:
        raise _Refused(f"the K axis of {name} has a lower bound")
    if form.pad is not None:
        raise _Refused(f"{name} is padded with something else than 0")
    if advance != axis.stride * Poly.of(block_k):
        raise _Refused(f"{name} does not move on by one block of K ({block_k} lanes) per iteration")
    axis = replace(axis, uppers=_first_bounds(axis, block_k, name, t))
    start = replace(form, offset=first).with_axis(k, axis)
    if not all(analysis.is_invariant(p, loop) for p in start.polys()):
        raise _Refused(f"{name} changes otherwise than along K from one iteration to the next")
    return start.with_axis(k, replace(axis, size=analysis.trip(loop) * Poly.of(block_k)))


def _first_bounds(axis: Axis, block_k: int, name: str, t: int) -> tuple[Poly, ...]:
    """The upper bounds of K in the first iteration; all must fall by one block per iteration."""
    bounds: list[Poly] = []
    for bound in axis.uppers:
        split = bound.split(t)
        if split is None or split[1] != Poly.of(-block_k):
            raise _Refused(f"the K bound of {name} does not fall by {block_k} per iteration")
        bounds.append(split[0])
    return tuple(bounds)


def _apply(loop: scf.ForOp, plan: _Plan, analysis: AffineAnalysis) -> None:
    """Put the GEMM in the place of the loop."""
    maker = Materialiser(analysis.symbols, loop, plan.dot.location)
    a, b = write(plan.a, maker).result, write(plan.b, maker).result
    kind = plan.dot.result.type
    op = tl.GemmOp(a, b, loop.iter_args[0], kind)
    # Who takes the GEMM apart again takes the kernel's own block of K.
    op.attributes["block_k"] = IntegerAttr(shape_of(plan.dot.a.type)[1], i64)
    gemm = maker.insert(op)
    gemm.name_hint = loop.results[0].name_hint
    loop.results[0].replace_all_uses_with(gemm)
    loop.detach()
    loop.erase()
