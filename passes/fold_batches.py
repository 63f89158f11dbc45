"""`fold-batches`: a batch of products with one `b` for all becomes one product with the batch folded into its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects import tl
from ..dialects.remarks import remark
from ..dialects.shapes import shape_of, with_shape
from .batches.merged_accesses import merge_accesses
from .batches.shared import shared_matrix
from .commands.math_kinds import is_lane_by_lane

Prefix = tuple[int, int]


@dataclass(frozen=True)
class FoldBatchesPass(ModulePass):
    """Give a batch of products that share `b` one row of blocks for all: the batch is part of M.

    before:  %q = tl.load_region %r : !ahbm.region<f16, 3> -> tensor<8x16x64xf16>
             %k2 = tl.broadcast %k1 : tensor<1x64x128xf16> -> tensor<8x64x128xf16>
             %d = tl.dot %q, %k2 : tensor<8x16x64xf16>, tensor<8x64x128xf16> -> tensor<8x16x128xf32>
    after:   %q2 = tl.load_region %r2 : !ahbm.region<f16, 2> -> tensor<128x64xf16>
             %d2 = tl.dot %q2, %k : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>

    So the query heads of grouped-query attention that share a head of K and V are rows of one GEMM, which reads K and V
    once. What is computed lane by lane or along later axes from such a product, what loops carry of it, and what it is
    computed from are folded too. A load or a store of a block whose first two axes become one is one of a region with
    one axis in their place: affine where the strides go together, else folded.

    needs:   `raise-regions`, `dot-accumulate`.
    keeps:   values. A batch with another `b` for each product stays one; a reshape stands where folding ends.
    options: none
    """

    name = "fold-batches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            dots = [each for each in function.walk() if isinstance(each, tl.DotOp) and each.is_batch]
            for dot in dots:
                if shared_matrix(dot.b) is not None:
                    count = shape_of(dot.a.type)[0]
                    why = "a batch of one" if count == 1 else f"{count} products share b"
                    remark(dot, self.name, "dot", "folded", why)
            while (dot := next((d for d in _batches(function) if shared_matrix(d.b) is not None), None)) is not None:
                _fold(dot)
            _cancel_reshapes(function)
            merge_accesses(function)


def _batches(function: func.FuncOp) -> Iterator[tl.DotOp]:
    return (each for each in function.walk() if isinstance(each, tl.DotOp) and each.is_batch)


def _fold(dot: tl.DotOp) -> None:
    """Fold a product and all that hangs together with it."""
    prefix = (shape_of(dot.a.type)[0], shape_of(dot.a.type)[1])
    values = _connected(dot, prefix)
    loops = [op for op in dict.fromkeys(_holder(v) for v in values) if isinstance(op, scf.ForOp)]
    ops = dict.fromkeys(
        v.owner for v in values if isinstance(v.owner, Operation) and not isinstance(v.owner, scf.ForOp)
    )
    for op in ops:
        if _is_foldable(op, prefix):
            _fold_op(op, prefix)
    for loop in loops:
        _fold_loop(loop, {n for n, arg in enumerate(loop.body.block.args[1:]) if arg in values}, prefix)


def _holder(value: SSAValue) -> Operation | None:
    return value.owner.parent_op() if isinstance(value.owner, Block) else value.owner


def _connected(dot: tl.DotOp, prefix: Prefix) -> dict[SSAValue, None]:
    """The blocks whose first two axes are the batch and the rows of the product, as far as ops can be folded."""
    found: dict[SSAValue, None] = {}
    todo: list[SSAValue] = [dot.result]
    while todo:
        value = todo.pop()
        if value in found or shape_of(value.type)[:2] != prefix:
            continue
        found[value] = None
        maker = value.owner
        if isinstance(maker, Operation) and _is_foldable(maker, prefix):
            todo += [v for v in maker.operands if not (isinstance(maker, tl.DotOp) and v is maker.b)]
        todo += _carried_with(value)
        for use in value.uses:
            user = use.operation
            if user.results and _is_foldable(user, prefix):
                todo += user.results
    return found


def _carried_with(value: SSAValue) -> Iterator[SSAValue]:
    """The init, argument, next value and result of a loop that `value` is one of."""
    places: list[tuple[scf.ForOp, int]] = []
    if isinstance(value.owner, scf.ForOp):
        places.append((value.owner, value.owner.results.index(value)))
    if isinstance(value, BlockArgument) and isinstance(loop := value.owner.parent_op(), scf.ForOp) and value.index:
        places.append((loop, value.index - 1))
    for use in value.uses:
        user = use.operation
        if isinstance(user, scf.YieldOp) and isinstance(loop := user.parent_op(), scf.ForOp):
            places.append((loop, use.index))
        if isinstance(user, scf.ForOp) and use.index >= 3:
            places.append((user, use.index - 3))
    for loop, number in places:
        last = loop.body.block.last_op
        assert last is not None
        yield from (
            loop.iter_args[number],
            loop.body.block.args[number + 1],
            last.operands[number],
            loop.results[number],
        )


def _is_foldable(op: Operation, prefix: Prefix) -> bool:
    """Whether an op that gives a block of `prefix` and more can be done with both axes as one."""
    if not op.results or shape_of(op.results[0].type)[:2] != prefix:
        return False
    match op:
        case tl.DotOp():
            return op.is_batch and shared_matrix(op.b) is not None
        case tl.ExpandDimsOp():
            return op.axis.value.data >= 2
        case tl.BroadcastOp():
            return shape_of(op.operand.type)[:2] in (prefix, (1, 1))
        case tl.ReduceOp():
            return op.axis.value.data >= 2
        case tl.CmpOp():
            # Blocks of indices are views as they are.
            return is_lane_by_lane(op) and not _is_of_indices(op.lhs)
        case tl.SplatOp():
            return True
        case arith.ConstantOp():
            return isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat()
        case _:
            return is_lane_by_lane(op) and not _is_of_indices(op.results[0])


def _is_of_indices(value: SSAValue) -> bool:
    return str(getattr(value.type, "element_type", "")) in ("i32", "i64")


def _flat_shape(value: SSAValue, prefix: Prefix) -> tuple[int, ...]:
    return (prefix[0] * prefix[1], *shape_of(value.type)[2:])


def _flat(value: SSAValue, before: Operation, prefix: Prefix) -> SSAValue:
    """`value` with its first two axes as one."""
    shape = _flat_shape(value, prefix)
    if isinstance(value.owner, tl.ReshapeOp) and shape_of(value.owner.operand.type) == shape:
        return value.owner.operand
    return _insert(tl.ReshapeOp(value, shape), before)


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = before.location
    assert before.parent is not None
    before.parent.insert_op_before(op, before)
    return op.results[0]


def _fold_op(op: Operation, prefix: Prefix) -> None:
    """Put the op on folded blocks in the place of `op`, and a reshape of what it gives after it."""
    result = op.results[0]
    shape = _flat_shape(result, prefix)
    match op:
        case tl.DotOp():
            matrix = shared_matrix(op.b, before=op)
            assert matrix is not None
            acc = None if op.acc is None else _flat(op.acc, op, prefix)
            precision = op.input_precision.data if op.input_precision is not None else None
            made = tl.DotOp(_flat(op.a, op, prefix), matrix, acc, op.result.type.element_type, precision)
        case tl.ExpandDimsOp():
            made = tl.ExpandDimsOp(_flat(op.operand, op, prefix), op.axis.value.data - 1)
        case tl.BroadcastOp():
            found = shape_of(op.operand.type)
            if found[:2] == prefix:
                made = tl.BroadcastOp(_flat(op.operand, op, prefix), shape)
            else:
                made = tl.BroadcastOp(_insert(tl.ReshapeOp(op.operand, found[1:]), op), shape)
        case tl.ReduceOp():
            operand, axis = _flat(op.operand, op, prefix), op.axis.value.data - 1
            made = tl.ReduceOp(op.kind.data, operand, axis, unsigned=op.unsigned is not None)
        case tl.SplatOp():
            made = tl.SplatOp(op.operand, shape)
        case arith.ConstantOp():
            assert isinstance(op.value, DenseIntOrFPElementsAttr)
            number = _insert(arith.ConstantOp(next(op.value.iter_attrs())), op)
            made = tl.SplatOp(number, shape)
        case _:
            made = type(op).create(
                operands=[_flat(v, op, prefix) if shape_of(v.type) else v for v in op.operands],
                result_types=[with_shape(result.type, shape)],
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
    value = _insert(made, op)
    value.name_hint = result.name_hint
    result.replace_all_uses_with(_insert(tl.ReshapeOp(value, shape_of(result.type)), op))
    op.detach()
    op.erase()


def _cancel_reshapes(function: func.FuncOp) -> None:
    """A reshape back to the shape before another reshape is what that one takes."""
    for op in [each for each in function.walk() if isinstance(each, tl.ReshapeOp)]:
        while isinstance(source := op.operand.owner, tl.ReshapeOp):
            op.operands[0] = source.operand
            if not source.result.uses:
                source.detach()
                source.erase()
        if op.operand.type == op.result.type:
            op.result.replace_all_uses_with(op.operand)
            op.detach()
            op.erase()


def _fold_loop(loop: scf.ForOp, numbers: set[int], prefix: Prefix) -> None:
    """Let a loop carry folded blocks."""
    body = loop.body.block
    last = body.last_op
    assert last is not None and body.first_op is not None
    inits = [_flat(v, loop, prefix) if n in numbers else v for n, v in enumerate(loop.iter_args)]
    last.operands = [_flat(v, last, prefix) if n in numbers else v for n, v in enumerate(last.operands)]
    for n in numbers:
        old = body.args[n + 1]
        new = body.insert_arg(inits[n].type, n + 1)
        new.name_hint = old.name_hint
        first = body.first_op
        assert first is not None
        old.replace_all_uses_with(_insert(tl.ReshapeOp(new, shape_of(old.type)), first))
        body.erase_arg(old)
    made = scf.ForOp(loop.lb, loop.ub, loop.step, inits, loop.detach_region(loop.body))
    _insert(made, loop)
    for old, new in zip(loop.results, made.results, strict=True):
        new.name_hint = old.name_hint
        same = old.type == new.type
        old.replace_all_uses_with(new if same else _insert(tl.ReshapeOp(new, shape_of(old.type)), loop))
    loop.detach()
    loop.erase()
