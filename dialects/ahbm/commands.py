"""The single-op commands: one op per command that PE_CPU issues, each with its logical bytes.

`kind` is the command's kind in reports and op-logs, `blocking` whether PE_CPU goes on only when it has ended. Operands
that a command writes come last. None of these has an effect trait, so that no pass of xDSL removes or moves one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)

from ..pointer import PointerType
from ..region import RegionType
from ..shapes import element_of, require, shape_of
from .types import BufferType

# Bytes of the single-op descriptors (latency model, section 3); the list is a contract.
DMA_BYTES = 17
GEMM_BYTES = 40
COPY_BYTES = 24
WAIT_BYTES = 4


class CommandOp(IRDLOperation):
    """What all command ops have in common."""

    KIND: ClassVar[str]
    BLOCKING: ClassVar[bool] = False
    BYTES: ClassVar[int]

    @property
    def logical_bytes(self) -> int:
        """Size of the descriptor in bytes, which PE_CPU pays to issue."""
        return self.BYTES


def _require_same(region: SSAValue, buffer: SSAValue) -> None:
    assert isinstance(region.type, RegionType)
    require(
        len(shape_of(buffer.type)) == region.type.rank.data and element_of(buffer.type) == region.type.element_type,
        "{} and {} differ in rank or element type",
        region.type,
        buffer.type,
    )


@irdl_op_definition
class DmaReadOp(CommandOp):
    """Read the valid lanes of a region into a buffer; the other lanes get the pad value, which costs nothing."""

    name = "ahbm.dma_read"
    KIND: ClassVar[str] = "dma_read"
    BYTES: ClassVar[int] = DMA_BYTES

    region = operand_def(RegionType)
    buffer = operand_def(BufferType)
    assembly_format = "$region `,` $buffer attr-dict `:` type($region) `,` type($buffer)"

    def __init__(self, region: SSAValue, buffer: SSAValue):
        super().__init__(operands=[region, buffer])

    def verify_(self) -> None:
        _require_same(self.region, self.buffer)


@irdl_op_definition
class DmaWriteOp(CommandOp):
    """Write the lanes of a buffer that lie within the bounds of a region; PE_CPU waits for the ack."""

    name = "ahbm.dma_write"
    KIND: ClassVar[str] = "dma_write"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = DMA_BYTES

    buffer = operand_def(BufferType)
    region = operand_def(RegionType)
    assembly_format = "$buffer `,` $region attr-dict `:` type($buffer) `,` type($region)"

    def __init__(self, buffer: SSAValue, region: SSAValue):
        super().__init__(operands=[buffer, region])

    def verify_(self) -> None:
        _require_same(self.region, self.buffer)


@irdl_op_definition
class LoadScalarOp(CommandOp):
    """Read one element into a rank-0 buffer: a read of one burst that PE_CPU waits for."""

    name = "ahbm.load_scalar"
    KIND: ClassVar[str] = "dma_read"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = DMA_BYTES

    pointer = operand_def(PointerType)
    buffer = operand_def(BufferType)
    assembly_format = "$pointer `,` $buffer attr-dict `:` type($pointer) `,` type($buffer)"

    def __init__(self, pointer: SSAValue, buffer: SSAValue):
        super().__init__(operands=[pointer, buffer])

    def verify_(self) -> None:
        assert isinstance(self.pointer.type, PointerType)
        require(shape_of(self.buffer.type) == (), "one element does not fill {}", self.buffer.type)
        require(
            self.pointer.type.element_type == element_of(self.buffer.type),
            "{} into {}",
            self.pointer.type,
            self.buffer.type,
        )


@irdl_op_definition
class StoreScalarOp(CommandOp):
    """Write one element, from a rank-0 buffer or a scalar of PE_CPU; PE_CPU waits for the ack."""

    name = "ahbm.store_scalar"
    KIND: ClassVar[str] = "dma_write"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = DMA_BYTES

    value = operand_def(AnyAttr())
    pointer = operand_def(PointerType)
    assembly_format = "$value `,` $pointer attr-dict `:` type($value) `,` type($pointer)"

    def __init__(self, value: SSAValue, pointer: SSAValue):
        super().__init__(operands=[value, pointer])

    def verify_(self) -> None:
        assert isinstance(self.pointer.type, PointerType)
        require(
            shape_of(self.value.type) == () and element_of(self.value.type) == self.pointer.type.element_type,
            "{} at a {}",
            self.value.type,
            self.pointer.type,
        )


@irdl_op_definition
class GemmOp(CommandOp):
    """`out = a @ b` of whole buffers (or views of them), rounded once to the element type of `out`. There is no
    accumulator.
    """

    name = "ahbm.gemm"
    KIND: ClassVar[str] = "gemm"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = GEMM_BYTES

    a = operand_def(BufferType)
    b = operand_def(BufferType)
    out = operand_def(BufferType)
    assembly_format = "$a `,` $b `,` $out attr-dict `:` type($a) `,` type($b) `,` type($out)"

    def __init__(self, a: SSAValue, b: SSAValue, out: SSAValue):
        super().__init__(operands=[a, b, out])

    def verify_(self) -> None:
        a, b, out = (shape_of(v.type) for v in (self.a, self.b, self.out))
        require(len(a) == len(b) == len(out) == 2, "the buffers of a GEMM have rank 2")
        require(
            a[1] == b[0] and out == (a[0], b[1]),
            "{} times {} does not give {}",
            self.a.type,
            self.b.type,
            self.out.type,
        )
        require(element_of(self.a.type) == element_of(self.b.type), "a and b differ in element type")


@irdl_op_definition
class CopyOp(CommandOp):
    """Copy a buffer (or view) to a buffer of the same shape: a MATH pass."""

    name = "ahbm.copy"
    KIND: ClassVar[str] = "copy"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = COPY_BYTES

    source = operand_def(BufferType)
    destination = operand_def(BufferType)
    assembly_format = "$source `,` $destination attr-dict `:` type($source) `,` type($destination)"

    def __init__(self, source: SSAValue, destination: SSAValue):
        super().__init__(operands=[source, destination])

    def verify_(self) -> None:
        require(
            shape_of(self.source.type) == shape_of(self.destination.type)
            and element_of(self.source.type) == element_of(self.destination.type),
            "{} cannot be copied to {}",
            self.source.type,
            self.destination.type,
        )


@irdl_op_definition
class WaitOp(CommandOp):
    """PE_CPU waits until every command in flight that writes one of these buffers has ended."""

    name = "ahbm.wait"
    KIND: ClassVar[str] = "wait"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = WAIT_BYTES

    buffers = var_operand_def(BufferType)
    assembly_format = "$buffers attr-dict `:` type($buffers)"

    def __init__(self, buffers: Sequence[SSAValue]):
        super().__init__(operands=[buffers])


@irdl_op_definition
class CyclesOp(CommandOp):
    """PE_CPU is busy for exactly `cycles` cycles."""

    name = "ahbm.cycles"
    KIND: ClassVar[str] = "cycles"
    BLOCKING: ClassVar[bool] = True
    BYTES: ClassVar[int] = 0

    cycles = prop_def(IntegerAttr[IntegerType])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, cycles: int):
        super().__init__(properties={"cycles": IntegerAttr(cycles, i64)})

    def verify_(self) -> None:
        require(self.cycles.value.data >= 0, "{} cycles", self.cycles.value.data)
