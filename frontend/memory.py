"""Functions that read and write memory: through pointers, block pointers and regions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType

from ..dialects import region, tl
from . import operators
from .builtin import Builtin, row
from .emit import Emitter
from .types import BlockType, DType, PointerType, TypeFault, int1, int32, int64, ir_type
from .values import BlockPointer, Item, Region, Value, describe


def hints_of(**given: Item) -> DictionaryAttr | None:
    """The hints of an access that say something. They never change what is computed."""
    found = {name: StringAttr(str(hint)) for name, hint in given.items() if hint}
    return DictionaryAttr(found) if found else None


def _load(
    emit: Emitter,
    pointer: Item,
    mask: Value | None,
    other: Value | None,
    boundary_check: tuple[int, ...],
    padding_option: str | None,
    cache_modifier: Item,
    eviction_policy: Item,
    volatile: Item,
) -> Item:
    hints = hints_of(cache_modifier=cache_modifier, eviction_policy=eviction_policy, volatile=volatile)
    if isinstance(pointer, Region):
        _refuse(mask=mask, other=other, boundary_check=boundary_check, what="a region")
        kind = TensorType(ir_type(pointer.element), pointer.shape)
        return emit.make(tl.LoadRegionOp(pointer.ssa, kind, hints), BlockType(pointer.shape, pointer.element))
    if isinstance(pointer, BlockPointer):
        _refuse(mask=mask, other=other, what="a block pointer")
        return _load_block(emit, pointer, boundary_check, padding_option, hints)
    if boundary_check or padding_option:
        raise TypeFault("boundary_check and padding_option are for block pointers", "give a mask instead")
    address, element = address_of(pointer)
    if mask is None and other is not None:
        raise TypeFault("'other' without a 'mask'", "say with mask= which lanes are valid")
    for name, item in (("mask", mask), ("other", other)):
        if item is not None and item.is_block and not address.is_block:
            raise TypeFault(f"'{name}' is {describe(item)}, but the pointer is a single one")
    mask = as_mask(mask)
    if address.is_block and mask is not None:
        address, mask = emit.together(address, mask)
    if other is not None:
        other = _whole(emit, emit.cast(other, element), address)
    op = tl.LoadOp(address.ssa, mask.ssa if mask else None, other.ssa if other else None, hints)
    return emit.make(op, BlockType(address.shape, element) if address.is_block else element)


def _whole(emit: Emitter, item: Value, address: Value) -> Value:
    return emit.broadcast(item, address.shape) if address.is_block else item


def _refuse(what: str, **given: Item) -> None:
    for name, item in given.items():
        if item is not None and item != ():
            raise TypeFault(f"'{name}' does not go with {what}", "leave it out, or use pointers")


def address_of(pointer: Item) -> tuple[Value, DType]:
    """A pointer or block of pointers and what it points at. Raises TypeFault for anything else."""
    if isinstance(pointer, Value) and isinstance(pointer.element, PointerType):
        return pointer, pointer.element.element
    raise TypeFault(
        f"a pointer or a block of pointers is needed, not {describe(pointer)}", "add the offsets to a pointer"
    )


def as_mask(mask: Value | None) -> Value | None:
    """A mask, if it is one. Raises TypeFault."""
    if mask is not None and mask.element != int1:
        raise TypeFault(f"a mask is made of booleans, not of {mask.element}", "compare, for example with `!= 0`")
    return mask


def _store(
    emit: Emitter,
    pointer: Item,
    value: Item,
    mask: Value | None,
    boundary_check: tuple[int, ...],
    cache_modifier: Item,
    eviction_policy: Item,
) -> Item:
    hints = hints_of(cache_modifier=cache_modifier, eviction_policy=eviction_policy)
    if isinstance(pointer, Region):
        _refuse(mask=mask, boundary_check=boundary_check, what="a region")
        whole = emit.broadcast(emit.cast(emit.value(value), pointer.element), pointer.shape)
        emit.insert(tl.StoreRegionOp(pointer.ssa, whole.ssa, hints))
        return None
    if isinstance(pointer, BlockPointer):
        _refuse(mask=mask, what="a block pointer")
        pointer, mask = _block_access(emit, pointer, boundary_check)
    elif boundary_check:
        raise TypeFault("boundary_check is for block pointers", "give a mask instead")
    address, element = address_of(pointer)
    stored = emit.value(value)
    for name, item in (("value", stored), ("mask", mask)):
        if item is not None and item.is_block and not address.is_block:
            raise TypeFault(
                f"'{name}' is {describe(item)}, but the pointer is a single one",
                "store a block through a block of pointers",
            )
    mask = as_mask(mask)
    stored = emit.cast(stored, element)
    if address.is_block:
        stored = emit.broadcast(stored, address.shape)
        mask = emit.broadcast(mask, address.shape) if mask is not None else None
    emit.insert(tl.StoreOp(address.ssa, stored.ssa, mask.ssa if mask else None, hints))
    return None


# Block pointers -----------------------------------------------------------------------------------


def _make_block_ptr(
    emit: Emitter,
    base: Item,
    shape: Item,
    strides: Item,
    offsets: Item,
    block_shape: tuple[int, ...],
    order: Item,
) -> Item:
    address, _ = address_of(base)
    if address.is_block:
        raise TypeFault(f"the base is a single pointer, not {describe(base)}")
    sizes, steps, starts = (tuple(emit.i64(i) for i in _tuple(part)) for part in (shape, strides, offsets))
    rank = len(block_shape)
    for name, part in (("shape", sizes), ("strides", steps), ("offsets", starts)):
        if len(part) != rank:
            raise TypeFault(f"'{name}' has {len(part)} entries, 'block_shape' has {rank}")
    for size in block_shape:
        if size & (size - 1):
            raise TypeFault(f"an axis of a block pointer must be a power of two, and {size} is none")
    return BlockPointer(address, sizes, steps, starts, block_shape)


def _tuple(item: Item) -> tuple[Item, ...]:
    return item if isinstance(item, tuple) else (item,)


def _advance(emit: Emitter, base: Item, offsets: Item) -> Item:
    if not isinstance(base, BlockPointer):
        raise TypeFault(f"a block pointer is needed, not {describe(base)}", "a pointer is advanced with +")
    steps = _tuple(offsets)
    if len(steps) != len(base.offsets):
        raise TypeFault(f"{len(steps)} offsets for a block pointer of rank {len(base.offsets)}")
    moved: list[Value] = []
    for start, step in zip(base.offsets, steps, strict=True):
        still = isinstance(step, int) and step == 0
        moved.append(start if still else emit.elementwise("addi", start, emit.i64(step)))
    return BlockPointer(base.base, base.sizes, base.strides, tuple(moved), base.block)


def access(
    emit: Emitter,
    base: Value,
    sizes: Sequence[Value],
    strides: Sequence[Value],
    indices: Sequence[Value],
    checked: Sequence[int],
) -> tuple[Value, Value | None]:
    """The pointers of the block with these i64 indices (of one axis each) along the axes of a tensor, and the mask of
    what lies inside along the axes that are `checked`.
    """
    shape = tuple(index.shape[0] for index in indices)
    address, mask = emit.broadcast(base, shape), None
    for axis, index in enumerate(indices):
        for other in range(len(shape)):
            if other != axis:
                index = emit.expand(index, other)
        moved = operators.binary(emit, "+", address, operators.binary(emit, "*", index, strides[axis]))
        assert isinstance(moved, Value)
        address = moved
        if axis in checked:
            inside = operators.connect(
                emit,
                "and",
                operators.binary(emit, ">=", index, 0),
                operators.binary(emit, "<", index, sizes[axis]),
            )
            joined = inside if mask is None else operators.binary(emit, "&", mask, inside)
            assert isinstance(joined, Value)
            mask = joined
    return address, None if mask is None else emit.broadcast(mask, shape)


def lanes_from(emit: Emitter, start: Value, size: int) -> Value:
    """`size` indices from `start` on, in i64."""
    lanes = emit.make(tl.MakeRangeOp(0, size), BlockType((size,), int32))
    found = operators.binary(emit, "+", emit.cast(lanes, int64), start)
    assert isinstance(found, Value)
    return found


def _block_access(emit: Emitter, pointer: BlockPointer, boundary_check: tuple[int, ...]) -> tuple[Value, Value | None]:
    """The pointers of a block pointer's block, and the mask of the axes that are checked."""
    indices = [lanes_from(emit, start, size) for start, size in zip(pointer.offsets, pointer.block, strict=True)]
    return access(emit, pointer.base, pointer.sizes, pointer.strides, indices, boundary_check)


