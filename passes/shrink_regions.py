"""`shrink-regions`: lanes that no store wants are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ..dialects import tl
from ..dialects.elementwise import BY_OP
from ..dialects.region import RegionOp
from ..dialects.remarks import amend, remark
from ..dialects.shapes import shape_of
from .analysis.affine import AffineAnalysis
from .analysis.held_back import ALL, Bounds, let_go
from .analysis.materialise import Materialiser
from .analysis.poly import Poly
from .analysis.region_form import Axis, RegionForm, read, write
from .composites.tile_ops import captured


@dataclass(frozen=True)
class ShrinkRegionsPass(ModulePass):
    """Cut off the lanes of loaded regions that reach only lanes which the stores mask off.

    before:  rows of %a wrap around (`% M`) and are all read; the store keeps the rows below %valid
    after:   the region of %a ends at %valid as well, so it does not wrap at run time

    The bounds of a store are what it demands of the stored block. Element-wise ops pass a demand on as it is; a dot
    and a GEMM demand the rows of the result of `a` and its columns of `b`; whatever else reads a block demands all of
    it. Two readers demand what the bounds that they have in common allow. Numbers of rows that are held back
    (`where(n < N, n, 0)`, `minimum(n, N - 1)`) on unwanted lanes alone are let go: the axis is affine again.

    needs:   `raise-regions`; `raise-k-loops` before it, where GEMMs are raised.
    keeps:   the values of all stored lanes. A bound is used only where the scalars that it is made of are defined
             before the region.
    options: none
    """

    name = "shrink-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        indexed = _indexed(op)
        for function in (f for f in op.walk() if isinstance(f, func.FuncOp)):
            analysis = AffineAnalysis(function)
            demands = _Demands(analysis)
            demands.run(function.body.block)
            order = {each: n for n, each in enumerate(function.walk())}
            for region in [each for each in function.walk() if isinstance(each, RegionOp)]:
                wanted = demands.of.get(region.result)
                if wanted is not None and _shrink(region, wanted, analysis, order):
                    remark(op, self.name, "load", "shrunk", location=region.location)
        amend(op, "load", indexed - _indexed(op), "gathered", "strided")


def _indexed(module: ModuleOp) -> set[Attribute]:
    """Where in the kernel regions go by a block of indices."""
    return {op.location for op in module.walk() if isinstance(op, RegionOp) and op.indices}


Demand: TypeAlias = tuple[Bounds, ...]
"""The demanded lanes of a block or region, per axis."""


def _all(value: SSAValue) -> Demand:
    return (ALL,) * len(shape_of(value.type))


def _common(a: Demand, b: Demand) -> Demand:
    """What holds for the lanes that either reader wants: the bounds that both have."""
    return tuple(
        (tuple(p for p in x[0] if p in y[0]), tuple(p for p in x[1] if p in y[1])) for x, y in zip(a, b, strict=True)
    )


class _Demands:
    """Which lanes of every block are wanted, found backwards: every reader of a value is visited before its maker."""

    def __init__(self, analysis: AffineAnalysis):
        self.of: dict[SSAValue, Demand] = {}
        self._analysis = analysis

    def want(self, value: SSAValue, demand: Demand) -> None:
        known = self.of.get(value)
        self.of[value] = demand if known is None else _common(known, demand)

    def run(self, block: Block) -> None:
        for op in reversed(list(block.ops)):
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        match op:
            case tl.StoreRegionOp():
                form = self._form(op.region)
                self.want(op.value, tuple((a.lowers, a.uppers) for a in form.axes) if form else _all(op.value))
                self._want_all((op.region,))
            case scf.ForOp():
                self._visit_loop(op)
            case scf.IfOp():
                self._visit_condition(op)
            case _ if op.regions and not isinstance(op, tl.GemmOp):
                for inner in op.walk():
                    self._want_all(inner.operands)
            case _ if op.results and shape_of(op.results[0].type):
                wanted = self.of.get(op.results[0])
                if wanted is not None:
                    self._pass_on(op, wanted)
            case _:
                self._want_all(op.operands)

    def _form(self, region: SSAValue) -> RegionForm | None:
        return read(region.owner, self._analysis) if isinstance(region.owner, RegionOp) else None

    def _want_all(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if isinstance(value.owner, RegionOp):
                self.want(value, (ALL,) * len(value.owner.sizes))
            else:
                self.want(value, _all(value))

    def _pass_on(self, op: Operation, wanted: Demand) -> None:
        """What one op demands of its operands when `wanted` is demanded of its result."""
        match op:
            case tl.LoadRegionOp():
                self.want(op.region, wanted)
            case tl.DotOp() | tl.GemmOp():
                *batch, rows, columns = wanted
                self.want(op.a, (*batch, rows, ALL))
                self.want(op.b, (*batch, ALL, columns))
                if op.acc is not None:
                    self.want(op.acc, wanted)
                if isinstance(op, tl.GemmOp) and op.tiles is not None:
                    self._want_all(captured(op.tiles))
            case tl.ExpandDimsOp():
                at = op.axis.value.data
                self.want(op.operand, wanted[:at] + wanted[at + 1 :])
            case tl.TransOp():
                places = [op.permutation.index(d) for d in range(len(wanted))]
                self.want(op.operand, tuple(wanted[p] for p in places))
            case tl.BroadcastOp():
                old, new = shape_of(op.operand.type), shape_of(op.result.type)
                self.want(op.operand, tuple(w if a == b else ALL for a, b, w in zip(old, new, wanted, strict=True)))
            case tl.ReduceOp():
                at = op.axis.value.data
                self.want(op.operand, (*wanted[:at], ALL, *wanted[at:]))
            case tl.SelectOp() | tl.CmpOp() | tl.CastOp():
                for value in op.operands:
                    self.want(value, wanted)
            case _ if op.name in BY_OP or isinstance(op, arith.ConstantOp):
                for value in op.operands:
                    self.want(value, wanted)
            case _:
                self._want_all(op.operands)

    def _visit_condition(self, op: scf.IfOp) -> None:
        self._want_all((op.cond,))
        for region in op.regions:
            if region.blocks:
                self._want_ends(region.block, op.results)
                self.run(region.block)

    def _want_ends(self, block: Block, results: Sequence[OpResult]) -> None:
        assert block.last_op is not None
        for value, result in zip(block.last_op.operands, results, strict=True):
            wanted = self.of.get(result)
            if wanted is not None:
                self.want(value, wanted)

    def _visit_loop(self, loop: scf.ForOp) -> None:
        """A carried block is taken to be wanted in the loop as after it, until a reader in the loop wants more."""
        self._want_all(loop.operands[:3])
        before = dict(self.of)
        carried = {n: self.of.get(result) for n, result in enumerate(loop.results)}
        while True:
            self.of = dict(before)
            block = loop.body.block
            assert isinstance(block.last_op, scf.YieldOp)
            for n, wanted in carried.items():
                if wanted is not None:
                    self.want(block.last_op.operands[n], wanted)
            self._run_body(block)
            more = {n: self._joined(wanted, self.of.get(block.args[n + 1])) for n, wanted in carried.items()}
            if more == carried:
                break
            carried = more
        for n, wanted in carried.items():
            if wanted is not None:
                self.want(loop.iter_args[n], wanted)

    def _run_body(self, block: Block) -> None:
        for op in reversed(list(block.ops)):
            if not isinstance(op, scf.YieldOp):
                self._visit(op)

    def _joined(self, a: Demand | None, b: Demand | None) -> Demand | None:
        if a is None or b is None:
            return a if b is None else b
        return _common(a, b)


def _shrink(region: RegionOp, wanted: Demand, analysis: AffineAnalysis, order: dict[Operation, int]) -> bool:
    """Add the demanded bounds to a region, as far as they are known before it; whether any was added."""
    form = read(region, analysis)
    narrowed = form
    for number, (lowers, uppers) in enumerate(wanted):
        narrowed = let_go(narrowed, number, (lowers, uppers), analysis)
        axis = narrowed.axes[number]
        more = replace(
            axis,
            lowers=axis.lowers + _new(lowers, axis.lowers, axis, region, analysis, order),
            uppers=axis.uppers + _new(uppers, axis.uppers, axis, region, analysis, order),
        )
        narrowed = narrowed.with_axis(number, more)
    if narrowed == form:
        return False
    new = write(narrowed, Materialiser(analysis.symbols, region))
    new.result.name_hint = region.result.name_hint
    region.result.replace_all_uses_with(new.result)
    region.detach()
    region.erase()
    return True


def _new(
    bounds: tuple[Poly, ...],
    old: tuple[Poly, ...],
    axis: Axis,
    region: RegionOp,
    analysis: AffineAnalysis,
    order: dict[Operation, int],
) -> tuple[Poly, ...]:
    return tuple(p for p in bounds if p not in old and p != axis.size and _in_scope(p, region, analysis, order))


def _in_scope(poly: Poly, at: Operation, analysis: AffineAnalysis, order: dict[Operation, int]) -> bool:
    """Everything that `poly` is made of is defined before `at`."""
    for leaf in analysis.symbols.leaves(poly):
        owner = leaf.owner
        block = owner if isinstance(owner, Block) else owner.parent
        inside: Operation | None = at
        while inside is not None and inside.parent is not block:
            inside = inside.parent_op()
        if inside is None or (isinstance(owner, Operation) and order.get(owner, -1) >= order[at]):
            return False
    return True
