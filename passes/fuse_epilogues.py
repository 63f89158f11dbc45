"""`fuse-epilogues`: what is done to the result of a composite alone joins the composite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm, tl
from ..dialects.ahbm.types import FRAMING_BYTES, HANDLE_BYTES, LENGTH_BYTES, SpecAttr
from ..dialects.region import RegionType
from ..dialects.remarks import remark
from ..dialects.shapes import element_of, shape_of
from .composite_form import form_of, spec_for
from .math_kinds import is_lane_by_lane
from .residence import Residence, Residences, residences


@dataclass(frozen=True)
class FuseEpiloguesPass(ModulePass):
    """Move lane-by-lane ops on the result of a composite into it, and the store of the result.

    before:  %d = tl.composite(...) -> tensor<64x64xf32> { ... } ; %e = arith.addf %d, %bias
             %f = tl.cast %e ; tl.store_region %rc, %f
    after:   tl.composite(..., %y = %bias, %r = %rc) { ... ; arith.addf ; tl.cast ; tl.store_region ; tl.yield }

    The ops run on each output tile between GEMM and STORE. A store makes the output one in HBM, a cast before the store
    (or at the end) costs nothing: the engine converts what it stores.

    needs:   `form-composites`. An op joins if it is the only user of the result so far and works lane by lane; its
    other
             operands must be there before the composite, and no write to memory may lie between.
    keeps:   values. Stops where the command would be larger than the machine's `composite_max_bytes`; what is left
             outside leaves a remark with the reason.
    options: none
    """

    name = "fuse-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            known = residences(function)
            for composite in [each for each in function.walk() if isinstance(each, tl.CompositeOp)]:
                if composite.recipe is None and composite.product is not None:
                    _fuse(composite, known, machine, self.name)


def _fuse(composite: tl.CompositeOp, known: Residences, machine: Machine, pass_name: str) -> None:
    chain: list[Operation] = []
    value: SSAValue | None = composite.outputs[0] if composite.outputs else None
    reason: str | None = None
    while value is not None:
        following = _only_user(value)
        if following is None:
            reason = "the result has other users" if value.uses else None
            break
        if not _can_join(following) or following.parent is not composite.parent:
            # What ends a chain in the ordinary way is no refusal: loops, products and reductions go on from here.
            break
        reason = _obstacle(composite, following)
        if reason is None and _bytes_with(composite, [*chain, following], known) > machine.composite_max_bytes:
            reason = f"with {following.name} the composite would have more than {machine.composite_max_bytes} bytes"
        if reason is not None:
            break
        chain.append(following)
        value = following.results[0] if following.results else None
    if reason is not None:
        remark(composite, pass_name, "epilogue", "refused", reason)
    if chain:
        for op in chain:
            remark(composite, pass_name, "epilogue", "fused", op.name, op.location)
        _absorb(composite, chain)


def _only_user(value: SSAValue) -> Operation | None:
    users = dict.fromkeys(use.operation for use in value.uses)
    return next(iter(users)) if len(users) == 1 else None


def _can_join(op: Operation) -> bool:
    return is_lane_by_lane(op) or (isinstance(op, tl.StoreRegionOp) and len(shape_of(op.value.type)) == 2)


def _obstacle(composite: tl.CompositeOp, op: Operation) -> str | None:
    """Why the composite cannot move down to `op`: a write to memory stands between, or what orders memory."""
    at = composite.next_op
    while at is not None and at is not op:
        for inner in at.walk():
            if isinstance(inner, tl.StoreOp | tl.StoreRegionOp | tl.WaitOp):
                return f"{inner.name} stands between it and {op.name}"
        at = at.next_op
    return None


def _bytes_with(composite: tl.CompositeOp, chain: list[Operation], known: Residences) -> int:
    """Logical bytes of the command with `chain` added."""
    trial = _joined(composite, chain)
    form = form_of(trial)
    types = [_part_type(v, known) for v in trial.inputs]
    out = len(types) if form.stored is None else form.stored
    types.append(ahbm.BufferType((), element_of(form.product.result.type)))
    a = form.a if form.a is not None else form.b
    specs = [SpecAttr("gemm", ahbm.Scope.K_TILE, [a, form.b], out)]
    specs += [spec_for(step, out, range(len(types))) for step in form.steps]
    total = FRAMING_BYTES + 2 * LENGTH_BYTES + sum(s.logical_bytes(types) for s in specs) + HANDLE_BYTES
    trial.erase()
    return total


def _part_type(value: SSAValue, known: Residences) -> Attribute:
    """The kind of operand that a value will be in the command."""
    if isinstance(value.type, RegionType):
        return value.type
    element = element_of(value.type)
    match known[value]:
        case Residence.INDEX:
            return ahbm.IndexType(shape_of(value.type), element)
        case Residence.UNIFORM | Residence.CPU if (
            not isinstance(value.type, TensorType) or known[value] is Residence.UNIFORM
        ):
            return element
        case _:
            return ahbm.BufferType(shape_of(value.type), element)


def _joined(composite: tl.CompositeOp, chain: list[Operation]) -> tl.CompositeOp:
    """A composite of what `composite` does and then `chain`; it is in no block yet."""
    inner = [op for op in composite.body.block.ops if not isinstance(op, tl.YieldOp)]
    end = composite.body.block.last_op
    assert isinstance(end, tl.YieldOp)
    made = set(chain)
    inputs: dict[SSAValue, None] = dict.fromkeys(composite.inputs)
    for op in chain:
        inputs.update((v, None) for v in op.operands if v.owner not in made and v not in composite.outputs)
    body = Block(arg_types=[v.type for v in inputs])
    argument: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for value, arg in argument.items():
        arg.name_hint = value.name_hint
    mapping: dict[SSAValue, SSAValue] = {
        old: argument[value] for old, value in zip(composite.body.block.args, composite.inputs, strict=True)
    }
    for op in inner:
        body.add_op(_cloned(op, mapping))
    mapping.update(argument)
    mapping.update(zip(composite.outputs, (mapping[v] for v in end.values), strict=True))
    for op in chain:
        body.add_op(_cloned(op, mapping))
    last = chain[-1]
    results = list(last.results)
    out = tl.YieldOp(*(mapping[r] for r in results))
    out.location = composite.location
    body.add_op(out)
    made_op = tl.CompositeOp(
        list(inputs), [r.type for r in results], Region(body), stage=composite.stage.data if composite.stage else None
    )
    made_op.location = composite.location
    return made_op


def _cloned(op: Operation, mapping: Mapping[SSAValue, SSAValue]) -> Operation:
    return op.clone(value_mapper=mapping)  # pyright: ignore[reportArgumentType] - the mapper is filled by clone


def _absorb(composite: tl.CompositeOp, chain: list[Operation]) -> None:
    """Put the joined composite in the place of the last op of the chain."""
    made = _joined(composite, chain)
    last = chain[-1]
    block = last.parent
    assert block is not None
    block.insert_op_before(made, last)
    for old, new in zip(last.results, made.outputs, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in reversed(chain):
        op.detach()
        op.erase()
    composite.detach()
    composite.erase()
