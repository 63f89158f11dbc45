"""`software-pipeline`: a loop starts the product of its next iteration before it goes on with this one's."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from .analysis.affine import is_normal
from .composites.scratch_estimate import fits_beside
from .loops.ahead import Part, carried_by, early_loads, is_cheap, run_ahead, slice_of, writer_in


@dataclass(frozen=True)
class SoftwarePipelinePass(ModulePass):
    """Start the composites that do not depend on the iteration before one iteration early.

    before:  scf.for %t iter_args(%m, %l, %o) { %s = tl.composite(%q, %k(%t)) { scores }
                                                %m2, %l2, %o2 = tl.composite(%s, %m, %l, %o, %v) { softmax, product } }
    after:   %s0 = tl.composite(%q, %k(0)) { scores }
             scf.for %t iter_args(%m, %l, %o, %s = %s0) {
               %next = scf.if %t + 1 < %n { yield tl.composite(%q, %k(%t + 1)) { scores } } else { yield zeros }
               %m2, %l2, %o2 = tl.composite(%s, %m, %l, %o, %v) { softmax, product }
               yield %m2, %l2, %o2, %next }

    PE_CPU does not wait for a composite, so the scores of the next tile keep the GEMM engine busy while the MATH engine
    works on those of this one. Their two buffers trade places from iteration to iteration.

    needs:   `normalise-loops`, `form-composites`, and `fuse-epilogues`, whose ops move along.
    keeps:   values. A composite stays where it is if it depends on the iteration before, if it is the only one of the
             loop, if the loop writes memory, or if the scratch has no room for one result more; a remark says which.
    options: none
    """

    name = "software-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            for loop in [each for each in function.walk() if isinstance(each, scf.ForOp)]:
                if is_normal(loop):
                    self._pipeline(loop, machine)

    def _pipeline(self, loop: scf.ForOp, machine: Machine) -> None:
        for composite in [each for each in loop.body.block.ops if isinstance(each, tl.CompositeOp)]:
            reason = _obstacle(loop, composite, machine)
            if reason is not None:
                remark(composite, self.name, "composite", "not early", reason)
                continue
            remark(composite, self.name, "composite", "one iteration early")
            for load in [op for op in slice_of(loop.body.block, composite) if isinstance(op, tl.LoadRegionOp)]:
                ops = slice_of(loop.body.block, load)
                loop = run_ahead(loop, [Part(ops, _start(loop), {})], 1)
            loop = run_ahead(loop, [_part(loop, composite)], 1)


def _obstacle(loop: scf.ForOp, composite: tl.CompositeOp, machine: Machine) -> str | None:
    """Why a composite cannot start one iteration early."""
    if composite.as_written is not None:
        return "it is issued where the kernel places it"
    body = loop.body.block
    ops = slice_of(body, composite)
    if any(_recurs(loop, arg.index) for arg in carried_by(body, ops)):
        return "it depends on the iteration before"
    if not any(isinstance(each, tl.CompositeOp) for each in body.ops if each is not composite):
        return "it is the only composite of its loop"
    if (writer := writer_in(loop)) is not None:
        return f"the loop holds {writer.name}"
    for op in ops[:-1]:
        if isinstance(op, tl.LoadRegionOp) and all(use.operation in ops for use in op.result.uses):
            continue
        if not is_cheap(op):
            return f"it takes the result of {op.name}, which has other users or is no load"
    if not fits_beside(composite, 0, machine.pe.tcm.scratch_bytes):
        return "the scratch has no room for one result more"
    return None


def _recurs(loop: scf.ForOp, number: int) -> bool:
    """Whether carried value `number` is anything but a block that was loaded early."""
    end = loop.body.block.last_op
    assert end is not None
    after = end.operands[number - 1]
    return not (isinstance(after.owner, Operation) and early_loads(after.owner))


def _start(loop: scf.ForOp) -> InsertPoint:
    return InsertPoint.at_start(loop.body.block)


def _part(loop: scf.ForOp, composite: tl.CompositeOp) -> Part:
    """The composite with what it needs, which reads the blocks of the next iteration: it stands behind their loads."""
    body = loop.body.block
    ops, end = slice_of(body, composite), body.last_op
    assert end is not None
    following: dict[SSAValue, SSAValue] = {arg: end.operands[arg.index - 1] for arg in carried_by(body, ops)}
    needed = [v.owner for v in following.values() if isinstance(v.owner, Operation)]
    last = max(needed, key=list(body.ops).index, default=None)
    return Part(ops, _start(loop) if last is None else InsertPoint.after(last), following)
