"""Kernels that this process has compiled: launches that differ in grid or contents alone, and the configuration that
an autotuner has chosen, are not compiled again.

The key is all that a compilation depends on, by value: text, types, constants, the machine itself (not its name: a
file may have changed), pipeline with the files of one's own and options, and what the launch knows of its arguments.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from ..backend_sim.memory import Tensor
from ..backend_sim.target.machine_file import load_machine
from ..passes.loaded import executed_texts
from .lowering import Compiled, Request, compile_request

_MOST = 64  # the least recently used ones go
_kept: OrderedDict[str, Compiled] = OrderedDict()


def compiled(request: Request) -> Compiled:
    """The request compiled down to `pe`, in no seconds if it is kept. Raises AhbmcError; what fails is not kept."""
    key = key_of(request)
    if key in _kept:
        _kept.move_to_end(key)
        return replace(_kept[key], seconds=0.0)
    found = _kept[key] = compile_request(request)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    return found


def forget() -> None:
    """Compile everything again from here on, for measurements and tests of compiling itself."""
    _kept.clear()


def key_of(request: Request) -> str:
    """What the result of a compilation depends on, as a text."""
    kernel = request.kernel
    facts = {n: ("tensor", v.size) if isinstance(v, Tensor) else v for n, v in request.facts.items()}
    machine = load_machine(request.machine, request.machine_set)
    return repr(
        (
            (kernel.file, kernel.name, kernel.source),
            (dict(request.signature), dict(request.constants), facts, dict(request.sharers), request.programs),
            (request.machine, request.machine_set, machine),
            (request.pipeline, request.options, dict(executed_texts())),
        )
    )
