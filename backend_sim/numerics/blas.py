"""One BLAS thread for the values: their products are small, and threads that wait for each other only cost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]


@cache
def _controller() -> Any:
    # The library has no types.
    return ThreadpoolController()


def single_threaded() -> AbstractContextManager[object]:
    """numpy's BLAS runs on one thread inside this context; outside, it is as the user has it."""
    return _controller().limit(limits=1, user_api="blas")
