"""Triton's types and its rules of promotion, exactly.

The IR's integers have no sign; here they have. A kernel-time value has one of these types, a Python number has none
until it meets a value (`Number`): then it takes the value's type unless it is of a higher kind. Nothing here knows
the IR but `ir_type`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from math import prod

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute

from ..dialects import pointer

Number = bool | int | float


class TypeFault(Exception):
    """Two types that do not go together; the message is a sentence for the user, the caller knows the place."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


class Kind(IntEnum):
    """The order in which kinds win over each other when a Python number meets a value."""

    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


@dataclass(frozen=True)
class DType:
    """The type of an element. `name` is Triton's short name ("fp16", "i32", "u8"), `spelled` its name in `tl`."""

    name: str
    spelled: str
    kind: Kind
    bits: int
    signed: bool = True
    mantissa: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def is_bool(self) -> bool:
        return self.kind is Kind.BOOLEAN

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOATING

    @property
    def is_int(self) -> bool:
        """Whether it is an integer; Triton counts booleans as (unsigned) integers of one bit."""
        return self.kind is not Kind.FLOATING

    @property
    def is_fp8(self) -> bool:
        return self.is_float and self.bits == 8

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer it can hold."""
        if self.signed:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1


@dataclass(frozen=True)
class PointerType:
    """A pointer to elements in HBM."""

    element: DType

    def __str__(self) -> str:
        return f"pointer<{self.element}>"


ScalarType = DType | PointerType


@dataclass(frozen=True)
class BlockType:
    """A block: elements (or pointers) in a static shape of at least one axis."""

    shape: tuple[int, ...]
    element: ScalarType

    def __str__(self) -> str:
        return f"<[{', '.join(map(str, self.shape))}], {self.element}>"

    @cached_property
    def size(self) -> int:
        return prod(self.shape)


Type = DType | PointerType | BlockType

int1 = DType("i1", "int1", Kind.BOOLEAN, 1, signed=False)
int8 = DType("i8", "int8", Kind.INTEGRAL, 8)
int16 = DType("i16", "int16", Kind.INTEGRAL, 16)
int32 = DType("i32", "int32", Kind.INTEGRAL, 32)
int64 = DType("i64", "int64", Kind.INTEGRAL, 64)
uint8 = DType("u8", "uint8", Kind.INTEGRAL, 8, signed=False)
uint16 = DType("u16", "uint16", Kind.INTEGRAL, 16, signed=False)
uint32 = DType("u32", "uint32", Kind.INTEGRAL, 32, signed=False)
uint64 = DType("u64", "uint64", Kind.INTEGRAL, 64, signed=False)
float8e5 = DType("fp8e5", "float8e5", Kind.FLOATING, 8, mantissa=2)
float8e4nv = DType("fp8e4nv", "float8e4nv", Kind.FLOATING, 8, mantissa=3)
float16 = DType("fp16", "float16", Kind.FLOATING, 16, mantissa=10)
bfloat16 = DType("bf16", "bfloat16", Kind.FLOATING, 16, mantissa=7)
float32 = DType("fp32", "float32", Kind.FLOATING, 32, mantissa=23)
float64 = DType("fp64", "float64", Kind.FLOATING, 64, mantissa=53)

_IR: dict[DType, Attribute] = {
    **{t: IntegerType(t.bits) for t in (int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64)},
    float8e5: Float8E5M2Type(),
    float8e4nv: Float8E4M3FNType(),
    float16: Float16Type(),
    bfloat16: BFloat16Type(),
    float32: Float32Type(),
    float64: Float64Type(),
}
DTYPES: tuple[DType, ...] = tuple(_IR)
BY_SPELLING: dict[str, DType] = {t.spelled: t for t in DTYPES}
BY_NAME: dict[str, DType] = {t.name: t for t in DTYPES}
# Names that signatures use beside Triton's short ones.
ALIASES: dict[str, str] = {
    "u1": "i1",
    "i1": "i1",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bfloat16": "bf16",
}


@cache
def ir_type(of: Type) -> Attribute:
    """The IR's type: integers lose their sign."""
    match of:
        case DType():
            return _IR[of]
        case PointerType():
            return pointer.PointerType(_IR[of.element])
        case BlockType():
            return TensorType(ir_type(of.element), of.shape)


