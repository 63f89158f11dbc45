"""Program numbers, ranges and changes of shape: ops that compute nothing and move nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..grid import OfGridAxis
from ..shapes import element_of, require, shape_of, with_shape


@irdl_op_definition
class ProgramIdOp(OfGridAxis):
    """The number of this program along an axis of the grid."""

    name = "tl.program_id"


@irdl_op_definition
class NumProgramsOp(OfGridAxis):
    """The size of the grid along an axis."""

    name = "tl.num_programs"


@irdl_op_definition
class MakeRangeOp(IRDLOperation):
    """`start, start + 1, ... end - 1` as a block of i32. AHBM takes any size; Triton's rule of powers of two is the
    frontend's.
    """

    name = "tl.make_range"

    start = prop_def(IntegerAttr[IntegerType])
    end = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, start: int, end: int):
        super().__init__(
            properties={"start": IntegerAttr(start, i32), "end": IntegerAttr(end, i32)},
            result_types=[TensorType(i32, [end - start])],
        )

    def verify_(self) -> None:
        size = self.end.value.data - self.start.value.data
        require(size > 0, "an empty range, from {} to {}", self.start.value.data, self.end.value.data)
        require(
            self.result.type == TensorType(i32, [size]),
            "the result must be {}, not {}",
            TensorType(i32, [size]),
            self.result.type,
        )


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A block that holds one scalar (or pointer) in every lane."""

    name = "tl.splat"

    operand = operand_def(AnyAttr())
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[TensorType(operand.type, shape)])

    def verify_(self) -> None:
        require(
            element_of(self.result.type) == self.operand.type,
            "the operand is {}, the result a block of {}",
            self.operand.type,
            element_of(self.result.type),
        )


@irdl_op_definition
class ExpandDimsOp(IRDLOperation):
    """Insert an axis of size 1 at `axis`."""

    name = "tl.expand_dims"

    operand = operand_def(TensorType)
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, axis: int):
        shape = list(shape_of(operand.type))
        shape.insert(axis, 1)
        super().__init__(
            operands=[operand],
            properties={"axis": IntegerAttr(axis, i32)},
            result_types=[with_shape(operand.type, shape)],
        )

    def verify_(self) -> None:
        shape, axis = list(shape_of(self.operand.type)), self.axis.value.data
        require(0 <= axis <= len(shape), "axis {} for a block of rank {}", axis, len(shape))
        shape.insert(axis, 1)
        expected = with_shape(self.operand.type, shape)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Repeat axes of size 1 up to the size of the result's."""

    name = "tl.broadcast"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[with_shape(operand.type, shape)])

    def verify_(self) -> None:
        old, new = shape_of(self.operand.type), shape_of(self.result.type)
        fits = len(old) == len(new) and all(a in (1, b) for a, b in zip(old, new, strict=True))
        require(
            fits and element_of(self.operand.type) == element_of(self.result.type),
            "{} does not broadcast to {}",
            self.operand.type,
            self.result.type,
        )


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements in row-major order under another shape."""

    name = "tl.reshape"

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[with_shape(operand.type, shape)])

    def verify_(self) -> None:
        old, new = prod(shape_of(self.operand.type)), prod(shape_of(self.result.type))
        require(
            old == new and element_of(self.operand.type) == element_of(self.result.type),
            "{} ({} elements) does not reshape to {} ({} elements)",
            self.operand.type,
            old,
            self.result.type,
            new,
        )


@irdl_op_definition
class TransOp(IRDLOperation):
    """Permute axes: axis d of the result is axis `order[d]` of the operand."""

    name = "tl.trans"

    operand = operand_def(TensorType)
    order = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, order: Sequence[int]):
        shape = shape_of(operand.type)
        super().__init__(
            operands=[operand],
            properties={"order": DenseArrayBase.from_list(i64, order)},
            result_types=[with_shape(operand.type, [shape[d] for d in order])],
        )

    @property
    def permutation(self) -> tuple[int, ...]:
        return tuple(self.order.get_values())

    def verify_(self) -> None:
        shape, order = shape_of(self.operand.type), self.permutation
        require(sorted(order) == list(range(len(shape))), "{} does not permute {} axes", list(order), len(shape))
        expected = with_shape(self.operand.type, [shape[d] for d in order])
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)
