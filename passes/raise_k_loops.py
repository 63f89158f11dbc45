"""`raise-k-loops`: a loop that accumulates dots of regions becomes one GEMM over the whole of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
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
from .analysis.region_form import RegionForm, read, write
from .commands.math_kinds import is_lane_by_lane
from .composites.tile_ops import K_AXIS, TileOps, exchange_transposes, is_same_along, tile_ops, tile_region
from .loops.refused import Refused
from .loops.sums_of_dots import Product, sums_of
from .loops.whole_k import backwards, runs_backwards, whole_k
from .raise_regions import uniform_number


@dataclass(frozen=True)
class RaiseKLoopsPass(ModulePass):
    """Make a loop over blocks of K, which loads, dots and accumulates, one GEMM of two regions.

    before:  %acc = scf.for %t = 0 to %trip iter_args(%sum = %zero) {
               %a = tl.load_region %ra(%t) ; %b = tl.load_region %rb(%t) ; %s = tl.dot %a, %b acc(%sum) ; yield %s }
    after:   %acc = tl.gemm %ra_all, %rb_all acc(%zero)

    Ops between a load and the dot (a cast, a dequantisation, a scale) become the `tiles` of the GEMM, if what they take
    beside the operand is the same for all of K. A transpose behind them is put before them.

    The K size of the regions is trip * BLOCK_K, at run time; the bound of K in them is the bound of the first
    iteration. A loop that runs backwards is turned round. An operand that moves on by more than a block, as with split
    K, gets a folded K axis, and its bound counts the valid lanes of all blocks. A loop of several sums, or of several
    dots in one sum, becomes as many GEMMs. What scales the product alike in every iteration is done once, after the
    GEMM.

    needs:   `raise-regions`, `dot-accumulate` and `drop-dead-iter-args`. All that the loop carries are sums of dots;
             both operands of a dot are loads of regions (and lane-by-lane ops on them) for the dots of the loop alone;
             the body does nothing else.
    keeps:   values within the rounding of the accumulation. Every loop with a dot that is not raised leaves a remark
             with the reason.
    options: none
    """

    name = "raise-k-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in (f for f in op.walk() if isinstance(f, func.FuncOp)):
            loops = [each for each in function.walk() if isinstance(each, scf.ForOp)]
            exchange_transposes(function)
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
                    continue
                for dot in dots:
                    remark(op, self.name, "dot", "raised", location=dot.location)
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
class _Gemm:
    """A product of the loop over the whole of K."""

    product: Product
    a: RegionForm
    b: RegionForm
    ops: tuple[TileOps, TileOps]


_Plan: TypeAlias = tuple[tuple[_Gemm, ...], ...]
"""For every carried value of a loop the GEMMs that it is the sum of."""


def _plan(loop: scf.ForOp, analysis: AffineAnalysis) -> _Plan | str:
    """What the loop comes to, or why it stays."""
    try:
        if not is_normal(loop):
            raise Refused("the loop does not run from 0 by 1")
        if not loop.iter_args:
            raise Refused("nothing is carried")
        sums = sums_of(loop)
        dots = [product.dot for products in sums for product in products]
        operands = [ops for dot in dots for ops in (tile_ops(dot, dot.a), tile_ops(dot, dot.b))]
        loads = [_load_of(each.source) for each in operands]
        _check_loads(loop, [*dots, *(op for each in operands for op in each.ops)], loads)
        plan = tuple(tuple(_gemm(product, loop, analysis) for product in products) for products in sums)
        _check_effects(loop, loads)
        return plan
    except Refused as refusal:
        return str(refusal)


def _gemm(product: Product, loop: scf.ForOp, analysis: AffineAnalysis) -> _Gemm:
    dot = product.dot
    if dot.is_batch:
        raise Refused("a batch of products")
    ops = tile_ops(dot, dot.a), tile_ops(dot, dot.b)
    _check_sides(ops, loop)
    a, b = (_operand(each.source, analysis) for each in ops)
    block_k = shape_of(dot.a.type)[1]
    if runs_backwards(a, 1, block_k, loop, analysis) and runs_backwards(b, 0, block_k, loop, analysis):
        a, b = backwards(a, loop, analysis), backwards(b, loop, analysis)
    a, b = whole_k(a, 1, block_k, "a", loop, analysis), whole_k(b, 0, block_k, "b", loop, analysis)
    return _Gemm(product, a, b, ops)


def _check_sides(ops: tuple[TileOps, TileOps], loop: scf.ForOp) -> None:
    """What is done to the operands must be the same for every block of K."""
    for name, each in zip("ab", ops, strict=True):
        for side in each.sides():
            if is_inside(side, loop):
                raise Refused(f"what {name} is combined with is not the same in every iteration")
            if not is_same_along(side, K_AXIS[name]):
                raise Refused(f"what {name} is combined with differs along K")
    if not any(each.keep_zero for each in ops):
        raise Refused("the ops on a and on b make something of the zeros behind the end of K")


def _load_of(value: SSAValue) -> tl.LoadRegionOp:
    """The load that an operand of a dot, or what it is the transpose of, comes from."""
    if isinstance(value.owner, tl.TransOp):
        value = value.owner.operand
    load = value.owner
    if not isinstance(load, tl.LoadRegionOp):
        while isinstance(load, Operation) and is_lane_by_lane(load):
            load = load.operands[0].owner
        source = load.name if isinstance(load, Operation) else "a carried value"
        raise Refused(f"an operand comes from {source}")
    return load


def _operand(value: SSAValue, analysis: AffineAnalysis) -> RegionForm:
    """The region that an operand of the dot is loaded from, its axes in the order of the operand."""
    region = _load_of(value).region.owner
    if not isinstance(region, RegionOp):
        raise Refused("an operand is loaded from a region that is not made here")
    form = read(region, analysis)
    return form.permuted(value.owner.permutation) if isinstance(value.owner, tl.TransOp) else form


def _check_loads(loop: scf.ForOp, users_allowed: Sequence[Operation], loads: Sequence[tl.LoadRegionOp]) -> None:
    """The loads are the loop's own and for the dots (and the ops on their operands) alone."""
    for load in loads:
        if load.parent_op() is not loop:
            raise Refused("an operand is loaded outside of the loop")
        users = {use.operation for use in load.result.uses}
        turned = [user for user in users if isinstance(user, tl.TransOp)]
        users.update(use.operation for user in turned for use in user.result.uses)
        if not users <= {*users_allowed, *turned}:
            raise Refused("a loaded operand has another user")


