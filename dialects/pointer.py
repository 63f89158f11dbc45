"""The pointer type `!tl.ptr<f16>`, which both levels use: kernel arguments keep it down to the commands. And what the
ops have in common that read an address as another type.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_attr_definition, operand_def, result_def, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure

from .shapes import require


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer into HBM; arithmetic on it counts in elements of `element_type`."""

    name = "tl.ptr"

    element_type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element_type)


class OfAddress(IRDLOperation):
    """The same address as a pointer to other elements, as a pointer where it was an i64, or the other way round."""

    operand = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        types = (self.operand.type, self.result.type)
        require(
            all(t == i64 or isinstance(t, PointerType) for t in types) and types != (i64, i64),
            "an address is a pointer or an i64; {} does not become {}",
            *types,
        )
