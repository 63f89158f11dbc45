"""Element types: the numpy dtype of an IR type, Triton's names for both, and casts that round as the hardware does.

bf16 and fp8 come from `ml_dtypes`. Integers are signless in IR and signed in numpy; the op (or the flag of a cast)
carries the sign. Pointers are byte addresses, so blocks of pointers are int64 arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from ...dialects.errors import fail
from ...dialects.pointer import PointerType
from ...dialects.shapes import element_of

Array = npt.NDArray[Any]
DType = np.dtype[Any]

bfloat16: DType = np.dtype(ml_dtypes.bfloat16)
float8_e5m2: DType = np.dtype(ml_dtypes.float8_e5m2)
float8_e4m3fn: DType = np.dtype(ml_dtypes.float8_e4m3fn)

_FLOATS: tuple[tuple[type[Attribute], DType], ...] = (
    (Float16Type, np.dtype(np.float16)),
    (BFloat16Type, bfloat16),
    (Float32Type, np.dtype(np.float32)),
    (Float64Type, np.dtype(np.float64)),
    (Float8E4M3FNType, float8_e4m3fn),
    (Float8E5M2Type, float8_e5m2),
)
_INTEGERS: dict[int, DType] = {
    1: np.dtype(np.bool_),
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}

# The largest finite value of each 8-bit float: casts saturate there.
FP8_LARGEST: dict[DType, float] = {float8_e5m2: 57344.0, float8_e4m3fn: 448.0}


def numpy_dtype(type_: Attribute) -> DType:
    """The dtype of a scalar's type, or of the elements of a block or buffer. A pointer is an int64 byte address."""
    type_ = element_of(type_)
    if isinstance(type_, IntegerType):
        return _INTEGERS[type_.bitwidth]
    if isinstance(type_, IndexType | PointerType):
        return np.dtype(np.int64)
    for kind, dtype in _FLOATS:
        if isinstance(type_, kind):
            return dtype
    raise fail(f"{type_} is no element type of a block")


def element_bytes(type_: Attribute) -> int:
    """Bytes that one element takes in memory; an i1 takes one."""
    return numpy_dtype(type_).itemsize


def is_float(dtype: DType) -> bool:
    """Whether a dtype is a floating-point one; those of `ml_dtypes` have the kind of raw bytes in numpy."""
    return dtype.kind == "f" or dtype in (bfloat16, float8_e5m2, float8_e4m3fn)


@dataclass(frozen=True)
class NamedType:
    """A type as a workload file or a signature names it: Triton's name, the IR type, the dtype of its arrays."""

    name: str
    ir: Attribute
    dtype: DType


TRITON_TYPES: dict[str, NamedType] = {
    row.name: row
    for row in (
        NamedType("fp16", Float16Type(), np.dtype(np.float16)),
        NamedType("bf16", BFloat16Type(), bfloat16),
        NamedType("fp32", Float32Type(), np.dtype(np.float32)),
        NamedType("fp64", Float64Type(), np.dtype(np.float64)),
        NamedType("fp8e4nv", Float8E4M3FNType(), float8_e4m3fn),
        NamedType("fp8e5", Float8E5M2Type(), float8_e5m2),
        NamedType("i1", IntegerType(1), np.dtype(np.bool_)),
        NamedType("i8", IntegerType(8), np.dtype(np.int8)),
        NamedType("i16", IntegerType(16), np.dtype(np.int16)),
        NamedType("i32", IntegerType(32), np.dtype(np.int32)),
        NamedType("i64", IntegerType(64), np.dtype(np.int64)),
        NamedType("u8", IntegerType(8), np.dtype(np.uint8)),
        NamedType("u16", IntegerType(16), np.dtype(np.uint16)),
        NamedType("u32", IntegerType(32), np.dtype(np.uint32)),
        NamedType("u64", IntegerType(64), np.dtype(np.uint64)),
    )
}


def dtype_named(name: str) -> DType:
    """The numpy dtype of a Triton type name. Raises AhbmcError for a name that is none."""
    if name not in TRITON_TYPES:
        raise fail(f"'{name}' is no element type", hint=f"one of {', '.join(TRITON_TYPES)}")
    return TRITON_TYPES[name].dtype


def triton_name(dtype: DType) -> str:
    """Triton's name of a numpy dtype. Raises AhbmcError for a dtype that no tensor of a kernel can have."""
    for row in TRITON_TYPES.values():
        if row.dtype == dtype:
            return row.name
    raise fail(f"arrays of {dtype} cannot be passed to a kernel", hint=f"one of {', '.join(TRITON_TYPES)}")


def unsigned(dtype: DType) -> DType:
    """The unsigned dtype of the same width; bool and floats stay."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "i" else dtype


def convert(values: Any, target: DType, *, is_unsigned: bool = False) -> Any:
    """Cast an array or scalar to `target` as the hardware does.

    Floats round to nearest even; fp8 saturates at its largest finite value. A float becomes an integer by dropping its
    fraction, and saturates (NaN is 0). Integers wrap. `is_unsigned` reads the integer on either side as unsigned. i1
    is true for all but 0.
    """
    source = np.asarray(values)
    result = _convert(source, target, is_unsigned)
    return result if isinstance(values, np.ndarray) else result[()]


def _convert(source: Array, target: DType, is_unsigned: bool) -> Array:
    if source.dtype == target:
        return source
    if target.kind == "b":
        return source != 0
    from_float, to_float = is_float(source.dtype), is_float(target)
    with np.errstate(all="ignore"):
        if from_float and not to_float:
            return _to_integer(source, unsigned(target) if is_unsigned else target).view(target)
        if is_unsigned:
            source = source.view(unsigned(source.dtype))
        if target in FP8_LARGEST:
            largest = FP8_LARGEST[target]
            source = np.clip(source.astype(np.float64 if source.dtype.itemsize > 4 else np.float32), -largest, largest)
        elif target == bfloat16 and source.dtype == np.float64:
            source = _round_odd(source)
        return source.astype(target)


def _to_integer(source: Array, target: DType) -> Array:
    info = np.iinfo(target)
    wide = source.astype(np.float64)
    low, high = float(info.min), float(info.max)
    # The largest 64-bit integers are no float64s: what reaches them is set apart, not converted.
    above, below, inside = wide >= high, wide <= low, np.isfinite(wide)
    result = np.where(above | below | ~inside, 0.0, wide).astype(target)
    result[above] = info.max
    result[below] = info.min
    return result


def _round_odd(source: Array) -> Array:
    """float64 to float32 rounded to odd, so that a second rounding (to bf16) is the only one that counts."""
    near = source.astype(np.float32)
    bits = near.view(np.int32)
    error = np.abs(near.astype(np.float64)) - np.abs(source)
    finite = np.isfinite(source) & (error != 0)
    # Towards zero first (a step back where rounding went up), then the lost part sets the last bit.
    return np.where(finite, (bits - (error > 0)) | 1, bits).astype(np.int32).view(np.float32)
