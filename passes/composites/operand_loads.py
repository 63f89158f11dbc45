"""Operands of a product: which loads a composite can take over as streamed regions, and accumulators that are zero."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import tl
from ...dialects.region import RegionOp
from ..commands.math_kinds import is_lane_by_lane
from ..raise_regions import uniform_number


def streamable(user: Operation, value: SSAValue) -> str | None:
    """Why an operand of a product (or of the composite that holds it) cannot be streamed; None if it can."""
    load = load_of(value)
    if load is None:
        return "it is computed" if isinstance(value.owner, Operation) else "a loop carries it"
    if not value.has_one_use() or not load.result.has_one_use():
        return "it has other users"
    if load.parent is not user.parent:
        return "it is loaded outside of the loop"
    region = load.region.owner
    if not isinstance(region, RegionOp):
        return "its region is not made here"
    if "indexed" in region.axis_kinds:
        return "its rows go by a block of indices"
    if (between := _write_between(load, user)) is not None:
        return f"{between.name} stands between its load and the product"
    return None


def absorb(user: Operation, value: SSAValue) -> SSAValue:
    """The region that `value` is loaded from, axes in the order of `value`; `value` itself where it must be staged."""
    if streamable(user, value) is not None:
        return value
    load = load_of(value)
    assert load is not None
    region = load.region.owner
    assert isinstance(region, RegionOp)
    if not isinstance(value.owner, tl.TransOp):
        return load.region
    return _permuted(region, value.owner.permutation)


def stream_b(composite: tl.CompositeOp) -> None:
    """Let the product of a composite, a dot, read its `b` from the region that it is loaded from, where that can be."""
    dot, body = composite.product, composite.body.block
    assert isinstance(dot, tl.DotOp) and isinstance(dot.b, BlockArgument)
    number, loaded = dot.b.index, composite.inputs[dot.b.index]
    if not dot.b.has_one_use() or streamable(composite, loaded) is not None:
        return
    region = absorb(composite, loaded)
    argument = body.insert_arg(region.type, number)
    argument.name_hint = dot.b.name_hint
    gemm = tl.GemmOp(dot.a, argument, dot.acc, dot.result.type)
    gemm.location, gemm.result.name_hint = dot.location, dot.result.name_hint
    old = dot.b
    Rewriter.replace_op(dot, gemm)
    body.erase_arg(old)
    composite.operands = [region if n == number else v for n, v in enumerate(composite.inputs)]
    erase_dead_loads([loaded])


def load_of(value: SSAValue) -> tl.LoadRegionOp | None:
    """The load that a value, or what it is the transpose of, comes from."""
    if isinstance(value.owner, tl.TransOp):
        value = value.owner.operand
    return value.owner if isinstance(value.owner, tl.LoadRegionOp) else None


def _write_between(load: Operation, user: Operation) -> Operation | None:
    """An op between the two that may write memory or that orders memory."""
    at = load.next_op
    while at is not None and at is not user:
        for inner in at.walk():
            if isinstance(inner, tl.StoreOp | tl.StoreRegionOp | tl.AtomicOp | tl.WaitOp):
                return inner
        at = at.next_op
    return None


def _permuted(region: RegionOp, order: Sequence[int]) -> SSAValue:
    """The same lanes with the axes in another order, made just after `region`."""
    kinds = region.axis_kinds
    made = RegionOp(
        region.base,
        region.offset,
        *([values[d] for d in order] for values in (region.sizes, region.strides, region.los, region.his)),
        axes=[kinds[d] for d in order],
        folds=[region.fold_of(d) for d in order if kinds[d] == "folded"],
        indices=[region.index_of(d) for d in order if kinds[d] == "indexed"],
        pad=region.pad,
    )
    made.location = region.location
    block = region.parent
    assert block is not None
    block.insert_op_after(made, region)
    return made.result


def drop_zero_accumulator(product: tl.DotOp | tl.GemmOp) -> None:
    """A product that is added to zero is the product."""
    if product.acc is None:
        return
    number = uniform_number(product.acc)
    if number is not None and number.value.data == 0:
        product.operands = [product.a, product.b]


def erase_dead_loads(values: Sequence[SSAValue]) -> None:
    """Remove loads that were absorbed, and what was done to them."""
    todo = list(values)
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Operation) or op.parent is None or any(r.uses for r in op.results):
            continue
        if isinstance(op, tl.LoadRegionOp | tl.TransOp) or is_lane_by_lane(op):
            todo += op.operands
            op.detach()
            op.erase()
