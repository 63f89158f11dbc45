"""Source locations through rewrites: xDSL stores a location on every op but gives none to the ops that a pattern
makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern


def location(file: str, line: int, column: int) -> FileLineColLoc:
    """A location of kernel text; line and column count from 1."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def stamp(ops: Iterable[Operation], at: LocationAttr) -> None:
    """Give every op of `ops` (and what they hold) that has no location the location `at`."""
    for root in ops:
        for op in root.walk():
            if isinstance(op.location, UnknownLoc):
                op.location = at


@dataclass
class _KeepLocation(RewritePattern):
    inner: RewritePattern
    at: LocationAttr = field(default=UNKNOWN_LOC)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.at = op.location
        self.inner.match_and_rewrite(op, rewriter)

    def inserted(self, op: Operation) -> None:
        stamp((op,), self.at)


def locating_walker(
    pattern: RewritePattern, *, apply_recursively: bool = True, walk_reverse: bool = False
) -> PatternRewriteWalker:
    """A rewrite walker under which every op that `pattern` (ours or xDSL's) inserts takes the location of the op it
    matched.
    """
    keep = _KeepLocation(pattern)
    listener = PatternRewriterListener(operation_insertion_handler=[keep.inserted])
    return PatternRewriteWalker(keep, listener=listener, apply_recursively=apply_recursively, walk_reverse=walk_reverse)
