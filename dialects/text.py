"""IR as text: the context that knows our dialects, reading and writing.

Every op that is read without a location gets the place where it stands in the text, so that later errors point there.
"""

from __future__ import annotations

import bisect
import io
import re
from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    Builtin,
    ComplexType,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Dialect, Operation
from xdsl.parser import AttrParser, Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.printer import Printer
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer

from .errors import Category, Place, fail


def new_context(*, allow_unregistered: bool = False) -> Context:
    """A context that loads our dialects and those of xDSL that we use when their names first occur."""
    context = Context(allow_unregistered=allow_unregistered)
    context.load_dialect(Builtin)
    for name, factory in _DIALECTS.items():
        context.register_dialect(name, factory)
    return context


def _arith() -> Dialect:
    from xdsl.dialects.arith import Arith

    return Arith


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _math() -> Dialect:
    from xdsl.dialects.math import Math

    return Math


def _scf() -> Dialect:
    from xdsl.dialects.scf import Scf

    return Scf


def _tl() -> Dialect:
    from .tl import TL

    return TL


def _ahbm() -> Dialect:
    from .ahbm import AHBM

    return AHBM


def _pe() -> Dialect:
    from .pe import PE

    return PE


_DIALECTS: dict[str, Callable[[], Dialect]] = {
    "arith": _arith,
    "func": _func,
    "math": _math,
    "scf": _scf,
    "tl": _tl,
    "ahbm": _ahbm,
    "pe": _pe,
}


class _Lexer(MLIRLexer):
    """xDSL's lexer with a pattern of strings that does not take exponential time where one is not closed."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class _BlockElement(Parser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a block constant. In hexadecimal it is the bits of a float (an infinity, a NaN); xDSL prints that
    and reads it as a number.
    """

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        if isinstance(type, AnyFloat) and isinstance(self.value, int) and self.span.text.startswith("0x"):
            return type.unpack(self.value.to_bytes(type.compile_time_size, "little"), 1)[0]
        return super().to_type(parser, type)


class _LocatingParser(Parser):
    """xDSL's parser, giving each op without a location the place of its name."""

    _TensorLiteralElement = _BlockElement

    def __init__(self, context: Context, text: str, file: str):
        super().__init__(context, "", file)
        self._parser_state = ParserState(_Lexer(Input(text, file)))
        self._starts: list[int] = []
        self._file = StringAttr(file)
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def parse_operation(self) -> Operation:
        self._starts.append(self._current_token.span.start)
        op = super().parse_operation()
        start = self._starts.pop()
        if isinstance(op.location, UnknownLoc):
            at = self._place_of(start)
            op.location = FileLineColLoc(self._file, IntAttr(at.line), IntAttr(at.column))
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._starts[-1] = self._current_token.span.start
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:
            # xDSL has moved on by then; the error belongs to the name.
            start = self._starts[-1]
            raise ParseError(Span(start, start + len(name), self.lexer.input), error.msg) from None

    def undefined(self) -> Place | None:
        """Where a value first stands that nothing has defined so far."""
        for name in self.forward_ssa_references:
            # xDSL has the name without the `%`; in a comment it is no use.
            found = re.search(rf"^(?:[^/\n]|/(?!/))*?(%{re.escape(name)})(?![\w$.-])", self.lexer.input.content, re.M)
            if found is not None:
                at = self._place_of(found.start(1))
                return Place(at.file, at.line, at.column, at.column + len(found[1]))
        return None

    def here(self) -> Place:
        """The place that the parser has come to."""
        return self._place_of(self._current_token.span.start)

    def _place_of(self, position: int) -> Place:
        line = bisect.bisect_right(self._line_starts, position)
        return Place(self._file.data, line, position - self._line_starts[line - 1] + 1)


def parse_module(text: str, file: str, context: Context | None = None) -> ModuleOp:
    """The module that `text` is; `file` names it in places. Not verified. Raises AhbmcError where the text cannot be
    read.
    """
    try:
        # The first token is read here: it too can be wrong.
        parser = _LocatingParser(context or new_context(), text, file)
    except ParseError as error:
        raise fail(_message(error), _place(error.span), Category.INVALID_IR) from None
    try:
        return parser.parse_module()
    except ParseError as error:
        # Of these xDSL tells when all is read, at the end of the text.
        undefined = parser.undefined() if error.msg.startswith("values used but not defined") else None
        raise fail(_message(error), undefined or _place(error.span), Category.INVALID_IR) from None
    except (VerifyException, OverflowError) as error:
        # A type or attribute that is wrong in itself; the parser stands just behind it.
        raise fail(str(error), parser.here(), Category.INVALID_IR) from None
    except RecursionError:
        raise fail("regions are nested too deeply to be read", Place(file, 1, 1), Category.UNSUPPORTED) from None


def _message(error: ParseError) -> str:
    parts = [error.msg, *(m for _, m in error.refs if m)] if isinstance(error, MultipleSpansParseError) else [error.msg]
    return "; ".join(part.strip().removesuffix(".") for part in parts)


def _place(span: Span[str] | Span[bytes]) -> Place:
    at = span.get_location()
    end = at.col + span.len if span.len > 0 and "\n" not in span.text else None
    return Place(at.file, at.line, at.col, end)


def print_module(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """The module as text that `parse_module` reads back, with a line end after it."""
    out = io.StringIO()
    printer = Printer(stream=out, print_generic_format=generic, print_debuginfo=locations)
    printer.print_op(module)
    return out.getvalue() + "\n"
