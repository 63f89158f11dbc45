"""`raise-regions`: loads and stores of blocks of pointers become loads and stores of regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ..dialects import tl
from ..dialects.region import RegionOp
from ..dialects.remarks import Subject, remark_all
from ..dialects.shapes import shape_of
from .analysis.affine import Affine, AffineAnalysis
from .analysis.held_back import let_go
from .analysis.masks import Box, box_of
from .analysis.materialise import Materialiser
from .analysis.region_form import Number, RegionForm, describe, read, write

SCATTERED = "pointers that are not separable by axis"


@dataclass(frozen=True)
class RaiseRegionsPass(ModulePass):
    """Make every load and store whose addresses are separable by axis one of a region.

    before:  %x = tl.load %pointers mask(%in_range) : tensor<8x!tl.ptr<f32>> -> tensor<8xf32>
    after:   %r = ahbm.region %base[%offset] sizes(%c8) strides(%c1) lo(%c0) hi(%valid) ...
             %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<8xf32>

    Per axis an address is affine, folded (`//` and `%`) or indexed (a block of numbers). A mask that is a conjunction
    of conditions on single axes is one of the region: bounds become its lower and upper bounds, a condition that is the
    same for all lanes empties it, and along an axis with another condition (rows by a table, `!=`, `or`) the lanes are
    indexed, those left out by the index that stands for no lane. `other` becomes the pad value. So does a select of
    what is loaded and a number: the lanes that it takes off are not read. Numbers that are held back
    (`minimum(n, N - 1)`) on lanes that the mask leaves out anyway are let go: the axis is affine.

    needs:   loops from 0 by 1 (`normalise-loops`), so that carried pointers are `init + t * increment`.
    keeps:   values; the order of memory accesses. What is not separable stays a load (a gather) or a store (a
             scatter) and leaves a remark with the reason; so do accesses of single scalars.
    options: none
    """

    name = "raise-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in (f for f in op.walk() if isinstance(f, func.FuncOp)):
            analysis = AffineAnalysis(function)
            accesses = [a for a in function.walk() if isinstance(a, tl.LoadOp | tl.StoreOp)]
            # Backwards, because an access may use the block that an earlier one loads, and that value is about to be
            # replaced.
            notes = [_raise(access, analysis) for access in reversed(accesses)]
            remark_all(op, self.name, reversed(notes))
            for select in [each for each in function.walk() if isinstance(each, tl.SelectOp)]:
                _narrow(select, function)


_Item = TypeVar("_Item")
_Note = tuple[Subject, str, str, Attribute]


def _raise(access: tl.LoadOp | tl.StoreOp, analysis: AffineAnalysis) -> _Note:
    """Raise one access if that can be done; what became of it, for a remark."""
    subject: Subject = "load" if isinstance(access, tl.LoadOp) else "store"
    at = access.location
    if not shape_of(access.pointer.type):
        return subject, "scalar", "one element", at
    kept = "gathered" if subject == "load" else "scattered"
    pointer = analysis.of(access.pointer)
    if pointer is None or pointer.base is None or shape_of(pointer.base.type):
        return subject, kept, SCATTERED, at
    box = box_of(access.mask, analysis) if access.mask is not None else Box.whole(len(pointer.shape))
    if box.rest:
        return subject, kept, box.rest[0], at
    maker = Materialiser(analysis.symbols, access)
    if isinstance(access, tl.LoadOp):
        form = _raise_load(access, pointer, box, maker, analysis)
    else:
        form = _let_go(describe(pointer, box, None, maker), analysis)
        maker.insert_effect(tl.StoreRegionOp(write(form, maker).result, access.value, access.hints))
        access.detach()
        access.erase()
    indexed = [d for d, axis in enumerate(form.axes) if axis.kind == "indexed"]
    if indexed:
        return subject, kept, f"axis {indexed[0]} goes by a block of indices", at
    return subject, "strided", "", at


def _let_go(form: RegionForm, analysis: AffineAnalysis) -> RegionForm:
    """Let go of numbers that are held back on lanes which the mask leaves out anyway."""
    for number, axis in enumerate(form.axes):
        form = let_go(form, number, (axis.lowers, axis.uppers), analysis)
    return form


def _raise_load(
    load: tl.LoadOp, pointer: Affine, box: Box, maker: Materialiser, analysis: AffineAnalysis
) -> RegionForm:
    pad = uniform_number(load.other) if load.other is not None else None
    form = _let_go(describe(pointer, box, None if pad is None or _is_zero(pad) else pad, maker), analysis)
    kind = cast("TensorType[Attribute]", load.result.type)
    loaded = maker.insert(tl.LoadRegionOp(write(form, maker).result, kind, load.hints))
    if load.other is not None and pad is None:
        # A value that differs by lane, or is known at run time only, is no pad value: take it lane by lane.
        assert load.mask is not None
        loaded = maker.insert(tl.SelectOp(load.mask, loaded, load.other))
    loaded.name_hint = load.result.name_hint
    load.result.replace_all_uses_with(loaded)
    load.detach()
    load.erase()
    return form


def _narrow(select: tl.SelectOp, function: func.FuncOp) -> None:
    """Let a load leave out the lanes that a select replaces by a number, if these are what lies outside of a box."""
    casts = list[tl.CastOp]()
    load, pad = select.on_true.owner, uniform_number(select.on_false)
    while isinstance(load, tl.CastOp) and load.result.has_one_use() and pad is not None and _is_zero(pad):
        casts.insert(0, load)  # a zero stays one
        load = load.operand.owner
    if not isinstance(load, tl.LoadRegionOp) or not load.result.has_one_use() or pad is None:
        return
    if not isinstance(load.region.owner, RegionOp) or load.parent is not select.parent or _is_written(load, select):
        return
    # Anew, as the scalars of the regions are new ops.
    analysis = AffineAnalysis(function)
    form, box = read(load.region.owner, analysis), box_of(select.condition, analysis)
    if not box.exact:
        return
    narrowed = replace(
        form,
        axes=tuple(
            replace(axis, lowers=_joined(axis.lowers, low), uppers=_joined(axis.uppers, high))
            for axis, low, high in zip(form.axes, box.lowers, box.uppers, strict=True)
        ),
        flags=_joined(form.flags, box.flags),
        pad=None if _is_zero(pad) else pad,
    )
    # Lanes that the load has left out hold its own pad, unless the select takes them off too.
    whole = not form.flags and not any(axis.lowers or axis.uppers for axis in form.axes)
    if not whole and form.pad != narrowed.pad and not _same_box(form, box):
        return
    maker = Materialiser(analysis.symbols, select)
    loaded = maker.insert(tl.LoadRegionOp(write(narrowed, maker).result, load.result.type, load.hints))
    loaded.name_hint = load.result.name_hint
    for cast_op in casts:
        loaded = maker.insert(cast_op.clone({cast_op.operand: loaded}))
    select.result.replace_all_uses_with(loaded)
    for op in (select, *reversed(casts), load):
        op.detach()
        op.erase()


def _joined(old: Sequence[_Item], more: Sequence[_Item]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys((*old, *more)))


def _same_box(form: RegionForm, box: Box) -> bool:
    """Whether the valid lanes of a region are those of a mask."""
    bounds = [({*axis.lowers}, {*axis.uppers}) for axis in form.axes]
    wanted = [({*low}, {*high}) for low, high in zip(box.lowers, box.uppers, strict=True)]
    return bounds == wanted and {*form.flags} == {*box.flags}


def _is_written(load: tl.LoadRegionOp, select: tl.SelectOp) -> bool:
    """Whether memory may be written between the two."""
    at = load.next_op
    while at is not None and at is not select:
        if any(isinstance(each, tl.StoreOp | tl.StoreRegionOp | tl.AtomicOp | tl.WaitOp) for each in at.walk()):
            return True
        at = at.next_op
    return False


def uniform_number(value: SSAValue) -> Number | None:
    """The constant that every lane of `value` holds, as an attribute of its element type."""
    op = value.owner
    if isinstance(op, tl.SplatOp | tl.BroadcastOp | tl.ExpandDimsOp):
        return uniform_number(op.operand)
    if not isinstance(op, arith.ConstantOp):
        return None
    if isinstance(op.value, FloatAttr | IntegerAttr):
        return op.value
    if isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat():
        return next(op.value.iter_attrs())
    return None


def _is_zero(number: Number) -> bool:
    return number.value.data == 0
