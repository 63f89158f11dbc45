"""Critical paths, kept while time runs: every instant the engine computes comes with the path that led to it.

A path is a chain of steps `(previous, record, part, ps)`, each the time that `record` spent on `part` (an index into
`oplog.PARTS`), down to a node: an integer, the end of a command or of an issue, as the op-log numbers them. Steps of
one record and part run into one, so a chain stays short however many tiles follow each other on one server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..oplog import PART_OF_KIND, PARTS


class Holder(Protocol):
    """Who holds a link or a slice: a transfer of a PE. `end` is when the PE sees it end, None until that is known, and
    `path` leads there."""

    @property
    def pe(self) -> int: ...

    @property
    def end(self) -> int | None: ...

    @property
    def path(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Behind:
    """The path to `end` of what waited for `holder`, `ps` of `part` later than `path`. Whether the holder ended in that
    time, so that the path goes on from there, can be seen only when both have ended."""

    holder: Holder
    end: int
    path: Path
    record: int
    part: int
    ps: int

    def seen(self) -> Path:
        """The path, now that everything has ended."""
        ended = self.holder.end
        # A small transfer may end before the one that held the slice does; then it did not wait for that.
        if ended is not None and self.end - self.ps < ended <= self.end:
            return step(self.holder.path, self.record, self.part, self.end - ended)
        return step(self.path, self.record, self.part, self.ps)


# A path is a node (int), a step (tuple), or seen later; the recursive alias is for readers, checkers see the union.
Step = tuple["Path", int, int, int]
Path = int | Step | Behind

START = -1
ISSUE, DMA_READ, FETCH, GEMM, MATH, STORE, DMA_WRITE, COPY, IPCQ, QUEUE, WAIT, IDLE = range(len(PARTS))
PARTS_OF_KIND: Mapping[str, int] = {kind: PARTS.index(part) for kind, part in PART_OF_KIND.items()}


def step(previous: Path, record: int, part: int, ps: int) -> Path:
    """The path that goes on from `previous` with `ps` of `part`."""
    if ps == 0:
        return previous
    if isinstance(previous, tuple) and previous[2] == part and previous[1] == record:
        return (previous[0], record, part, previous[3] + ps)
    return (previous, record, part, ps)


def flatten(path: Path) -> tuple[int, list[tuple[int, int, int]]]:
    """(node, [(record, part, ps)]) of a path, the last step first. All that it waited for must have ended."""
    steps: list[tuple[int, int, int]] = []
    while not isinstance(path, int):
        if isinstance(path, Behind):
            path = path.seen()
            continue
        path, record, part, ps = path
        if steps and steps[-1][:2] == (record, part):
            ps += steps.pop()[2]
        steps.append((record, part, ps))
    return path, steps


class Completion:
    """The end of a command. `end` is None until it is known; it may be known before the clock reaches it. `node` is its
    node in the op-log (that of its cause for what is no command)."""

    __slots__ = ("end", "node", "waiters")

    def __init__(self, node: int):
        self.node = node
        self.end: int | None = None
        self.waiters: list[Waiter] = []

    def resolve(self, end: int) -> None:
        """Say when it ends, and let go on who waited to know."""
        self.end = end
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.one_less()


class Waiter:
    """Calls `then` once all of some completions are known."""

    __slots__ = ("missing", "then")

    def __init__(self, then: Callable[[], None]):
        self.then = then
        self.missing = 0

    def one_less(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.then()
