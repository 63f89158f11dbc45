"""Types and attributes of the `ahbm` dialect: buffers, index views and the op specs of a composite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from ..region import RegionType

SPACES = ("tcm", "sram", "hbm")

# Logical bytes of the parts of a command descriptor (design section 6).
FRAMING_BYTES = 4
OPCODE_BYTES = 1
ENUM_BYTES = 1
HANDLE_BYTES = 8
SCALAR_BYTES = 4
TAG_BYTES = 1
LENGTH_BYTES = 1
INDEX_VIEW_BYTES = 12
RUNNING_TILE = -1
NO_OUT = -1


def _parse_shaped(parser: AttrParser) -> tuple[list[int], Attribute]:
    dims, kind = parser.parse_ranked_shape()
    return list(dims), kind


class _Shaped(ParametrizedAttribute, TypeAttribute, ShapedType):
    def get_num_dims(self) -> int:
        return len(self.get_shape())

    def _print_shape(self, printer: Printer, shape: ArrayAttr[IntAttr], element: Attribute) -> None:
        printer.print_dimension_list([d.data for d in shape])
        if shape.data:
            printer.print_string("x")
        printer.print_attribute(element)


@irdl_attr_definition
class BufferType(_Shaped):
    """`!ahbm.buffer<32x64xf16, tcm>`: packed row-major elements in one memory space; rank 0 is a single element."""

    name = "ahbm.buffer"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    space: StringAttr

    def __init__(self, shape: Sequence[int], element_type: Attribute, space: str = "tcm"):
        super().__init__(ArrayAttr([IntAttr(d) for d in shape]), element_type, StringAttr(space))

    def get_shape(self) -> tuple[int, ...]:
        return tuple(d.data for d in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = _parse_shaped(parser)
            parser.parse_punctuation(",")
            place = parser.pos
            space = parser.parse_identifier()
            if space not in SPACES:
                parser.raise_error(f"memory space '{space}': it must be one of {', '.join(SPACES)}", place, parser.pos)
        return [ArrayAttr([IntAttr(d) for d in dims]), element, StringAttr(space)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        self._print_shape(printer, self.shape, self.element_type)
        printer.print_string(f", {self.space.data}>")


@irdl_attr_definition
class IndexType(_Shaped):
    """`!ahbm.index<32x64xi32>`: a block whose value is affine in its indices; it has no bytes anywhere."""

    name = "ahbm.index"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    def __init__(self, shape: Sequence[int], element_type: Attribute):
        super().__init__(ArrayAttr([IntAttr(d) for d in shape]), element_type)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(d.data for d in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = _parse_shaped(parser)
        return [ArrayAttr([IntAttr(d) for d in dims]), element]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self._print_shape(printer, self.shape, self.element_type)


def operand_bytes(kind: Attribute) -> int:
    """Logical bytes of an operand in a descriptor: a handle, an index view (start, step, axis) or a scalar."""
    if isinstance(kind, IndexType):
        return INDEX_VIEW_BYTES
    return HANDLE_BYTES if isinstance(kind, BufferType | RegionType) else SCALAR_BYTES


class Scope(StrEnum):
    """How often an op of a composite runs; where it stands in the list says in which phase."""

    ONCE = "once"
    K_TILE = "k_tile"
    OUTPUT_TILE = "output_tile"


@irdl_attr_definition
class SpecAttr(ParametrizedAttribute):
    """One op of a composite: `#ahbm.spec<"exp_diff", once, [0, 1], 2, {axis = 1 : i64}>`.

    Operands and `out` are numbers of operands of the composite. Operand -1 is the running tile, which comes out of
    the GEMM and its earlier epilogues and takes no bytes; `out` -1 is none. The GEMM's extents m, n, k are the
    composite's and count as extras here.
    """

    name = "ahbm.spec"

    kind: StringAttr
    scope: StringAttr
    operands: ArrayAttr[IntAttr]
    out: IntAttr
    extras: DictionaryAttr

    def __init__(
        self,
        kind: str,
        scope: Scope,
        operands: Sequence[int],
        out: int = NO_OUT,
        extras: Mapping[str, Attribute] | None = None,
    ):
        super().__init__(
            StringAttr(kind),
            StringAttr(scope.value),
            ArrayAttr([IntAttr(n) for n in operands]),
            IntAttr(out),
            DictionaryAttr(dict(extras or {})),
        )

    @property
    def operand_numbers(self) -> tuple[int, ...]:
        return tuple(n.data for n in self.operands)

    @property
    def is_gemm(self) -> bool:
        return self.kind.data == "gemm"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_str_literal()
            parser.parse_punctuation(",")
            scope = parser.parse_str_enum(Scope)
            parser.parse_punctuation(",")
            operands = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_punctuation(",")
            out = parser.parse_integer()
            extras: dict[str, Attribute] = {}
            if parser.parse_optional_punctuation(","):
                extras = dict(parser.parse_optional_dictionary_attr_dict())
        return [
            StringAttr(kind),
            StringAttr(scope.value),
            ArrayAttr([IntAttr(n) for n in operands]),
            IntAttr(out),
            DictionaryAttr(extras),
        ]

    def print_parameters(self, printer: Printer) -> None:
        numbers = ", ".join(str(n) for n in self.operand_numbers)
        printer.print_string(f'<"{self.kind.data}", {self.scope.data}, [{numbers}], {self.out.data}')
        if self.extras.data:
            printer.print_string(", ")
            printer.print_attr_dict(self.extras.data)
        printer.print_string(">")

    def logical_bytes(self, operand_types: Sequence[Attribute]) -> int:
        """Bytes of this op in the descriptor of a composite with operands of these types."""
        handles = sum(operand_bytes(operand_types[n]) for n in self.operand_numbers if n != RUNNING_TILE)
        out = HANDLE_BYTES if self.out.data != NO_OUT else 0
        extents = 3 * SCALAR_BYTES if self.is_gemm else 0
        extras = sum(_extra_bytes(v) for v in self.extras.data.values())
        return OPCODE_BYTES + ENUM_BYTES + LENGTH_BYTES + handles + out + LENGTH_BYTES + extents + extras


def _extra_bytes(value: Attribute) -> int:
    match value:
        case ArrayAttr():
            return LENGTH_BYTES + SCALAR_BYTES * len(value.data)
        case FloatAttr():
            return SCALAR_BYTES
        case IntegerAttr():
            # A bool is stored as an i1 and takes a tag's byte.
            return TAG_BYTES if str(value.type) == "i1" else SCALAR_BYTES
        case _:
            return TAG_BYTES
