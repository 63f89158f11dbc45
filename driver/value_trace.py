"""Which values a program computes, so that two forms of it can be told apart op by op: every block that an op makes, as
a few sums that keep their values when it is transposed, padded with zeros or rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..backend_sim.memory import Tensor
from ..backend_sim.numerics.device import run_device
from ..backend_sim.numerics.dtypes import Array, triton_name
from ..backend_sim.numerics.reference import Observer, run_reference
from ..dialects import ahbm, tl
from ..dialects.ahbm.composite import is_recipe
from .launches import BoundLaunch

_MOST = 100_000  # blocks of one run that are kept
_FRACTION_BITS = {"fp64": 52, "fp32": 23, "fp16": 10, "bf16": 7, "fp8e4nv": 3, "fp8e4b8": 3, "fp8e4b15": 3, "fp8e5": 2}
_LEAST_TOLERANCE = 1e-4  # float32, summed in another order


@dataclass
class ValueTrace:
    """The blocks that a run made, in the order of execution. A write to memory is a block too: all that was written.

    Blocks of integers are left out, unless `integers`: they are addresses for the most part, which passes change; and
    so is what has one lane.
    """

    integers: bool = False
    ops: list[Operation] = field(default_factory=list[Operation])
    marks: list[Array] = field(default_factory=list[Array])

    def add(self, op: Operation, block: Array) -> None:
        if block.size > 1 and (self.integers or block.dtype.kind not in "iu"):
            self._add(op, block, 0, 0)

    def add_written(self, op: Operation, contents: Array) -> None:
        """A tensor after `op` has written to it, whatever its type and size. It has no padding, so that infinities and
        NaNs in it count.
        """
        self._add(op, contents, int(np.isinf(contents).sum()), int(np.isnan(contents).sum()))

    def _add(self, op: Operation, block: Array, infinities: int, nans: int) -> None:
        if len(self.ops) < _MOST:
            self.ops.append(op)
            self.marks.append(np.append(_mark(block), [infinities, nans]))

    def unlike(self, other: ValueTrace, tolerance: float) -> Operation | None:
        """The first op that made a block which `other` did not."""
        if not other.marks:
            return self.ops[0] if self.ops else None
        known = np.array(other.marks)
        for op, mark in zip(self.ops, self.marks, strict=True):
            # sum, sum of magnitudes, root of squares, largest, least: each against the magnitudes that it is made of;
            # then the numbers of infinities and NaNs.
            scale = np.array([mark[1], mark[1], mark[2], mark[2], mark[2], 0.0, 0.0]) + 1e-30
            if not (np.abs(known - mark) <= tolerance * scale).all(axis=1).any():
                return op
        return None


def _mark(block: Array) -> Array:
    wide = block.astype(np.float64).ravel()
    wide = wide[np.isfinite(wide) & (wide != 0)]
    if not wide.size:
        return np.zeros(5)
    with np.errstate(over="ignore"):
        squares = np.sqrt(np.square(wide).sum())
    return np.array([wide.sum(), np.abs(wide).sum(), squares, wide.max(), wide.min()])


def tolerance_of(array: Array) -> float:
    """The relative difference that rounding in another order may make in an array."""
    name = triton_name(array.dtype)
    return max(4.0 * 2.0 ** -_FRACTION_BITS[name], _LEAST_TOLERANCE) if name in _FRACTION_BITS else 0.0


def has_values(module: ModuleOp) -> bool:
    """Whether a module can be executed; a recipe that is not expanded has no values."""
    composites = [op for op in module.walk() if isinstance(op, ahbm.CompositeOp)]
    return not any(is_recipe(spec) for op in composites for spec in op.specs)


def values_of(module: ModuleOp, launch: BoundLaunch, trace: ValueTrace | None = None) -> dict[str, Array]:
    """The tensors of a launch after a run of `module` on the reference, or on the device once it has commands. Raises
    AhbmcError.
    """
    arguments: dict[str, Any] = dict(launch.values)
    arrays = {name: _first(value) for name, value in launch.values.items() if isinstance(value, Tensor)}
    arguments |= arrays
    observe = _observer(trace, list(arrays.values())) if trace is not None else None
    lowered = any(isinstance(op, ahbm.CommandOp | ahbm.AllocOp) for op in module.walk())
    run = run_device if lowered else run_reference
    run(module, list(arguments.values()), launch.grid, observe=observe)
    return arrays


def _first(tensor: Tensor) -> Array:
    """A copy of what a tensor holds before the launch."""
    return np.zeros(tensor.shape, tensor.dtype) if tensor.data is None else np.array(tensor.data, order="C")


def _observer(trace: ValueTrace, arrays: Sequence[Array]) -> Observer:
    ramps = [(1 + np.arange(a.size) % 1013).astype(np.float64).reshape(a.shape) for a in arrays]
    seen = [a.copy() for a in arrays]

    def observe(op: Operation, blocks: Sequence[Array]) -> None:
        for block in blocks:
            trace.add(op, block)
        if not blocks or isinstance(op, tl.AtomicOp | ahbm.AtomicOp):
            for number, array in enumerate(arrays):
                if array.tobytes() != seen[number].tobytes():
                    seen[number] = array.copy()
                    trace.add_written(op, array.astype(np.float64) * ramps[number])

    return observe
