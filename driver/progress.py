"""Progress of long work: a line on standard error while it lasts, on a terminal only; nothing when piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer

_QUIET_S = 0.3  # what is over sooner shows nothing


@contextmanager
def step(what: str) -> Generator[None]:
    """Show `what` while the body runs, if that takes a while and somebody is watching."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{what} ...")
    timer = Timer(_QUIET_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


@contextmanager
def counted(what: str, total: int) -> Generator[Callable[[], None]]:
    """A bar over `total` things for whoever is watching; the body calls what it gets after each."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Without a thread of its own: the body may fork processes.
    progress = Progress(console=Console(stderr=True), auto_refresh=False, transient=True)
    task = progress.add_task(what, total=total)

    def advance() -> None:
        progress.update(task, advance=1)
        progress.refresh()

    with progress:
        yield advance
