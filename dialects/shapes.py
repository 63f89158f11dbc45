"""Shape and type arithmetic that ops of every level share: a scalar is a value of shape ()."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ShapedType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E5M2Type)

POINTER_BYTES = 8


def require(holds: bool, message: str, *values: object) -> None:
    """Refuse the op that is being verified unless `holds`. `values` go into the braces of `message`, and become text
    only then: writing types out is a third of the time of verifying.
    """
    if not holds:
        raise VerifyException(message.format(*values))


def shape_of(kind: object) -> tuple[int, ...]:
    """The static shape of a block or buffer; () for a scalar."""
    return tuple(kind.get_shape()) if isinstance(kind, ShapedType) else ()


def element_of(kind: Attribute) -> Attribute:
    """The element type of a block or buffer; the type itself for a scalar."""
    element = getattr(kind, "element_type", None) if isinstance(kind, ShapedType) else None
    return kind if element is None else element


def with_shape(kind: Attribute, shape: Sequence[int]) -> Attribute:
    """The block of `shape` with the element type of `kind`; a scalar for shape ()."""
    return TensorType(element_of(kind), shape) if shape else element_of(kind)


def with_element(kind: Attribute, element: Attribute) -> Attribute:
    """The block (or scalar) of the shape of `kind` with another element type."""
    return TensorType(element, shape_of(kind)) if shape_of(kind) else element


def is_float(kind: Attribute) -> bool:
    return isinstance(element_of(kind), FLOATS)


def is_integer(kind: Attribute) -> bool:
    return isinstance(element_of(kind), IntegerType)


def element_bytes(kind: Attribute) -> int:
    """Bytes of one element in memory: an i1 takes a byte, a pointer eight."""
    element = element_of(kind)
    if isinstance(element, FLOATS):
        return element.bitwidth // 8
    if isinstance(element, IntegerType):
        return max(1, element.bitwidth // 8)
    return POINTER_BYTES
