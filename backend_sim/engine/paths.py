"""Critical paths, kept while time runs: every instant the engine computes comes with the path that led to it.

A path is a chain of steps `(previous, record, part, ps)`, each the time that `record` spent on `part` (an index into
`oplog.PARTS`), down to a node: an integer, the end of a command or of an issue, as the op-log numbers them. Steps of
one record and part run into one, so a chain stays short however many tiles follow each other on one server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..oplog import PART_OF_KIND, PARTS

# A path is a node (int) or a step (tuple); the recursive alias is for readers, checkers see the union.
Step = tuple["Path", int, int, int]
Path = int | Step

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
    """(node, [(record, part, ps)]) of a path, the last step first."""
    steps: list[tuple[int, int, int]] = []
    while isinstance(path, tuple):
        steps.append(path[1:])
        path = path[0]
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
