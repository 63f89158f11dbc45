"""What a call of the kernel language by Python ends in."""

from __future__ import annotations

from typing import NoReturn


class OutsideKernel(RuntimeError):
    """A function of the kernel language was called by Python."""


def outside(name: str) -> NoReturn:
    """Refuse a call of `name`."""
    raise OutsideKernel(
        f"`{name}` belongs to the kernel language: it can only stand in a kernel, that is in a kernel file or in a "
        "function under @ahbmc.jit, which are parsed and never executed"
    )
