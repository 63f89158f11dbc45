"""Kernels that this process has compiled: launches that differ in grid or contents alone, and the configuration that
an autotuner has chosen, are not compiled again.

The key is all that a compilation depends on, by value: text, types, constants, the machine itself (not its name: a
file may have changed), pipeline with the files of one's own and options, and what the launch knows of its arguments.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from ..backend_sim.memory import Tensor
from ..backend_sim.target.machine_file import load_machine
from ..passes.loaded import executed_texts
from .lowering import Compiled, Request, compile_request

T = TypeVar("T")


class Kept(Generic[T]):
    """Results by the text of what they depend on; the least recently used ones go."""

    _MOST = 64
    _all: ClassVar[list[Kept[Any]]] = []

    def __init__(self) -> None:
        self._results: OrderedDict[str, T] = OrderedDict()
        self._all.append(self)

    def get(self, key: str) -> T | None:
        if key in self._results:
            self._results.move_to_end(key)
        return self._results.get(key)

    def put(self, key: str, result: T) -> T:
        self._results[key] = result
        while len(self._results) > self._MOST:
            self._results.popitem(last=False)
        return result

    @classmethod
    def forget_all(cls) -> None:
        for kept in cls._all:
            kept._results.clear()


_compiled: Kept[Compiled] = Kept()


def compiled(request: Request) -> Compiled:
    """The request compiled down to `pe`, in no seconds if it is kept. Raises AhbmcError; what fails is not kept."""
    key = key_of(request)
    if (kept := _compiled.get(key)) is not None:
        return replace(kept, seconds=0.0)
    return _compiled.put(key, compile_request(request))


def forget() -> None:
    """Compile everything, and try every form, again from here on, for measurements and tests of compiling itself."""
    Kept.forget_all()


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
