"""A launch from Python: the arguments of `kernel[grid](...)` bound to the kernel's parameters, run, written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec
import numpy as np

from ..backend_sim.launch import Program
from ..backend_sim.memory import ONE_SLICE, Placement, Tensor
from ..backend_sim.numerics.dtypes import triton_name
from ..backend_sim.target.document import closest
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import DEFAULT, SET, load_machine
from ..dialects.errors import AhbmcError, Fault, Sources, fail
from ..frontend.values import HostValue
from ..passes import PIPELINE_TEXT
from .argument_types import typed
from .arrays import Arguments, is_array
from .execution import compile_all, execute, reads_memory
from .kernels import Kernel
from .launches import BoundLaunch, placement_of
from .lowering import Request
from .mapping import FIRST_PE, map_programs, pe_numbers
from .result import Result
from .run import outcome_of
from .tuning import filled
from .workload_schema import Map
from .workload_schema import Placement as PlaceOption

Kind = TypeVar("Kind")

# What Triton takes at a launch and this machine has no use for.
_IGNORED = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "grid", "warmup", "stream"})
_OPTIONS = ("machine", "machine_set", "pipeline", "options", "map", "place", "timing_only")


@dataclass(frozen=True)
class Call:
    """What the caller wrote: kernel, grid, arguments by position and by name."""

    kernel: Kernel
    grid: Any
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


def run_call(call: Call, sources: Sources) -> Result:
    """Compile and run a call; arrays that the kernel writes are written in place. Raises AhbmcError."""
    kernel = call.kernel
    given = _bind(call)
    options = {key: call.keywords[key] for key in _OPTIONS if key in call.keywords and key not in kernel.names}
    machine_name = str(options.get("machine", DEFAULT))
    machine_set = option("machine_set", options.get("machine_set", ()), tuple[str, ...])
    pipeline = option("pipeline", options.get("pipeline", "auto"), str)
    chosen = option("options", options.get("options", {}), dict[str, dict[str, Any]])
    sources.add(SET, "\n".join(machine_set))
    sources.add(PIPELINE_TEXT, pipeline)
    machine = load_machine(machine_name, machine_set)
    arrays = Arguments()
    bound = _bound(call, given, options, machine, arrays)
    request = Request(
        kernel,
        bound.signature,
        bound.constants,
        machine_name,
        machine_set,
        pipeline,
        chosen,
        bound.values,
        sharers=bound.sharers(machine),
        programs=bound.programs_per_pe,
        launch=bound,
    )
    compiled = compile_all([request])
    values = not options.get("timing_only", False)
    executed = execute(compiled, [bound], machine, values=values or reads_memory(compiled))
    written = executed.written() if values else {}
    outcome = outcome_of(executed, (request,), (), (), "skipped", sources)
    return Result(outcome, arrays.write_back(written))


def _bind(call: Call) -> dict[str, Any]:
    """The value of each parameter that got one. Raises AhbmcError with every fault."""
    kernel, faults = call.kernel, list[Fault]()
    if len(call.arguments) > len(kernel.parameters):
        count = f"{len(call.arguments)} arguments for {len(kernel.parameters)} parameters"
        faults.append(Fault(f"kernel `{kernel.name}` got {count}: {', '.join(kernel.names)}", kernel.place))
    given = dict(zip(kernel.names, call.arguments, strict=False))
    for name, value in call.keywords.items():
        if name in given:
            faults.append(Fault(f"kernel `{kernel.name}` got `{name}` twice", kernel.place))
        elif name in kernel.names:
            given[name] = value
        elif name not in _OPTIONS and name not in _IGNORED:
            close = closest(name, (*kernel.names, *_OPTIONS))
            hint = f"did you mean `{close}`?" if close else f"launch options: {', '.join(_OPTIONS)}"
            faults.append(Fault(f"kernel `{kernel.name}` has no parameter `{name}`", kernel.place, hint=hint))
    if not faults:
        given |= filled(kernel, {n: HostValue(v) if is_array(v) else v for n, v in given.items()})
    for parameter in kernel.parameters:
        if parameter.name not in given and parameter.required:
            how = f"pass {parameter.name}=..."
            faults.append(Fault(f"kernel `{kernel.name}` needs `{parameter.name}`", parameter.place, hint=how))
    if faults:
        raise AhbmcError(*faults)
    return {p.name: given[p.name] for p in kernel.parameters if p.name in given}


def _bound(
    call: Call, given: Mapping[str, Any], options: Mapping[str, Any], machine: Machine, arrays: Arguments
) -> BoundLaunch:
    kernel = call.kernel
    places: dict[str, Placement] = {}
    for name, place in option("place", options.get("place", {}), dict[str, Any]).items():
        if kernel.parameter(name) is None:
            raise fail(f"`place` names `{name}`, which kernel `{kernel.name}` has not", kernel.place)
        places[name] = placement_of(option(f"place of `{name}`", place, PlaceOption))
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    values: dict[str, Tensor | bool | int | float] = {}
    for name, value in given.items():
        parameter = kernel.parameter(name)
        assert parameter is not None
        # A numpy number has an `__array__` too.
        number: np.generic[Any] | None = _numpy_number(value)
        array = is_array(value) and number is None
        if not kernel.is_commands and (parameter.constexpr or value is None or isinstance(value, str | tuple)):
            if array:
                raise fail(f"`{name}` is a constexpr of the kernel; an array was passed", parameter.place)
            constants[name] = value if number is None else number.item()
        elif array:
            tensor = arrays.tensor(name, value, places.get(name, ONE_SLICE))
            signature[name], values[name] = typed(parameter, tensor, parameter.place)
        elif number is not None and not kernel.is_commands:
            values[name], signature[name] = number.item(), triton_name(number.dtype)
        elif number is not None or isinstance(value, bool | int | float):
            signature[name], values[name] = typed(
                parameter, value if number is None else number.item(), parameter.place
            )
        else:
            message = f"argument `{name}` is of type {type(value).__name__}"
            raise fail(message, parameter.place, hint="pass an array (numpy, __array__, DLPack) or a number")
    grid = _grid(call, given)
    mapping = option("map", options.get("map", {}), Map)
    texts = (mapping.pes,) if isinstance(mapping.pes, str) else mapping.pes or ()
    if not texts and mapping.kind != "rank":
        texts = (FIRST_PE,)
    pes = list(dict.fromkeys(pe for text in texts for pe in pe_numbers(text, machine, None)))
    programs = map_programs(mapping.kind, pes, grid, machine, None)
    return BoundLaunch(kernel, signature, constants, values, grid, programs)


def _numpy_number(value: Any) -> np.generic[Any] | None:
    return cast("np.generic[Any]", value) if isinstance(value, np.generic) else None


def option(what: str, value: object, kind: type[Kind]) -> Kind:
    """A launch option of the kind that it is to be of. Raises AhbmcError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise fail(f"{what}: {error}") from None


def _grid(call: Call, meta: Mapping[str, Any]) -> Program:
    grid: Any = call.grid(meta) if callable(call.grid) else call.grid
    sizes: list[Any] = list(grid) if isinstance(grid, Sequence) else [grid]  # pyright: ignore[reportUnknownArgumentType]
    if not 1 <= len(sizes) <= 3 or not all(isinstance(s, int | np.integer) and s >= 1 for s in sizes):
        raise fail(f"a grid is one to three sizes of at least 1; found {grid!r}", call.kernel.place)
    x, y, z = (*(int(s) for s in sizes), 1, 1)[:3]
    return x, y, z
