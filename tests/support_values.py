"""Values of one kernel after every pass of a pipeline: each must be those of the kernel as the frontend made it.

Up to `lower-to-commands` the module runs on the reference, from there on (once recipes are expanded) on the device.
Inputs are random with a seed; an output that nothing wrote is a failure of the test, not a pass.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from ahbmc.backend_sim.memory import Tensor
from ahbmc.backend_sim.numerics.device import run_device
from ahbmc.backend_sim.numerics.dtypes import Array, dtype_named, is_float, triton_name
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects import ahbm
from ahbmc.dialects.ahbm.composite import is_recipe
from ahbmc.dialects.text import print_module
from ahbmc.driver.argument_types import type_of
from ahbmc.driver.kernels import find_kernel
from ahbmc.driver.lowering import Request, front
from ahbmc.driver.prepare import prepare
from ahbmc.driver.workload import load
from ahbmc.passes import build_pipeline, run_pipeline
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

# Relative and absolute difference that rounding in another order makes, by element type of the output.
TOLERANCES: Mapping[str, tuple[float, float]] = {
    "fp16": (4e-3, 4e-3),
    "bf16": (3e-2, 3e-2),
    "fp32": (1e-4, 1e-4),
    "fp64": (1e-4, 1e-4),
    "fp8e5": (0.3, 0.3),
    "fp8e4nv": (0.15, 0.15),
}


@dataclass(frozen=True)
class Case:
    """A kernel with its arguments, in the order of the signature: arrays for pointers, numbers for the rest."""

    request: Request
    arguments: Mapping[str, Any]
    grid: tuple[int, ...]

    def __repr__(self) -> str:
        """What a failing test prints: the kernel and the numbers that it was called with."""
        kernel, numbers = (
            self.request.kernel,
            {n: v for n, v in self.arguments.items() if not isinstance(v, np.ndarray)},
        )
        return f"{kernel.source}\n{kernel.name}[{self.grid}]({numbers}, {dict(self.request.constants)})"


def random_array(shape: Sequence[int], name: str, seed: int) -> Array:
    """Normal numbers (integers from -8 to 8 for integer types) of a Triton type."""
    rng, dtype = np.random.default_rng(seed), dtype_named(name)
    if is_float(dtype):
        return rng.normal(size=tuple(shape)).astype(dtype)
    low = 0 if dtype.kind in "bu" else -8
    return rng.integers(low, 9 if dtype.kind != "b" else 2, size=tuple(shape)).astype(dtype)


def case_of_text(
    source: str,
    name: str,
    arguments: Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    grid: Sequence[int] = (1,),
    *,
    file: str = "kernel.py",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Case:
    """A case of kernel text; types follow from the arguments as in a launch."""
    facts: dict[str, Any] = {
        n: _tensor(n, cast(Array, v)) if isinstance(v, np.ndarray) else v for n, v in arguments.items()
    }
    signature = {n: type_of(v, None) for n, v in facts.items()}
    kernel = find_kernel(source, file, name)
    chosen = {name: dict(values) for name, values in (options or {}).items()}
    request = Request(kernel, signature, dict(constants or {}), facts=facts, options=chosen)
    return Case(request, arguments, tuple(grid))


def _tensor(name: str, array: Array) -> Tensor:
    return Tensor(name, array.dtype, array.shape)


def case_of_workload(path: Path, settings: Sequence[str] = ()) -> Case:
    """The first launch of a workload file, with `--set` as on the command line."""
    workload = load(str(path), list(settings))
    prepared = prepare(workload, None, None)
    bound, request = prepared.bindings.launches[0], prepared.requests[0]
    arguments: dict[str, Any] = {}
    for number, (name, value) in enumerate(bound.values.items()):
        if isinstance(value, Tensor):
            arguments[name] = random_array(value.shape, triton_name(value.dtype), 100 + number)
        else:
            arguments[name] = value
    return Case(request, arguments, bound.grid)


def copies(case: Case) -> dict[str, Any]:
    """The arguments, arrays copied."""
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in case.arguments.items()}


def reference_values(case: Case, module: ModuleOp | None = None) -> dict[str, Array]:
    """The arrays after a run of the kernel at the `tl` level."""
    arguments = copies(case)
    run_reference(module or front(case.request), list(arguments.values()), case.grid)
    return {n: v for n, v in arguments.items() if isinstance(v, np.ndarray)}


def is_lowered(module: ModuleOp) -> bool:
    """Whether a module is at the command level."""
    return any(isinstance(op, ahbm.CommandOp | ahbm.AllocOp) for op in module.walk())


def has_recipes(module: ModuleOp) -> bool:
    return any(is_recipe(s) for op in module.walk() if isinstance(op, ahbm.CompositeOp) for s in op.specs)


def values_of(case: Case, module: ModuleOp) -> dict[str, Array] | None:
    """The arrays after a run of `module` at whichever level it is; None while it holds recipes, which have no
    values.
    """
    if not is_lowered(module):
        return reference_values(case, module)
    if has_recipes(module):
        return None
    arguments = copies(case)
    run_device(module, list(arguments.values()), case.grid)
    return {n: v for n, v in arguments.items() if isinstance(v, np.ndarray)}


def assert_close(got: Mapping[str, Array], wanted: Mapping[str, Array], what: str) -> None:
    """Equal up to the rounding of the element type; NaNs and infinities at the same places."""
    for name, expected in wanted.items():
        if not is_float(expected.dtype):
            np.testing.assert_array_equal(got[name], expected, err_msg=f"{name} {what}")
            continue
        rtol, atol = TOLERANCES[triton_name(expected.dtype)]
        np.testing.assert_allclose(
            got[name].astype(np.float64),
            expected.astype(np.float64),
            rtol=rtol,
            atol=atol,
            err_msg=f"{name} {what}",
        )


def check_every_pass(case: Case, pipeline: str) -> ModuleOp:
    """Run a pipeline and compare the values after each of its passes with those before the first; the lowered
    module.
    """
    module = front(case.request)
    wanted = reference_values(case, module)
    assert any(not np.array_equal(v, case.arguments[n]) for n, v in wanted.items()), "the kernel wrote nothing"

    def compare(each: ModulePass, now: ModuleOp) -> None:
        got = values_of(case, now)
        if got is None:
            return
        try:
            assert_close(got, wanted, f"after {each.name}")
        except AssertionError:
            sys.stderr.write(f"after {each.name}:\n{print_module(now)}")
            raise

    run_pipeline(module, build_pipeline(pipeline, case.request.options), on_pass=compare, verify=False)
    assert is_lowered(module) and not has_recipes(module)
    return module
