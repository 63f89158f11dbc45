"""What lies where in a kernel file: its functions, imports and constants, found by layout alone.

A kernel file is a Python file, most of which may be host code in any Python at all. So the file is not parsed as a
whole: this scan finds logical lines (knowing strings, comments, brackets and continued lines), and only the pieces
that a kernel needs go to the parser, when they are needed. A piece is cut so that decorators, which are host code,
stay outside. Nothing is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .layout import indentation_width
from .syntax import Span
from .text import Text

# What can matter to where a logical line ends; all else is skipped over.
_TOKEN = re.compile(
    r"""(?P<long>(?:\"\"\"(?:\\(?:.|\n)|[^\\])*?\"\"\")|(?:'''(?:\\(?:.|\n)|[^\\])*?'''))"""
    r"""|(?P<open_long>\"\"\"|''')"""
    r"""|(?P<string>"(?:\\(?:.|\n)|[^"\\\n])*"|'(?:\\(?:.|\n)|[^'\\\n])*')"""
    r"""|(?P<comment>\#[^\n]*)|(?P<continued>\\\r?\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)|(?P<quote>["'])"""
)
_WORD = re.compile(r"@|\w+")
_FUNCTION = re.compile(r"(?:async\s+)?def\s+(\w+)")
_CLASS = re.compile(r"class\s+(\w+)")
_CONSTANT = re.compile(r"(\w+)\s*(?::[^=\n]+)?=(?!=)")
# Other projects have a `jit` too.
_JIT = re.compile(r"@\s*(?!(?:cuda|cute|cutlass|jax|nb|numba|tilelang|torch|warp)\.)(?:[\w.]+\.)?jit\b")
_STATIC = re.compile(r"@\s*(?:[\w.]+\.)?constexpr(?:_function)?\b")
_CLOSES = {")": "(", "]": "[", "}": "{"}
_CLOSER = {opener: closer for closer, opener in _CLOSES.items()}


@dataclass(frozen=True)
class Line:
    """A logical line: its span without indentation, and the width of that indentation."""

    span: Span
    width: int


@dataclass(frozen=True)
class Piece:
    """A part of a file. `span` starts at the first word of the piece's first line, `width` is that line's
    indentation. `jit` and `static` say that a function is under `@triton.jit`, under `@triton.constexpr_function`;
    `owner` is the function or class in which it stands, if any; `decorators` are the spans of what follows each `@`.
    """

    kind: Literal["function", "import", "constant"]
    name: str
    span: Span
    width: int
    jit: bool = False
    static: bool = False
    lines: tuple[Line, ...] = ()
    owner: str = ""
    decorators: tuple[Span, ...] = ()


def scan(text: Text) -> tuple[Piece, ...]:
    """The pieces of a file, in order. Raises AhbmcError where brackets do not pair up or a string never ends."""
    return tuple(_pieces(text, list(_logical_lines(text)), ""))


def _pieces(text: Text, lines: list[Line], owner: str) -> Iterator[Piece]:
    """The pieces of some lines; of the body of a function or class, only the kernels."""
    content = text.content
    number, jit, static = 0, False, False
    decorators: list[Span] = []
    while number < len(lines):
        line = lines[number]
        start = line.span[0]
        number += 1
        word = _WORD.match(content, start)
        match word.group() if word else "":
            case "@":
                jit = jit or bool(_JIT.match(content, start))
                static = static or bool(_STATIC.match(content, start))
                decorators.append((start + 1, line.span[1]))
                continue
            case "def" | "async":
                found = _FUNCTION.match(content, start)
                first = number
                while number < len(lines) and lines[number].width > line.width:
                    number += 1
                if found:
                    span = (start, lines[number - 1].span[1])
                    inner = tuple(lines[first - 1 : number])
                    if jit or static or not owner:
                        above = tuple(decorators)
                        yield Piece("function", found[1], span, line.width, jit, static, inner, owner, above)
                    if not jit:
                        yield from _pieces(text, list(inner[1:]), found[1])
            case "class" if found := _CLASS.match(content, start):
                first = number
                while number < len(lines) and lines[number].width > line.width:
                    number += 1
                yield from _pieces(text, lines[first:number], found[1])
            case "import" | "from":
                if not owner:
                    yield Piece("import", "", line.span, line.width)
            case _:
                if not owner and (found := _CONSTANT.match(content, start)):
                    yield Piece("constant", found[1], line.span, line.width)
        jit = static = False
        decorators.clear()


def _logical_lines(text: Text) -> Iterator[Line]:
    """Every logical line that holds something, comments cut off at its end."""
    content = text.content
    opened: list[re.Match[str]] = []
    start = stop = 0  # of the line so far; stop is where its last token of interest ended
    fresh = True
    for token in _TOKEN.finditer(content):
        match token.lastgroup:
            case "newline":
                if opened:
                    continue
                stop = stop if not fresh else token.start()
                if line := _line(content, start, max(stop, token.start())):
                    yield line
                start, fresh = token.end(), True
                continue
            case "comment":
                if not opened and not content[start : token.start()].strip():
                    start = token.end()  # a line of its own
                continue
            case "open":
                opened.append(token)
            case "close":
                _close(text, token, opened)
            case "open_long" | "quote":
                raise text.fail("a string that never ends", token.span(), hint=f"close it with {token.group()}")
            case _:
                pass
        stop, fresh = token.end(), False
    if opened:
        left = opened[-1].group()
        raise text.fail(f"'{left}' was never closed", opened[-1].span(), hint=f"close it with '{_CLOSER[left]}'")
    if line := _line(content, start, len(content)):
        yield line


def _close(text: Text, token: re.Match[str], opened: list[re.Match[str]]) -> None:
    if not opened:
        raise text.fail(f"unmatched '{token.group()}'", token.span(), hint="take it away, or open it before")
    left = opened[-1].group()
    if left != _CLOSES[token.group()]:
        line, column = text.position(opened[-1].start())
        note = f"'{left}' was opened at line {line}, column {column}"
        message, hint = f"'{token.group()}' does not close '{left}'", f"close it with '{_CLOSER[left]}'"
        raise text.fail(message, token.span(), hint=hint, notes=[note])
    opened.pop()


def _line(content: str, start: int, stop: int) -> Line | None:
    whole = content[start:stop]
    body = whole.lstrip()
    if not body:
        return None
    blank = whole[: len(whole) - len(body)].rsplit("\n", 1)[-1]
    return Line((start + len(whole) - len(body), start + len(whole.rstrip())), indentation_width(blank))
