"""A region as polynomials: what passes read from an `ahbm.region`, change, and write back.

The scalar ops of a region's operands are an encoding of this form: `write` makes them and `read` takes them apart
again, so that nothing but the IR passes from one pass to the next. A bound is kept as the list of what it is the
least (or greatest) of; that it lies between 0 and the size is part of being a bound and not in the lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i1
from xdsl.ir import SSAValue

from ...dialects import tl
from ...dialects.region import RegionOp
from .affine import Affine, AffineAnalysis
from .masks import Box
from .materialise import Materialiser
from .poly import ONE, ZERO, Poly

Flag: TypeAlias = SSAValue | Poly
"""A truth value of the IR, or a polynomial that holds when it is 0 or more."""

Number: TypeAlias = FloatAttr | IntegerAttr


@dataclass(frozen=True)
class Fold:
    """Lane i lies at `stride * ((start + i) div width) + axis.stride * ((start + i) mod width)`."""

    start: Poly
    width: Poly
    stride: Poly


@dataclass(frozen=True)
class Axis:
    """One axis: affine, folded (`fold`) or indexed (`index`, a block of rank 1)."""

    size: Poly
    stride: Poly
    lowers: tuple[Poly, ...] = ()
    uppers: tuple[Poly, ...] = ()
    fold: Fold | None = None
    index: SSAValue | None = None

    @property
    def kind(self) -> str:
        return "folded" if self.fold else "indexed" if self.index is not None else "affine"

    def polys(self) -> list[Poly]:
        fold = [self.fold.start, self.fold.width, self.fold.stride] if self.fold else []
        return [self.size, self.stride, *self.lowers, *self.uppers, *fold]


@dataclass(frozen=True)
class RegionForm:
    """A whole region; where a flag is false no lane is valid."""

    base: SSAValue
    offset: Poly
    axes: tuple[Axis, ...]
    flags: tuple[Flag, ...] = ()
    pad: Number | None = None

    def polys(self) -> list[Poly]:
        return [
            self.offset,
            *(p for a in self.axes for p in a.polys()),
            *(f for f in self.flags if isinstance(f, Poly)),
        ]

    def values(self) -> list[SSAValue]:
        """The values of the IR that it names besides those in its polynomials."""
        indices = [a.index for a in self.axes if a.index is not None]
        return [self.base, *indices, *(f for f in self.flags if isinstance(f, SSAValue))]

    def with_axis(self, number: int, axis: Axis) -> RegionForm:
        return replace(self, axes=(*self.axes[:number], axis, *self.axes[number + 1 :]))

    def permuted(self, order: tuple[int, ...]) -> RegionForm:
        """Axis d of the result is axis `order[d]` of this."""
        return replace(self, axes=tuple(self.axes[d] for d in order))


def describe(pointer: Affine, box: Box, pad: Number | None, maker: Materialiser) -> RegionForm:
    """The region of a block of pointers under a mask of conditions on single axes; `maker` makes the blocks of indices
    it needs.
    """
    assert pointer.base is not None
    axes: list[Axis] = []
    offset = pointer.const
    for d, size in enumerate(pointer.shape):
        axis = Axis(Poly.of(size), pointer.coef[d], tuple(box.lowers[d]), tuple(box.uppers[d]))
        terms = [t for t in pointer.terms if t.axis == d]
        folds = {(t.start, t.width): t for t in terms if t.kind != "index"}
        chosen = box.chosen[d]
        if terms and not chosen and len(folds) == 1 and all(t.kind != "index" for t in terms):
            start, width = next(iter(folds))
            # i is width * div + rem - start, so an affine part folds as well.
            high = sum((t.coef for t in terms if t.kind == "div"), axis.stride * width)
            low = sum((t.coef for t in terms if t.kind == "rem"), axis.stride)
            offset -= axis.stride * start
            axis = replace(axis, stride=low, fold=Fold(start, width, high))
        elif len(terms) == 1 and not axis.stride and terms[0].block is not None:
            axis = replace(axis, stride=terms[0].coef, index=maker.flat(terms[0].block))
        elif terms:
            axis = replace(axis, stride=ONE, index=maker.index_block(pointer, d))
        elif chosen:
            axis = replace(axis, index=maker.insert(tl.MakeRangeOp(0, size)))
        if chosen and axis.index is not None:
            axis = replace(axis, index=maker.chosen(axis.index, chosen))
        axes.append(axis)
    return RegionForm(pointer.base, offset, tuple(axes), tuple(dict.fromkeys(box.flags)), pad)


def write(form: RegionForm, maker: Materialiser) -> RegionOp:
    """Insert the region and the scalars that it needs."""
    sizes = [maker.poly(a.size) for a in form.axes]
    los = [maker.lower(a.lowers, size) for a, size in zip(form.axes, sizes, strict=True)]
    his = [maker.upper(a.uppers, size) for a, size in zip(form.axes, sizes, strict=True)]
    for flag in form.flags:
        his[0] = maker.insert(arith.SelectOp(_truth(flag, maker), his[0], maker.constant(0)))
    region = RegionOp(
        form.base,
        maker.poly(form.offset),
        sizes,
        [maker.poly(a.stride) for a in form.axes],
        los,
        his,
        axes=[a.kind for a in form.axes],
        folds=[
            (maker.poly(a.fold.start), maker.poly(a.fold.width), maker.poly(a.fold.stride)) for a in form.axes if a.fold
        ],
        indices=[a.index for a in form.axes if a.index is not None],
        pad=form.pad,
    )
    maker.insert(region)
    return region


def _truth(flag: Flag, maker: Materialiser) -> SSAValue:
    if isinstance(flag, SSAValue):
        return flag
    known = flag.constant
    if known is not None:
        return maker.insert(arith.ConstantOp(IntegerAttr(int(known >= 0), i1)))
    return maker.insert(arith.CmpiOp(maker.poly(flag), maker.constant(0), "sge"))


def read(op: RegionOp, analysis: AffineAnalysis) -> RegionForm:
    """The form of a region of the IR."""
    axes: list[Axis] = []
    flags: list[Flag] = []
    for d, kind in enumerate(op.axis_kinds):
        size = analysis.poly(op.sizes[d])
        uppers, axis_flags = _uppers(op.his[d], size, analysis)
        flags += axis_flags
        axis = Axis(size, analysis.poly(op.strides[d]), _lowers(op.los[d], size, analysis), uppers)
        if kind == "folded":
            start, width, stride = (analysis.poly(v) for v in op.fold_of(d))
            axis = replace(axis, fold=Fold(start, width, stride))
        elif kind == "indexed":
            axis = replace(axis, index=op.index_of(d))
        axes.append(axis)
    return RegionForm(op.base, analysis.poly(op.offset), tuple(axes), tuple(dict.fromkeys(flags)), op.pad)


def _uppers(value: SSAValue, size: Poly, analysis: AffineAnalysis) -> tuple[tuple[Poly, ...], list[Flag]]:
    """What an upper bound is the least of, clamps left out; and the flags that must hold for it not to be 0."""
    bounds: dict[Poly, None] = {}
    flags: list[Flag] = []
    todo = [value]
    while todo:
        at = todo.pop()
        op = at.owner
        poly = analysis.poly(at)
        if poly == size:
            continue
        if isinstance(op, arith.MinSIOp):
            todo += [op.rhs, op.lhs]
        elif isinstance(op, arith.MaxSIOp) and ZERO in (analysis.poly(op.lhs), analysis.poly(op.rhs)):
            todo.append(op.rhs if analysis.poly(op.lhs) == ZERO else op.lhs)
        elif isinstance(op, arith.SelectOp) and analysis.poly(op.rhs) == ZERO:
            flags.append(_flag(op.cond, analysis))
            todo.append(op.lhs)
        elif not _beyond(poly, size):
            bounds[poly] = None
    return tuple(bounds), flags[::-1]  # the last one written is outermost


def _lowers(value: SSAValue, size: Poly, analysis: AffineAnalysis) -> tuple[Poly, ...]:
    """What a lower bound is the greatest of, clamps left out."""
    bounds: dict[Poly, None] = {}
    todo = [value]
    while todo:
        at = todo.pop()
        op = at.owner
        poly = analysis.poly(at)
        if isinstance(op, arith.MaxSIOp):
            todo += [op.rhs, op.lhs]
        elif isinstance(op, arith.MinSIOp) and size in (analysis.poly(op.lhs), analysis.poly(op.rhs)):
            todo.append(op.rhs if analysis.poly(op.lhs) == size else op.lhs)
        elif poly.constant is None or poly.constant > 0:
            bounds[poly] = None
    return tuple(bounds)


def _beyond(bound: Poly, size: Poly) -> bool:
    """The bound is known not to cut anything off."""
    over = (bound - size).constant
    return over is not None and over >= 0


def _flag(condition: SSAValue, analysis: AffineAnalysis) -> Flag:
    op = condition.owner
    if isinstance(op, arith.CmpiOp) and op.predicate.value.data == 5 and analysis.poly(op.rhs) == ZERO:
        return analysis.poly(op.lhs)
    return condition
