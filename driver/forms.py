"""`auto` where the launch is known: the kernel is compiled in every form, and the fastest is what runs.

The passes of `auto` choose by the cost model, which estimates one product at a time. What a launch takes with all that
overlaps, the machine model knows: it is simulated, without values, as these passes leave it and as every other named
pipeline does. Forms that issue the same commands are simulated once; one that takes longer than the best so far is
given up.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace

from ..backend_sim.launch import Launch
from ..backend_sim.memory import Tensor
from ..backend_sim.program.program import reads_values
from ..backend_sim.simulate import latency_within
from ..backend_sim.target.machine_file import load_machine
from ..dialects.errors import AhbmcError
from ..dialects.remarks import remark
from ..passes.pipelines import PIPELINES
from .command_key import command_key
from .compile_cache import key_of
from .lowering import Compiled, Request, compile_branches, compile_request

AUTO = "auto"

# Those that overlap come first: they are the fastest for the most part, and the others are soon given up.
_FORMS = (AUTO, *(name for name in reversed(PIPELINES) if name != AUTO))

_MOST = 64  # the least recently used ones go
_kept: OrderedDict[str, tuple[str, Compiled]] = OrderedDict()


def settled(request: Request) -> Request:
    """The request under the pipeline that `auto` comes to; any other one as it is. Raises AhbmcError."""
    return replace(request, pipeline=_fastest(request)[0], launch=None) if is_open(request) else request


def is_open(request: Request) -> bool:
    """Whether it is left to the launch which form of the kernel runs."""
    return request.pipeline == AUTO and request.launch is not None


def fastest(request: Request) -> Compiled:
    """An open request compiled in the form that runs fastest, with a remark where it is not the cost model's choice; in
    no seconds if it is kept. Raises AhbmcError, that of `auto`, where no form compiles.
    """
    return _fastest(request)[1]


def forget() -> None:
    """Try everything again from here on."""
    _kept.clear()


def _fastest(request: Request) -> tuple[str, Compiled]:
    key = f"{key_of(request)}{_launch_key(request)}"
    if key in _kept:
        _kept.move_to_end(key)
        name, compiled = _kept[key]
        return name, replace(compiled, seconds=0.0)
    found = _kept[key] = _tried(request)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    return found


def _launch_key(request: Request) -> str:
    """What time depends on and a compilation does not."""
    launch = request.launch
    assert launch is not None
    tensors = [(n, v.shape, v.placement) for n, v in launch.values.items() if isinstance(v, Tensor)]
    return repr((launch.grid, dict(launch.programs), tensors))


def _forms(request: Request) -> list[str]:
    """The pipelines to try: those with all passes of `auto` that the launch gives options."""
    passes = {name: {entry.spec.partition("{")[0] for entry in entries} for name, entries in PIPELINES.items()}
    given = passes[AUTO] & request.options.keys()
    return [name for name in _FORMS if given <= passes[name]]


def _tried(request: Request) -> tuple[str, Compiled]:
    start, launch = time.perf_counter(), request.launch
    assert launch is not None
    machine = load_machine(request.machine, request.machine_set)
    found: dict[str, tuple[int, Compiled]] = {}
    errors: dict[str, AhbmcError] = {}
    known = set[Hashable]()
    for name, form in compile_branches(request, _forms(request)).items():
        if isinstance(form, AhbmcError):
            errors[name] = form
            continue
        if launch.with_contents is not None and reads_values(form.function):
            launch = launch.with_contents()
        if (key := command_key(form.module)) in known:
            continue
        known.add(key)
        bound = Launch(form.function, machine, tuple(launch.values.values()), launch.grid, launch.programs)
        try:
            latency_ps = latency_within(bound, min((ps for ps, _ in found.values()), default=None))
        except AhbmcError as error:
            errors[name] = error
            continue
        if latency_ps is not None:
            found[name] = latency_ps, form
    if not found:
        # What tensors hold may come from an earlier launch, so that only the run tells.
        return AUTO, compile_request(request)
    name, (latency_ps, form) = min(found.items(), key=lambda item: item[1][0])
    if name != AUTO:
        chosen = f"{found[AUTO][0] / 1000:,.0f} ns" if AUTO in found else errors[AUTO].faults[0].message
        reason = f"{latency_ps / 1000:,.0f} ns; as the cost model would have it: {chosen}"
        remark(form.function, AUTO, "kernel", f"as {name}", reason)
    return name, replace(form, seconds=time.perf_counter() - start)
