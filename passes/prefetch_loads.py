"""`prefetch-loads`: a loop issues the loads of later iterations while it computes this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from ..dialects.shapes import element_of
from .analysis.affine import is_normal
from .bounds import NotNegative
from .composites.iteration_cost import block_bytes
from .composites.scratch_estimate import fits_throughout
from .loops.ahead import Part, carried_by, early_loads, is_cheap, run_ahead, slice_of, writer_in


@dataclass(frozen=True)
class PrefetchLoadsPass(ModulePass):
    """Issue the loads of a loop some iterations before their blocks are used.

    before:  scf.for %t ... { %k = tl.load_region %r(%t) ; use(%k) }
    after:   %k0 = tl.load_region %r(0)
             scf.for %t ... iter_args(%k = %k0) {
               %next = scf.if %t + 1 < %n { yield tl.load_region %r(%t + 1) } else { yield zeros }
               use(%k) ; yield %next }

    A load does not hold up PE_CPU, its first user does. The loop carries the blocks on their way: `distance` + 1
    buffers for each, which `lower-to-commands` lets trade places, so that nothing is copied.

    A load that `software-pipeline` has put one iteration early with its product moves as well: PE_CPU waits for it
    before it issues the product.

    needs:   `normalise-loops` and `raise-regions`; after `form-composites` and `software-pipeline`, which decide what
             is loaded and when it is used.
    keeps:   values. A load stays where it is if the loop writes memory (it might read what is written), if its address
             depends on what the loop computes, or if the scratch has no room for its blocks; a remark says which.
    options: distance=N  how many iterations early; 0 leaves all loads alone
    """

    name = "prefetch-loads"

    distance: NotNegative = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            for loop in [each for each in function.walk() if isinstance(each, scf.ForOp)]:
                if is_normal(loop) and self.distance > 0:
                    self._prefetch(loop, machine)

    def _prefetch(self, loop: scf.ForOp, machine: Machine) -> None:
        body, parts, more = loop.body.block, list[Part](), 0
        assert body.first_op is not None
        start = InsertPoint.before(body.first_op)
        for op, loads in list(_loads(loop)):
            size = self.distance * sum(map(block_bytes, loads))
            ops = slice_of(body, op)
            reason = _obstacle(loop, ops)
            if reason is None and not fits_throughout(list(body.ops), more + size, machine.pe.tcm.scratch_bytes):
                reason = f"the scratch has no room for {size} bytes more"
            for load in loads:
                remark(load, self.name, "load", "not prefetched" if reason else "prefetched", reason or "")
            if reason is None:
                parts.append(Part(ops, start, {}))
                more += size
        if parts:
            run_ahead(loop, parts, self.distance)


def _loads(loop: scf.ForOp) -> Iterator[tuple[Operation, list[tl.LoadRegionOp]]]:
    """The loads of a loop: each as the op of the body that gives its block, and itself."""
    for op in loop.body.block.ops:
        loads = [op] if isinstance(op, tl.LoadRegionOp) else early_loads(op)
        if loads:
            yield op, loads


def _obstacle(loop: scf.ForOp, ops: list[Operation]) -> str | None:
    """Why the loads of the last of `ops` cannot be done in an earlier iteration."""
    if any(isinstance(element_of(v.type), tl.PointerType) for v in ops[-1].results):
        return "it gives pointers"
    writer = writer_in(loop)
    if writer is not None:
        return f"the loop holds {writer.name}"
    if carried_by(loop.body.block, ops):
        return "its address is carried by the loop"
    return next((f"its address comes from {op.name}" for op in ops[:-1] if not is_cheap(op)), None)
