"""Masks as boxes: which lanes of a block a mask keeps, as bounds per axis.

A mask is a conjunction. Each conjunct is an upper or lower bound of one axis, a flag (the same for all lanes), another
condition on the lanes of one axis, or something else; a mask of bounds and flags alone is a box. Bounds are relative to
the block and not yet clamped to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import SSAValue

from ...dialects import tl
from ...dialects.shapes import shape_of
from .affine import Affine, AffineAnalysis, is_number
from .poly import ONE, ZERO, Poly


@dataclass
class Box:
    """Lane (i0, i1, ...) is kept when `lower <= i_d < upper` for all bounds of every axis d and all flags hold.

    A flag is a truth value of the IR, or a polynomial that holds when it is 0 or more. `chosen[d]` are blocks of truth
    values, long along axis d alone, that say which of its lanes are kept. `rest` says why a conjunct is none of these.
    """

    uppers: list[list[Poly]]
    lowers: list[list[Poly]]
    chosen: list[list[SSAValue]]
    flags: list[SSAValue | Poly] = field(default_factory=list[SSAValue | Poly])
    rest: list[str] = field(default_factory=list[str])

    @staticmethod
    def whole(rank: int) -> Box:
        return Box([[] for _ in range(rank)], [[] for _ in range(rank)], [[] for _ in range(rank)])

    @property
    def exact(self) -> bool:
        """Bounds and flags say all."""
        return not self.rest and not any(self.chosen)


def box_of(mask: SSAValue, analysis: AffineAnalysis) -> Box:
    """The box of a mask: every conjunct that is a bound or a flag, and the reasons for those that are not."""
    rank = len(shape_of(mask.type))
    box = Box.whole(rank)
    # Axis d of a value on the list is axis `places[d]` of the mask; None for an axis of size 1 that was broadcast.
    todo: list[tuple[SSAValue, tuple[int | None, ...]]] = [(mask, tuple(range(rank)))]
    while todo:
        value, places = todo.pop()
        op = value.owner
        match op:
            case arith.AndIOp():
                todo += [(op.rhs, places), (op.lhs, places)]
            case tl.SelectOp() if _is_constant(op.on_false, False):
                todo += [(op.on_true, places), (op.condition, places)]
            case _ if _is_constant(value, True):
                pass
            case _ if _is_constant(value, False):
                box.flags.append(Poly.of(-1))
            case tl.ExpandDimsOp():
                at = op.axis.value.data
                todo.append((op.operand, places[:at] + places[at + 1 :]))
            case tl.TransOp():
                todo.append((op.operand, tuple(places[op.permutation.index(d)] for d in range(len(places)))))
            case tl.BroadcastOp():
                old, new = shape_of(op.operand.type), shape_of(op.result.type)
                todo.append(
                    (op.operand, tuple(None if a != b else p for a, b, p in zip(old, new, places, strict=True)))
                )
            case tl.SplatOp():
                todo.append((op.operand, ()))
            case tl.CmpOp() if is_number(op.lhs):
                _add_comparison(box, op, places, analysis)
            case _ if not shape_of(value.type):
                box.flags.append(value)
            case _:
                why = "a mask with 'or'" if isinstance(op, arith.OrIOp) else "a mask that is no comparison"
                _choose(box, value, places, why)
    return box


def _choose(box: Box, value: SSAValue, places: tuple[int | None, ...], why: str) -> None:
    """Keep a conjunct as it is if it concerns one axis of several. A block of one axis goes lane by lane either way."""
    long = [p for n, p in zip(shape_of(value.type), places, strict=True) if n > 1 and p is not None]
    if len(long) == 1 and len(box.chosen) > 1:
        box.chosen[long[0]].append(value)
    else:
        box.rest.append(why)


def _is_constant(value: SSAValue, truth: bool) -> bool:
    """A truth value, or a block of such, that is known. True may be stored as 1 or -1."""
    op = value.owner
    while isinstance(op, tl.SplatOp | tl.ExpandDimsOp | tl.BroadcastOp):
        op = op.operand.owner
    if not isinstance(op, arith.ConstantOp):
        return False
    if isinstance(op.value, IntegerAttr):
        return (op.value.value.data != 0) == truth
    if isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat():
        return (next(iter(op.value.get_values())) != 0) == truth
    return False


def _add_comparison(box: Box, op: tl.CmpOp, places: tuple[int | None, ...], analysis: AffineAnalysis) -> None:
    """Bring a comparison to `f >= 0` with f affine, and f to a bound."""
    lhs, rhs, predicate = analysis.of(op.lhs), analysis.of(op.rhs), op.predicate.data
    sides = _sides(predicate, lhs, rhs) if lhs is not None and rhs is not None else None
    if sides is None:
        if not shape_of(op.result.type):
            box.flags.append(op.result)
        else:
            _choose(box, op.result, places, _why_no_bound(predicate, lhs, rhs))
        return
    for f in sides:
        axes = [d for d, c in enumerate(f.coef) if c and places[d] is not None]
        if not axes:
            box.flags.append(f.const)
        elif len(axes) > 1:
            box.rest.append("a comparison over two axes")
        else:
            place = places[axes[0]]
            assert place is not None
            if not _add_bound(box, place, f.coef[axes[0]], f.const, analysis):
                _choose(box, op.result, places, "a comparison with a run-time step per lane")


def _sides(predicate: str, lhs: Affine, rhs: Affine) -> list[Affine] | None:
    """The affine functions that must all be 0 or more for the comparison to hold."""
    over = _minus(lhs, rhs)
    under = _minus(rhs, lhs)
    if over is None or under is None or over.terms:
        return None
    match predicate:
        case "sge":
            return [over]
        case "sle":
            return [under]
        case "sgt":
            return [_less_one(over)]
        case "slt":
            return [_less_one(under)]
        case "eq":
            return [over, under]
        case _:
            return None


def _minus(a: Affine, b: Affine) -> Affine | None:
    negative = b.scale(Poly.of(-1))
    difference = None if negative is None else a.add(negative)
    return difference if difference is None or difference.base is None else None


def _less_one(f: Affine) -> Affine:
    return Affine(f.shape, f.const - ONE, f.coef, f.terms)


def _add_bound(box: Box, axis: int, step: Poly, const: Poly, analysis: AffineAnalysis) -> bool:
    """Keep the lanes i of `axis` with step * i + const >= 0, if they are on one side of a bound that is known."""
    by = step.constant
    if by is None:
        return False
    if by > 0:
        box.lowers[axis].append(ZERO - analysis.symbols.quotient("floor", const, Poly.of(by)))
    else:
        box.uppers[axis].append(analysis.symbols.quotient("floor", const, Poly.of(-by)) + ONE)
    return True


def _why_no_bound(predicate: str, lhs: Affine | None, rhs: Affine | None) -> str:
    if lhs is None or rhs is None:
        return "a comparison of values that are not affine in the lanes"
    if predicate == "ne":
        return "a mask with '!='"
    if predicate.startswith("u"):
        return "an unsigned comparison"
    return "a comparison of values with a division or an index"
