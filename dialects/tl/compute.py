"""Ops that compute: compare, select, cast, reduce, dot, and the GEMM over regions that `raise-k-loops` makes of a loop
of dots.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, TensorType, UnitAttr, i1, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, Pure

from ..region import RegionType, operand_element
from ..shapes import element_of, is_float, is_integer, require, shape_of, with_element, with_shape

REDUCE_KINDS = ("sum", "max", "min", "prod", "and", "or", "xor")
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("oeq", "une", "olt", "ole", "ogt", "oge")


@irdl_op_definition
class CmpOp(IRDLOperation):
    """Compare two scalars or blocks of one type, lane by lane."""

    name = "tl.cmp"

    predicate = prop_def(StringAttr)
    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": StringAttr(predicate)},
            result_types=[with_element(lhs.type, i1)],
        )

    def verify_(self) -> None:
        kind, predicate = self.lhs.type, self.predicate.data
        allowed = FLOAT_PREDICATES if is_float(kind) else INTEGER_PREDICATES
        require(predicate in allowed, "predicate '{}' on {}: it must be one of {}", predicate, kind, ", ".join(allowed))
        require(kind == self.rhs.type, "{} is compared with {}", kind, self.rhs.type)
        expected = with_element(kind, i1)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Lane by lane `on_true` where the condition holds, else `on_false`; all of one shape."""

    name = "tl.select"

    condition = operand_def(AnyAttr())
    on_true = operand_def(AnyAttr())
    on_false = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = (
        "$condition `,` $on_true `,` $on_false attr-dict "
        "`:` type($condition) `,` type($on_true) `,` type($on_false) `->` type($result)"
    )

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue):
        super().__init__(operands=[condition, on_true, on_false], result_types=[on_true.type])

    def verify_(self) -> None:
        kind = self.on_true.type
        require(
            kind == self.on_false.type == self.result.type,
            "{} and {} give {}",
            kind,
            self.on_false.type,
            self.result.type,
        )
        expected = with_element(kind, i1)
        require(self.condition.type == expected, "the condition must be {}, not {}", expected, self.condition.type)


@irdl_op_definition
class CastOp(IRDLOperation):
    """Convert numbers to another type of the same shape. `unsigned` says that the integers of it have no sign."""

    name = "tl.cast"

    operand = operand_def(AnyAttr())
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(AnyAttr())
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, element: Attribute, *, unsigned: bool = False):
        super().__init__(
            operands=[operand],
            properties={"unsigned": UnitAttr() if unsigned else None},
            result_types=[with_element(operand.type, element)],
        )

    def verify_(self) -> None:
        old, new = self.operand.type, self.result.type
        for kind in (old, new):
            require(is_float(kind) or is_integer(kind), "{} is no number", kind)
        require(shape_of(old) == shape_of(new), "a cast keeps the shape; {} and {} differ", old, new)


@irdl_op_definition
class UmulhiOp(IRDLOperation):
    """The upper half of the product of two integers, or blocks of such, read as unsigned."""

    name = "tl.umulhi"

    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        kind = self.lhs.type
        require(kind == self.rhs.type == self.result.type, "{} and {} give {}", kind, self.rhs.type, self.result.type)
        element = element_of(kind)
        fits = isinstance(element, IntegerType) and element.bitwidth in (32, 64)
        require(fits, "integers of 32 or 64 bits are needed, not {}", kind)


