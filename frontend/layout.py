"""From lines to blocks: the filter between lexer and parser that turns indentation into `_INDENT` and `_DEDENT`.

Lark has such a filter, but its faults carry no position. Brackets are already known to pair up here: `pieces.py`
checks a whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lark import Token
from lark.lark import PostLex

OPENING = ("LPAR", "LSQB", "LBRACE")
CLOSING = ("RPAR", "RSQB", "RBRACE")
TAB_WIDTH = 8


class Layout(PostLex):
    """A filter of tokens. Before each parse: `start` is the indentation of the piece's first line, `end` the length
    of its text, and `report` makes the error for a fault at an offset."""

    always_accept = ("_NEWLINE",)

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.report: Callable[[str, int], Exception] = lambda message, _: ValueError(message)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        levels, depth = [self.start], 0
        last: Token | None = None
        for token in stream:
            if token.type == "_NEWLINE":
                if depth == 0:
                    yield token
                    yield from self._change(token, levels)
            else:
                depth += (token.type in OPENING) - (token.type in CLOSING)
                yield token
            last = token
        while len(levels) > 1:
            levels.pop()
            yield Token.new_borrow_pos("_DEDENT", "", last) if last is not None else Token("_DEDENT", "")

    def _change(self, newline: Token, levels: list[int]) -> Iterator[Token]:
        """The tokens for the indentation after a newline."""
        place = newline.end_pos or 0
        if "\n" not in newline or place >= self.end:
            return  # the end of the text closes all blocks
        width = indentation_width(newline.rsplit("\n", 1)[1])
        if width > levels[-1]:
            levels.append(width)
            yield _mark("_INDENT", place)
            return
        while width < levels[-1] and len(levels) > 1:
            levels.pop()
            yield _mark("_DEDENT", place)
        if width != levels[-1]:
            raise self.report("unindent does not match any outer indentation level", place)


def _mark(kind: str, place: int) -> Token:
    return Token(kind, "", start_pos=place, end_pos=place)


def indentation_width(blank: str) -> int:
    """The width of leading blanks; a tab counts up to the next multiple of eight, as in Python."""
    width = 0
    for character in blank:
        width = (width // TAB_WIDTH + 1) * TAB_WIDTH if character == "\t" else width + 1
    return width
