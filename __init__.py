"""ahbmc: compiles Triton-like kernels for AHBM, a memory-centric accelerator, and runs them on a model of the machine.

    import ahbmc
    result = ahbmc.load("matmul.py").matmul_kernel[grid](a, b, c, ..., BLOCK_M=32)

Importing this package imports nothing slow: the calls below are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .driver.api import AhbmcError, Result, compile, jit, load, load_pass, load_recipe, run, study

__all__ = ["AhbmcError", "Result", "compile", "jit", "load", "load_pass", "load_recipe", "run", "study"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .driver import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
