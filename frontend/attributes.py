"""Attributes and subscripts of items: `x.dtype`, `x.shape`, `tl.float16.primitive_bitwidth`, `x[:, None]`, `t[0]`.
Tables by kind of item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .builtin import Builtin, known, row
from .emit import Emitter
from .shapes import transpose
from .types import (
    BlockType,
    DType,
    PointerType,
    Type,
    TypeFault,
    bfloat16,
    element_of,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    shape_of,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .values import LOAD, BlockPointer, Descriptor, Item, Region, Value, describe

ABSENT = object()


def _size(value: Value) -> Item:
    size = 1
    for n in value.shape:
        size *= n
    return size


_VALUE: dict[str, Callable[[Emitter, Any], Item]] = {
    "dtype": lambda _, v: v.element,
    "type": lambda _, v: v.type,
    "shape": lambda _, v: v.shape,
    "numel": lambda _, v: _size(v),
    "T": lambda emit, v: transpose(emit, v),
}
_REGION: dict[str, Callable[[Emitter, Any], Item]] = {
    "dtype": lambda _, r: r.element,
    "shape": lambda _, r: r.shape,
}
_BLOCK_POINTER: dict[str, Callable[[Emitter, Any], Item]] = {
    "dtype": lambda _, p: p.base.element,
    "type": lambda _, p: p.base.element,
    "block_shape": lambda _, p: p.block,
}

_DESCRIPTOR: dict[str, Callable[[Emitter, Any], Item]] = {
    "dtype": lambda _, d: d.element,
    "type": lambda _, d: BlockType(d.block, d.element),
    "block_type": lambda _, d: BlockType(d.block, d.element),
    "shape": lambda _, d: d.sizes,
    "strides": lambda _, d: d.strides,
    "block_shape": lambda _, d: d.block,
}


def _bits(of: Type) -> int:
    element = element_of(of)
    return 64 if isinstance(element, PointerType) else element.bits


_TYPE: dict[str, Callable[[Emitter, Any], Item]] = {
    "element_ty": lambda _, t: t.element if isinstance(t, PointerType | BlockType) else t,
    "scalar": lambda _, t: element_of(t),
    "shape": lambda _, t: shape_of(t),
    "primitive_bitwidth": lambda _, t: _bits(t),
    "int_bitwidth": lambda _, t: _bits(t),
    "itemsize": lambda _, t: max(_bits(t) // 8, 1),
    "name": lambda _, t: str(t),
}


def _predicate(test: Callable[[Any], bool]) -> Callable[[Any], Item]:
    return lambda t: isinstance(element_of(t), DType) and not isinstance(t, PointerType) and test(element_of(t))


# Methods of types: name -> what it says.
_PREDICATES: dict[str, Callable[[Any], Item]] = {
    "is_floating": _predicate(lambda t: t.is_float),
    "is_standard_floating": _predicate(lambda t: t.is_float and not t.is_fp8),
    "is_int": _predicate(lambda t: t.is_int),
    "is_int_signed": _predicate(lambda t: t.is_int and t.signed),
    "is_int_unsigned": _predicate(lambda t: t.is_int and not t.signed),
    "is_bool": _predicate(lambda t: t.is_bool),
    "is_int1": _predicate(lambda t: t.is_bool),
    "is_fp8": _predicate(lambda t: t.is_fp8),
    "is_fp16": _predicate(lambda t: t == float16),
    "is_bf16": _predicate(lambda t: t == bfloat16),
    "is_fp32": _predicate(lambda t: t == float32),
    "is_fp64": _predicate(lambda t: t == float64),
    "is_int8": _predicate(lambda t: t == int8),
    "is_int16": _predicate(lambda t: t == int16),
    "is_int32": _predicate(lambda t: t == int32),
    "is_int64": _predicate(lambda t: t == int64),
    "is_uint8": _predicate(lambda t: t == uint8),
    "is_uint16": _predicate(lambda t: t == uint16),
    "is_uint32": _predicate(lambda t: t == uint32),
    "is_uint64": _predicate(lambda t: t == uint64),
    "is_ptr": lambda t: isinstance(t, PointerType),
    "is_block": lambda t: isinstance(t, BlockType),
    "get_block_shapes": shape_of,
}


def _table(item: Item) -> dict[str, Callable[[Emitter, Any], Item]]:
    match item:
        case Value():
            return _VALUE
        case Region():
            return _REGION
        case BlockPointer():
            return _BLOCK_POINTER
        case Descriptor():
            return _DESCRIPTOR
        case DType() | PointerType() | BlockType():
            return _TYPE
        case _:
            return {}


def names_of(item: Item) -> list[str]:
    """The attributes that an item has, for the closest match to a misspelt one."""
    return [*_table(item), *(_PREDICATES if isinstance(item, DType | PointerType | BlockType) else ())]


def attribute(emit: Emitter, item: Item, name: str) -> Item | Any:
    """The attribute of an item; ABSENT if it has none of that name."""
    found = _table(item).get(name)
    if found is not None:
        return found(emit, item)
    if isinstance(item, DType | PointerType | BlockType) and name in _PREDICATES:
        result = _PREDICATES[name](item)
        return row(name, "", _constantly(result))
    if name == "value" and not isinstance(item, Value | Builtin):
        return item  # `.value` of a constexpr
    if isinstance(item, int) and name == "bit_length":
        return row(name, "", _constantly(item.bit_length()))
    return ABSENT


def _constantly(item: Item) -> Callable[..., Item]:
    def lower(emit: Emitter) -> Item:
        return item

    return lower


def subscript(emit: Emitter, owner: Item, index: Item) -> Item:
    """`owner[index]`: axes of a block, or an element or part of a tuple. Raises TypeFault."""
    if isinstance(owner, Value):
        if not owner.is_block and not _only_new_axes(index):
            hint = "a pointer is read with tl.load(pointer + offset)" if owner.is_pointer else None
            raise TypeFault(f"{describe(owner)} cannot be indexed", hint)
        return _axes(emit, owner, index if isinstance(index, tuple) else (index,))
    if isinstance(owner, tuple | str):
        return _element(owner, known(index) if not isinstance(index, slice) else index)
    raise TypeFault(f"{describe(owner)} cannot be indexed", LOAD if isinstance(owner, Region) else None)


def _only_new_axes(index: Item) -> bool:
    entries = index if isinstance(index, tuple) else (index,)
    return None in entries and all(i is None or i == slice(None) for i in entries)


def _axes(emit: Emitter, value: Value, index: tuple[Item, ...]) -> Value:
    """`:` keeps an axis, None adds one; a block has no single elements to take. A scalar has only the axes that None
    adds, and Triton lets `:` of it pass.
    """
    if not value.is_block:
        return emit.broadcast(value, (1,) * sum(entry is None for entry in index))
    for axis, entry in enumerate(index):
        if entry is None:
            value = emit.expand(value, axis)
        elif not (isinstance(entry, slice) and entry == slice(None)):
            raise TypeFault(
                f"a block cannot be indexed by {describe(entry)}",
                "only `:` and None can index a block; load the element through a pointer instead",
            )
        elif axis >= len(value.shape):
            raise TypeFault(f"{len(index)} indices for {describe(value)}")
    return value


def _element(owner: tuple[Item, ...] | str, index: Item) -> Item:
    if isinstance(index, slice):
        index = slice(*(known(part) for part in (index.start, index.stop, index.step)))
    elif isinstance(index, bool) or not isinstance(index, int):
        raise TypeFault(f"a tuple is indexed by a compile-time integer, not {describe(index)}")
    try:
        return owner[index]
    except IndexError:
        raise TypeFault(f"index {index} of a tuple of {len(owner)}") from None
    except (TypeError, ValueError):
        raise TypeFault(f"{describe(owner)} cannot be cut like this") from None
