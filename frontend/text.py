"""The text of a kernel file, and places in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc

from ..dialects.errors import AhbmcError, Category, Place, fail
from ..dialects.locations import location
from .syntax import Span

# The hint for what no kernel can have and nothing better is known of.
KERNELS_ARE = "a kernel is a function of assignments, `if`, `for`, `while` and calls"


class Text:
    """A file's name and content. Spans are offsets into `content`; places and locations are made of them on demand."""

    def __init__(self, file: str, content: str):
        self.file = file
        self.content = content.removeprefix("\ufeff")
        self._locations: dict[int, FileLineColLoc] = {}

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, c in enumerate(self.content) if c == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def place(self, span: Span) -> Place:
        """The place of a span; one that goes over several lines ends with its first."""
        line, column = self.position(span[0])
        end_line, end_column = self.position(max(span[1], span[0]))
        if end_line == line:
            return Place(self.file, line, column, max(end_column, column + 1))
        end = self.content.find("\n", span[0])
        width = len(self.content[span[0] : end].rstrip())
        return Place(self.file, line, column, column + max(width, 1))

    def location(self, span: Span) -> FileLineColLoc:
        """The location that ops made for a span carry."""
        found = self._locations.get(span[0])
        if found is None:
            found = self._locations[span[0]] = location(self.file, *self.position(span[0]))
        return found

    def fail(
        self,
        message: str,
        span: Span,
        hint: str | None = None,
        category: Category = Category.INVALID_INPUT,
        notes: Iterable[str] = (),
    ) -> AhbmcError:
        """An error at a span, to be raised by the caller."""
        return fail(message, self.place(span), category, hint, notes)