def parse_type(text: str) -> ScalarType:
    """The type of a kernel argument as a signature writes it: `i32`, `fp16`, `*fp16`. Raises TypeFault."""
    name = text.strip().removesuffix(":16").removesuffix(":8")
    pointee = name.startswith("*")
    element = name.removeprefix("*").removeprefix("k") if pointee else name
    element = ALIASES.get(element, element)
    found = BY_NAME.get(element) or BY_SPELLING.get(element)
    if found is None:
        raise TypeFault(f"unknown type '{text}'", f"types are {', '.join(BY_NAME)}, and pointers to them such as *fp16")
    return PointerType(found) if pointee else found


@dataclass(frozen=True)
class DescriptorType:
    """The type of an argument that is a tensor descriptor, `tensordesc<fp16[64,32]>`."""

    element: DType
    block: tuple[int, ...]


def parse_descriptor_type(text: str) -> DescriptorType | None:
    """The descriptor type that a signature writes; None if it writes another type. Raises TypeFault."""
    found = _DESCRIPTOR.fullmatch(text.strip())
    if found is None:
        return None
    element = parse_type(found[1])
    assert isinstance(element, DType)  # the pattern lets no pointer through
    return DescriptorType(element, tuple(int(n) for n in found[2].split(",")))


_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[(\d+(?:\s*,\s*\d+)*)\].*>")


def element_of(of: Type) -> ScalarType:
    return of.element if isinstance(of, BlockType) else of


def shape_of(of: Type) -> tuple[int, ...]:
    return of.shape if isinstance(of, BlockType) else ()


def with_element(of: Type, element: ScalarType) -> Type:
    """The type of the same shape with another element."""
    return BlockType(of.shape, element) if isinstance(of, BlockType) else element


def block(shape: tuple[int, ...], element: ScalarType) -> Type:
    """The block type of a shape; the element itself for no axes."""
    return BlockType(shape, element) if shape else element


# Promotion ----------------------------------------------------------------------------------------


def type_of_number(value: Number) -> DType:
    """The type a Python number takes when it becomes a value by itself. Raises TypeFault for one that no type holds."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, int):
        for dtype in (int32, uint32, int64, uint64):
            if dtype.range[0] <= value <= dtype.range[1]:
                return dtype
        raise TypeFault(f"{value} fits no integer type of 64 bits")
    magnitude = abs(value)
    fits = magnitude in (0.0, float("inf")) or value != value or 2.0**-126 <= magnitude <= (2 - 2.0**-23) * 2.0**127
    return float32 if fits else float64


def promote_integers(a: DType, b: DType) -> DType:
    """C's usual arithmetic conversions."""
    if a.signed == b.signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (a, b) if not a.signed else (b, a)
    return unsigned if unsigned.bits >= signed.bits else signed


def computation_type(
    a: DType, b: DType, *, a_weak: bool = False, b_weak: bool = False, division: bool = False
) -> DType:
    """The type in which an operator computes. `weak` marks a Python number, `division` the operators / // %. Raises
    TypeFault.
    """
    if a_weak != b_weak:
        number, value = (a, b) if a_weak else (b, a)
        if number.kind <= value.kind:
            return float32 if division and value in (float16, bfloat16) else value
    for wide in (float64, float32):
        if wide in (a, b):
            return wide
    if float16 in (a, b):
        return float32 if division else float16
    if bfloat16 in (a, b):
        return bfloat16 if a == b and not division else float32
    if a.is_fp8 and b.is_fp8:
        return a if a == b else float16
    if not (a.is_int and b.is_int):
        raise TypeFault(f"{a} and {b} have no common type", "cast one of them with `.to(...)`")
    if division and a.signed != b.signed:
        raise TypeFault(
            f"/, // and % of {a} and {b}, of which one has a sign", "cast both to one signedness with `.to(...)`"
        )
    return promote_integers(a, b)


def check_number(value: Number, dtype: DType) -> None:
    """Refuse a Python number that `dtype`, the type it takes in an operator, cannot hold. Raises TypeFault."""
    if not dtype.is_int or isinstance(value, float):
        return
    low, high = dtype.range
    if not low <= value <= high:
        hint = (
            "cast the other operand to a wider type first"
            if dtype.signed
            else "cast the other operand to a signed type"
        )
        raise TypeFault(f"{int(value)} is out of the range of {dtype}, which is {low} to {high}", hint)


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that both take: axes are added in front, axes of size 1 repeat. Raises TypeFault."""
    if not a or not b:
        return a or b
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for axis, (m, n) in enumerate(zip(left, right, strict=True)):
        if m != n and 1 not in (m, n):
            raise TypeFault(
                f"shapes {list(a)} and {list(b)} do not go together: axis {axis} has {m} and {n}",
                "axes must be equal or 1; x[:, None] and x[None, :] add one",
            )
    return tuple(n if m == 1 else m for m, n in zip(left, right, strict=True))
