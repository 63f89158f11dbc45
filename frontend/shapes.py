"""Functions that make blocks and change their shape."""

from __future__ import annotations

from math import prod

from ..dialects import tl
from .builtin import Builtin, known, row
from .emit import Emitter
from .types import BY_NAME, BlockType, DType, PointerType, TypeFault, int32
from .values import Item, Value, describe


def _flat(numbers: tuple[Item, ...], what: str) -> tuple[int, ...]:
    """Integers given one by one or as one tuple."""
    if len(numbers) == 1 and isinstance(numbers[0], tuple):
        numbers = numbers[0]
    found: list[int] = []
    for number in numbers:
        number = known(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeFault(f"{what} is made of compile-time integers; {describe(number)} is none")
        found.append(number)
    return tuple(found)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front, also where it was counted from the back. Raises TypeFault."""
    if not -rank <= axis < rank:
        raise TypeFault(f"axis {axis} of a block of rank {rank}", f"its axes are 0 to {rank - 1}, or -{rank} to -1")
    return axis % rank


def _arange(emit: Emitter, start: int, end: int) -> Item:
    size = end - start
    if size <= 0:
        raise TypeFault(
            f"the end, {end}, must be greater than the start, {start}", "it is called as arange(start, end)"
        )
    if size & (size - 1):
        above = 1 << size.bit_length()
        raise TypeFault(
            f"the size must be a power of two, and {size} is none",
            f"take {above} and mask off the lanes from {size} on",
        )
    if not (int32.range[0] <= start and end - 1 <= int32.range[1]):
        raise TypeFault(f"the range {start} to {end} does not fit i32")
    return emit.make(tl.MakeRangeOp(start, end), BlockType((size,), int32))


def _full(emit: Emitter, shape: tuple[int, ...], value: Item, dtype: DType) -> Item:
    if isinstance(value, Value):
        if value.is_block:
            if prod(value.shape) != 1:
                raise TypeFault(f"a block is filled with a scalar, not with {describe(value)}")
            raise TypeFault("a block is filled with a scalar; reduce this block of one element first")
        return emit.broadcast(emit.cast(value, dtype), shape)
    assert isinstance(value, bool | int | float)
    return emit.constant(value, dtype, shape)


def transpose(emit: Emitter, input: Value, *order: int) -> Value:
    """Axes in another order; without one, the last two change places."""
    rank = len(input.shape)
    if not order:
        if rank < 2:
            raise TypeFault(
                f"only a block of two axes or more can be transposed, not {describe(input)}", "x[None, :] adds an axis"
            )
        order = (*range(rank - 2), rank - 1, rank - 2)
    order = tuple(axis_of(d, rank) for d in order)
    if sorted(order) != list(range(rank)):
        raise TypeFault(f"{list(order)} is no order of the {rank} axes of {describe(input)}")
    shape = tuple(input.shape[d] for d in order)
    return emit.make(tl.TransOp(input.ssa, order), BlockType(shape, input.element))


def _permute(emit: Emitter, input: Value, dims: tuple[Item, ...]) -> Item:
    return transpose(emit, input, *_flat(dims, "an order of axes"))


def reshaped(emit: Emitter, input: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in row-major order in another shape."""
    if any(n <= 0 for n in shape):
        raise TypeFault(f"the shape {list(shape)} has an axis of no elements")
    if prod(input.shape) != prod(shape):
        raise TypeFault(
            f"{describe(input)} has {prod(input.shape)} elements, the shape {list(shape)} has {prod(shape)}",
            "the sizes of the new shape must multiply to the same number",
        )
    if not input.is_block:
        return emit.broadcast(input, shape)
    if input.shape == shape or not shape:
        return input
    return emit.make(tl.ReshapeOp(input.ssa, shape), BlockType(shape, input.element))


def _reshape(emit: Emitter, input: Value, shape: tuple[Item, ...], can_reorder: Item) -> Item:
    return reshaped(emit, input, _flat(shape, "a shape"))


def _ravel(emit: Emitter, x: Value, can_reorder: Item) -> Item:
    return reshaped(emit, x, (prod(x.shape),))


def _expand_dims(emit: Emitter, input: Value, axis: tuple[int, ...]) -> Item:
    rank = len(input.shape) + len(axis)
    places = sorted(axis_of(a, rank) for a in axis)
    if len(set(places)) != len(places):
        raise TypeFault(f"axes {list(axis)} name one place twice")
    for place in places:
        input = emit.expand(input, place)
    return input


def _broadcast_to(emit: Emitter, input: Value, shape: tuple[Item, ...]) -> Item:
    return emit.broadcast(input, _flat(shape, "a shape"))


def _broadcast(emit: Emitter, input: Value, other: Value) -> Item:
    return emit.together(input, other)


def _program_id(emit: Emitter, axis: int) -> Item:
    return emit.make(tl.ProgramIdOp(_grid_axis(axis)), int32)


def _num_programs(emit: Emitter, axis: int) -> Item:
    return emit.make(tl.NumProgramsOp(_grid_axis(axis)), int32)


def _grid_axis(axis: int) -> int:
    if axis not in (0, 1, 2):
        raise TypeFault(f"the axes of a grid are 0, 1 and 2, not {axis}", "take 0 for a grid of one size")
    return axis


def _pointer_type(emit: Emitter, element_ty: DType | PointerType, address_space: Item, const: Item) -> Item:
    if isinstance(element_ty, PointerType):
        raise TypeFault("pointers to pointers are not supported")
    return PointerType(element_ty)


def _int_dtype(emit: Emitter, bitwidth: int, signed: bool) -> Item:
    name = f"{'i' if signed else 'u'}{bitwidth}"
    if name not in BY_NAME:
        raise TypeFault(f"there is no integer of {bitwidth} bits", "integers have 8, 16, 32 or 64 bits")
    return BY_NAME[name]


SHAPES: tuple[Builtin, ...] = (
    row("program_id", "axis: int", _program_id),
    row("num_programs", "axis: int", _num_programs),
    row("arange", "start: int, end: int", _arange),
    row("full", "shape: shape, value: number, dtype: dtype", _full),
    row("trans", "input: value, *dims", _permute, method=True),
    row("permute", "input: value, *dims", _permute, method=True),
    row("reshape", "input: value, *shape, can_reorder: hint = False", _reshape, method=True),
    row("view", "input: value, *shape, can_reorder: hint = False", _reshape, method=True),
    row("ravel", "x: value, can_reorder: hint = False", _ravel, method=True),
    row("expand_dims", "input: value, axis: ints", _expand_dims, method=True),
    row("broadcast_to", "input: value, *shape", _broadcast_to, method=True),
    row("broadcast", "input: value, other: value", _broadcast),
    row("get_int_dtype", "bitwidth: int, signed: bool", _int_dtype),
    row("pointer_type", "element_ty: type, address_space: hint = 1, const: hint = False", _pointer_type),
)