def _load_block(
    emit: Emitter,
    pointer: BlockPointer,
    boundary_check: tuple[int, ...],
    padding_option: str | None,
    hints: DictionaryAttr | None,
) -> Value:
    if padding_option not in (None, "", "zero", "nan"):
        raise TypeFault(f"padding_option '{padding_option}' is none of 'zero' and 'nan'")
    address, mask = _block_access(emit, pointer, boundary_check)
    return load_padded(emit, address, mask, padding_option == "nan", hints)


def load_padded(
    emit: Emitter, address: Value, mask: Value | None, nan: bool, hints: DictionaryAttr | None = None
) -> Value:
    """What lies at a block of pointers; 0 or NaN in the lanes that the mask leaves out."""
    _, element = address_of(address)
    other = None
    if mask is not None and nan:
        other = emit.constant(float("nan"), element, address.shape)
    op = tl.LoadOp(address.ssa, mask.ssa if mask else None, other.ssa if other else None, hints)
    return emit.make(op, BlockType(address.shape, element))


# Regions ------------------------------------------------------------------------------------------


def _ref(emit: Emitter, pointer: Item, shape: tuple[int, ...], strides: Item) -> Item:
    """A region: rows of `shape` from a pointer on; without strides its elements lie one after another, the last axis
    fastest.
    """
    address, element = address_of(pointer)
    if address.is_block:
        raise TypeFault(f"a region starts at a single pointer, not {describe(pointer)}", "its shape makes the block")
    steps: tuple[Item, ...]
    if strides is None:
        dense, size = list[int](), 1
        for n in reversed(shape):
            dense.insert(0, size)
            size *= n
        steps = tuple(dense)
    else:
        steps = _tuple(strides)
    if len(steps) != len(shape):
        raise TypeFault(f"{len(steps)} strides for {len(shape)} axes", "give one for each axis")
    zero = emit.constant(0, int64).ssa
    sizes = [emit.constant(n, int64).ssa for n in shape]
    made = region.RegionOp(address.ssa, zero, sizes, [emit.i64(s).ssa for s in steps], [zero] * len(shape), sizes)
    return Region(emit.insert(made).results[0], element, shape)


MEMORY: tuple[Builtin, ...] = (
    row(
        "load",
        "pointer, mask: value = None, other: value = None, boundary_check: ints = (), padding_option: str = '', "
        "cache_modifier: hint = '', eviction_policy: hint = '', volatile: hint = False",
        _load,
    ),
    row(
        "store",
        "pointer, value, mask: value = None, boundary_check: ints = (), cache_modifier: hint = '', "
        "eviction_policy: hint = ''",
        _store,
    ),
    row("make_block_ptr", "base, shape, strides, offsets, block_shape: shape, order: hint = None", _make_block_ptr),
    row("advance", "base, offsets", _advance),
)

METHODS: dict[str, Builtin] = {"advance": row("advance", "base, offsets", _advance)}
"""What `block_pointer.name(...)` calls."""

REF: Builtin = row("ref", "pointer, shape: shape, strides: item = None", _ref)
