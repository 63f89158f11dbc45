"""Whether a launch left the right numbers: every tensor of `check:` against its reference, element by element.

An output of only zeros fails whatever the reference says, and so does a replicated tensor whose written copies differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backend_sim.numerics.dtypes import triton_name
from ..backend_sim.target.document import Node
from ..dialects.errors import Place, fail
from . import expressions
from .references import Value, evaluate
from .tensors import load_array
from .workload_schema import Check

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class OutputCheck:
    """What became of one tensor. `ok` is None where nothing was checked; errors are NaN-free only if both sides are.

    `max_rel_err` is over the elements whose reference is larger than `atol`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    ok: bool | None = None
    reason: str = ""


def expected(check: Check, node: Node, inputs: Mapping[str, Value], folder: Path) -> Array:
    """The right values of one tensor, from the inputs as they were before the launch."""
    if check.file is not None:
        return load_array(folder / check.file, node.at("file"))
    assert check.reference is not None  # held by Check
    at = node.at("reference")
    place = at.place if at.text_column is None else Place(at.place.file, at.place.line, at.text_column)
    return np.asarray(evaluate(expressions.parse(check.reference, place), inputs))


def wide(values: Array) -> Array:
    """Values as float64, or as they are where they are integers."""
    return values if values.dtype.kind in "biu" else values.astype(np.float64)


def compare(name: str, copies: Sequence[Array], want: Array, check: Check, place: Place) -> OutputCheck:
    """Compare the copies of one tensor (one, unless it is replicated) with the right values. A wrong shape raises."""
    got = copies[0]
    if np.squeeze(want).shape == np.squeeze(got).shape:
        want = want.reshape(got.shape)  # a sum over all is as good as a tensor of one element
    if want.shape != got.shape:
        found = f"the reference of `{name}` has shape {list(want.shape)}, the tensor {list(got.shape)}"
        raise fail(found, place)
    head = (name, got.shape, triton_name(got.dtype))
    have, should = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.where((have == should) | (np.isnan(have) & np.isnan(should)), 0.0, np.abs(have - should))
        # Infinities and NaNs must be met exactly; a NaN on one side only is a NaN error, which no bound admits.
        bound = np.where(np.isfinite(should), check.atol + check.rtol * np.abs(should), 0.0)
        bad = ~(error <= bound)
        large = np.abs(should) > check.atol
        relative = np.where(large, error / np.abs(should), 0.0)
    errors = (float(np.max(error, initial=0.0)), float(np.max(relative, initial=0.0)))
    reason = _reason(copies, have, should, bad)
    return OutputCheck(*head, *errors, not reason, reason)


def _reason(copies: Sequence[Array], have: Array, should: Array, bad: npt.NDArray[np.bool_]) -> str:
    """Why the tensor is wrong; empty if it is right."""
    for number, other in enumerate(copies[1:], 1):
        if copies[0].tobytes() != other.tobytes():
            return f"copies 0 and {number} differ: a replicated tensor must be written alike on every PE"
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        count = int(np.count_nonzero(bad))
        first = f"first at {list(where)}: {have[where]:.6g}, expected {should[where]:.6g}"
        return f"{count} of {bad.size} elements are off; {first}"
    if not have.any():
        return "the output is all zero"
    return ""
