"""`auto` where the launch is known: the kernel is compiled in every form, and the fastest is what runs.

The passes of `auto` choose by the cost model, which estimates one product at a time. What a launch takes with all that
overlaps, the machine model knows: it is simulated, without values, as these passes leave it and as every other named
pipeline does. Forms that issue the same commands are simulated once; one that takes longer than the best so far is
given up. Where timing depends on what tensors hold, forms run on what the launches before leave.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from ..backend_sim.launch import Launch
from ..backend_sim.memory import Tensor
from ..backend_sim.numerics.dtypes import Array
from ..backend_sim.program.program import reads_values
from ..backend_sim.simulate import latency_within, simulate
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import load_machine
from ..dialects.errors import AhbmcError, Category
from ..dialects.remarks import remark
from ..passes.pipelines import PIPELINES
from .command_key import command_key
from .compile_cache import Kept, compiled, key_of
from .launches import BoundLaunch
from .lowering import Compiled, Request, compile_branches, compile_request

AUTO = "auto"

# Those that overlap come first: they are the fastest for the most part, and the others are soon given up.
_FORMS = (AUTO, *(name for name in reversed(PIPELINES) if name != AUTO))

_kept: Kept[tuple[str, Compiled]] = Kept()
# What holds only for the contents of the tensors of one launch, and what these hold after it, by tensor.
_kept_of: WeakKeyDictionary[BoundLaunch, dict[str, tuple[str, Compiled]]] = WeakKeyDictionary()
_left_by: WeakKeyDictionary[BoundLaunch, Mapping[str, Array]] = WeakKeyDictionary()


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


def compiled_form(request: Request) -> Compiled:
    """The request compiled down to `pe` as it runs, in its fastest form if it is open. Raises AhbmcError."""
    return fastest(request) if is_open(request) else compiled(request)


def _fastest(request: Request) -> tuple[str, Compiled]:
    key = f"{key_of(request)}{_launch_key(request)}"
    assert request.launch is not None
    of_launch = _kept_of.setdefault(request.launch, {})
    if (kept := _kept.get(key) or of_launch.get(key)) is not None:
        name, form = kept
        return name, replace(form, seconds=0.0)
    found, by_contents = _tried(request)
    if by_contents:
        of_launch[key] = found
    else:
        _kept.put(key, found)
    return found


def _launch_key(request: Request) -> str:
    """What time depends on and a compilation does not, contents apart. Two arguments may be one tensor."""
    launch = request.launch
    assert launch is not None
    tensors = [(n, v.name, v.shape, v.placement) for n, v in launch.values.items() if isinstance(v, Tensor)]
    return repr((launch.grid, dict(launch.programs), tensors))


def _forms(request: Request) -> list[str]:
    """The pipelines to try: those with all passes of `auto` that the launch gives options."""
    passes = {name: {entry.spec.partition("{")[0] for entry in entries} for name, entries in PIPELINES.items()}
    given = passes[AUTO] & request.options.keys()
    return [name for name in _FORMS if given <= passes[name]]


def _tried(request: Request) -> tuple[tuple[str, Compiled], bool]:
    """The fastest form, and whether that depends on what the tensors hold."""
    start, launch = time.perf_counter(), request.launch
    assert launch is not None
    machine = load_machine(request.machine, request.machine_set)
    found: dict[str, tuple[int, Compiled]] = {}
    errors: dict[str, AhbmcError] = {}
    known = set[Hashable]()
    by_contents = False
    for name, form in compile_branches(request, _forms(request)).items():
        if isinstance(form, AhbmcError):
            errors[name] = form
            continue
        if not by_contents and reads_values(form.function):
            by_contents = True
            try:
                launch = _filled(launch, _left_before(request))
            except AhbmcError:
                break  # an earlier launch does not run, which its own run will say
        if (key := command_key(form.module)) in known:
            continue
        known.add(key)
        best_ps = min((ps for ps, _ in found.values()), default=None)
        try:
            latency_ps = latency_within(_simulated(form, launch, machine), best_ps)
        except AhbmcError as error:
            errors[name] = error
            if any(fault.category is Category.DEADLOCK for fault in error.faults):
                break  # no form ends what waits for ever, and each takes long to find that out
            continue
        if latency_ps is not None:
            found[name] = latency_ps, form
    if not found:
        return (AUTO, compile_request(request)), by_contents
    name, (latency_ps, form) = min(found.items(), key=lambda item: item[1][0])
    if name != AUTO:
        chosen = f"{found[AUTO][0] / 1000:,.0f} ns" if AUTO in found else errors[AUTO].faults[0].message
        reason = f"{latency_ps / 1000:,.0f} ns; as the cost model would have it: {chosen}"
        remark(form.function, AUTO, "kernel", f"as {name}", reason)
    return (name, replace(form, seconds=time.perf_counter() - start)), by_contents


def _left_before(request: Request) -> Mapping[str, Array]:
    """What tensors hold after all earlier launches, by tensor; each is run once. Raises AhbmcError."""
    held: Mapping[str, Array] = {}
    for each in request.earlier:
        assert each.launch is not None
        if each.launch not in _left_by:
            launch, machine = _filled(each.launch, held), load_machine(each.machine, each.machine_set)
            left = simulate([_simulated(compiled_form(each), launch, machine)], values=True)
            _left_by[each.launch] = {**held, **left.memory}
        held = _left_by[each.launch]
    return held


def _filled(launch: BoundLaunch, held: Mapping[str, Array]) -> BoundLaunch:
    """The launch with what its tensors hold at first, or as `held` says."""
    launch = launch.with_contents() if launch.with_contents is not None else launch
    tensors = {t: replace(t, data=held[t.name]) for t in launch.tensors if t.name in held}
    values = {n: tensors.get(v, v) if isinstance(v, Tensor) else v for n, v in launch.values.items()}
    return replace(launch, values=values)


def _simulated(form: Compiled, launch: BoundLaunch, machine: Machine) -> Launch:
    return Launch(form.function, machine, tuple(launch.values.values()), launch.grid, launch.programs)
