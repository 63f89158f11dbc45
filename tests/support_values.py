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
from ahbmc.dialects.text import new_context, print_module
from ahbmc.dialects.verify import verify
from ahbmc.driver.argument_types import type_of
from ahbmc.driver.kernels import find_kernel
from ahbmc.driver.launches import bind_all
from ahbmc.driver.lowering import Request, front
from ahbmc.driver.prepare import prepare
from ahbmc.driver.workload import load
from ahbmc.passes import build_pipeline, run_pipeline
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
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
    return cases_of_workload(path, settings)[0]


def cases_of_workload(path: Path, settings: Sequence[str] = ()) -> list[Case]:
    """Every launch of a workload file. Tensors hold what the file says, those of zeros random numbers."""
    workload = load(str(path), list(settings))
    prepared = prepare(workload, None, None)
    filled = bind_all(workload, prepared.machine, prepared.kernels, values=True)
    cases: list[Case] = []
    for bound, request in zip(filled.launches, prepared.requests, strict=True):
        arguments: dict[str, Any] = {}
        for number, (name, value) in enumerate(bound.values.items()):
            if not isinstance(value, Tensor):
                arguments[name] = value
            elif value.data is not None and value.data.any():
                arguments[name] = value.data
            else:
                arguments[name] = random_array(value.shape, triton_name(value.dtype), 100 + number)
        cases.append(Case(request, arguments, bound.grid))
    return cases


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


@dataclass
class Tally:
    """What has been checked: kernels, passes that ran over them, IRs whose values were compared."""

    kernels: int = 0
    passes: int = 0
    compared: int = 0


class Fingerprints:
    """Numbers for modules, the same for those whose ops are the same. Far faster than their text."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Attribute, int]] = {}  # holds the attributes, so that no id comes again
        self._numbers: dict[Attribute | str, int] = {}

    def of(self, module: ModuleOp) -> tuple[int, ...]:
        """The ops of a module, not its own attributes (remarks)."""
        found: list[int] = []
        values: dict[SSAValue, int] = {}
        for op in module.body.block.ops:
            self._op(op, values, found)
        return tuple(found)

    def _op(self, op: Operation, values: dict[SSAValue, int], found: list[int]) -> None:
        found += (-1, self._number(op.name), *(values[operand] for operand in op.operands))
        for result in op.results:
            values[result] = len(values)
            found.append(self._attribute(result.type))
        for name, value in (*op.properties.items(), *op.attributes.items()):
            found += (self._number(name), self._attribute(value))
        for region in op.regions:
            for block in region.blocks:
                found.append(-2)
                for argument in block.args:
                    values[argument] = len(values)
                    found.append(self._attribute(argument.type))
                for inner in block.ops:
                    self._op(inner, values, found)
        found.append(-3)

    def _attribute(self, value: Attribute) -> int:
        known = self._by_id.get(id(value))
        if known is None:
            known = self._by_id[id(value)] = value, self._number(value)
        return known[1]

    def _number(self, value: Attribute | str) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


class EveryPipeline:
    """Runs a kernel through every pass of several pipelines and compares its values after each.

    Passes that pipelines begin with are run once for all of them; IR that has been compared is not compared again, and
    what pipelines still have before them is run once where they have come to the same IR.
    """

    def __init__(self, pipelines: Sequence[str], tally: Tally):
        self.pipelines, self.tally = pipelines, tally
        self.fingerprints = Fingerprints()
        self.context = new_context()

    def check(self, case: Case) -> None:
        """Raises AssertionError, with the IR on standard error, where the values after a pass are others."""
        module = front(case.request)
        self.case, self.wanted = case, reference_values(case, module)
        assert any(not np.array_equal(v, case.arguments[n]) for n, v in self.wanted.items()), "the kernel wrote nothing"
        self.compared = {self.fingerprints.of(module)}
        self.gone: set[tuple[tuple[int, ...], tuple[ModulePass, ...]]] = set()
        self._follow(module, [build_pipeline(name, case.request.options) for name in self.pipelines])
        self.tally.kernels += 1

    def _follow(self, module: ModuleOp, lists: Sequence[Sequence[ModulePass]]) -> None:
        """The passes that are still to come; `module` is used up."""
        ways: dict[ModulePass, list[tuple[ModulePass, ...]]] = {}
        for first, *rest in filter(None, lists):
            ways.setdefault(first, []).append(tuple(rest))
        if not ways:
            verify(module)
            assert is_lowered(module) and not has_recipes(module)
        for number, (each, rests) in enumerate(ways.items(), 1):
            now = module if number == len(ways) else module.clone()
            each.apply(self.context, now)
            self.tally.passes += 1
            found = self.fingerprints.of(now)
            if found not in self.compared:
                self._compare(each, now)
                self.compared.add(found)
            left = [rest for rest in rests if (found, rest) not in self.gone]
            self.gone.update((found, rest) for rest in left)
            if left:
                self._follow(now, left)

    def _compare(self, each: ModulePass, module: ModuleOp) -> None:
        got = values_of(self.case, module)
        if got is not None:
            assert_same(got, self.wanted, each, module)
            self.tally.compared += 1


def assert_same(got: Mapping[str, Array], wanted: Mapping[str, Array], each: ModulePass, module: ModuleOp) -> None:
    """Values after a pass; where they are others, the IR goes to standard error."""
    try:
        assert_close(got, wanted, f"after {each.name}")
    except AssertionError:
        sys.stderr.write(f"after {each.name}:\n{print_module(module)}")
        raise


def check_every_pass(case: Case, pipeline: str) -> ModuleOp:
    """Run a pipeline and compare the values after each of its passes with those before the first; the lowered
    module.
    """
    module = front(case.request)
    wanted = reference_values(case, module)
    assert any(not np.array_equal(v, case.arguments[n]) for n, v in wanted.items()), "the kernel wrote nothing"

    def compare(each: ModulePass, now: ModuleOp) -> None:
        got = values_of(case, now)
        if got is not None:
            assert_same(got, wanted, each, now)

    run_pipeline(module, build_pipeline(pipeline, case.request.options), on_pass=compare, verify=False)
    assert is_lowered(module) and not has_recipes(module)
    return module
