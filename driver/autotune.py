"""`run --autotune`: the configurations of a kernel's autotuner, each run on the model, and which is the fastest.

A workload with several autotuned kernels has them tuned in turn, the others at their best so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..dialects.errors import AhbmcError, fail
from .execution import compile_all, execute, reads_memory
from .kernels import Kernel
from .launches import bind_all
from .prepare import prepare
from .progress import counted
from .tuning import configurations
from .workload import Workload
from .workload_schema import Constant


@dataclass(frozen=True)
class Trial:
    """A configuration of a kernel, and the latency of the workload with it; without one, `error` says why."""

    kernel: Kernel
    config: Mapping[str, Constant]
    latency_ps: int | None
    error: AhbmcError | None = None


@dataclass(frozen=True)
class Tuned:
    """The workload with its best configurations, and all that were tried."""

    workload: Workload
    trials: tuple[Trial, ...]
    best: tuple[Trial, ...]

    def entries(self) -> tuple[Mapping[str, Any], ...]:
        """The list under `autotune` of `run --json`."""
        return tuple(
            {
                "kernel": f"{Path(trial.kernel.file).name}::{trial.kernel.name}",
                "config": dict(trial.config),
                "latency_ns": trial.latency_ps / 1000 if trial.latency_ps is not None else None,
                "best": trial in self.best,
                **({"error": str(trial.error).splitlines()[0]} if trial.error is not None else {}),
            }
            for trial in self.trials
        )


def autotune(workload: Workload, machine: str | None, pipeline: str | None) -> Tuned:
    """Try every configuration, without values. Raises AhbmcError where no kernel has any, or none of them runs."""
    kernels = prepare(workload, machine, pipeline).kernels
    asked = [(k, found) for k in dict.fromkeys(kernels) if (found := _configurations(workload, kernels, k))]
    if not asked:
        names = ", ".join(dict.fromkeys(k.name for k in kernels))
        place = workload.place(workload.launches[0], "kernel")
        hint = "put @triton.autotune(configs=[...], key=[...]) above it, or leave --autotune out"
        raise fail(f"no kernel of this workload has an autotuner: {names}", place, hint=hint)
    trials: list[Trial] = []
    best: list[Trial] = []
    with counted("configurations", sum(len(found) for _, found in asked)) as advance:
        for kernel, found in asked:
            mine: list[Trial] = []
            for config in found:
                mine.append(_tried(_with(workload, kernels, kernel, config), kernel, config, machine, pipeline))
                advance()
            ran = [trial for trial in mine if trial.latency_ps is not None]
            if not ran:
                assert mine[0].error is not None
                raise mine[0].error
            best.append(min(ran, key=lambda trial: trial.latency_ps or 0))
            trials += mine
            workload = _with(workload, kernels, kernel, best[-1].config)
    return Tuned(workload, tuple(trials), tuple(best))


def _configurations(workload: Workload, kernels: tuple[Kernel, ...], kernel: Kernel) -> list[Mapping[str, Constant]]:
    """The configurations of a kernel, without what the workload itself says; equal ones once."""
    given = {n for k, launch in zip(kernels, workload.launches, strict=True) if k == kernel for n in launch.const}
    left = [{n: v for n, v in each.items() if n not in given} for each in configurations(kernel)]
    return [each for number, each in enumerate(left) if each not in left[:number]]


def _with(workload: Workload, kernels: tuple[Kernel, ...], kernel: Kernel, config: Mapping[str, Constant]) -> Workload:
    """The workload with the launches of a kernel under a configuration."""
    pairs = zip(kernels, workload.launches, strict=True)
    return replace(workload, launches=tuple(replace(x, config=config) if k == kernel else x for k, x in pairs))


def _tried(
    workload: Workload, kernel: Kernel, config: Mapping[str, Constant], machine: str | None, pipeline: str | None
) -> Trial:
    try:
        prepared = prepare(workload, machine, pipeline)
        compiled = compile_all(prepared.requests)
        reads = reads_memory(compiled)
        bindings = prepared.bindings
        if reads:
            bindings = bind_all(prepared.workload, prepared.machine, prepared.kernels, values=True)
        executed = execute(compiled, bindings.launches, prepared.machine, values=reads)
    except AhbmcError as error:
        return Trial(kernel, config, None, error)
    return Trial(kernel, config, executed.execution.latency_ps)
