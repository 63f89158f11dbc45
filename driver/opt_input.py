"""Kernels and workload files as input of `ahbmc-opt`: what the command line says of them becomes a module at the `tl`
level.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp


def read_kernel(
    text: str, name: str, kernel: str | None, arguments: Sequence[str], constants: Sequence[str], machine: str | None
) -> ModuleOp:
    raise NotImplementedError


def read_workload(name: str, machine: str | None) -> ModuleOp:
    raise NotImplementedError
