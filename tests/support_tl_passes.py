"""Small kernels through the passes of the `tl` level: the IR and remarks at the end, values before and after."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ahbmc.backend_sim.numerics.device import run_device
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects.region import RegionOp
from ahbmc.dialects.remarks import remarks
from ahbmc.frontend import compile_kernel
from ahbmc.passes import run_pipeline
from ahbmc.passes.pipelines import PIPELINES
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def _tl_passes() -> str:
    """The passes of pipeline `fused` up to `match-recipes`."""
    specs = [entry.spec for entry in PIPELINES["fused"]]
    return ",".join(specs[: specs.index("match-recipes") + 1])


TL_PASSES = _tl_passes()
BEFORE_RECIPES = TL_PASSES.removesuffix(",match-recipes")


@dataclass(frozen=True)
class Passed:
    """A kernel after the passes: its module, and the greatest difference that they made to any output."""

    module: ModuleOp
    difference: float
    outputs: tuple[Any, ...]
    arguments: Sequence[Any] = ()
    grid: Sequence[int] = (1,)

    @property
    def text(self) -> str:
        return str(self.module)

    @property
    def axes(self) -> list[tuple[str, ...]]:
        """The kinds of axes of every region, in program order."""
        return [op.axis_kinds for op in self.module.walk() if isinstance(op, RegionOp)]

    def notes(self, pass_name: str) -> list[tuple[str, str]]:
        """(outcome, reason) of what a pass remarked."""
        return [(r.outcome, r.reason) for r in remarks(self.module) if r.pass_name == pass_name]

    def difference_of_commands(self) -> float:
        """The greatest difference between any output and that of the commands under `fused`; NaN counts as infinite."""
        specs = [entry.spec for entry in PIPELINES["fused"]]
        run_pipeline(self.module, ",".join(specs[specs.index("match-recipes") + 1 :]))
        copies = [v.copy() if hasattr(v, "shape") else v for v in self.arguments]
        run_device(self.module, copies, self.grid)
        found = [v.astype(np.float64) for v in copies if hasattr(v, "shape")]
        gaps = [float(np.abs(a - b).max()) for a, b in zip(self.outputs, found, strict=True)]
        return max(gaps) if all(np.isfinite(gaps)) else float("inf")

    @property
    def params(self) -> str:
        """The parameters of the one recipe."""
        found = re.findall(r"params = \{(.*?)\}", self.text)
        assert len(found) == 1, found
        return found[0]


def through_passes(
    header: str,
    body: str,
    arguments: Mapping[str, tuple[str, Any]],
    constants: Mapping[str, Any],
    grid: Sequence[int],
    passes: str = TL_PASSES,
) -> Passed:
    """Compile `def k(header): body`, run it, the passes, and it again. `arguments`: name -> (Triton type, value)."""
    text = f"{HEAD}def k({header}):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    module = compile_kernel(text, "kernel.py", "k", {name: kind for name, (kind, _) in arguments.items()}, constants)
    values = [value for _, value in arguments.values()]
    before = _outputs(module, values, grid)
    run_pipeline(module, passes, verify=False)  # the result is verified all the same
    after = _outputs(module, values, grid)
    with np.errstate(invalid="ignore"):
        gaps = [np.where(a == b, 0.0, np.abs(a - b)) for a, b in zip(before, after, strict=True)]
    for a, b, gap in zip(before, after, gaps, strict=True):
        gap[np.isnan(a) & np.isnan(b)] = 0.0
        gap[np.isnan(a) != np.isnan(b)] = np.inf
    return Passed(module, max(float(gap.max()) for gap in gaps), tuple(before), values, grid)


def _outputs(module: ModuleOp, values: Sequence[Any], grid: Sequence[int]) -> list[Any]:
    copies: list[Any] = [v.copy() if hasattr(v, "shape") else v for v in values]
    run_reference(module, copies, grid)
    return [v.astype(np.float64) for v in copies if hasattr(v, "shape")]


def function_of(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def random(*shape: int, seed: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
