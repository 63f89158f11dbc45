"""Ops whose lanes look at others along one axis: scan, gather, sort and histogram. Reductions are in compute.py."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, TensorType, UnitAttr, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..shapes import element_of, is_integer, require, shape_of, with_element, with_shape
from .compute import REDUCE_KINDS


def _flag(given: bool) -> UnitAttr | None:
    return UnitAttr() if given else None


def check_axis(kind: Attribute, axis: int) -> None:
    """Refuse an axis that a block or buffer does not have."""
    require(0 <= axis < len(shape_of(kind)), "axis {} of {}", axis, kind)


@irdl_op_definition
class ScanOp(IRDLOperation):
    """Lane i along the axis holds the reduction of lanes 0 to i; with `reverse` of lanes i to the last."""

    name = "tl.scan"

    kind = prop_def(StringAttr)
    operand = operand_def(TensorType)
    axis = prop_def(IntegerAttr[IntegerType])
    reverse = opt_prop_def(UnitAttr)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$kind `,` $operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, kind: str, operand: SSAValue, axis: int, *, reverse: bool = False, unsigned: bool = False):
        super().__init__(
            operands=[operand],
            properties={
                "kind": StringAttr(kind),
                "axis": IntegerAttr(axis, i32),
                "reverse": _flag(reverse),
                "unsigned": _flag(unsigned),
            },
            result_types=[operand.type],
        )

    def verify_(self) -> None:
        kind = self.kind.data
        require(kind in REDUCE_KINDS, "a scan by '{}': it must be one of {}", kind, ", ".join(REDUCE_KINDS))
        check_axis(self.operand.type, self.axis.value.data)
        require(
            self.result.type == self.operand.type, "the result must be {}, not {}", self.operand.type, self.result.type
        )


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Lane (.., i, ..) of the result is lane (.., index[.., i, ..], ..) of the source along the axis.

    An index before the first lane or behind the last, which Triton leaves undefined, takes the nearest lane.
    """

    name = "tl.gather"

    source = operand_def(TensorType)
    index = operand_def(TensorType)
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$source `,` $index attr-dict `:` type($source) `,` type($index) `->` type($result)"

    def __init__(self, source: SSAValue, index: SSAValue, axis: int):
        super().__init__(
            operands=[source, index],
            properties={"axis": IntegerAttr(axis, i32)},
            result_types=[with_element(index.type, element_of(source.type))],
        )

    def verify_(self) -> None:
        check_gather(self.source.type, self.index.type, self.result.type, self.axis.value.data)


def check_gather(source: Attribute, index: Attribute, result: Attribute, axis: int) -> None:
    """Refuse an index that does not go with its source, and a result that does not follow from both."""
    check_axis(source, axis)
    check_axis(index, axis)
    require(is_integer(index), "an index of {}", index)
    require(_others(source, axis) == _others(index, axis), "{} indexed by {} along axis {}", source, index, axis)
    require(
        shape_of(result) == shape_of(index) and element_of(result) == element_of(source),
        "{} indexed by {} does not give {}",
        source,
        index,
        result,
    )


def _others(kind: Attribute, axis: int) -> tuple[int, ...]:
    """The sizes of all axes but one."""
    shape = shape_of(kind)
    return (*shape[:axis], *shape[axis + 1 :])


@irdl_op_definition
class SortOp(IRDLOperation):
    """The lanes along the axis in ascending order; with `descending` from the greatest on. A result that is shorter
    holds the first of them. NaNs are greater than all numbers.
    """

    name = "tl.sort"

    operand = operand_def(TensorType)
    axis = prop_def(IntegerAttr[IntegerType])
    descending = opt_prop_def(UnitAttr)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, axis: int, count: int, *, descending: bool = False, unsigned: bool = False):
        shape = list(shape_of(operand.type))
        shape[axis] = count
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i32),
                "descending": _flag(descending),
                "unsigned": _flag(unsigned),
            },
            result_types=[with_shape(operand.type, shape)],
        )

    @property
    def is_whole(self) -> bool:
        """Whether no lane is left out."""
        return self.result.type == self.operand.type

    def verify_(self) -> None:
        check_sort(self.operand.type, self.result.type, self.axis.value.data)


def check_sort(operand: Attribute, result: Attribute, axis: int) -> None:
    """Refuse a result that is not as long along the axis, or shorter."""
    check_axis(operand, axis)
    check_axis(result, axis)
    fits = _others(operand, axis) == _others(result, axis) and shape_of(result)[axis] <= shape_of(operand)[axis]
    same = element_of(operand) == element_of(result)
    require(fits and same, "{} sorted along axis {} does not give {}", operand, axis, result)


@irdl_op_definition
class HistogramOp(IRDLOperation):
    """How many lanes hold 0, 1, 2, ..; lanes that hold something else, or whose mask is false, do not count."""

    name = "tl.histogram"

    operand = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$operand (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: SSAValue, bins: int, mask: SSAValue | None = None):
        super().__init__(operands=[operand, mask], result_types=[TensorType(i32, [bins])])

    def verify_(self) -> None:
        check_histogram(self.operand.type, None if self.mask is None else self.mask.type, self.result.type)


def check_histogram(operand: Attribute, mask: Attribute | None, result: Attribute) -> None:
    """Refuse counts of anything but integers, into anything but a row of i32."""
    require(is_integer(operand), "a histogram of {}", operand)
    require(
        len(shape_of(operand)) == len(shape_of(result)) == 1 and element_of(result) == i32,
        "a histogram of {} does not give {}",
        operand,
        result,
    )
    fits = mask is None or (shape_of(mask) == shape_of(operand) and element_of(mask) == i1)
    require(fits, "the mask is {}, the block {}", mask, operand)
