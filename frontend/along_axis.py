"""Functions whose lanes look at others along an axis: reductions, scans, gathers, sorts and histograms.

The names with an underscore are for the library (`reductions.tl`), which says with them how a function of the user
combines lanes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation

from ..dialects import tl
from . import operators
from .builtin import Builtin, row
from .emit import Emitter
from .shapes import axis_of, reshaped
from .types import BlockType, DType, TypeFault, int32
from .values import Item, Value, describe


def _numbers(item: Item) -> tuple[Value, DType]:
    """A block of numbers and their type. Raises TypeFault for anything else."""
    if isinstance(item, Value) and item.is_block and isinstance(item.element, DType):
        return item, item.element
    raise TypeFault(f"a block of numbers is needed, not {describe(item)}")


def _is_unsigned(dtype: DType) -> bool:
    return dtype.is_int and not dtype.signed


def _reduce(emit: Emitter, input: Value, axis: int | None, kind: str, keep_dims: bool) -> Item:
    """One axis, or all of them for None, by a named combination."""
    _, dtype = _numbers(input)
    shape = input.shape
    if axis is None:
        input, place = reshaped(emit, input, (math.prod(shape),)), 0
        left: tuple[int, ...] = ()
    else:
        place = axis_of(axis, len(shape))
        left = (*shape[:place], *shape[place + 1 :])
    op = tl.ReduceOp(kind, input.ssa, place, unsigned=_is_unsigned(dtype))
    result = emit.make(op, BlockType(left, dtype) if left else dtype)
    if not keep_dims:
        return result
    return emit.broadcast(result, (1,) * len(shape)) if axis is None else emit.expand(result, place)


def _scan(emit: Emitter, input: Value, axis: int, kind: str, reverse: bool) -> Item:
    """Running reductions along an axis by a named combination."""
    _, dtype = _numbers(input)
    place = axis_of(axis, len(input.shape))
    op = tl.ScanOp(kind, input.ssa, place, reverse=reverse, unsigned=_is_unsigned(dtype))
    return emit.make(op, input.type)


def _gather(emit: Emitter, src: Value, index: Value, axis: int) -> Item:
    _numbers(src)
    _, kind = _numbers(index)
    if not kind.is_int or kind.is_bool:
        raise TypeFault(f"the index is made of integers, not of {kind}", "cast it with `.to(tl.int32)`")
    if len(index.shape) != len(src.shape):
        raise TypeFault(
            f"the index has {len(index.shape)} axes, the source {len(src.shape)}", "x[:, None] adds an axis"
        )
    place = axis_of(axis, len(src.shape))
    for d, (n, m) in enumerate(zip(src.shape, index.shape, strict=True)):
        if d != place and n != m:
            raise TypeFault(
                f"the index {list(index.shape)} does not go with the source {list(src.shape)}: "
                f"axis {d} has {m} and {n} lanes",
                f"only axis {place}, along which lanes are gathered, may differ",
            )
    return _gathered(emit, src, index, place)


def _gathered(emit: Emitter, source: Value, index: Value, axis: int) -> Value:
    return emit.make(tl.GatherOp(source.ssa, index.ssa, axis), BlockType(index.shape, source.element))


def _histogram(emit: Emitter, input: Value, num_bins: int, mask: Value | None) -> Item:
    _, dtype = _numbers(input)
    if len(input.shape) != 1:
        raise TypeFault(f"a block of one axis is needed, not {describe(input)}", "tl.ravel(x) makes one of it")
    if not dtype.is_int or dtype.is_bool:
        raise TypeFault(f"integers are needed, not {dtype}", "cast them with `.to(tl.int32)`")
    if num_bins <= 0:
        raise TypeFault(f"{num_bins} bins")
    if mask is not None:
        if mask.element != _BOOLEAN:
            raise TypeFault(f"a mask is made of booleans, not of {mask.element}", "compare, for example with `!= 0`")
        mask = emit.broadcast(mask, input.shape)
    op = tl.HistogramOp(input.ssa, num_bins, mask.ssa if mask is not None else None)
    return emit.make(op, BlockType((num_bins,), int32))


def _sort(emit: Emitter, x: Value, k: int | None, dim: int | None, descending: bool) -> Item:
    """The last axis in order; the first `k` lanes of it where `k` is given."""
    _, dtype = _numbers(x)
    last = len(x.shape) - 1
    if dim is not None and axis_of(dim, len(x.shape)) != last:
        raise TypeFault(f"only the last axis, {last}, can be sorted, not {dim}", "tl.permute brings another axis there")
    size = x.shape[last]
    for count in (size, size if k is None else k):
        if count <= 0 or count & (count - 1):
            raise TypeFault(f"a sort takes powers of two, and {count} is none")
    if k is not None and k > size:
        raise TypeFault(f"the first {k} of {size} lanes")
    count = size if k is None else k
    op = tl.SortOp(x.ssa, last, count, descending=descending, unsigned=_is_unsigned(dtype))
    return emit.make(op, BlockType((*x.shape[:last], count), dtype))


# Combinations by a function of the kernel --------------------------------------------------------

# What a function of two lanes does if it is one op: the named combination.
_NAMED: Mapping[str, str] = {
    arith.AddfOp.name: "sum",
    arith.AddiOp.name: "sum",
    arith.MulfOp.name: "prod",
    arith.MuliOp.name: "prod",
    arith.MaxnumfOp.name: "max",
    arith.MaxSIOp.name: "max",
    arith.MaxUIOp.name: "max",
    arith.MinnumfOp.name: "min",
    arith.MinSIOp.name: "min",
    arith.MinUIOp.name: "min",
    arith.AndIOp.name: "and",
    arith.OrIOp.name: "or",
    arith.XOrIOp.name: "xor",
}


def _probe(emit: Emitter, like: Value) -> Item:
    """A scalar of the type of a block's elements, to see what a function makes of it."""
    _, dtype = _numbers(like)
    return Value(emit.constant(1, dtype).ssa, dtype)


