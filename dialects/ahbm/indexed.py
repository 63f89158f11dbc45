"""The commands that go by an index: gather, scatter and atomic, whose addresses are a base and a block of offsets."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, StringAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)

from ..pointer import PointerType
from ..shapes import element_of, is_float, require, shape_of
from ..tl.atomics import check_atomic_kind
from .commands import DMA_BYTES, CommandOp
from .types import BufferType, IndexType

INDEX_HANDLE_BYTES = 8


class _Indexed(CommandOp):
    BYTES: ClassVar[int] = DMA_BYTES + INDEX_HANDLE_BYTES

    base = operand_def(PointerType)
    index = operand_def(BufferType | IndexType)
    mask = opt_operand_def(BufferType)
    buffer = operand_def(BufferType)

    def verify_(self) -> None:
        shape = shape_of(self.buffer.type)
        require(shape_of(self.index.type) == shape, "the index is {}, the block {}", self.index.type, self.buffer.type)
        require(isinstance(element_of(self.index.type), IntegerType), "an index of {}", element_of(self.index.type))
        assert isinstance(self.base.type, PointerType)
        require(
            self.base.type.element_type == element_of(self.buffer.type), "{} at a {}", self.buffer.type, self.base.type
        )
        if self.mask is not None:
            require(
                shape_of(self.mask.type) == shape and element_of(self.mask.type) == i1,
                "the mask is {}, the block {}",
                self.mask.type,
                self.buffer.type,
            )


@irdl_op_definition
class GatherOp(_Indexed):
    """Read `base + index[i]` into each lane i whose mask holds; the other lanes get `pad`. One burst per run of
    addresses.
    """

    name = "ahbm.gather"
    KIND: ClassVar[str] = "gather"

    pad = opt_prop_def(FloatAttr | IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$base `[` $index `]` (`mask` `(` $mask^ `:` type($mask) `)`)? `,` $buffer attr-dict "
        "`:` type($base) `,` type($index) `,` type($buffer)"
    )

    def __init__(
        self,
        base: SSAValue,
        index: SSAValue,
        mask: SSAValue | None,
        buffer: SSAValue,
        pad: FloatAttr | IntegerAttr | None = None,
    ):
        super().__init__(operands=[base, index, mask, buffer], properties={"pad": pad})


@irdl_op_definition
class ScatterOp(_Indexed):
    """Write each lane i whose mask holds to `base + index[i]`; PE_CPU waits for the ack."""

    name = "ahbm.scatter"
    KIND: ClassVar[str] = "scatter"
    BLOCKING: ClassVar[bool] = True

    assembly_format = (
        "$buffer `,` $base `[` $index `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict "
        "`:` type($buffer) `,` type($base) `,` type($index)"
    )

    def __init__(self, base: SSAValue, index: SSAValue, mask: SSAValue | None, buffer: SSAValue):
        super().__init__(operands=[base, index, mask, buffer])


@irdl_op_definition
class AtomicOp(_Indexed):
    """Combine a value into `base + index[i]` for each lane i whose mask holds, in order; `buffer` gets what was there,
    0 in the other lanes.

    Value and comparand are buffers, views, or scalars of PE_CPU for every lane. Every run of addresses is read in
    bursts, then written in bursts; PE_CPU waits for the ack.
    """

    name = "ahbm.atomic"
    KIND: ClassVar[str] = "atomic"
    BLOCKING: ClassVar[bool] = True

    kind = prop_def(StringAttr)
    # All operands again, for their order: what a command writes comes last.
    base = operand_def(PointerType)
    index = operand_def(BufferType | IndexType)
    mask = opt_operand_def(BufferType)
    value = operand_def(AnyAttr())
    compare = opt_operand_def(AnyAttr())
    buffer = operand_def(BufferType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$kind `,` $base `[` $index `]` (`mask` `(` $mask^ `:` type($mask) `)`)? "
        "`value` `(` $value `:` type($value) `)` (`compare` `(` $compare^ `:` type($compare) `)`)? "
        "`,` $buffer attr-dict `:` type($base) `,` type($index) `,` type($buffer)"
    )

    def __init__(
        self,
        kind: str,
        base: SSAValue,
        index: SSAValue,
        mask: SSAValue | None,
        value: SSAValue,
        compare: SSAValue | None,
        buffer: SSAValue,
    ):
        super().__init__(operands=[base, index, mask, value, compare, buffer], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        super().verify_()
        check_atomic_kind(self.kind.data, is_float(self.buffer.type), self.compare)
        shape = shape_of(self.buffer.type)
        for operand in (self.value, *((self.compare,) if self.compare is not None else ())):
            require(
                shape_of(operand.type) in ((), shape) and element_of(operand.type) == element_of(self.buffer.type),
                "{} for {}",
                operand.type,
                self.buffer.type,
            )
