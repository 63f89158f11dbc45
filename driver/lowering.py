"""From a kernel to lowered IR: the frontend (or the text of a program of commands), then a pipeline.

The module that goes through the passes carries what a launch knows: the machine (`ahbm.machine`, `ahbm.machine_set`)
and, on the arguments of the function, values, sizes and how many PEs share a slice of a tensor (`ahbm.value`,
`ahbm.bytes`, `ahbm.sharers`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ..backend_sim.memory import Tensor
from ..dialects.errors import AhbmcError, Place, fail
from ..dialects.programs import PROGRAMS_ATTRIBUTE
from ..dialects.text import new_context
from ..dialects.verify import verify
from ..frontend import compile_kernel
from ..passes import build_pipeline, run_pipeline
from .command_kernels import find_function, passes_for
from .kernel_files import find_import
from .kernels import Kernel
from .launches import BoundLaunch
from .workload_schema import Constant, Options, OptionValue
from .writes import written_arguments

Level = Literal["tl", "ahbm", "pe"]
_FIRST_OF_PE = "tile-composites"


@dataclass(frozen=True)
class Request:
    """What to compile: a kernel with types and constants, for a machine, through a pipeline.

    `facts` are values of scalar arguments and tensors of pointer arguments, where a launch knows them; `sharers` says
    how many of its PEs share each slice of a tensor, `programs` how many programs its busiest PE has. `launch` is the
    launch itself, on which `auto` tries its forms (`forms.py`), `earlier` are the requests of those that run before it.
    """

    kernel: Kernel
    signature: Mapping[str, str]
    constants: Mapping[str, Constant]
    machine: str = "ahbm-2sip"
    machine_set: tuple[str, ...] = ()
    pipeline: str = "auto"
    options: Options = field(default_factory=dict[str, dict[str, OptionValue]])
    facts: Mapping[str, Tensor | bool | int | float] = field(default_factory=dict[str, "Tensor | int | float"])
    pipeline_place: Place | None = None
    sharers: Mapping[str, int] = field(default_factory=dict[str, int])
    programs: int = 1
    launch: BoundLaunch | None = None
    earlier: tuple[Request, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Compiled:
    """A kernel at one level of IR, the arguments that it may write, and the seconds that it took to get there."""

    module: ModuleOp
    writes: tuple[str, ...]
    seconds: float

    @property
    def function(self) -> func.FuncOp:
        return function_of(self.module)


def function_of(module: ModuleOp) -> func.FuncOp:
    """The one function of a kernel's module."""
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def compile_request(request: Request, level: Level = "pe") -> Compiled:
    """Compile down to `level`: `tl` as the frontend makes it, `ahbm` commands without `pe` plans, or all. May raise."""
    start = time.perf_counter()
    kernel = request.kernel
    if kernel.is_commands and level == "tl":
        message = f"`{kernel.name}` is written as commands; it has no tl level"
        raise fail(message, kernel.place, hint="take --emit ahbm or pe")
    module = front(request)
    names = list(request.signature)
    writes = tuple(names[i] for i in written_arguments(function_of(module)))
    if level != "tl":
        passes = build_pipeline(request.pipeline, request.options, request.pipeline_place)
        if kernel.is_commands:
            passes = passes_for(passes)
        if level == "ahbm":
            names = [each.name for each in passes]
            passes = passes[: names.index(_FIRST_OF_PE)] if _FIRST_OF_PE in names else passes
        run_pipeline(module, passes, verify=False)
    return Compiled(module, writes, time.perf_counter() - start)


def compile_branches(request: Request, pipelines: Sequence[str]) -> dict[str, Compiled | AhbmcError]:
    """The request under each of some pipelines, or the error that it ends with, in their order. A pass that they begin
    with in common runs once.
    """
    start, kernel, context = time.perf_counter(), request.kernel, new_context()
    module, found = front(request), dict[str, ModuleOp | AhbmcError]()
    verify(module)
    names = list(request.signature)
    writes = tuple(names[i] for i in written_arguments(function_of(module)))

    def branch(module: ModuleOp, todo: Mapping[str, Sequence[ModulePass]]) -> None:
        following: dict[ModulePass | None, dict[str, Sequence[ModulePass]]] = {}
        for name, passes in todo.items():
            following.setdefault(passes[0] if passes else None, {})[name] = passes[1:]
        for number, (each, rest) in enumerate(following.items(), 1):
            own = module.clone() if number < len(following) else module
            try:
                if each is not None:
                    each.apply(context, own)
                    branch(own, rest)
                else:
                    verify(own)
                    found.update(dict.fromkeys(rest, own))
            except AhbmcError as error:
                found.update(dict.fromkeys(rest, error))

    passes = {name: build_pipeline(name, request.options, request.pipeline_place) for name in pipelines}
    branch(module, {n: passes_for(p) if kernel.is_commands else p for n, p in passes.items()})
    seconds = time.perf_counter() - start
    return {
        name: made if isinstance(made := found[name], AhbmcError) else Compiled(made, writes, seconds)
        for name in pipelines
    }


def front(request: Request) -> ModuleOp:
    """The kernel as the pipeline takes it (at the `tl` level, or as commands), with its machine and the facts of the
    launch as attributes.
    """
    module = _module(request)
    module.attributes["ahbm.machine"] = StringAttr(request.machine)
    if request.machine_set:
        module.attributes["ahbm.machine_set"] = ArrayAttr(
            [StringAttr(text.removeprefix("machine.")) for text in request.machine_set]
        )
    sizes = [f"{name}={value}" for name, value in request.constants.items() if type(value) is int]
    if sizes:
        module.attributes["ahbm.constants"] = StringAttr(", ".join(sizes))  # for hints only
    if request.facts:
        function = function_of(module)
        given = list(request.signature)
        types = function.function_type.inputs.data
        assert len(given) == len(types), "the function has the arguments of the signature"
        facts = [_fact(request.facts.get(n), t, request.sharers.get(n, 1)) for n, t in zip(given, types, strict=True)]
        function.arg_attrs = ArrayAttr(facts)
    if request.programs > 1:
        function_of(module).attributes[PROGRAMS_ATTRIBUTE] = IntegerAttr(request.programs, 64)
    return module


def _module(request: Request) -> ModuleOp:
    kernel = request.kernel
    if not kernel.is_commands:
        signature, constants = dict(request.signature), dict(request.constants)
        return compile_kernel(kernel.source, kernel.file, kernel.name, signature, constants, find_import)
    module = find_function(kernel.source, kernel.file, kernel.name, kernel.place).parent_op()
    assert isinstance(module, ModuleOp)
    return module


def _fact(value: Tensor | bool | int | float | None, kind: Attribute, sharers: int) -> DictionaryAttr:
    match value:
        case None:
            return DictionaryAttr({})
        case Tensor():
            shared = {"ahbm.sharers": IntegerAttr(sharers, 64)} if sharers > 1 else {}
            return DictionaryAttr({"ahbm.bytes": IntegerAttr(value.size, 64), **shared})
        case float():
            return DictionaryAttr({"ahbm.value": FloatAttr(value, kind)})  # pyright: ignore[reportArgumentType, reportCallIssue]
        case _:
            return DictionaryAttr({"ahbm.value": IntegerAttr(_signed(int(value), kind), kind)})  # pyright: ignore[reportArgumentType, reportCallIssue]


def _signed(value: int, kind: Attribute) -> int:
    """Integers of IR are signless; one above the signed range is written as what its bits say."""
    width = getattr(getattr(kind, "width", None), "data", 64)
    return value - (1 << width) if width > 1 and value >= 1 << (width - 1) else value
