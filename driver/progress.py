"""Progress of long work: a line on standard error while it lasts, on a terminal only; nothing when piped."""

from __future__ import annotations

import sys
from collections.abc import Generator
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
