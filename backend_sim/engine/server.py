"""A server of a PE: GEMM, MATH, a stage of FETCH or STORE, the sending side of DMA."""

from __future__ import annotations

from .paths import START, Path, step


class Server:
    """Serves one request at a time: busy until a time, with the path that leads there."""

    __slots__ = ("busy", "path")

    def __init__(self) -> None:
        self.busy = 0
        self.path: Path = START

    def book(self, ready: int, path: Path, record: int, part: int, service: int) -> tuple[int, Path]:
        """Serve a request that is ready since `ready`, led there by `path`; returns (end, path to the end)."""
        if ready >= self.busy:
            end = ready + service
        else:
            end = self.busy + service
            path = self.path
        self.busy = end
        self.path = path = step(path, record, part, service)
        return end, path
