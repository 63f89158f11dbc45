"""Where each value of a kernel will live once it is commands: the first question of `lower-to-commands`.

| residence | what it is | what it costs |
|---|---|---|
| CPU | a scalar, pointer or region of PE_CPU | nothing |
| BUFFER | a block, or a scalar that comes out of a block, with bytes of its own in TCM | a command writes it |
| VIEW | another look at a block in a buffer | nothing |
| INDEX | a block of integers that is affine in its indices, as the analysis finds | nothing |
| UNIFORM | a block all of whose lanes hold one scalar of PE_CPU | nothing |
| POINTERS | a block of pointers: a scalar pointer and a block of offsets | what the offsets cost |

It decides by reading the IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ...dialects import tl
from ...dialects.pointer import PointerType
from ...dialects.region import CutOp, RegionOp, RegionType
from ...dialects.shapes import element_of, is_float, is_integer
from ..analysis.affine import AffineAnalysis
from ..analysis.liveness import in_program_order
from .math_kinds import is_lane_by_lane


def is_block(value: SSAValue) -> bool:
    """Whether a value has lanes."""
    return isinstance(value.type, TensorType)


class Residence(Enum):
    CPU = auto()
    BUFFER = auto()
    VIEW = auto()
    INDEX = auto()
    UNIFORM = auto()
    POINTERS = auto()


VIEW_OPS = (tl.ExpandDimsOp, tl.BroadcastOp, tl.ReshapeOp, tl.TransOp)


@irdl_op_definition
class KeepOp(IRDLOperation):
    """The same value in a buffer of its own. It exists only while `lower-to-commands` runs; it becomes a fill or a
    copy.
    """

    name = "tl.keep"

    operand = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[operand.type])


def enters(op: Operation) -> bool:
    """Whether the ops that `op` holds are commands of their own; those of a composite are not."""
    return not isinstance(op, tl.CompositeOp)


@dataclass
class Residences:
    """The residence of every value of a function, and what the views and pointers among them look at."""

    analysis: AffineAnalysis
    of: dict[SSAValue, Residence] = field(default_factory=dict[SSAValue, Residence])

    def __getitem__(self, value: SSAValue) -> Residence:
        return self.of.get(value, Residence.CPU)

    def has_storage(self, value: SSAValue) -> bool:
        """Whether bytes of TCM are kept for this very value."""
        return self[value] is Residence.BUFFER or (self[value] is Residence.POINTERS and _adds_offsets(value))

    def roots(self, value: SSAValue) -> Iterator[tuple[SSAValue, bool]]:
        """(value with storage, whether lanes are where they are in it) of everything that reading `value` reads."""
        in_place = True
        todo = [value]
        while todo:
            at = todo.pop()
            if self.has_storage(at):
                yield at, in_place
            elif isinstance(at.type, RegionType):
                in_place = False
                todo += at.owner.indices if isinstance(at.owner, RegionOp) else _cut_region(at)
            elif self[at] in (Residence.VIEW, Residence.POINTERS):
                op = at.owner
                assert isinstance(op, Operation)
                # A reshape leaves every lane at its byte; other views move or repeat lanes.
                in_place = in_place and isinstance(op, tl.ReshapeOp | tl.AddPtrOp)
                todo += op.operands[:1] if not isinstance(op, tl.AddPtrOp) else op.operands


def _cut_region(region: SSAValue) -> tuple[SSAValue, ...]:
    return (region.owner.region,) if isinstance(region.owner, CutOp) else ()


def _adds_offsets(pointers: SSAValue) -> bool:
    """A block of pointers that is moved on a second time: the offsets have to be added up."""
    op = pointers.owner
    if not isinstance(op, tl.AddPtrOp):
        return not isinstance(op, tl.SplatOp | tl.ExpandDimsOp | tl.BroadcastOp | tl.ReshapeOp | tl.TransOp)
    return not isinstance(through_views(op.pointer).owner, tl.SplatOp)


def through_views(value: SSAValue) -> SSAValue:
    """What a chain of views looks at."""
    while isinstance(value.owner, VIEW_OPS):
        value = value.owner.operands[0]
    return value


def residences(function: func.FuncOp) -> Residences:
    """The residence of every value of `function`."""
    analysis = AffineAnalysis(function)
    found = Residences(analysis)
    resident = _resident_scalars(function)
    for value in _values(function):
        found.of[value] = _residence(value, found, resident)
    return found


def _values(function: func.FuncOp) -> Iterator[SSAValue]:
    for block in function.body.blocks:
        yield from block.args
    for op in in_program_order(function.body, enters):
        # A loop's results come before its body here; only what an op's own operands decide may be asked of them.
        yield from op.results
        if enters(op):
            for region in op.regions:
                for block in region.blocks:
                    yield from block.args


def _residence(value: SSAValue, found: Residences, resident: dict[SSAValue, None]) -> Residence:
    if not is_block(value):
        return Residence.BUFFER if value in resident else Residence.CPU
    op = value.owner
    if isinstance(element_of(value.type), PointerType):
        return Residence.POINTERS
    if isinstance(op, Operation) and _is_uniform(op, found):
        return Residence.UNIFORM
    known = found.analysis.of(value) if is_integer(value.type) else None
    if known is not None and known.pure_affine:
        return Residence.INDEX
    if isinstance(op, tl.SplatOp):
        return Residence.VIEW
    if isinstance(op, tl.TransOp):
        return Residence.VIEW if _is_for_products(value) else Residence.BUFFER
    return Residence.VIEW if isinstance(op, VIEW_OPS) else Residence.BUFFER


def _is_uniform(op: Operation, found: Residences) -> bool:
    match op:
        case arith.ConstantOp():
            return isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat()
        case tl.SplatOp():
            return found[op.operand] is Residence.CPU
        case tl.ExpandDimsOp() | tl.BroadcastOp() | tl.ReshapeOp() | tl.TransOp():
            return found[op.operand] is Residence.UNIFORM
        case tl.RemfOp():
            return False
        case _:
            return is_lane_by_lane(op) and all(found[v] is Residence.UNIFORM for v in op.operands)


def _is_for_products(value: SSAValue) -> bool:
    """Nothing but products (and views that only they read) reads this block, and a product takes lanes in any order."""
    return all(
        isinstance(use.operation, tl.DotOp | tl.GemmOp)
        or (isinstance(use.operation, tl.CompositeOp) and _is_factor(use.operation, use.index))
        or (isinstance(use.operation, VIEW_OPS) and _is_for_products(use.operation.results[0]))
        for use in value.uses
    )


def _is_factor(composite: tl.CompositeOp, index: int) -> bool:
    """Whether an input of a composite is an operand of its product and nothing else."""
    uses = composite.body.block.args[index].uses
    return all(use.operation is composite.product and use.index < 2 for use in uses)


def _resident_scalars(function: func.FuncOp) -> dict[SSAValue, None]:
    """The scalars that live in TCM: they come out of blocks, float loads, and whatever is computed from such."""
    resident: dict[SSAValue, None] = {}
    ops = in_program_order(function.body, enters)
    size = -1
    # Loops hand values back to their start, so this runs until nothing is added: one round more than loops are deep.
    while size != len(resident):
        size = len(resident)
        for op in ops:
            resident.update(dict.fromkeys(_resident_values(op, resident)))
    return resident


def _resident_values(op: Operation, resident: dict[SSAValue, None]) -> Iterator[SSAValue]:
    scalars = [r for r in op.results if not is_block(r)]
    match op:
        case tl.ReduceOp() | tl.RemfOp() | KeepOp():
            yield from scalars
        case tl.LoadOp() | tl.AtomicOp():
            yield from (r for r in scalars if is_float(r.type))
        case scf.ForOp():
            body = op.body.block
            for init, arg, end, result in zip(op.iter_args, body.args[1:], _yielded(body), op.results, strict=True):
                if init in resident or end in resident or arg in resident:
                    yield from (arg, result) if not is_block(arg) else ()
        case scf.WhileOp():
            before, after = op.before_region.block, op.after_region.block
            ends = (op.arguments, _yielded(after), before.args, after.args, op.results)
            for each in zip(*ends, strict=True):
                if any(v in resident for v in each):
                    yield from (v for v in each[2:] if not is_block(v))
        case scf.IfOp() if op.results:
            for result, *ends in zip(op.results, *(_yielded(r.block) for r in op.regions), strict=True):
                if result in scalars and any(end in resident for end in ends):
                    yield result
        case _:
            if is_lane_by_lane(op) and any(v in resident for v in op.operands):
                yield from scalars


def _yielded(block: Block) -> tuple[SSAValue, ...]:
    last = block.last_op
    return tuple(last.operands) if isinstance(last, scf.YieldOp) else ()
