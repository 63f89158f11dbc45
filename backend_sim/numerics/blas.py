"""One BLAS thread for the values: their products are small, and threads that wait for each other only cost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded() -> AbstractContextManager[object]:
    """numpy's BLAS runs on one thread inside this context; outside, it is as the user has it."""
    return _controller().limit(limits=1, user_api="blas")
