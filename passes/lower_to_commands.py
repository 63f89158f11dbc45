"""`lower-to-commands`: from what is computed (`tl`) to which commands PE_CPU issues (`ahbm`).

This file holds the pass and its walk over control flow. Which command an op becomes is in `select_commands` and
`lower_composites`, where values live in `residence`, which of them share a buffer in `buffers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ..dialects import ahbm, tl
from ..dialects.errors import AhbmcError, Category, Fault, place_of
from ..dialects.locations import stamp
from ..dialects.region import RegionOp
from ..dialects.shapes import element_of
from .analysis.liveness import in_program_order
from .analysis.materialise import Materialiser
from .commands.buffers import condition_of, plan_buffers
from .commands.carried_pointers import carry_offsets
from .commands.cpu_scalars import cpu_result
from .commands.emission import Emission
from .commands.lower_composites import lower_composite
from .commands.residence import Residence, enters, is_block
from .commands.select_commands import select


@dataclass(frozen=True)
class LowerToCommandsPass(ModulePass):
    """Select commands, give every block a buffer, and leave no block and no `tl` op behind.

    before:  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<64xf32>
             %y = arith.addf %x, %x : tensor<64xf32>
             tl.store_region %s, %y : !ahbm.region<f32, 1>, tensor<64xf32>
    after:   %b = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
             ahbm.dma_read %r, %b : ...
             ahbm.math "add" ins(%b, %b : ...) out(%b : ...)
             ahbm.dma_write %b, %s : ...

    Blocks that are affine in their indices become index views, blocks of one value scalars, expand_dims, broadcast
    and reshape views: none of these costs a command. A result takes the buffer of an operand whose last use it is;
    what a loop carries stays in one buffer or swaps between two. Scalars that come out of blocks live in buffers of
    rank 0 and are read by PE_CPU only for addresses, bounds and branches.

    needs:   `raise-regions`, or loads and stores become gathers and scatters.
    keeps:   values, the order of memory accesses, locations.
    options: none
    """

    name = "lower-to-commands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            if function.body.blocks:
                _lower(function)


def _lower(function: func.FuncOp) -> None:
    _refuse_unknown(function)
    carry_offsets(function)
    _sweep(function)
    emission = Emission(plan_buffers(function), function.body.block)
    _make_indices(function, emission)
    walk = _Walk(emission)
    walk.block(function.body.block)
    walk.erase()
    _sweep(function)


_KNOWN_CONTROL = (scf.ForOp, scf.WhileOp, scf.ConditionOp, scf.IfOp, scf.YieldOp, func.ReturnOp, tl.YieldOp)


def _refuse_unknown(function: func.FuncOp) -> None:
    """An op that holds ops on blocks and that nothing here lowers."""
    faults = [
        Fault(
            f"'{op.name}' over blocks cannot be lowered to commands",
            place_of(op.location),
            Category.UNSUPPORTED,
            "write it with scf.for, scf.while and scf.if",
        )
        for op in in_program_order(function.body, enters)
        if op.regions
        and not isinstance(op, (*_KNOWN_CONTROL, tl.CompositeOp))
        and any(is_block(v) for inner in op.walk() for v in (*inner.operands, *inner.results))
    ]
    if faults:
        raise AhbmcError(*faults)


def _make_indices(function: func.FuncOp, e: Emission) -> None:
    """An index view for every block that is affine in its indices, where the block is defined."""
    for value, residence in e.residences.of.items():
        known = e.residences.analysis.of(value) if residence in (Residence.INDEX, Residence.POINTERS) else None
        if known is None or known.terms or (residence is Residence.POINTERS and known.base is None):
            continue
        after = value.owner.next_op if isinstance(value.owner, Operation) else value.owner.first_op
        assert after is not None
        location = value.owner.location if isinstance(value.owner, Operation) else after.location
        maker = Materialiser(e.residences.analysis.symbols, after, location)
        element = element_of(value.type)
        kind = ahbm.IndexType(known.shape, i64 if isinstance(element, tl.PointerType) else element)
        steps = [maker.poly(c) for c in known.coef]
        e.indices[value] = maker.insert(ahbm.IndexOp(maker.poly(known.const), steps, kind))


class _Walk:
    """Lowers the ops of a function one after the other, in place. Old ops stay until `erase`, since later ones still
    name them.
    """

    def __init__(self, emission: Emission):
        self.e = emission
        self.old: list[Operation] = []

    def block(self, block: Block) -> None:
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.e.at = op
            self._op(op)
            op = following

    def erase(self) -> None:
        for op in reversed(self.old):
            op.detach()
            op.erase()

    def _op(self, op: Operation) -> None:
        match op:
            case scf.ForOp():
                self._loop(op)
            case scf.WhileOp():
                self._while(op)
            case scf.IfOp():
                self._branches(op)
            case tl.CompositeOp():
                lower_composite(self.e, op)
                self.old.append(op)
            case ahbm.IndexOp():
                # An offset or a step may be a scalar that a block gave.
                for n, operand in enumerate(op.operands):
                    op.operands[n] = self.e.cpu(operand)
            case _:
                if select(self.e, op):
                    self.old.append(op)
                else:
                    self._for_cpu(op)

    def _for_cpu(self, op: Operation) -> None:
        """An op of PE_CPU: what it takes from TCM is read first."""
        if isinstance(op, scf.YieldOp | scf.ConditionOp):
            return
        indices = len(op.indices) if isinstance(op, RegionOp) else 0
        for n, operand in enumerate(op.operands):
            in_tcm = indices and n >= len(op.operands) - indices
            op.operands[n] = self.e.packed(operand) if in_tcm else self.e.cpu(operand)
        made = cpu_result(op, op.operands, self.e.insert)
        if made is not None:
            if made.name_hint is None:
                made.name_hint = op.results[0].name_hint
            self.e.replace(op.results[0], made)
            self.old.append(op)

    def _loop(self, loop: scf.ForOp) -> None:
        e, body = self.e, loop.body.block
        rotation = e.plan.rotations.get(loop)
        carried = rotation.carried if rotation else ()
        kept = [n for n, arg in enumerate(body.args[1:]) if _is_cpu(e, arg)]
        inits = [e.cpu(loop.iter_args[n]) for n in kept] + [e.storage[c] for c in carried]
        low, high, step = (e.cpu(v) for v in (loop.lb, loop.ub, loop.step))
        inner = Block(arg_types=[body.args[0].type, *(v.type for v in inits)])
        new = e.insert(scf.ForOp(low, high, step, inits, inner))
        for old, arg in zip(
            [body.args[0], *(body.args[n + 1] for n in kept)], inner.args[: len(kept) + 1], strict=True
        ):
            arg.name_hint = old.name_hint
            e.replace(old, arg)
        outside = {c: e.storage[c] for c in carried}
        for c, arg in zip(carried, inner.args[len(kept) + 1 :], strict=True):
            arg.name_hint = e.storage[c].name_hint
            e.storage[c] = arg
        end = _move(body, inner)
        self.block(inner)
        self._yield(end, kept, [e.storage[c] for c in rotation.yielded] if rotation else [])
        e.storage.update(outside)
        for n, result in zip(kept, new.results[: len(kept)], strict=True):
            result.name_hint = loop.results[n].name_hint
            e.replace(loop.results[n], result)
        for c, result in zip(rotation.results if rotation else (), new.results[len(kept) :], strict=True):
            if c is not None:
                e.storage[c] = result
        self.old.append(loop)

    def _while(self, loop: scf.WhileOp) -> None:
        e, condition = self.e, condition_of(loop)
        kept = [n for n, arg in enumerate(loop.before_region.block.args) if _is_cpu(e, arg)]
        types = [loop.arguments[n].type for n in kept]
        blocks: list[Block] = []
        for region in loop.regions:
            inner = Block(arg_types=types)
            for n, arg in zip(kept, inner.args, strict=True):
                arg.name_hint = region.block.args[n].name_hint
                region.block.args[n].replace_all_uses_with(arg)
            blocks.append(inner)
        head, body = blocks
        new = e.insert(scf.WhileOp([e.cpu(loop.arguments[n]) for n in kept], types, Region(head), Region(body)))
        end = _move(loop.after_region.block, body)
        for op in list(loop.before_region.block.ops):
            op.detach()
            head.add_op(op)
        self.block(head)
        e.at = condition
        e.insert(scf.ConditionOp(e.cpu(condition.condition), *(e.cpu(condition.args[n]) for n in kept)))
        self.old.append(condition)
        self.block(body)
        self._yield(end, kept, [])
        for n, result in zip(kept, new.results, strict=True):
            result.name_hint = loop.results[n].name_hint
            loop.results[n].replace_all_uses_with(result)
        self.old.append(loop)

    def _branches(self, op: scf.IfOp) -> None:
        e = self.e
        kept = [n for n, result in enumerate(op.results) if _is_cpu(e, result)]
        regions: list[Region] = []
        blocks: list[tuple[Block, scf.YieldOp]] = []
        for region in op.regions:
            inner = Block()
            regions.append(Region(inner) if region.blocks else Region())
            if region.blocks:
                blocks.append((inner, _move(region.block, inner)))
        yes, no = regions
        new = e.insert(scf.IfOp(e.cpu(op.cond), [op.results[n].type for n in kept], yes, no))
        for inner, end in blocks:
            self.block(inner)
            self._yield(end, kept, [])
        for n, result in zip(kept, new.results, strict=True):
            result.name_hint = op.results[n].name_hint
            e.replace(op.results[n], result)
        self.old.append(op)

    def _yield(self, end: scf.YieldOp, kept: list[int], buffers: list[SSAValue]) -> None:
        self.e.at = end
        self.e.insert(scf.YieldOp(*(self.e.cpu(end.operands[n]) for n in kept), *buffers))
        self.old.append(end)


def _is_cpu(e: Emission, value: SSAValue) -> bool:
    return e.residences[value] is Residence.CPU


def _move(source: Block, target: Block) -> scf.YieldOp:
    """Move all ops of a block; the yield that it ends in."""
    for op in list(source.ops):
        op.detach()
        target.add_op(op)
    end = target.last_op
    assert isinstance(end, scf.YieldOp)
    return end


def _sweep(function: func.FuncOp) -> None:
    """Remove what computes something that nobody uses: scalars, views and index views of blocks that are gone."""
    for op in reversed(in_program_order(function.body)):
        # xDSL gives the widening casts of arith no effects at all, so they are named by their dialect.
        pure = (
            is_side_effect_free(op) or op.name.startswith("arith.") or isinstance(op, ahbm.AllocOp | ahbm.ReadScalarOp)
        )
        if op.results and pure and not op.regions and not any(r.uses for r in op.results):
            op.detach()
            op.erase()
    stamp((function,), function.location)
