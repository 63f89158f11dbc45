"""From a piece of a file to its syntax tree, with faults as a reader of the text would put them."""

from __future__ import annotations

import re
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from ..dialects.errors import AhbmcError, Category
from . import syntax
from .grammar import grammar, layout
from .pieces import Line, Piece
from .text import KERNELS_ARE, Text
from .tree import TreeBuilder

_WORD = re.compile(r"[^\W\d]\w*")
_REFUSED = {"class", "try", "except", "finally", "yield", "async", "await"}
_READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "LONG_STRING": "a string",
    "_NEWLINE": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "AUGMENTED": "an augmented assignment such as '+='",
    "$END": "the end of the text",
}
_STARTS_OPERAND = {"NAME", "NUMBER", "STRING", "LONG_STRING", "LPAR", "LSQB", "LBRACE", "NONE", "TRUE", "FALSE"}
_ASSIGNABLE = (syntax.Name, syntax.Sequence, syntax.Starred, syntax.Subscript, syntax.Attribute)


def parse(text: Text, piece: Piece) -> syntax.Body:
    """The statements of a piece. Raises AhbmcError with every independent fault of it."""
    try:
        return _parse(text, piece.span, piece.width)
    except AhbmcError as error:
        raise _with_later_faults(text, piece, error) from None


def parse_function(text: Text, piece: Piece) -> syntax.Function:
    """The tree of a function's piece."""
    (function,) = parse(text, piece)
    assert isinstance(function, syntax.Function)
    return function


def _parse(text: Text, span: syntax.Span, width: int) -> syntax.Body:
    base = span[0]
    source = text.content[span[0] : span[1]] + "\n"
    lines = layout()
    lines.start, lines.end = width, len(source)
    hint = "start the line where an earlier line of the same block starts"
    lines.report = lambda message, offset: text.fail(message, (base + offset, base + offset + 1), hint)
    parser = grammar()
    try:
        tree: Any = parser.parse(source)  # pyright: ignore[reportUnknownMemberType] -- Lark's annotations
    except UnexpectedInput as error:
        raise _syntax_error(text, parser, base, error) from None
    node = TreeBuilder(base).build(tree)
    body = cast(syntax.Body, node if isinstance(node, tuple) else (node,))
    for statement in body:
        _check_targets(text, statement)
    return body


def _with_later_faults(text: Text, piece: Piece, first: AhbmcError) -> AhbmcError:
    """`first`, and what is wrong with the statements of the function's body that come after it."""
    place = first.faults[0].place
    if piece.kind != "function" or place is None:
        return first
    faults = list(first.faults)
    body = piece.lines[1:]
    level = min((line.width for line in body), default=0)
    starts = [n for n, line in enumerate(body) if line.width == level and not _continues(text, line)]
    for start, stop in zip(starts, [*starts[1:], len(body)], strict=False):
        span = (body[start].span[0], body[stop - 1].span[1])
        if text.position(span[0])[0] <= place.line:
            continue
        try:
            _parse(text, span, level)
        except AhbmcError as error:
            faults += error.faults
    return AhbmcError(*dict.fromkeys(faults))


def _continues(text: Text, line: Line) -> bool:
    """Whether a line belongs to the statement above it."""
    word = _WORD.match(text.content, line.span[0])
    return word is not None and word.group() in ("elif", "else", "except", "finally")


def _syntax_error(text: Text, parser: Lark, base: int, error: UnexpectedInput) -> AhbmcError:
    start = base + (error.pos_in_stream or 0)
    if isinstance(error, UnexpectedCharacters):
        return _unknown_characters(text, start)
    assert isinstance(error, UnexpectedToken)
    unexpected: Any = error  # Lark's annotations leave the parts of this open
    token: Token = unexpected.token
    span = (start, start + max(len(token.rstrip()), 1))
    accepts: set[str] = unexpected.interactive_parser.accepts() if unexpected.interactive_parser else set()
    history: list[Token] = unexpected.token_history or []
    previous = history[-1] if history else None
    if token.type in ("_NEWLINE", "$END") and previous is not None and previous.end_pos is not None:
        span = (base + previous.end_pos, base + previous.end_pos + 1)
    message, hint = _explain(parser, token, accepts)
    return text.fail(message, span, hint)


def _unknown_characters(text: Text, start: int) -> AhbmcError:
    word = _WORD.match(text.content, start)
    if word and word.group() in _REFUSED:
        return text.fail(f"not supported in a kernel: `{word.group()}`", word.span(), KERNELS_ARE, Category.UNSUPPORTED)
    message = f"a character that no kernel can have here: {text.content[start]!r}"
    return text.fail(message, (start, start + 1), "kernels are Python text: take the character away")


def _explain(parser: Lark, token: Token, accepts: set[str]) -> tuple[str, str | None]:
    """Message and hint for a token that cannot stand where it stands."""
    found = _READABLE.get(token.type, f"'{token.strip()}'") if token.type != "NAME" else f"'{token}'"
    if token.type == "_INDENT":
        return "unexpected indentation", "start the line where the line above starts"
    if accepts == {"_INDENT"} or "_INDENT" in accepts:
        return "expected an indented block", "indent what belongs to the line above"
    if token.type == "EQUAL" and "COLON" in accepts:
        return "an assignment where a condition is needed", "maybe you meant '=='"
    if "COLON" in accepts and token.type == "_NEWLINE":
        return "expected ':'", "end the line with ':'"
    if "COMMA" in accepts and token.type in _STARTS_OPERAND:
        return f"invalid syntax at {found}", "perhaps you forgot a comma or an operator"
    names = sorted({_readable(parser, name) for name in accepts} - {"the end of the text"})
    hint = f"{' or '.join(names)} could stand here" if 0 < len(names) <= 6 else None
    return f"invalid syntax: {found} cannot stand here", hint


def _readable(parser: Lark, terminal: str) -> str:
    if terminal in _READABLE:
        return _READABLE[terminal]
    pattern = next((t.pattern for t in parser.terminals if t.name == terminal), None)
    return f"'{pattern.value}'" if isinstance(pattern, PatternStr) else terminal.lower()


def _check_targets(text: Text, statement: syntax.Statement) -> None:
    """Refuse an assignment to something that holds no value, which the grammar lets through."""
    match statement:
        case syntax.Assign(targets=targets):
            for target in targets:
                _check_target(text, target)
        case syntax.Augmented(target=target) | syntax.Annotated(target=target):
            if isinstance(target, syntax.Sequence):
                raise text.fail("several names cannot be assigned at once here", target.span)
            _check_target(text, target)
        case syntax.For(target=target, body=body, orelse=orelse):
            _check_target(text, target)
            for inner in (*body, *orelse):
                _check_targets(text, inner)
        case syntax.If(then=body, orelse=orelse) | syntax.While(body=body, orelse=orelse):
            for inner in (*body, *orelse):
                _check_targets(text, inner)
        case syntax.With(body=body) | syntax.Function(body=body):
            for inner in body:
                _check_targets(text, inner)
        case _:
            pass


def _check_target(text: Text, target: syntax.Expression) -> None:
    if not isinstance(target, _ASSIGNABLE):
        raise text.fail(
            "cannot assign to this expression", target.span, hint="a name stands left of '='; '==' compares"
        )
    if isinstance(target, syntax.Sequence):
        for item in target.items:
            _check_target(text, item)
