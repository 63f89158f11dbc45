"""Work in processes of our own: each task under a limit of CPU time, and one that kills its process lost alone.

The processes are forked, so that they have what the parent has read; a task is a number, and only results travel.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")
_STOP = -1
# Wall time may be this many times the limit: a process that waits, or a machine that is busy with other things.
_PATIENCE = 8


@dataclass(frozen=True)
class Lost:
    """A task that gave no result, and why."""

    reason: str


class Pool(Generic[Result]):
    """`processes` workers that share `groups` of tasks; the tasks of a group run in one worker, in order."""

    def __init__(
        self, work: Callable[[int], Result], groups: Sequence[Sequence[int]], processes: int, limit_s: float
    ) -> None:
        self._work = work
        self._groups = deque(deque(group) for group in groups if group)
        self._limit_s = limit_s
        self._workers = [_Worker(work, limit_s) for _ in range(max(1, min(processes, len(self._groups))))]

    def results(self) -> Iterator[tuple[int, Result | Lost]]:
        """Every task with its result, as they come."""
        busy = [w for w in self._workers if self._give(w)]
        while busy:
            rest = max(0.0, min(w.deadline for w in busy) - time.monotonic())
            ready = wait([w.pipe for w in busy], timeout=rest)
            for worker in list(busy):
                if worker.pipe in ready:
                    yield worker.task, worker.answer()
                elif time.monotonic() >= worker.deadline:
                    worker.end()
                    yield worker.task, _too_long(self._limit_s)
                else:
                    continue
                if not worker.process.is_alive():
                    worker.start()
                if not self._give(worker):
                    busy.remove(worker)

    def _give(self, worker: _Worker) -> bool:
        """Give a worker its next task; False if there is none."""
        if not worker.tasks:
            if not self._groups:
                return False
            worker.tasks = self._groups.popleft()
        worker.give(worker.tasks.popleft(), time.monotonic() + _PATIENCE * self._limit_s)
        return True

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """One process, and the task that it works on."""

    def __init__(self, work: Callable[[int], Any], limit_s: float):
        self._work = work
        self._limit_s = limit_s
        self.tasks: deque[int] = deque()
        self.task = _STOP
        self.deadline = 0.0
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self._work, self._limit_s), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, task: int, deadline: float) -> None:
        self.task, self.deadline = task, deadline
        self.pipe.send(task)

    def answer(self) -> Any:
        """The result of the task; Lost if the process has gone without one."""
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            self.end()
            if code == -signal.SIGPROF:
                return _too_long(self._limit_s)
            return Lost(f"the compiling process died ({f'signal {-code}' if code < 0 else f'exit status {code}'})")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _too_long(limit_s: float) -> Lost:
    return Lost(f"it takes longer than the limit of {limit_s:g} s")


def _serve(pipe: Connection, work: Callable[[int], Any], limit_s: float) -> None:
    """The life of a worker: a task in, its result out, until the parent has gone. SIGPROF ends it at the limit."""
    try:
        while True:
            task = pipe.recv()
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            pipe.send(work(task))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


@contextmanager
def pool(
    work: Callable[[int], Result], groups: Sequence[Sequence[int]], processes: int, limit_s: float
) -> Generator[Pool[Result]]:
    """A pool that leaves no process behind."""
    made = Pool(work, groups, processes, limit_s)
    try:
        yield made
    finally:
        made.close()
