"""Whether a launch left the right numbers: every tensor of `check:` against its reference, element by element.

An output of only zeros fails whatever the reference says, and so does a replicated tensor whose written copies differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    """What became of one tensor. `ok` is None where nothing was checked.

    `max_rel_err` is over the elements whose reference is larger than `atol`. Errors are NaN where one side is.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    ok: bool | None = None
    reason: str = ""

    def described(self) -> dict[str, Any]:
        """As an entry of `outputs` in JSON, which knows no NaN and no infinity: they become null."""
        fields = {key: value for key, value in asdict(self).items() if key != "name"}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


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


def compare(name: str, got: Array, want: Array, check: Check, place: Place, copies_differ: bool = False) -> OutputCheck:
    """Compare a tensor with the right values; `copies_differ` says that a replicated one was not written alike.

    Raises AhbmcError at `place` where the shapes do not fit.
    """
    if np.squeeze(want).shape == np.squeeze(got).shape:
        want = want.reshape(got.shape)  # a sum over all is as good as a tensor of one element
    if want.shape != got.shape:
        found = f"the reference of `{name}` has shape {list(want.shape)}, the tensor {list(got.shape)}"
        raise fail(found, place, hint="the reference must give every element of the tensor")
    have, should = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.where((have == should) | (np.isnan(have) & np.isnan(should)), 0.0, np.abs(have - should))
        # Infinities and NaNs must be met exactly; a NaN on one side only is a NaN error, which no bound admits.
        bound = np.where(np.isfinite(should), check.atol + check.rtol * np.abs(should), 0.0)
        bad = ~(error <= bound)
        large = np.abs(should) > check.atol
        relative = np.where(large, error / np.abs(should), 0.0)
    errors = (float(np.max(error, initial=0.0)), float(np.max(relative, initial=0.0)))
    reason = _reason(have, should, bad, copies_differ)
    return OutputCheck(name, got.shape, triton_name(got.dtype), *errors, not reason, reason)


def unchecked(name: str, got: Array, copies_differ: bool) -> OutputCheck:
    """A tensor that was written and has no check; it fails only if its copies differ."""
    reason = _COPIES if copies_differ else ""
    return OutputCheck(name, got.shape, triton_name(got.dtype), ok=False if reason else None, reason=reason)


_COPIES = "its copies differ: a replicated tensor must be written alike on every PE"


def _reason(have: Array, should: Array, bad: npt.NDArray[np.bool_], copies_differ: bool) -> str:
    """Why the tensor is wrong; empty if it is right."""
    if copies_differ:
        return _COPIES
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        count = int(np.count_nonzero(bad))
        first = f"first at {list(where)}: {have[where]:.6g}, expected {should[where]:.6g}"
        return f"{count} of {bad.size} elements are off; {first}"
    if not have.any():
        return "the output is all zero"
    return ""
