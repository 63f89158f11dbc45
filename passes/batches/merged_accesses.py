"""Loads and stores of blocks whose first two axes are made one: the region has one axis in the place of both."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects import tl
from ...dialects.region import RegionOp
from ...dialects.shapes import shape_of
from ..analysis.affine import AffineAnalysis
from ..analysis.materialise import Materialiser
from ..analysis.poly import ZERO, Poly
from ..analysis.region_form import Axis, Fold, RegionForm, read, write


def merge_accesses(function: func.FuncOp) -> None:
    """Make reshapes that merge the first two axes of what is loaded, or split those of what is stored, part of the
    region.
    """
    reshapes = [op for op in function.walk() if isinstance(op, tl.ReshapeOp)]
    if not any(_merges(op.operand, op.result) or _merges(op.result, op.operand) for op in reshapes):
        return
    analysis = AffineAnalysis(function)
    for op in reshapes:
        if _merges(op.operand, op.result) and isinstance(load := op.operand.owner, tl.LoadRegionOp):
            _merge_load(load, op, analysis)
        elif _merges(op.result, op.operand):
            for use in list(op.result.uses):
                if isinstance(store := use.operation, tl.StoreRegionOp):
                    _merge_store(store, op.operand, analysis)


def _merges(apart: SSAValue, merged: SSAValue) -> bool:
    """Whether `merged` has the first two axes of `apart` as one."""
    shape = shape_of(apart.type)
    return len(shape) > 2 and shape_of(merged.type) == (shape[0] * shape[1], *shape[2:])


def _merge_load(load: tl.LoadRegionOp, reshape: tl.ReshapeOp, analysis: AffineAnalysis) -> None:
    form = _merged_form(load.region, shape_of(load.result.type)[1], analysis)
    if form is None or not load.result.has_one_use():
        return
    maker = Materialiser(analysis.symbols, load)
    made = maker.insert(tl.LoadRegionOp(write(form, maker).result, reshape.result.type, load.hints))
    made.name_hint = load.result.name_hint
    reshape.result.replace_all_uses_with(made)
    for op in (reshape, load):
        op.detach()
        op.erase()


def _merge_store(store: tl.StoreRegionOp, value: SSAValue, analysis: AffineAnalysis) -> None:
    form = _merged_form(store.region, shape_of(store.value.type)[1], analysis)
    if form is None:
        return
    maker = Materialiser(analysis.symbols, store)
    maker.insert_effect(tl.StoreRegionOp(write(form, maker).result, value, store.hints))
    store.detach()
    store.erase()


def _merged_form(region: SSAValue, inner: int, analysis: AffineAnalysis) -> RegionForm | None:
    """The region with its first two axes, the second of `inner` lanes, as one; None where bounds or indices keep them
    apart.
    """
    if not isinstance(region.owner, RegionOp):
        return None
    form = read(region.owner, analysis)
    first, second = form.axes[:2]
    if first.kind != "affine" or second.kind != "affine" or second.lowers or second.uppers:
        return None
    width = Poly.of(inner)
    together = first.stride == second.stride * width
    axis = Axis(
        first.size * width,
        second.stride,
        tuple(bound * width for bound in first.lowers),
        tuple(bound * width for bound in first.uppers),
        None if together else Fold(ZERO, width, first.stride),
    )
    return replace(form, axes=(axis, *form.axes[2:]))
