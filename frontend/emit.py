"""Making ops: every op that the frontend makes is made here or through here, at the place of kernel text that is
being lowered.

An `Emitter` knows where the next op goes and which text it comes from. It converts values from type to type and shape
to shape as Triton does; operators and functions build on that.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import tl
from ..dialects.elementwise import BY_KIND, Elementwise
from ..dialects.errors import AhbmcError, Category
from .syntax import Span
from .text import KERNELS_ARE, Text
from .types import (
    BlockType,
    DType,
    Number,
    PointerType,
    ScalarType,
    TypeFault,
    block,
    broadcast_shapes,
    check_number,
    int1,
    int64,
    ir_type,
    type_of_number,
    uint64,
    with_element,
)
from .values import Item, JitFunction, Value, describe

_OPERATIONS: dict[str, type[Operation]] = {o.name: o for d in (arith.Arith, math.Math, tl.TL) for o in d.operations}


@dataclass(frozen=True)
class Site:
    """The place of kernel text that is being lowered."""

    text: Text
    span: Span


class Emitter:
    """Inserts ops at the end of `into`; None where only compile-time values can be computed."""

    def __init__(self, site: Site):
        self.into: Block | None = None
        self.site = site
        # Library functions are inlined at the place of their call: nothing in them is the user's text. `library` is the
        # name of the one that the user has called.
        self.pinned: Site | None = None
        self.library: str | None = None
        # Lowers a function of the library in place of a call; whoever evaluates expressions sets it.
        self.call: Callable[[JitFunction, Mapping[str, Item]], Item] = _no_calls

    # Places ---------------------------------------------------------------------------------------

    def at(self, text: Text, span: Span) -> None:
        """Say that what follows comes from `span`."""
        self.site = self.pinned or Site(text, span)

    def fail(
        self, message: str, hint: str | None = None, *, site: Site | None = None, category: Category | None = None
    ) -> AhbmcError:
        """An error at the present place, to be raised by the caller."""
        site = site or self.site
        return site.text.fail(message, site.span, hint, category or Category.INVALID_INPUT)

    def unsupported(self, what: str, hint: str | None = None, *, site: Site | None = None) -> AhbmcError:
        return self.fail(
            f"not supported in a kernel: {what}", hint or KERNELS_ARE, site=site, category=Category.UNSUPPORTED
        )

    @contextmanager
    def inside(self, target: Block) -> Generator[Block]:
        """Insert into `target` for a while."""
        outer, self.into = self.into, target
        try:
            yield target
        finally:
            self.into = outer

    # Ops ------------------------------------------------------------------------------------------

    def insert(self, op: Operation) -> Operation:
        if self.into is None:
            raise self.fail("this needs a running kernel, but a compile-time constant is needed here")
        op.location = self.site.text.location(self.site.span)
        self.into.add_op(op)
        return op

    def name(self, value: SSAValue, name: str) -> None:
        """Let a value of the IR go by the name that the kernel gives it. `_` and `_0` are none that IR can print."""
        if name.strip("_0123456789"):
            value.name_hint = name

    def make(self, op: Operation, kind: ScalarType | BlockType) -> Value:
        """Insert an op of one result, which is of type `kind`."""
        return Value(self.insert(op).results[0], kind)

    def elementwise(self, row: Elementwise | str, *operands: Value) -> Value:
        """A row of the table of element-wise functions on operands of one type."""
        row = BY_KIND[row] if isinstance(row, str) else row
        op = _OPERATIONS[row.op](*(o.ssa for o in operands))
        return self.make(op, operands[0].type)

    def constant(self, number: Number, dtype: DType, shape: tuple[int, ...] = ()) -> Value:
        """A number as a scalar, or as a block that holds it in every lane."""
        kind = ir_type(dtype)
        attribute = _splat(number, dtype, kind, shape) if shape else _scalar(number, dtype, kind)
        op = arith.ConstantOp(attribute)
        return Value(self.insert(op).results[0], block(shape, dtype), None if shape else number)

    # Conversions ----------------------------------------------------------------------------------

    def value(self, item: Item) -> Value:
        """A kernel-time value of an item: a number takes the type that it has by itself."""
        if isinstance(item, Value):
            return item
        if isinstance(item, bool | int | float):
            return self.constant(item, type_of_number(item))
        raise TypeFault(f"a number, pointer or block is needed, not {describe(item)}", "give a value to compute with")

    def typed(self, item: Item, dtype: DType) -> Value:
        """An item as a value of element type `dtype`: numbers directly, values by a cast."""
        if isinstance(item, bool | int | float):
            check_number(item, dtype)
            return self.constant(item, dtype)
        return self.cast(self.value(item), dtype)

    def cast(self, value: Value, dtype: ScalarType) -> Value:
        """Triton's cast of the elements of a value."""
        source = value.element
        if source == dtype:
            return value
        if isinstance(source, PointerType) or isinstance(dtype, PointerType):
            return self._address(value, dtype)
        if value.known is not None and self.into is not None:
            return self.constant(_converted(value.known, source, dtype), dtype)
        kind = with_element(value.type, dtype)
        if dtype.is_bool:
            zero = self.constant(0, source, value.shape)
            return self.make(tl.CmpOp("une" if source.is_float else "ne", value.ssa, zero.ssa), kind)
        if source.is_int and dtype.is_int and source.bits == dtype.bits:
            return Value(value.ssa, kind)
        unsigned = (source.is_int and not source.signed) or (source.is_float and dtype.is_int and not dtype.signed)
        return self.make(tl.CastOp(value.ssa, ir_type(dtype), unsigned=unsigned), kind)

    def _address(self, value: Value, dtype: ScalarType) -> Value:
        """An address as another type. A block of addresses becomes offsets from address 0, in elements."""
        source = value.element
        if isinstance(source, DType):
            assert isinstance(dtype, PointerType)
            if not source.is_int:
                raise TypeFault(f"{source} cannot be cast to {dtype}", "an address is an integer")
            value = self.cast(value, int64 if source.signed else uint64)
            if value.is_block:
                return self._addresses(value, dtype)
        elif value.is_block or (dtype not in (int64, uint64) and not isinstance(dtype, PointerType)):
            hint = "cast the pointer before offsets are added to it" if value.is_block else "an address has 64 bits"
            raise TypeFault(f"{describe(value)} cannot be cast to {dtype}", hint)
        return self.make(tl.PtrCastOp(value.ssa, ir_type(dtype)), dtype)

    def _addresses(self, value: Value, dtype: PointerType) -> Value:
        zero = self.constant(0, int64)
        base = self.broadcast(self.make(tl.PtrCastOp(zero.ssa, ir_type(dtype)), dtype), value.shape)
        width = max(dtype.element.bits // 8, 1).bit_length() - 1
        if width:
            value = self.elementwise("shrui", value, self.constant(width, int64, value.shape))
        return self.make(tl.AddPtrOp(base.ssa, value.ssa), base.type)

    def broadcast(self, value: Value, shape: tuple[int, ...]) -> Value:
        """A value in a shape that it fits: scalars are splat, axes added in front, axes of size 1 repeated."""
        if value.shape == shape:
            return value
        if not value.is_block:
            if value.known is not None and isinstance(value.element, DType):
                return self.constant(value.known, value.element, shape)
            return self.make(tl.SplatOp(value.ssa, shape), BlockType(shape, value.element))
        if len(value.shape) > len(shape) or broadcast_shapes(value.shape, shape) != shape:
            raise TypeFault(
                f"a block of shape {list(value.shape)} does not fill the shape {list(shape)}",
                "axes must be equal or 1; x[:, None] and x[None, :] add one",
            )
        while len(value.shape) < len(shape):
            value = self.expand(value, 0)
        if value.shape == shape:
            return value
        return self.make(tl.BroadcastOp(value.ssa, shape), BlockType(shape, value.element))

    def expand(self, value: Value, axis: int) -> Value:
        """An axis of size 1 at `axis`."""
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        if not value.is_block:
            return self.broadcast(value, shape)
        return self.make(tl.ExpandDimsOp(value.ssa, axis), BlockType(shape, value.element))

    def together(self, *values: Value) -> tuple[Value, ...]:
        """Values in the one shape that all of them fit."""
        shape: tuple[int, ...] = ()
        for value in values:
            shape = broadcast_shapes(shape, value.shape)
        return tuple(self.broadcast(v, shape) for v in values)

    def i64(self, item: Item) -> Value:
        """A scalar integer as 64 bits, for offsets and sizes of regions."""
        value = self.value(item)
        if value.is_block or not isinstance(value.element, DType) or not value.element.is_int:
            raise TypeFault(f"an integer is needed, not {describe(item)}")
        from_known = value.known
        if from_known is not None:
            return self.constant(int(from_known), int64)
        return self.cast(value, int64)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        return self.make(tl.CmpOp(predicate, a.ssa, b.ssa), with_element(a.type, int1))


def _no_calls(function: JitFunction, given: Mapping[str, Item]) -> Item:
    raise AssertionError(f"{function.name} is called where no function can be lowered")


def _scalar(number: Number, dtype: DType, kind: Attribute) -> FloatAttr | IntegerAttr[IntegerType]:
    if isinstance(kind, AnyFloat):
        return FloatAttr(float(number), kind)
    return IntegerAttr(_wrapped(int(number), dtype), cast(IntegerType, kind))


def _splat(number: Number, dtype: DType, kind: Attribute, shape: Sequence[int]) -> DenseIntOrFPElementsAttr:
    if isinstance(kind, AnyFloat):
        # One beyond the type's range is an infinity.
        return DenseIntOrFPElementsAttr.from_list(TensorType(kind, shape), [FloatAttr(float(number), kind).value.data])
    return DenseIntOrFPElementsAttr.from_list(
        TensorType(cast(IntegerType, kind), shape), [_wrapped(int(number), dtype)]
    )


def holds(number: Number, dtype: DType) -> bool:
    """Whether a type has exactly this number."""
    if dtype.is_int:
        low, high = dtype.range
        return not isinstance(number, float) and low <= number <= high
    kind = ir_type(dtype)
    assert isinstance(kind, AnyFloat)
    return not dtype.is_fp8 and FloatAttr(float(number), kind).value.data == number


def _converted(number: Number, source: DType, target: DType) -> Number:
    """A constant of one type in another, as the machine would convert it."""
    if target.is_bool:
        return bool(number)
    if target.is_int:
        if number != number or number in (float("inf"), float("-inf")):
            return 0
        low, high = target.range
        return (int(number) - low) % (high - low + 1) + low
    return struct.unpack("f", struct.pack("f", number))[0] if source.name == "fp32" else float(number)


def _wrapped(number: int, dtype: DType) -> int:
    """The number with the bits of an unsigned one as the signless IR stores them; booleans stay 0 and 1."""
    if dtype.is_bool:
        return int(bool(number))
    half = 1 << (dtype.bits - 1)
    return (number + half) % (2 * half) - half


def ssa(values: Iterable[Value]) -> list[SSAValue]:
    return [v.ssa for v in values]
