"""Regions: pieces of HBM as run-time values, used by loads, stores and GEMMs of both the `tl` and the `ahbm` level.

A region is `base + offset` and, per axis, a size, a stride and the bounds of its valid lanes. An axis is

* `affine`: lane i lies at `stride * i` (the stride may be 0, negative or only known at run time);
* `folded`: lane i lies at `fold_stride * ((fold_start + i) div fold_width) + stride * ((fold_start + i) mod
fold_width)`,
  which is `% M` (fold_stride 0), `// G` (stride 0) and flat `//` and `%` in one form;
* `indexed`: lane i lies at `stride * indices[i]`; the least number of the type of the indices stands for no lane.

All of this counts in elements. Lanes outside `[lo, hi)` of any axis, or without an index, are not touched in memory: a
load gives `pad` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .pointer import PointerType
from .shapes import element_of

AXIS_KINDS = ("affine", "folded", "indexed")


def no_lane(width: int) -> int:
    """The index of so many bits that stands for no lane."""
    return -(1 << (width - 1))


@irdl_attr_definition
class RegionType(ParametrizedAttribute, TypeAttribute):
    """`!ahbm.region<f16, 2>`: element type and rank; sizes are run-time values."""

    name = "ahbm.region"

    element_type: Attribute
    rank: IntAttr

    def __init__(self, element_type: Attribute, rank: int | IntAttr):
        super().__init__(element_type, IntAttr(rank) if isinstance(rank, int) else rank)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            rank = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return [element, IntAttr(rank)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.element_type)
        printer.print_string(f", {self.rank.data}>")


def operand_element(kind: Attribute) -> Attribute:
    """The element type of an operand that may lie in HBM: of a region, or of a block or buffer."""
    return kind.element_type if isinstance(kind, RegionType) else element_of(kind)


@irdl_op_definition
class RegionOp(IRDLOperation):
    """Make a region: see the head of this file. Offsets, sizes, strides and bounds are i64, in elements."""

    name = "ahbm.region"

    base = operand_def(PointerType)
    offset = operand_def(i64)
    sizes = var_operand_def(i64)
    strides = var_operand_def(i64)
    los = var_operand_def(i64)
    his = var_operand_def(i64)
    fold_starts = var_operand_def(i64)
    fold_widths = var_operand_def(i64)
    fold_strides = var_operand_def(i64)
    indices = var_operand_def(AnyAttr())
    axes = prop_def(ArrayAttr[StringAttr])
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    result = result_def(RegionType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = (
        "$base `[` $offset `]` `sizes` `(` $sizes `)` `strides` `(` $strides `)` `lo` `(` $los `)` `hi` `(` $his `)` "
        "(`fold` `(` $fold_starts^ `)` `width` `(` $fold_widths `)` `stride` `(` $fold_strides `)`)? "
        "(`index` `(` $indices^ `:` type($indices) `)`)? attr-dict `:` type($base) `->` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        offset: SSAValue,
        sizes: Sequence[SSAValue],
        strides: Sequence[SSAValue],
        los: Sequence[SSAValue],
        his: Sequence[SSAValue],
        *,
        axes: Sequence[str] | None = None,
        folds: Sequence[tuple[SSAValue, SSAValue, SSAValue]] = (),
        indices: Sequence[SSAValue] = (),
        pad: FloatAttr | IntegerAttr | None = None,
    ):
        """`folds`: (start, width, stride) of each folded axis in order; `indices`: the block of each indexed axis."""
        assert isinstance(base.type, PointerType)
        super().__init__(
            operands=[
                base,
                offset,
                sizes,
                strides,
                los,
                his,
                [f[0] for f in folds],
                [f[1] for f in folds],
                [f[2] for f in folds],
                indices,
            ],
            properties={
                "axes": ArrayAttr([StringAttr(a) for a in axes or ("affine",) * len(sizes)]),
                "pad": pad,
            },
            result_types=[RegionType(base.type.element_type, len(sizes))],
        )

    @property
    def axis_kinds(self) -> tuple[str, ...]:
        return tuple(a.data for a in self.axes)

    def fold_of(self, axis: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        """(start, width, stride) of a folded axis."""
        n = self.axis_kinds[:axis].count("folded")
        return self.fold_starts[n], self.fold_widths[n], self.fold_strides[n]

    def index_of(self, axis: int) -> SSAValue:
        """The block of indices of an indexed axis."""
        return self.indices[self.axis_kinds[:axis].count("indexed")]

    def verify_(self) -> None:
        assert isinstance(self.result.type, RegionType) and isinstance(self.base.type, PointerType)
        rank = self.result.type.rank.data
        for name in ("sizes", "strides", "los", "his", "axes"):
            if len(getattr(self, name)) != rank:
                raise VerifyException(f"{len(getattr(self, name))} {name} for a region of rank {rank}")
        if unknown := [k for k in self.axis_kinds if k not in AXIS_KINDS]:
            raise VerifyException(f"axis kind '{unknown[0]}' is none of {', '.join(AXIS_KINDS)}")
        for kind, have in (
            ("folded", (self.fold_starts, self.fold_widths, self.fold_strides)),
            ("indexed", (self.indices,)),
        ):
            if any(len(h) != self.axis_kinds.count(kind) for h in have):
                raise VerifyException(
                    f"{self.axis_kinds.count(kind)} {kind} axes, but {len(have[0])} operands for them"
                )
        if self.result.type.element_type != self.base.type.element_type:
            raise VerifyException(f"a region of {self.result.type.element_type} cannot lie at a {self.base.type}")


@irdl_op_definition
class CutOp(IRDLOperation):
    """`n` lanes of `region` along `axis` from lane `start`: the one way to make a smaller region of a region."""

    name = "ahbm.cut"

    T: ClassVar = VarConstraint("T", AnyAttr())
    region = operand_def(T)
    start = operand_def(i64)
    size = operand_def(i64)
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$region `[` $start `,` $size `]` attr-dict `:` type($region)"

    def __init__(self, region: SSAValue, start: SSAValue, size: SSAValue, axis: int):
        super().__init__(
            operands=[region, start, size],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[region.type],
        )

    def verify_(self) -> None:
        if not isinstance(self.region.type, RegionType):
            raise VerifyException(f"a region is needed, not {self.region.type}")
        if not 0 <= self.axis.value.data < self.region.type.rank.data:
            raise VerifyException(f"axis {self.axis.value.data} of a region of rank {self.region.type.rank.data}")
