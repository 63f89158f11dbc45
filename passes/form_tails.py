"""`form-tails`: lane-by-lane ops that end in a store become one composite, for which PE_CPU does not wait."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.cost import dma_write_ps, issue_ps, math_ps
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..backend_sim.target.quantities import service_ps
from ..dialects import tl
from ..dialects.ahbm.commands import DMA_BYTES
from ..dialects.ahbm.math import MATH_BYTES
from ..dialects.ahbm.types import HANDLE_BYTES
from ..dialects.programs import kernel_of, next_overlaps
from ..dialects.remarks import remark
from ..dialects.shapes import element_bytes, element_of, shape_of
from .commands.math_kinds import is_lane_by_lane, math_kind
from .commands.residence import Residence, Residences, is_block, residences
from .composites.composite_form import SIDE_VIEWS, form_of, logical_bytes


@dataclass(frozen=True)
class FormTailsPass(ModulePass):
    """Put a store and the lane-by-lane ops that nobody else reads into a composite without a GEMM.

    before:  %x = arith.divf %o, %l ; %y = tl.cast %x ; tl.store_region %r, %y
    after:   tl.composite(%a = %o, %b = %l, %q = %r) { arith.divf ; tl.cast ; tl.store_region ; tl.yield }

    PE_CPU is held by a single op until it has ended, and by a store until it is acknowledged; a composite it only
    issues. What an earlier composite still makes is awaited in PE_SCHED, so that the issue costs no time where the
    values come from one. The cast before the store costs nothing: the last op writes the type of the region.

    needs:   `form-composites` and `fuse-epilogues`, which take what belongs to a product.
    keeps:   values. A store of a block that is in the scratch already stays one command, and so does one with more ops
             than the machine's `composite_max_bytes`; a remark tells of each tail.
    options: when=auto|always  `auto` leaves single ops where they take less time
    """

    name = "form-tails"

    when: Literal["auto", "always"] = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            known = residences(function)
            for store in [each for each in function.walk() if isinstance(each, tl.StoreRegionOp)]:
                if not isinstance(store.parent_op(), tl.CompositeOp):
                    self._form(store, known, machine)

    def _form(self, store: tl.StoreRegionOp, known: Residences, machine: Machine) -> None:
        tail = _tail_of(store, known)
        if len(tail) == 1:
            return
        made = _composite_of(tail)
        size, steps = logical_bytes(made, known), len(form_of(made).steps)
        reason = None
        if size > machine.composite_max_bytes:
            reason = f"the composite would have {size} bytes, more than {machine.composite_max_bytes}"
        elif self.when == "auto" and not _waits_for_composite(made):
            single, composite = _single_ps(tail, machine), _composite_ps(tail, steps, size, machine)
            if single <= composite:
                reason = f"single ops take about {single // 1000} ns, a composite {composite // 1000}"
        remark(store, self.name, "tail", "refused" if reason else "formed", reason or f"{steps} ops")
        if reason is not None:
            made.erase()
            return
        block = store.parent
        assert block is not None
        block.insert_op_before(made, store)
        for op in reversed(tail):
            op.detach()
            op.erase()


def _tail_of(store: tl.StoreRegionOp, known: Residences) -> list[Operation]:
    """The store and the ops of its block that compute what is stored, and nothing else, in order."""
    found: dict[Operation, None] = {store: None}
    grown = True
    while grown:
        grown = False
        for op in list(found):
            for value in op.operands:
                maker = value.owner
                if (
                    isinstance(maker, Operation)
                    and maker not in found
                    and maker.parent is store.parent
                    and _can_join(maker, known)
                    and all(use.operation in found for use in value.uses)
                ):
                    found[maker] = None
                    grown = True
    # A view is of use inside only if what it looks at is made there.
    while outer := [op for op in found if isinstance(op, SIDE_VIEWS) and op.operand.owner not in found]:
        for op in outer:
            del found[op]
    assert store.parent is not None
    return [op for op in store.parent.ops if op in found]


def _can_join(op: Operation, known: Residences) -> bool:
    if not is_lane_by_lane(op) and not isinstance(op, SIDE_VIEWS):
        return False
    value = op.results[0]
    return is_block(value) and known[value] in (Residence.BUFFER, Residence.VIEW)


def _composite_of(tail: list[Operation]) -> tl.CompositeOp:
    """A composite of the ops, which stay where they are; it is in no block yet."""
    made = {result for op in tail for result in op.results}
    inputs = dict.fromkeys(v for op in tail for v in op.operands if v not in made)
    body = Block(arg_types=[v.type for v in inputs])
    mapping = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for value, arg in zip(inputs, body.args, strict=True):
        arg.name_hint = value.name_hint
    for op in tail:
        clone = op.clone(mapping)
        clone.location = op.location
        body.add_op(clone)
    end = tl.YieldOp()
    body.add_op(end)
    composite = tl.CompositeOp(list(inputs), [], Region(body))
    composite.location = end.location = tail[-1].location
    return composite


def _waits_for_composite(composite: tl.CompositeOp) -> bool:
    """Whether a value that it takes is still being made by a composite when PE_CPU gets there."""
    return any(_from_composite(v) for v in composite.inputs)


def _from_composite(value: SSAValue) -> bool:
    op = value.owner
    while isinstance(op, SIDE_VIEWS):
        value, op = op.operand, op.operand.owner
    if isinstance(op, scf.ForOp):
        end = op.body.block.last_op
        assert end is not None
        return isinstance(end.operands[op.results.index(value)].owner, tl.CompositeOp)
    return isinstance(op, tl.CompositeOp)


def _single_ps(tail: list[Operation], machine: Machine) -> int:
    """How long the ops take as commands of their own.

    Where something follows that the write holds up, its way there and back counts too; the slice it keeps busy in any
    case.
    """
    sched, store = machine.pe.sched, tail[-1]
    assert isinstance(store, tl.StoreRegionOp)
    total = issue_ps(machine, DMA_BYTES, composite=False) + sched.entry_dma_ps
    if isinstance(store.parent_op(), scf.ForOp | scf.WhileOp) or next_overlaps(kernel_of(store)):
        size = prod(shape_of(store.value.type)) * element_bytes(element_of(store.value.type))
        total += dma_write_ps(machine, size) - service_ps(size, machine.hbm.slice_gb_per_s)
    for op in tail:
        if is_lane_by_lane(op):
            size = MATH_BYTES + HANDLE_BYTES * len(op.operands)
            total += issue_ps(machine, size, composite=False) + sched.entry_engine_ps + _math_ps(op, machine)
    return total


def _composite_ps(tail: list[Operation], steps: int, size: int, machine: Machine) -> int:
    """The same in one composite of `steps` ops, which are the first ones: a cast at the end is none. It holds up
    nobody.
    """
    ops = [op for op in tail if is_lane_by_lane(op)][:steps]
    math = sum(_math_ps(op, machine) for op in ops)
    return issue_ps(machine, size, composite=True) + machine.pe.sched.entry_engine_ps + math


def _math_ps(op: Operation, machine: Machine) -> int:
    return math_ps(machine, math_kind(op), prod(shape_of(op.results[0].type)))