def _check_effects(loop: scf.ForOp, loads: Sequence[tl.LoadRegionOp]) -> None:
    """Nothing in the body may touch memory but the loads of the dots."""
    for op in loop.body.block.ops:
        if op not in loads and not isinstance(op, scf.YieldOp) and not is_side_effect_free(op):
            raise Refused(f"the loop also has {op.name}")


def _apply(loop: scf.ForOp, plan: _Plan, analysis: AffineAnalysis) -> None:
    """Put the GEMMs in the place of the loop."""
    for total, result, gemms in zip(loop.iter_args, loop.results, plan, strict=True):
        for gemm in gemms:
            maker = Materialiser(analysis.symbols, loop, gemm.product.dot.location)
            total = _add(total, gemm, maker)
        total.name_hint = result.name_hint
        result.replace_all_uses_with(total)
    loop.detach()
    loop.erase()


def _add(total: SSAValue, gemm: _Gemm, maker: Materialiser) -> SSAValue:
    """`total` and the GEMM over the whole of K."""
    dot, after = gemm.product.dot, gemm.product.after
    a, b = write(gemm.a, maker).result, write(gemm.b, maker).result
    tiles = tile_region(*gemm.ops) if any(each.ops for each in gemm.ops) else None
    op = tl.GemmOp(a, b, None if after else total, dot.result.type, tiles)
    # Who takes the GEMM apart again takes the kernel's own block of K.
    op.attributes["block_k"] = IntegerAttr(shape_of(dot.a.type)[1], i64)
    now: dict[SSAValue, SSAValue] = {dot.result: maker.insert(op)}
    for number, each in enumerate(after):
        product = next(v for v in each.operands if v in now)
        if number == len(after) - 1:
            if isinstance(each, arith.AddfOp | arith.AddiOp) and _is_zero(total):
                return now[product]
            now.update((v, total) for v in each.operands if v is not product)
        copy = each.clone(now)
        now[each.results[0]] = maker.insert(copy)
    return now[gemm.product.total]


def _is_zero(value: SSAValue) -> bool:
    number = uniform_number(value)
    return number is not None and number.value.data == 0
