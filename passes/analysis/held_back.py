"""Numbers that are held back within a tensor: `where(n < N, n, 0)` and `minimum(n, N - 1)`.

Where the lanes on which they are held back are not wanted, they are the affine numbers that they are on the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects import tl
from .affine import Affine, AffineAnalysis
from .masks import box_of
from .poly import ONE, Poly
from .region_form import RegionForm

Bounds: TypeAlias = tuple[tuple[Poly, ...], tuple[Poly, ...]]
"""Lower and upper bounds of the wanted lanes of one axis; none of either means all lanes."""

ALL: Bounds = ((), ())


def let_go(form: RegionForm, number: int, wanted: Bounds, analysis: AffineAnalysis) -> RegionForm:
    """An axis by numbers that are held back on unwanted lanes alone is the affine axis that it is on the others."""
    axis = form.axes[number]
    held = _held_back(axis.index, analysis) if axis.index is not None else None
    if held is None:
        return form
    free, (lowers, uppers) = held
    if not set(lowers) <= set(wanted[0]) or not set(uppers) <= set(wanted[1]):
        return form
    # On the others it may lie outside of the tensor.
    more = tuple(p for p in uppers if p not in axis.uppers), tuple(p for p in lowers if p not in axis.lowers)
    affine = replace(axis, index=None, uppers=axis.uppers + more[0], lowers=axis.lowers + more[1])
    affine = replace(affine, stride=free.coef[0] * axis.stride)
    return replace(form, offset=form.offset + free.const * axis.stride).with_axis(number, affine)


def _held_back(index: SSAValue, analysis: AffineAnalysis) -> tuple[Affine, Bounds] | None:
    """(numbers, lanes) where `index` holds `numbers` on those lanes: `where(n < N, n, 0)` and `minimum(n, N - 1)`."""
    free: Affine | None = None
    bounds = ALL
    match op := index.owner:
        case tl.SelectOp():
            box = box_of(op.condition, analysis)
            if box.exact and not box.flags:
                free, bounds = analysis.of(op.on_true), (tuple(box.lowers[0]), tuple(box.uppers[0]))
        case arith.MinSIOp():
            for value, most in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                numbers, last = analysis.of(value), analysis.of(most)
                if numbers is not None and last is not None and last.uniform and numbers.coef == (ONE,):
                    free, bounds = numbers, ((), (last.const - numbers.const + ONE,))
        case _:
            pass
    return (free, bounds) if free is not None and free.pure_affine else None
