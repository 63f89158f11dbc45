"""Buffers, views and PE_CPU's own values: everything at the `ahbm` level that is no command and costs nothing to
issue.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
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
from xdsl.traits import Pure

from ..grid import OfGridAxis
from ..pointer import OfAddress, PointerType
from ..shapes import element_of, require, shape_of
from .types import BufferType, IndexType


@irdl_op_definition
class ProgramIdOp(OfGridAxis):
    """The number of this program along an axis of the grid; PE_CPU knows it."""

    name = "ahbm.program_id"


@irdl_op_definition
class NumProgramsOp(OfGridAxis):
    """The size of the grid along an axis."""

    name = "ahbm.num_programs"


@irdl_op_definition
class PtrCastOp(OfAddress):
    """An address as another type: PE_CPU does nothing."""

    name = "ahbm.ptr_cast"


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """A pointer moved on by a number of elements."""

    name = "ahbm.addptr"

    pointer = operand_def(PointerType)
    offset = operand_def(IntegerType)
    result = result_def(PointerType)
    traits = traits_def(Pure())
    assembly_format = "$pointer `,` $offset attr-dict `:` type($pointer) `,` type($offset) `->` type($result)"

    def __init__(self, pointer: SSAValue, offset: SSAValue):
        super().__init__(operands=[pointer, offset], result_types=[pointer.type])

    def verify_(self) -> None:
        require(
            self.result.type == self.pointer.type, "the result must be {}, not {}", self.pointer.type, self.result.type
        )


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer of this program; `offset` is its place in the kernel scratch in bytes, once `allocate-scratch` has
    given it one.

    It has no effect trait on purpose: two equal allocations are two buffers.
    """

    name = "ahbm.alloc"

    offset = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def(BufferType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, buffer: BufferType, offset: int | None = None):
        super().__init__(
            properties={"offset": None if offset is None else IntegerAttr(offset, i64)}, result_types=[buffer]
        )

    def verify_(self) -> None:
        require(self.offset is None or self.offset.value.data >= 0, "a negative offset in the scratch")


@irdl_op_definition
class ViewOp(IRDLOperation):
    """Another look at a buffer or index view: axis d of the result is axis `axes[d]` of the source, -1 a repeated lane.

    This is `expand_dims`, `broadcast` and `trans` in one; it owns no bytes. A source axis that is left out has size 1,
    or is looked at where `lanes` says: one lane per source axis, 0 for those that stay.
    """

    name = "ahbm.view"

    source = operand_def(BufferType | IndexType)
    axes = prop_def(DenseArrayBase.constr(i64))
    lanes = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(BufferType | IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self, source: SSAValue, axes: Sequence[int], result_type: Attribute, lanes: Sequence[int] | None = None
    ):
        super().__init__(
            operands=[source],
            properties={
                "axes": DenseArrayBase.from_list(i64, axes),
                "lanes": None if lanes is None else DenseArrayBase.from_list(i64, lanes),
            },
            result_types=[result_type],
        )

    @property
    def source_axes(self) -> tuple[int, ...]:
        return tuple(self.axes.get_values())

    @property
    def source_lanes(self) -> tuple[int, ...]:
        """Where each source axis is looked at."""
        return (0,) * len(shape_of(self.source.type)) if self.lanes is None else tuple(self.lanes.get_values())

    def verify_(self) -> None:
        old, new, axes = shape_of(self.source.type), shape_of(self.result.type), self.source_axes
        require(len(axes) == len(new), "{} axes for a result of rank {}", len(axes), len(new))
        used = [a for a in axes if a >= 0]
        require(
            len(set(used)) == len(used) and all(a < len(old) for a in used),
            "axes {} of {}",
            list(axes),
            self.source.type,
        )
        wrong = [d for d, a in enumerate(axes) if a >= 0 and old[a] not in (1, new[d])]
        require(
            not wrong,
            "axis {} of {} cannot be a view of {}",
            wrong[0] if wrong else 0,
            self.result.type,
            self.source.type,
        )
        if self.lanes is None:
            left_out = all(n == 1 for a, n in enumerate(old) if a not in used)
            require(left_out, "axes {} drop lanes of {}", list(axes), self.source.type)
        else:
            self._verify_lanes(used)
        require(element_of(self.source.type) == element_of(self.result.type), "a view keeps the element type")
        require(
            type(self.source.type) is type(self.result.type), "a view of a buffer is a buffer, of an index an index"
        )

    def _verify_lanes(self, used: list[int]) -> None:
        old, lanes = shape_of(self.source.type), self.source_lanes
        require(isinstance(self.source.type, BufferType), "lanes of {}", self.source.type)
        fits = len(lanes) == len(old) and all(
            lane == 0 if a in used else 0 <= lane < n for a, (lane, n) in enumerate(zip(lanes, old, strict=True))
        )
        require(fits, "lanes {} of {} along the axes that {} leaves out", list(lanes), self.source.type, used)


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same bytes in order under another shape."""

    name = "ahbm.reshape"

    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: BufferType):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        assert isinstance(self.source.type, BufferType) and isinstance(self.result.type, BufferType)
        old, new = self.source.type, self.result.type
        require(
            old.element_count() == new.element_count()
            and old.element_type == new.element_type
            and old.space == new.space,
            "{} does not reshape to {}",
            old,
            new,
        )


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The index view `start + sum over d of steps[d] * i_d`; start and steps are i64 scalars of PE_CPU."""

    name = "ahbm.index"

    start = operand_def(i64)
    steps = var_operand_def(i64)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$start `steps` `(` $steps `)` attr-dict `:` type($result)"

    def __init__(self, start: SSAValue, steps: Sequence[SSAValue], result_type: IndexType):
        super().__init__(operands=[start, steps], result_types=[result_type])

    def verify_(self) -> None:
        rank = len(shape_of(self.result.type))
        require(len(self.steps) == rank, "{} steps for an index of rank {}", len(self.steps), rank)


@irdl_op_definition
class FillOp(IRDLOperation):
    """Put one number into every lane of a buffer: `value`, or a scalar of PE_CPU. It is free, but waits as a write
    does.
    """

    name = "ahbm.fill"

    buffer = operand_def(BufferType)
    scalar = opt_operand_def(AnyAttr())
    value = opt_prop_def(FloatAttr | IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer (`with` $scalar^ `:` type($scalar))? attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, value: FloatAttr | IntegerAttr | SSAValue):
        scalar = value if isinstance(value, SSAValue) else None
        super().__init__(
            operands=[buffer, scalar],
            properties={"value": None if isinstance(value, SSAValue) else value},
        )

    def verify_(self) -> None:
        require((self.scalar is None) != (self.value is None), "a fill takes a constant or a scalar, one of the two")
        kind = self.scalar.type if self.scalar is not None else self.value.type if self.value is not None else None
        require(kind == element_of(self.buffer.type), "{} cannot fill {}", kind, self.buffer.type)


@irdl_op_definition
class ReadScalarOp(IRDLOperation):
    """PE_CPU reads the single element of a rank-0 buffer: it waits for its writer, the reading itself is free."""

    name = "ahbm.read_scalar"

    buffer = operand_def(BufferType)
    result = result_def(AnyAttr())
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($result)"

    def __init__(self, buffer: SSAValue):
        super().__init__(operands=[buffer], result_types=[element_of(buffer.type)])

    def verify_(self) -> None:
        require(shape_of(self.buffer.type) == (), "only a buffer of rank 0 is a scalar, not {}", self.buffer.type)
        expected = element_of(self.buffer.type)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)