@irdl_op_definition
class RemfOp(IRDLOperation):
    """C's `fmod` of two floats, or blocks of such: exact, with the sign of the dividend. PE_CPU has no such op."""

    name = "tl.remf"

    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        kind = self.lhs.type
        require(kind == self.rhs.type == self.result.type, "{} and {} give {}", kind, self.rhs.type, self.result.type)
        require(is_float(kind), "floats are needed, not {}", kind)


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Reduce one axis of a block; what is left of a block of rank 1 is a scalar."""

    name = "tl.reduce"

    kind = prop_def(StringAttr)
    operand = operand_def(TensorType)
    axis = prop_def(IntegerAttr[IntegerType])
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(AnyAttr())
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$kind `,` $operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, kind: str, operand: SSAValue, axis: int, *, unsigned: bool = False):
        shape = list(shape_of(operand.type))
        del shape[axis]
        super().__init__(
            operands=[operand],
            properties={
                "kind": StringAttr(kind),
                "axis": IntegerAttr(axis, i32),
                "unsigned": UnitAttr() if unsigned else None,
            },
            result_types=[with_shape(operand.type, shape)],
        )

    def verify_(self) -> None:
        kind, axis = self.kind.data, self.axis.value.data
        require(kind in REDUCE_KINDS, "a reduction by '{}': it must be one of {}", kind, ", ".join(REDUCE_KINDS))
        shape = list(shape_of(self.operand.type))
        require(0 <= axis < len(shape), "axis {} of a block of rank {}", axis, len(shape))
        del shape[axis]
        expected = with_shape(self.operand.type, shape)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)


def _check_product(a: Attribute, b: Attribute, acc: SSAValue | None, result: Attribute, rank: int = 2) -> None:
    """Shapes [.., M, K] x [.., K, N] -> [.., M, N]; sizes of regions are run-time values and count as unknown."""
    a_shape, b_shape, shape = shape_of(a), shape_of(b), shape_of(result)
    for kind, found, what in ((a, a_shape, "a"), (b, b_shape, "b")):
        axes = kind.rank.data if isinstance(kind, RegionType) else len(found)
        require(axes == rank, "{} must have rank {}, not {}", what, rank, kind)
        require(not found or found[:-2] == shape[:-2], "{} is {}, but the result is {}", what, kind, result)
    require(len(shape) == rank, "the result must be a block of rank {}, not {}", rank, result)
    require(not a_shape or a_shape[-2] == shape[-2], "a is {}, but the result has {} rows", a, shape[-2])
    require(not b_shape or b_shape[-1] == shape[-1], "b is {}, but the result has {} columns", b, shape[-1])
    require(not a_shape or not b_shape or a_shape[-1] == b_shape[-2], "{} times {}: the inner sizes differ", a, b)
    if acc is not None:
        require(acc.type == result, "the accumulator is {}, the result {}", acc.type, result)


@irdl_op_definition
class DotOp(IRDLOperation):
    """The matrix product of two blocks, plus the accumulator if there is one; sums in f32 (f64 and integers in their
    own kind). Blocks of three axes are a batch of matrices each.
    """

    name = "tl.dot"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    acc = opt_operand_def(TensorType)
    input_precision = opt_prop_def(StringAttr)
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$a `,` $b (`acc` `(` $acc^ `)`)? attr-dict "
        "`:` type($a) `,` type($b) (`acc_type` type($acc)^)? `->` type($result)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        acc: SSAValue | None,
        element: Attribute,
        input_precision: str | None = None,
    ):
        shape = [*shape_of(a.type)[:-1], shape_of(b.type)[-1]]
        super().__init__(
            operands=[a, b, acc],
            properties={"input_precision": StringAttr(input_precision) if input_precision else None},
            result_types=[TensorType(element, shape)],
        )

    @property
    def is_batch(self) -> bool:
        """Whether it is many products of two matrices."""
        return len(shape_of(self.result.type)) == 3

    def verify_(self) -> None:
        a, b = self.a.type, self.b.type
        _check_product(a, b, self.acc, self.result.type, 3 if len(shape_of(a)) == 3 else 2)
        require(element_of(a) == element_of(b), "{} times {}: the element types differ", a, b)


@irdl_op_definition
class GemmOp(IRDLOperation):
    """The matrix product of two operands of which at least one is a region of run-time size; the K extent is the
    region's.

    `tiles` is what is done to the operands before they are multiplied: lane by lane, for each block of K of both
    ([M, BLOCK_K] and [BLOCK_K, N], its arguments), it yields the blocks that are. It takes other values from outside,
    which are the same for all blocks of K. With it, both operands may be blocks.
    """

    name = "tl.gemm"

    a = operand_def(AnyAttr())
    b = operand_def(AnyAttr())
    acc = opt_operand_def(TensorType)
    result = result_def(TensorType)
    on_tiles = region_def()
    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$a `,` $b (`acc` `(` $acc^ `)`)? attr-dict "
        "`:` type($a) `,` type($b) (`acc_type` type($acc)^)? `->` type($result) (`tiles` $on_tiles^)?"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        acc: SSAValue | None,
        result_type: TensorType[Attribute],
        tiles: Region | None = None,
    ):
        super().__init__(operands=[a, b, acc], result_types=[result_type], regions=[tiles or Region()])

    @property
    def tiles(self) -> Region | None:
        """What is done to the tiles, if anything is."""
        return self.on_tiles if self.on_tiles.blocks else None

    @property
    def factors(self) -> tuple[SSAValue, SSAValue]:
        """What is multiplied: the operands, or what `tiles` makes of a block of them."""
        if self.tiles is None:
            return self.a, self.b
        last = self.tiles.block.last_op
        assert last is not None
        a, b = last.operands
        return a, b

    def verify_(self) -> None:
        a, b = self.a.type, self.b.type
        for kind in (a, b):
            require(isinstance(kind, RegionType | TensorType), "{} is neither a region nor a block", kind)
        _check_product(a, b, self.acc, self.result.type)
        if self.tiles is not None:
            self._verify_tiles(self.tiles)
            return
        require(isinstance(a, RegionType) or isinstance(b, RegionType), "a GEMM of two blocks is a tl.dot")
        require(operand_element(a) == operand_element(b), "{} times {}: the element types differ", a, b)

    def _verify_tiles(self, tiles: Region) -> None:
        blocks = [argument.type for argument in tiles.block.args]
        last = tiles.block.last_op
        require(last is not None and last.name == "tl.yield", "what is done to the tiles must end in tl.yield")
        assert last is not None
        ends = [v.type for v in last.operands]
        require(len(blocks) == len(ends) == 2, "{} blocks in and {} out; a and b are two", len(blocks), len(ends))
        _check_product(blocks[0], blocks[1], None, self.result.type)
        for operand, block, end in zip((self.a, self.b), blocks, ends, strict=True):
            found = operand_element(operand.type)
            require(found == element_of(block), "the tiles of {} are {}", operand.type, block)
            require(shape_of(block) == shape_of(end), "a tile {} becomes {}, of another shape", block, end)
        a, b = ends
        require(element_of(a) == element_of(b), "{} times {}: the element types differ", a, b)
