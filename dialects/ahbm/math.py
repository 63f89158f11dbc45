"""`ahbm.math`: one command of the MATH engine, and the kinds of it that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)

from ..elementwise import BY_KIND
from ..shapes import element_of, require, shape_of
from ..tl.along_axis import check_axis, check_gather, check_histogram, check_sort
from ..tl.compute import FLOAT_PREDICATES, INTEGER_PREDICATES, REDUCE_KINDS
from .commands import CommandOp
from .types import SCALAR_BYTES, BufferType, operand_bytes

MATH_BYTES = 14

REDUCTIONS = tuple(f"reduce_{kind}" for kind in REDUCE_KINDS)
SCANS = tuple(f"scan_{kind}" for kind in REDUCE_KINDS)
COMPARISONS = tuple(f"cmp_{predicate}" for predicate in (*INTEGER_PREDICATES, *FLOAT_PREDICATES))
# `exp_diff` is exp(a - b), `exp2_diff` exp2(a - b): the forms in which a recipe issues a difference and its exponential
# as one op.
FUSED_KINDS = ("exp_diff", "exp2_diff")
# What may be an op of a composite.
MATH_KINDS: frozenset[str] = frozenset(
    (*BY_KIND, *REDUCTIONS, *COMPARISONS, *FUSED_KINDS, "select", "cast", "bitcast", "copy")
)
# Lanes look at others along the axis: single-op commands only.
WITH_AXIS = frozenset((*REDUCTIONS, *SCANS, "gather", "sort", "topk"))
SINGLE_KINDS = MATH_KINDS | WITH_AXIS | {"histogram"}


@irdl_op_definition
class MathOp(CommandOp):
    """`kind` of the inputs, into a buffer: an element-wise function, compare, select, cast, reduction, scan, gather,
    sort or histogram.

    Inputs are buffers (or views), index views, rank-0 buffers (taken for every lane) and scalars of PE_CPU. Whatever
    goes along an axis has its `axis`. `unsigned` says that integers have no sign, `reverse` that a scan starts at the
    last lane and that a sort descends.
    """

    name = "ahbm.math"
    KIND: ClassVar[str] = "math"
    BLOCKING: ClassVar[bool] = True

    kind = prop_def(StringAttr)
    inputs = var_operand_def(AnyAttr())
    out = operand_def(BufferType)
    axis = opt_prop_def(IntegerAttr[IntegerType])
    unsigned = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind `ins` `(` $inputs `:` type($inputs) `)` `out` `(` $out `:` type($out) `)` attr-dict"

    def __init__(
        self,
        kind: str,
        inputs: Sequence[SSAValue],
        out: SSAValue,
        *,
        axis: int | None = None,
        unsigned: bool = False,
        reverse: bool = False,
    ):
        super().__init__(
            operands=[inputs, out],
            properties={
                "kind": StringAttr(kind),
                "axis": None if axis is None else IntegerAttr(axis, i64),
                "unsigned": UnitAttr() if unsigned else None,
                "reverse": UnitAttr() if reverse else None,
            },
        )

    @property
    def logical_bytes(self) -> int:
        return MATH_BYTES + sum(operand_bytes(v.type) for v in self.inputs) + (0 if self.axis is None else SCALAR_BYTES)

    @property
    def axis_size(self) -> int:
        """Lanes along the axis of the first input; 1 without an axis."""
        return 1 if self.axis is None else shape_of(self.inputs[0].type)[self.axis.value.data]

    def verify_(self) -> None:
        kind, count = self.kind.data, len(self.inputs)
        require(kind in SINGLE_KINDS, "'{}' is no MATH kind", kind)
        require(
            (self.axis is not None) == (kind in WITH_AXIS),
            "'{}' {} axis",
            kind,
            "needs an" if self.axis is None else "has no",
        )
        allowed = (1, 2) if kind == "histogram" else (arity_of(kind),)
        require(count in allowed, "'{}' takes {} inputs, not {}", kind, " or ".join(map(str, allowed)), count)
        if self.axis is not None:
            self._verify_along(kind, self.axis.value.data)
        elif kind == "histogram":
            source, *masks = (v.type for v in self.inputs)
            check_histogram(source, masks[0] if masks else None, self.out.type)
        else:
            for value in self.inputs:
                shapes = (), shape_of(self.out.type)
                require(shape_of(value.type) in shapes, "{} as an input of {}", value.type, self.out.type)

    def _verify_along(self, kind: str, axis: int) -> None:
        source, out = self.inputs[0].type, self.out.type
        check_axis(source, axis)
        if kind == "gather":
            check_gather(source, self.inputs[1].type, out, axis)
        elif kind in ("sort", "topk"):
            check_sort(source, out, axis)
        elif kind in SCANS:
            same = shape_of(source) == shape_of(out) and element_of(source) == element_of(out)
            require(same, "{} scanned along axis {} does not give {}", source, axis, out)
        else:
            shape = list(shape_of(source))
            del shape[axis]
            require(tuple(shape) == shape_of(out), "{} reduced along axis {} does not give {}", source, axis, out)


def arity_of(kind: str) -> int:
    """How many operands an op of a kind takes."""
    if kind in BY_KIND:
        return BY_KIND[kind].arity
    if kind in (*COMPARISONS, *FUSED_KINDS, "gather"):
        return 2
    return 3 if kind == "select" else 1