def _combination(emit: Emitter, a: Value, b: Value, combined: Item) -> Item:
    """The named combination that a function of the probes a and b is; None for any other. Removes what it made of
    them.
    """
    name = None
    if isinstance(combined, Value) and isinstance(combined.ssa.owner, Operation) and combined.type == a.type:
        op = combined.ssa.owner
        if set(op.operands) == {a.ssa, b.ssa} and len(op.operands) == 2:
            name = _NAMED.get(op.name)
    first = a.ssa.owner
    assert isinstance(first, Operation) and emit.into is not None
    while (last := emit.into.last_op) is not None:
        emit.into.erase_op(last, safe_erase=False)
        if last is first:
            break
    return name


def _parts(emit: Emitter, input: Item) -> Item:
    """One block or a tuple of blocks of one shape, as a tuple."""
    items = input if isinstance(input, tuple) else (input,)
    if not items:
        raise TypeFault("a block or a tuple of blocks is needed, not an empty tuple")
    shape = _numbers(items[0])[0].shape
    for item in items:
        if (found := _numbers(item)[0].shape) != shape:
            raise TypeFault(f"all blocks must have one shape, and there are {list(shape)} and {list(found)}")
    return items


def _combined(emit: Emitter, parts: tuple[Item, ...], result: Item) -> Item:
    """What the user's function gave for these parts, as a tuple. Raises TypeFault unless the types are theirs."""
    items = result if isinstance(result, tuple) else (result,)
    wanted, found = ([i.type for i in t if isinstance(i, Value)] for t in (parts, items))
    if wanted != found:
        raise TypeFault(
            f"the function that combines lanes gives {_types(items)} for {_types(parts)}",
            "it must give back as many values as it combines, of the same types",
        )
    return items


def _types(items: tuple[Item, ...]) -> str:
    return ", ".join(str(i.element) if isinstance(i, Value) else describe(i) for i in items)


def _strided(emit: Emitter, x: Value, axis: int, start: int, step: int, count: int) -> Item:
    """`count` lanes along an axis: from `start` on, each `step` after the one before. Lanes outside are the nearest."""
    lanes = emit.make(tl.MakeRangeOp(0, count), BlockType((count,), int32))
    index = operators.binary(emit, "+", operators.binary(emit, "*", lanes, step), start)
    assert isinstance(index, Value)
    for d in range(len(x.shape)):
        if d != axis:
            index = emit.expand(index, d)
    return _gathered(emit, x, emit.broadcast(index, (*x.shape[:axis], count, *x.shape[axis + 1 :])), axis)


def _squeezed(emit: Emitter, x: Value, axis: int) -> Item:
    """A block without an axis of one lane; a scalar where it was the only one."""
    left = (*x.shape[:axis], *x.shape[axis + 1 :])
    if left:
        return reshaped(emit, x, left)
    return _reduce(emit, x, 0, "max", False)


_BOOLEAN = operators.int1

ALONG_AXIS: tuple[Builtin, ...] = (
    row("gather", "src: block, index: block, axis: int", _gather, method=True),
    row("histogram", "input: block, num_bins: int, mask: value = None", _histogram, method=True),
    row("_reduce", "input: value, axis: axis, kind: str, keep_dims: bool", _reduce),
    row("_scan", "input: value, axis: int, kind: str, reverse: bool", _scan),
    row("_sort", "x: value, k: int = None, dim: int = None, descending: bool = False", _sort),
    row("_probe", "like: block", _probe),
    row("_combination", "a: value, b: value, combined", _combination),
    row("_parts", "input", _parts),
    row("_combined", "parts, result", _combined),
    row("_strided", "x: block, axis: int, start: int, step: int, count: int", _strided),
    row("_squeezed", "x: block, axis: int", _squeezed),
)
