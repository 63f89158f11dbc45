"""Tensor descriptors: a tensor in HBM with a block shape, read and written in blocks; lanes outside are cut off."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..dialects import tl
from .atomics import combine
from .builtin import Builtin, row
from .emit import Emitter
from .memory import access, address_of, lanes_from, load_padded
from .types import BlockType, DType, TypeFault, int64
from .values import Descriptor, Item, Value, describe

_PADDINGS = ("zero", "nan")


def _make(
    emit: Emitter, base: Item, shape: Item, strides: Item, block_shape: tuple[int, ...], padding_option: str
) -> Item:
    address, _ = address_of(base)
    if address.is_block:
        raise TypeFault(f"the base is a single pointer, not {describe(base)}")
    rank = len(block_shape)
    sizes = tuple(emit.i64(i) for i in _tuple(shape))
    steps = tuple(emit.i64(i) for i in _tuple(strides))
    for name, part in (("shape", sizes), ("strides", steps)):
        if len(part) != rank:
            raise TypeFault(f"'{name}' has {len(part)} entries, 'block_shape' has {rank}")
    if steps[-1].known not in (None, 1):
        raise TypeFault(f"the last axis of a descriptor has stride 1, not {steps[-1].known}", "swap the axes")
    for size in block_shape:
        if size & (size - 1):
            raise TypeFault(f"an axis of a block must be a power of two, and {size} is none")
    if padding_option not in _PADDINGS:
        raise TypeFault(f"padding_option '{padding_option}' is none of 'zero' and 'nan'")
    return Descriptor(address, sizes, steps, block_shape, padding_option)


def _tuple(item: Item) -> tuple[Item, ...]:
    return item if isinstance(item, tuple) else (item,)


def _descriptor(item: Item) -> Descriptor:
    if isinstance(item, Descriptor):
        return item
    raise TypeFault(f"a tensor descriptor is needed, not {describe(item)}", "tl.make_tensor_descriptor makes one")


def _access(emit: Emitter, descriptor: Descriptor, indices: tuple[Value, ...]) -> tuple[Value, Value]:
    every = range(len(indices))
    address, mask = access(emit, descriptor.base, descriptor.sizes, descriptor.strides, indices, every)
    assert mask is not None
    return address, mask


def _block(emit: Emitter, descriptor: Descriptor, offsets: Item) -> tuple[Value, Value]:
    """Pointers and mask of the block whose first lane is at `offsets`."""
    starts = _tuple(offsets)
    if len(starts) != len(descriptor.block):
        raise TypeFault(f"{len(starts)} offsets for a descriptor of rank {len(descriptor.block)}")
    pairs = zip(starts, descriptor.block, strict=True)
    return _access(emit, descriptor, tuple(lanes_from(emit, emit.i64(start), size) for start, size in pairs))


def _rows(emit: Emitter, descriptor: Descriptor, x_offsets: Value, y_offset: Item) -> tuple[Value, Value]:
    """Pointers and mask of the rows `x_offsets`, from column `y_offset` on."""
    if len(descriptor.block) != 2 or descriptor.block[0] != 1:
        raise TypeFault(f"rows are chosen through a block shape [1, n], not {list(descriptor.block)}")
    if len(x_offsets.shape) != 1:
        raise TypeFault(f"the rows are a block of one axis, not {describe(x_offsets)}")
    columns = lanes_from(emit, emit.i64(y_offset), descriptor.block[1])
    return _access(emit, descriptor, (emit.cast(x_offsets, int64), columns))


def _load(emit: Emitter, desc: Item, offsets: Item, cache_modifier: Item, eviction_policy: Item) -> Item:
    descriptor = _descriptor(desc)
    return load_padded(emit, *_block(emit, descriptor, offsets), descriptor.padding == "nan")


def _store(emit: Emitter, desc: Item, offsets: Item, value: Value, store_reduce: Item) -> Item:
    if store_reduce:
        raise TypeFault(f"a store that reduces ('{store_reduce}') is not supported", "use tl.atomic_add")
    descriptor = _descriptor(desc)
    _put(emit, *_block(emit, descriptor, offsets), value, descriptor)
    return None


def _gather(emit: Emitter, desc: Item, x_offsets: Value, y_offset: Item) -> Item:
    descriptor = _descriptor(desc)
    return load_padded(emit, *_rows(emit, descriptor, x_offsets, y_offset), descriptor.padding == "nan")


def _scatter(emit: Emitter, desc: Item, value: Value, x_offsets: Value, y_offset: Item) -> Item:
    descriptor = _descriptor(desc)
    _put(emit, *_rows(emit, descriptor, x_offsets, y_offset), value, descriptor)
    return None


def _atomic(kind: str) -> Callable[..., Item]:
    def lower(emit: Emitter, desc: Item, offsets: Item, value: Value) -> Item:
        descriptor = _descriptor(desc)
        address, mask = _block(emit, descriptor, offsets)
        combine(emit, kind, address, _fitted(emit, value, address, descriptor), mask)
        return None

    return lower


def _put(emit: Emitter, address: Value, mask: Value, value: Value, descriptor: Descriptor) -> None:
    emit.insert(tl.StoreOp(address.ssa, _fitted(emit, value, address, descriptor).ssa, mask.ssa))


def _fitted(emit: Emitter, value: Value, address: Value, descriptor: Descriptor) -> Value:
    """What is written in the shape and type of the block."""
    if value.shape != address.shape:
        if prod(value.shape) != prod(address.shape):
            raise TypeFault(f"{describe(value)} does not fill a block of shape {list(address.shape)}")
        value = emit.make(tl.ReshapeOp(value.ssa, address.shape), BlockType(address.shape, value.element))
    return value if value.element == descriptor.element else emit.cast(value, descriptor.element)


def _experimental_load(emit: Emitter, desc: Item, offsets: Item, shape: tuple[int, ...], dtype: DType) -> Item:
    """The form of Triton 3.1: the block shape and type come with the load."""
    descriptor = _descriptor(desc)
    if shape != descriptor.block or dtype != descriptor.element:
        raise TypeFault(f"a block {list(shape)} of {dtype} is loaded through {describe(desc)}")
    return load_padded(emit, *_block(emit, descriptor, offsets), descriptor.padding == "nan")


def _experimental_store(emit: Emitter, desc: Item, value: Value, offsets: Item) -> Item:
    descriptor = _descriptor(desc)
    _put(emit, *_block(emit, descriptor, offsets), value, descriptor)
    return None


_PARAMETERS = "base, shape, strides, block_shape: shape, padding_option: str = 'zero'"
_LOAD = row("load", "desc, offsets, cache_modifier: hint = '', eviction_policy: hint = ''", _load)
_STORE = row("store", "desc, offsets, value: value, store_reduce: hint = None", _store)

METHODS: dict[str, Builtin] = {
    "load": _LOAD,
    "store": _STORE,
    "gather": row("gather", "desc, x_offsets: block, y_offset", _gather),
    "scatter": row("scatter", "desc, value: block, x_offsets: block, y_offset", _scatter),
    **{
        f"atomic_{kind}": row(f"atomic_{kind}", "desc, offsets, value: value", _atomic(kind))
        for kind in ("add", "max", "min", "and", "or", "xor")
    },
}
"""What `descriptor.name(...)` calls."""

DESCRIPTORS: tuple[Builtin, ...] = (
    row("make_tensor_descriptor", _PARAMETERS, _make),
    row("_experimental_make_tensor_descriptor", _PARAMETERS, _make),
    row("load_tensor_descriptor", "desc, offsets, cache_modifier: hint = '', eviction_policy: hint = ''", _load),
    row("store_tensor_descriptor", "desc, offsets, value: value, store_reduce: hint = None", _store),
    row("_experimental_descriptor_load", "desc, offsets, shape: shape, dtype: dtype", _experimental_load),
    row("_experimental_descriptor_store", "desc, value: value, offsets", _experimental_store),
)
