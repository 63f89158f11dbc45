"""Pointers, loads and stores: of blocks of pointers as a kernel writes them, and of regions as `raise-regions` makes
them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from ..pointer import OfAddress, PointerType
from ..region import RegionType
from ..shapes import element_of, require, shape_of, with_element


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """A pointer (or block of pointers) moved on by a number of elements (or a block of numbers of the same shape)."""

    name = "tl.addptr"

    pointer = operand_def(AnyAttr())
    offset = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = "$pointer `,` $offset attr-dict `:` type($pointer) `,` type($offset) `->` type($result)"

    def __init__(self, pointer: SSAValue, offset: SSAValue):
        super().__init__(operands=[pointer, offset], result_types=[pointer.type])

    def verify_(self) -> None:
        pointer, offset = self.pointer.type, self.offset.type
        require(isinstance(element_of(pointer), PointerType), "a pointer is needed, not {}", pointer)
        require(isinstance(element_of(offset), IntegerType), "an integer offset is needed, not {}", offset)
        require(shape_of(pointer) == shape_of(offset), "{} and {} differ in shape", pointer, offset)
        require(self.result.type == pointer, "the result must be {}, not {}", pointer, self.result.type)


def pointee(pointer: Attribute) -> Attribute:
    """The type of what a pointer, or a block of pointers, points at."""
    element = element_of(pointer)
    require(isinstance(element, PointerType), "a pointer or a block of pointers is needed, not {}", pointer)
    assert isinstance(element, PointerType)
    return with_element(pointer, element.element_type)


def check_mask(pointer: Attribute, mask: SSAValue | None) -> None:
    """Refuse a mask whose shape is not the pointer's."""
    if mask is not None:
        expected = with_element(pointer, i1)
        require(mask.type == expected, "the mask must be {}, not {}", expected, mask.type)


@irdl_op_definition
class PtrCastOp(OfAddress):
    """An address as another type."""

    name = "tl.ptr_cast"


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Read what a pointer (or each of a block of pointers) points at; lanes whose mask is false give `other` (0
    without one).
    """

    name = "tl.load"

    pointer = operand_def(AnyAttr())
    mask = opt_operand_def(AnyAttr())
    other = opt_operand_def(AnyAttr())
    hints = opt_prop_def(DictionaryAttr)
    result = result_def(AnyAttr())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$pointer (`mask` `(` $mask^ `:` type($mask) `)`)? (`other` `(` $other^ `)`)? attr-dict "
        "`:` type($pointer) (`other_type` type($other)^)? `->` type($result)"
    )

    def __init__(
        self,
        pointer: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        hints: DictionaryAttr | None = None,
    ):
        super().__init__(
            operands=[pointer, mask, other], properties={"hints": hints}, result_types=[pointee(pointer.type)]
        )

    def verify_(self) -> None:
        expected = pointee(self.pointer.type)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)
        check_mask(self.pointer.type, self.mask)
        if self.other is not None:
            require(self.mask is not None, "other without a mask")
            require(self.other.type == expected, "other must be {}, not {}", expected, self.other.type)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write a value (or a block, lane by lane) where the pointer (or block of pointers) points; lanes with a false
    mask write nothing.
    """

    name = "tl.store"

    pointer = operand_def(AnyAttr())
    value = operand_def(AnyAttr())
    mask = opt_operand_def(AnyAttr())
    hints = opt_prop_def(DictionaryAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$pointer `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($pointer) `,` type($value)"
    )

    def __init__(
        self,
        pointer: SSAValue,
        value: SSAValue,
        mask: SSAValue | None = None,
        hints: DictionaryAttr | None = None,
    ):
        super().__init__(operands=[pointer, value, mask], properties={"hints": hints})

    def verify_(self) -> None:
        expected = pointee(self.pointer.type)
        require(self.value.type == expected, "the value must be {}, not {}", expected, self.value.type)
        check_mask(self.pointer.type, self.mask)


def check_block_of_region(block: Attribute, region: Attribute) -> None:
    """Refuse a block whose rank or element type is not the region's. Sizes are run-time values of the region."""
    require(isinstance(region, RegionType), "a region is needed, not {}", region)
    assert isinstance(region, RegionType)
    require(
        len(shape_of(block)) == region.rank.data and element_of(block) == region.element_type,
        "a block of {} does not match {}",
        block,
        region,
    )


@irdl_op_definition
class LoadRegionOp(IRDLOperation):
    """Read a region as a block of its sizes; lanes outside its bounds hold its pad value."""

    name = "tl.load_region"

    region = operand_def(RegionType)
    hints = opt_prop_def(DictionaryAttr)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$region attr-dict `:` type($region) `->` type($result)"

    def __init__(self, region: SSAValue, result_type: TensorType[Attribute], hints: DictionaryAttr | None = None):
        super().__init__(operands=[region], properties={"hints": hints}, result_types=[result_type])

    def verify_(self) -> None:
        check_block_of_region(self.result.type, self.region.type)


@irdl_op_definition
class StoreRegionOp(IRDLOperation):
    """Write the lanes of a block that lie within the bounds of a region."""

    name = "tl.store_region"

    region = operand_def(RegionType)
    value = operand_def(TensorType)
    hints = opt_prop_def(DictionaryAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$region `,` $value attr-dict `:` type($region) `,` type($value)"

    def __init__(self, region: SSAValue, value: SSAValue, hints: DictionaryAttr | None = None):
        super().__init__(operands=[region, value], properties={"hints": hints})

    def verify_(self) -> None:
        check_block_of_region(self.value.type, self.region.type)


@irdl_op_definition
class WaitOp(IRDLOperation):
    """`al.wait`: PE_CPU goes on when these values are there. It orders, so it has unknown effects and stays where it
    is.
    """

    name = "tl.wait"

    values = var_operand_def(AnyAttr())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


@irdl_op_definition
class CopyToOp(IRDLOperation):
    """`al.copy_to`: the destination block with the source written into it. The command is the programmer's, so it stays
    even where nothing reads the block.
    """

    name = "tl.copy_to"

    source = operand_def(TensorType)
    destination = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$source `,` $destination attr-dict `:` type($source) `,` type($destination) `->` type($result)"

    def __init__(self, source: SSAValue, destination: SSAValue):
        super().__init__(operands=[source, destination], result_types=[destination.type])

    def verify_(self) -> None:
        require(
            self.source.type == self.destination.type == self.result.type,
            "{} cannot be copied to {} as {}",
            self.source.type,
            self.destination.type,
            self.result.type,
        )


@irdl_op_definition
class CyclesOp(IRDLOperation):
    """`al.cycles(n)`: PE_CPU is busy for exactly n cycles. It takes time, so it stays where it is."""

    name = "tl.cycles"

    cycles = prop_def(IntegerAttr[IntegerType])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, cycles: int):
        super().__init__(properties={"cycles": IntegerAttr(cycles, i64)})

    def verify_(self) -> None:
        require(self.cycles.value.data >= 0, "{} cycles", self.cycles.value.data)
