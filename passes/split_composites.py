"""`split-composites`: MATH ops before a GEMM become a composite of their own, so that they need not wait for the last
product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm
from ..dialects.ahbm.types import RUNNING_TILE
from ..dialects.remarks import remark
from .composites.split_cost import iteration_ps


@dataclass(frozen=True)
class SplitCompositesPass(ModulePass):
    """Split the ops before the GEMM from a composite in a loop; scaling the accumulator joins its addition.

    before:  ahbm.composite { max, exp, ... -> %p ; mul %o, %corr -> %o ; gemm %p, %v ; add tile, %o -> %o }
    after:   ahbm.composite { max, exp, ... -> %p }
             ahbm.composite { gemm %p, %v ; fma %o, %corr, tile -> %o }

    As one command the softmax of a step waits for the product of the step before, which writes %o, and is issued only
    when V is there. On its own it waits for the scores and the running maximum alone, so the next product finds its
    operand when the engine is free. The price is one command more per iteration: a composite stays whole if
    PE_CPU would then take longer for an iteration than the GEMM engine, or the softmax and the product in turn.

    needs:   `lower-to-commands`, `expand-recipes`; before `double-buffer`, which gives %p two buffers.
    keeps:   values, but for one rounding less of each scaled sum. A composite stays whole where another op before its
             GEMM works on its output, as a remark says, and where the kernel writes it out.
    options: none
    """

    name = "split-composites"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for composite in [each for each in op.walk() if isinstance(each, ahbm.CompositeOp)]:
            own = composite.as_written is not None
            if isinstance(composite.parent_op(), scf.ForOp) and composite.gemm_number and not own:
                _split(composite, machine, self.name)


def _split(composite: ahbm.CompositeOp, machine: Machine, pass_name: str) -> None:
    specs, number = list(composite.specs), composite.gemm_number
    assert number is not None
    out = specs[number].out.data
    rows, rest = specs[:number], specs[number:]
    if any(spec.scope.data != ahbm.Scope.ONCE.value for spec in rows):
        return
    on_output = [spec for spec in rows if out in (*spec.operand_numbers, spec.out.data)]
    if on_output:
        scaled = _scaled_addition(on_output, rest, out)
        if scaled is None:
            remark(composite, pass_name, "composite", "not split", "an op before the product works on its output")
            return
        rest = scaled
    rows = [spec for spec in rows if spec not in on_output]
    if not rows:
        return
    made = {spec.out.data for spec in rows}
    needed = {n for spec in rest for n in spec.operand_numbers}
    parts = [
        _of_parts(composite, rows, [n for n in sorted(made) if n in composite.written or n in needed], []),
        _of_parts(composite, rest, [n for n in composite.written if n not in made], composite.extents),
    ]
    whole, apart = iteration_ps(composite, parts[0], parts[1], machine)
    times = f"an iteration takes about {apart // 1000} ns apart, {whole // 1000} as one"
    remark(composite, pass_name, "composite", "split" if apart <= whole else "not split", times)
    if apart > whole:
        for op in parts:
            op.erase()
        return
    block = composite.parent
    assert block is not None
    for op in parts:
        op.location = composite.location
        block.insert_op_before(op, composite)
    composite.detach()
    composite.erase()


def _scaled_addition(
    on_output: Sequence[ahbm.SpecAttr], rest: Sequence[ahbm.SpecAttr], out: int
) -> list[ahbm.SpecAttr] | None:
    """The GEMM and what follows, with the scaling of the output before it and its addition after it as one op."""
    if len(on_output) != 1 or len(rest) < 2:
        return None
    scale, gemm, add = on_output[0], *rest[:2]
    factors = [n for n in scale.operand_numbers if n != out]
    scales = scale.kind.data == "mul" and scale.out.data == out and len(factors) == 1
    adds = add.kind.data == "add" and set(add.operand_numbers) == {RUNNING_TILE, out} and add.out.data == out
    if not scales or not adds:
        return None
    operands = [out, factors[0], RUNNING_TILE]
    fused = ahbm.SpecAttr("fma", ahbm.Scope.OUTPUT_TILE, operands, out, dict(scale.extras.data))
    return [gemm, fused, *rest[2:]]


def _of_parts(
    composite: ahbm.CompositeOp, specs: Sequence[ahbm.SpecAttr], writes: Sequence[int], extents: Sequence[SSAValue]
) -> ahbm.CompositeOp:
    """A composite of some of the ops, with the parts that these name."""
    used = dict.fromkeys(n for spec in specs for n in (*spec.operand_numbers, spec.out.data) if n >= 0)
    # NO_OUT is the same number as RUNNING_TILE.
    number = {RUNNING_TILE: RUNNING_TILE, **{old: new for new, old in enumerate(used)}}
    renumbered = [
        ahbm.SpecAttr(
            spec.kind.data,
            ahbm.Scope(spec.scope.data),
            [number[n] for n in spec.operand_numbers],
            number[spec.out.data],
            dict(spec.extras.data),
        )
        for spec in specs
    ]
    return ahbm.CompositeOp([composite.parts[n] for n in used], extents, renumbered, [number[n] for n in writes])
