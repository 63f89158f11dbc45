"""The region of an operand over the whole of K, from the region that a loop reads in iteration t.

Lane i of K belongs to iteration i div BLOCK_K. Where the loop moves on by BLOCK_K lanes the axis stays affine; where it
moves on otherwise (split K reads every n-th block) the axis is folded, BLOCK_K lanes wide.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import scf

from ..analysis.affine import AffineAnalysis, is_inside
from ..analysis.poly import ONE, ZERO, Poly
from ..analysis.region_form import Axis, Fold, RegionForm
from .refused import Refused


def whole_k(form: RegionForm, k: int, block_k: int, name: str, loop: scf.ForOp, analysis: AffineAnalysis) -> RegionForm:
    """The region of all iterations of operand `name`; `k` is its K axis. Raises Refused."""
    counter = loop.body.block.args[0]
    t = analysis.symbols.number(counter)
    named = [leaf for p in form.polys() for leaf in analysis.symbols.leaves(p) if leaf is not counter]
    if any(is_inside(leaf, loop) for leaf in (*named, *form.values())):
        raise Refused(f"the address or a bound of {name} depends on a value of the loop")
    split, axis = form.offset.split(t), form.axes[k]
    if split is None:
        raise Refused(f"the address of {name} is not linear in the iteration")
    first, advance = split
    if axis.kind != "affine":
        raise Refused(f"the K axis of {name} is {axis.kind}")
    if form.pad is not None:
        raise Refused(f"{name} is padded with something else than 0")
    affine = advance == axis.stride * Poly.of(block_k)
    fold = None if affine else Fold(ZERO, Poly.of(block_k), advance)
    axis = replace(axis, lowers=(), uppers=_bounds(axis, block_k, name, t, analysis), fold=fold)
    start = replace(form, offset=first).with_axis(k, axis)
    if not all(analysis.is_invariant(p, loop) for p in start.polys()):
        raise Refused(f"{name} changes otherwise than along K from one iteration to the next")
    return start.with_axis(k, replace(axis, size=analysis.trip(loop) * Poly.of(block_k)))


def backwards(form: RegionForm, loop: scf.ForOp, analysis: AffineAnalysis) -> RegionForm:
    """The region of iteration trip - 1 - t, as one of t."""
    t = analysis.symbols.number(loop.body.block.args[0])
    last = analysis.trip(loop) - ONE

    def turned(poly: Poly) -> Poly:
        split = poly.split(t)
        if split is None:
            raise Refused("an address or a bound is not linear in the iteration")
        return split[0] + split[1] * (last - Poly.symbol(t))

    axes = tuple(
        replace(a, lowers=tuple(map(turned, a.lowers)), uppers=tuple(map(turned, a.uppers))) for a in form.axes
    )
    flags = tuple(turned(f) if isinstance(f, Poly) else f for f in form.flags)
    return replace(form, offset=turned(form.offset), axes=axes, flags=flags)


def runs_backwards(form: RegionForm, k: int, block_k: int, loop: scf.ForOp, analysis: AffineAnalysis) -> bool:
    """Whether a region moves back by one block of K per iteration."""
    split = form.offset.split(analysis.symbols.number(loop.body.block.args[0]))
    return split is not None and bool(split[1]) and split[1] == form.axes[k].stride * Poly.of(-block_k)


def _bounds(axis: Axis, block_k: int, name: str, t: int, analysis: AffineAnalysis) -> tuple[Poly, ...]:
    """The upper bounds of the whole of K, each from one that falls from iteration to iteration; a lower one only where
    it never holds any lane back.
    """
    for bound in axis.lowers:
        split = bound.split(t)
        if split is None or not all(analysis.is_natural(-part) for part in split):
            raise Refused(f"the K axis of {name} has a lower bound")
    uppers: list[Poly] = []
    for bound in axis.uppers:
        split = bound.split(t)
        if split is None or not _falls(-split[1], block_k, analysis):
            raise Refused(f"the K bound of {name} does not fall by {block_k} or more per iteration")
        uppers += _prefix(split[0], -split[1], block_k, analysis)
    return tuple(uppers)


def _falls(by: Poly, block_k: int, analysis: AffineAnalysis) -> bool:
    """`by` is known to be `block_k` or more: only the last block with valid lanes may have fewer than all."""
    known = by.constant
    if known is not None:
        return known >= block_k
    return all(c % block_k == 0 for c in by.terms.values()) and analysis.is_positive(by)


def _prefix(first: Poly, by: Poly, block_k: int, analysis: AffineAnalysis) -> list[Poly]:
    """The bounds of whose least is the number of valid lanes in all blocks, when `first` are valid in the first block
    and `by` fewer in each one after it (a block has no more than `block_k`).
    """
    if by == Poly.of(block_k):
        return [first]
    full = analysis.symbols.quotient("div", first, by) * Poly.of(block_k)
    return [full + analysis.symbols.quotient("rem", first, by), full + Poly.of(block_k)]
