"""`fuse-epilogues`: what is done to the result of a composite alone joins the composite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.region import CutOp, RegionOp, RegionType
from ..dialects.remarks import remark
from ..dialects.shapes import shape_of
from .commands.math_kinds import is_lane_by_lane
from .commands.residence import Residence, Residences, is_block, residences
from .composites.composite_form import SIDE_VIEWS, logical_bytes, tile_output
from .recipes import RECIPES


@dataclass(frozen=True)
class FuseEpiloguesPass(ModulePass):
    """Move lane-by-lane ops on the result of a composite into it, and the store of the result.

    before:  %d = tl.composite(...) -> tensor<64x64xf32> { ... } ; %e = arith.addf %d, %bias
             %f = tl.cast %e ; tl.store_region %rc, %f
    after:   tl.composite(..., %y = %bias, %r = %rc) { ... ; arith.addf ; tl.cast ; tl.store_region ; tl.yield }

    The ops run on each output tile between GEMM and STORE. A store makes the output one in HBM; a cast before the store
    (or at the end) costs nothing: the engine converts what it stores. A mask that is computed from index views for one
    of the ops comes along, as an op on index views.

    needs:   `form-composites`. An op joins if it is the only user of the result so far and works lane by lane; what
             else it takes must not come from a later product, and no write to memory may lie between. A store into
             the tensor that the composite streams from stays outside: it might overwrite what is still to be read.
    keeps:   values. Stops where the command would be larger than the machine's `composite_max_bytes`; what is left
             outside leaves a remark with the reason.
             A composite of recipe rows alone (`match-recipes`) joins as one op.
    options: none
    """

    name = "fuse-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bound = machine_of(op).composite_max_bytes
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            known = residences(function)
            for composite in [each for each in function.walk() if isinstance(each, tl.CompositeOp)]:
                if composite.parent is not None and composite.product is not None and composite.as_written is None:
                    _fuse(composite, _Fusion(composite, known, bound), self.name)


def _fuse(composite: tl.CompositeOp, fusion: _Fusion, pass_name: str) -> None:
    reason = fusion.grow()
    if reason is not None:
        remark(composite, pass_name, "epilogue", "refused", reason)
    if fusion.chain:
        for op in fusion.chain:
            remark(composite, pass_name, "epilogue", "fused", op.name, op.location)
        _absorb(composite, fusion.chain)


@dataclass
class _Fusion:
    """The ops that are to join one composite, in the order in which they stand in the block."""

    composite: tl.CompositeOp
    known: Residences
    bound: int
    chain: list[Operation] = field(default_factory=list[Operation])

    def grow(self) -> str | None:
        """Add ops until one cannot join; why not, if that is worth telling."""
        value = tile_output(self.composite)
        while value is not None:
            op = _only_user(value)
            if op is None:
                return "the result has other users" if value.uses else None
            if not _can_join(op, value) or op.parent is not self.composite.parent:
                # What ends a chain in the ordinary way is no refusal: loops, products and reductions go on from here.
                return None
            masks = [m for v in op.operands if v is not value for m in self._mask(v, op)]
            reason = self._obstacle(op, value) or self._overwrites(op) or self._too_large([*masks, op])
            if reason is not None:
                return reason
            self.chain += [m for m in dict.fromkeys(masks) if m not in self.chain] + [op]
            value = _tile_after(op)
        return None

    def _mask(self, value: SSAValue, user: Operation) -> list[Operation]:
        """The ops that compute a block from index views for `user` alone, in order; none if it is another kind."""
        found: list[Operation] = []
        todo = [(value, user)]
        while todo:
            at, reader = todo.pop()
            if self.known[at] in (Residence.INDEX, Residence.UNIFORM) or not is_block(at):
                continue
            op = at.owner
            if (
                not isinstance(op, Operation)
                or op.parent is not self.composite.parent
                or not (is_lane_by_lane(op) or isinstance(op, SIDE_VIEWS))
                or any(use.operation is not reader for use in at.uses)
            ):
                return []
            found.insert(0, op)
            todo += [(v, op) for v in op.operands]
        return list(dict.fromkeys(found)) if any(is_lane_by_lane(op) for op in found) else []

    def _obstacle(self, op: Operation, value: SSAValue) -> str | None:
        """Why the composite cannot move down to `op`."""
        between: dict[Operation, None] = {}
        at = self.composite.next_op
        while at is not None and at is not op:
            for inner in at.walk():
                if isinstance(inner, tl.StoreOp | tl.StoreRegionOp | tl.AtomicOp | tl.WaitOp):
                    return f"{inner.name} stands between it and {op.name}"
            between[at] = None
            at = at.next_op
        todo = [v for v in op.operands if v is not value]
        seen: dict[Operation, None] = {}
        while todo:
            maker = todo.pop().owner
            if not isinstance(maker, Operation) or maker not in between or maker in seen or maker in self.chain:
                continue
            seen[maker] = None
            if maker.regions or isinstance(maker, tl.DotOp | tl.GemmOp):
                return f"{op.name} also takes the result of a later {maker.name}"
            if any(v in self.composite.outputs for v in maker.operands):
                return f"{op.name} also takes what {maker.name} makes of another result"
            todo += maker.operands
        return None

    def _overwrites(self, op: Operation) -> str | None:
        """A store beside streams from the same tensor might write what is still to be read."""
        if isinstance(op, tl.StoreRegionOp) and any(
            _tensor_of(v) is _tensor_of(op.region) for v in self.composite.inputs if isinstance(v.type, RegionType)
        ):
            return f"{op.name} writes the tensor that the composite streams from"
        return None

    def _too_large(self, more: list[Operation]) -> str | None:
        if _bytes_with(self.composite, [*self.chain, *more], self.known) <= self.bound:
            return None
        return f"with {more[-1].name} the composite would have more than {self.bound} bytes"


def _tensor_of(region: SSAValue) -> SSAValue:
    """The pointer that a region is counted from."""
    while isinstance(maker := region.owner, CutOp | RegionOp | tl.AddPtrOp):
        region = maker.operands[0]
    return region


def _only_user(value: SSAValue) -> Operation | None:
    users = dict.fromkeys(use.operation for use in value.uses)
    return next(iter(users)) if len(users) == 1 else None


def _tile_after(op: Operation) -> SSAValue | None:
    """What an op that has joined makes of the tile; nothing can follow a recipe at the end."""
    if isinstance(op, tl.CompositeOp):
        return tile_output(op)
    return op.results[0] if op.results else None


def _can_join(op: Operation, value: SSAValue) -> bool:
    """Whether an op can follow the tile `value`: lane by lane, a store, or the rows of a recipe that takes it."""
    if isinstance(op, tl.CompositeOp):
        recipe = op.recipe
        if op.product is not None or recipe is None or recipe.next_op is not op.body.block.last_op:
            return False
        row = RECIPES[recipe.recipe.data]
        return row.tile is not None and op.inputs[row.inputs(recipe.choice).index(row.tile)] is value
    return is_lane_by_lane(op) or (isinstance(op, tl.StoreRegionOp) and len(shape_of(op.value.type)) == 2)


def _bytes_with(composite: tl.CompositeOp, chain: list[Operation], known: Residences) -> int:
    """Logical bytes of the command with `chain` added."""
    trial = _joined(composite, chain)
    size = logical_bytes(trial, known)
    trial.erase()
    return size


def _joined(composite: tl.CompositeOp, chain: Sequence[Operation]) -> tl.CompositeOp:
    """A composite of what `composite` does and then `chain`; it is in no block yet."""
    end = composite.body.block.last_op
    assert isinstance(end, tl.YieldOp)
    made = set(chain)
    inputs: dict[SSAValue, None] = dict.fromkeys(composite.inputs)
    for op in chain:
        inputs.update((v, None) for v in op.operands if v.owner not in made and v not in composite.outputs)
    body = Block(arg_types=[v.type for v in inputs])
    outer = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for value, arg in outer.items():
        arg.name_hint = value.name_hint
    mapping: dict[SSAValue, SSAValue] = {
        old: outer[value] for old, value in zip(composite.body.block.args, composite.inputs, strict=True)
    }
    body.add_ops(op.clone(mapping) for op in composite.body.block.ops if op is not end)
    outer.update(zip(composite.outputs, (mapping[v] for v in end.values), strict=True))
    for op in chain:
        if isinstance(op, tl.CompositeOp):
            inner: dict[SSAValue, SSAValue] = {
                arg: outer[v] for arg, v in zip(op.body.block.args, op.inputs, strict=True)
            }
            last = op.body.block.last_op
            assert isinstance(last, tl.YieldOp)
            body.add_ops(each.clone(inner) for each in op.body.block.ops if each is not last)
            outer.update(zip(op.outputs, (inner[v] for v in last.values), strict=True))
        else:
            body.add_op(op.clone(outer))
    results = _results(composite, chain)
    out = tl.YieldOp(*(outer[r] for r in results))
    body.add_op(out)
    stage = composite.stage.data if composite.stage is not None else None
    joined = tl.CompositeOp(list(inputs), [r.type for r in results], Region(body), stage=stage)
    out.location = joined.location = composite.location
    return joined


def _results(composite: tl.CompositeOp, chain: Sequence[Operation]) -> list[SSAValue]:
    """What the two give together: what a recipe of the composite writes, and what becomes of the tile."""
    tile = tile_output(composite)
    return [*(r for r in composite.outputs if r is not tile), *chain[-1].results]


def _absorb(composite: tl.CompositeOp, chain: Sequence[Operation]) -> None:
    """Put the joined composite in the place of the last op of the chain."""
    made = _joined(composite, chain)
    last = chain[-1]
    block = last.parent
    assert block is not None
    block.insert_op_before(made, last)
    for old, new in zip(_results(composite, chain), made.outputs, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in reversed(chain):
        op.detach()
        op.erase()
    composite.detach()
    composite.erase()
