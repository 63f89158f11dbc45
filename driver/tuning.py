"""What the decorators of a kernel say about its constants: those of its autotuner's configurations, and those that its
heuristics compute. Read as data (`frontend/host.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..backend_sim.memory import Tensor
from ..frontend import host
from ..frontend.module import Module, module_of
from ..frontend.values import HostValue
from .kernel_files import find_import
from .kernels import Kernel
from .workload_schema import Constant


def configurations(kernel: Kernel) -> tuple[Mapping[str, Constant], ...]:
    """The constants of each configuration, as far as they are parameters of the kernel; none without an autotuner.
    Raises AhbmcError where they cannot be read.
    """
    if kernel.is_commands:
        return ()
    found = host.configurations(_module(kernel), kernel.name)
    kept = [{name: value for name, value in each.items() if name in kernel.names} for each in found]
    return tuple(each for number, each in enumerate(kept) if each not in kept[:number])


def filled(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Constant]:
    """Constants for the constexprs that `given` lacks: of the first configuration, then by the heuristics. Nothing for
    those of which the decorators say nothing. Raises AhbmcError where what they say cannot be read.
    """
    if not lacking(kernel, given):
        return {}
    found: dict[str, Constant] = {}
    for first in configurations(kernel)[:1]:
        found |= {name: value for name, value in first.items() if name not in given}
    if lacking(kernel, {**given, **found}):
        known = {n: HostValue(v) if isinstance(v, Tensor) else v for n, v in {**given, **found}.items()}
        computed = host.heuristics(_module(kernel), kernel.name, known)
        found |= {n: v for n, v in computed.items() if n not in given and n in kernel.names}
    return found


def lacking(kernel: Kernel, given: Mapping[str, Any]) -> list[str]:
    """The constexprs of a kernel that have no value yet."""
    return [p.name for p in kernel.parameters if p.constexpr and p.required and p.name not in given]


def _module(kernel: Kernel) -> Module:
    return module_of(kernel.source, kernel.file, find_import)
