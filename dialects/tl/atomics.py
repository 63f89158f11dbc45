"""`tl.atomic`: read, change and write back what a pointer points at, as one step that nothing comes between."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import SSAValue
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
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from ..shapes import is_float, require
from .memory import check_mask, pointee

# Kinds -> whether they take floats. `maxu` and `minu` read integers as unsigned.
ATOMIC_KINDS: dict[str, bool] = {
    "add": True,
    "max": True,
    "min": True,
    "maxu": False,
    "minu": False,
    "and": False,
    "or": False,
    "xor": False,
    "xchg": True,
    "cas": True,
}


def check_atomic_kind(kind: str, floats: bool, compare: SSAValue | None) -> None:
    """Refuse a kind that is none, that floats do not have, and a comparand that does not go with it."""
    require(kind in ATOMIC_KINDS, "an atomic '{}': it must be one of {}", kind, ", ".join(ATOMIC_KINDS))
    require(ATOMIC_KINDS[kind] or not floats, "an atomic '{}' of floats", kind)
    says = "has no" if kind != "cas" else "needs a"
    require((compare is not None) == (kind == "cas"), "an atomic '{}' {} comparand", kind, says)


@irdl_op_definition
class AtomicOp(IRDLOperation):
    """Combine a value into what a pointer (or each of a block of pointers) points at; the result is what was there.

    Lanes go in row-major order, so equal pointers see each other's results; lanes whose mask is false change nothing
    and give 0. `cas` writes the value where memory holds `compare`. `hints` are Triton's `sem` and `scope`: an atomic
    here is ordered with all accesses of its PE as a store is.
    """

    name = "tl.atomic"

    kind = prop_def(StringAttr)
    pointer = operand_def(AnyAttr())
    value = operand_def(AnyAttr())
    compare = opt_operand_def(AnyAttr())
    mask = opt_operand_def(AnyAttr())
    hints = opt_prop_def(DictionaryAttr)
    result = result_def(AnyAttr())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$kind `,` $pointer `,` $value (`compare` `(` $compare^ `:` type($compare) `)`)? "
        "(`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($pointer) `,` type($value) `->` type($result)"
    )

    def __init__(
        self,
        kind: str,
        pointer: SSAValue,
        value: SSAValue,
        compare: SSAValue | None = None,
        mask: SSAValue | None = None,
        hints: DictionaryAttr | None = None,
    ):
        super().__init__(
            operands=[pointer, value, compare, mask],
            properties={"kind": StringAttr(kind), "hints": hints},
            result_types=[value.type],
        )

    def verify_(self) -> None:
        expected = pointee(self.pointer.type)
        require(self.value.type == expected, "the value must be {}, not {}", expected, self.value.type)
        require(self.result.type == expected, "the result must be {}, not {}", expected, self.result.type)
        check_atomic_kind(self.kind.data, is_float(expected), self.compare)
        if self.compare is not None:
            require(self.compare.type == expected, "the comparand must be {}, not {}", expected, self.compare.type)
        check_mask(self.pointer.type, self.mask)
