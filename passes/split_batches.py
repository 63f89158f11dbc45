"""`split-batches`: a batch of products, each with a `b` of its own, becomes as many products of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ..dialects import tl
from ..dialects.region import RegionOp
from ..dialects.remarks import remark
from ..dialects.shapes import element_of, shape_of, with_shape
from .analysis.affine import AffineAnalysis
from .analysis.materialise import Materialiser
from .analysis.poly import Poly
from .analysis.region_form import RegionForm, read, write
from .bounds import NotNegative
from .commands.math_kinds import is_lane_by_lane
from .loops.refused import Refused


@dataclass(frozen=True)
class SplitBatchesPass(ModulePass):
    """Make every product of a batch one of its own, with all that hangs together with it.

    before:  %d = tl.dot %a, %b : tensor<4x32x64xf16>, tensor<4x64x16xf16> -> tensor<4x32x16xf32>
             tl.store_region %r, %d : !ahbm.region<f32, 3>, tensor<4x32x16xf32>
    after:   %d0 = tl.dot %a0, %b0 : tensor<32x64xf16>, tensor<64x16xf16> -> tensor<32x16xf32>
             tl.store_region %r0, %d0 : !ahbm.region<f32, 2>, tensor<32x16xf32>
             ... and so for the three others

    Loads, stores, lane-by-lane ops, reductions of later axes and sums that loops carry are split too, so that each
    product can be a GEMM over the whole of K or a composite with an epilogue.

    needs:   `raise-regions`; `fold-batches` before it, for what need not be split.
    keeps:   values. A batch stays one where something it hangs together with needs all of it, or where it has more
             products than `most`; a remark says which.
    options: most=16  how many products are written out at most
    """

    name = "split-batches"

    most: NotNegative = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            seen: dict[tl.DotOp, None] = {}
            while (dot := next((d for d in _batches(function) if d not in seen), None)) is not None:
                count = shape_of(dot.result.type)[0]
                try:
                    if count > self.most:
                        raise Refused(f"a batch of {count} products, more than {self.most}")
                    split = _Split(function, count)
                    split.collect(dot)
                except Refused as refusal:
                    remark(dot, self.name, "dot", "refused", str(refusal))
                    seen[dot] = None
                    continue
                for each in split.values:
                    if isinstance(each.owner, tl.DotOp):
                        remark(each.owner, self.name, "dot", "split", f"{count} products")
                split.run()


def _batches(function: func.FuncOp) -> Iterator[tl.DotOp]:
    return (each for each in function.walk() if isinstance(each, tl.DotOp) and each.is_batch)


@dataclass
class _Split:
    """The blocks that are split along their first axis of `count` lanes, and the parts of each."""

    function: func.FuncOp
    count: int
    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    stores: dict[tl.StoreRegionOp, None] = field(default_factory=dict[tl.StoreRegionOp, None])
    parts: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    old: list[Operation] = field(default_factory=list[Operation])
    forms: dict[SSAValue, RegionForm] = field(default_factory=dict[SSAValue, RegionForm])
    analysis: AffineAnalysis | None = None

    # What hangs together.

    def collect(self, dot: tl.DotOp) -> None:
        """Find all blocks that have to be split with a product. Raises Refused."""
        todo: list[SSAValue] = [dot.result]
        while todo:
            value = todo.pop()
            if value in self.values:
                continue
            if shape_of(value.type)[:1] != (self.count,):
                raise Refused(f"{value.type} does not have the axis of the batch first")
            self.values[value] = None
            todo += self._sources(value)
            for use in value.uses:
                todo += self._taken_by(use.operation, use.index)

    def _sources(self, value: SSAValue) -> Sequence[SSAValue]:
        op = value.owner
        if isinstance(value, BlockArgument):
            loop = value.owner.parent_op()
            if not isinstance(loop, scf.ForOp) or not value.index:
                raise Refused("a block from outside cannot be split")
            return _carried(loop, value.index - 1)
        match op:
            case tl.LoadRegionOp():
                self._check_region(op.region)
                return ()
            case scf.ForOp():
                assert isinstance(value, OpResult)
                return _carried(op, value.index)
            case tl.SplatOp():
                return ()
            case arith.ConstantOp() if isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat():
                return ()
            case tl.BroadcastOp() if shape_of(op.operand.type)[0] == 1:
                return ()
            case Operation() if _splits(op):
                return [v for v in op.operands if shape_of(v.type)]
            case _:
                name = op.name if isinstance(op, Operation) else "its maker"
                raise Refused(f"{name} makes all of a batch at once")

    def _taken_by(self, user: Operation, index: int) -> Sequence[SSAValue]:
        match user:
            case tl.StoreRegionOp():
                self._check_region(user.region)
                self.stores[user] = None
                return ()
            case scf.YieldOp() if isinstance(loop := user.parent_op(), scf.ForOp):
                return _carried(loop, index)
            case scf.ForOp():
                return _carried(user, index - 3)
            case _ if user.results and _splits(user):
                return user.results
            case _:
                raise Refused(f"{user.name} needs all of the batch")

    def _check_region(self, region: SSAValue) -> None:
        op = region.owner
        if not isinstance(op, RegionOp) or op.axis_kinds[0] != "affine":
            raise Refused("the products of the batch do not lie a stride apart")
        # Before anything is changed, as the analysis wants whole loops.
        self.analysis = self.analysis or AffineAnalysis(self.function)
        self.forms[region] = form = read(op, self.analysis)
        if form.axes[0].lowers or form.axes[0].uppers:
            raise Refused("the batch has a bound")

    # The parts.

    def run(self) -> None:
        """Put the parts in the place of everything that was collected."""
        self._block(self.function.body.block)
        for op in reversed(self.old):
            op.detach()
            op.erase()

    def _block(self, block: Block) -> None:
        """Split what a block holds: the loads where they are, whatever follows without another effect product by
        product, so that the store of one can join its composite.
        """
        run: list[Operation] = []
        for op in list(block.ops):
            collected = (op.results and op.results[0] in self.values) or op in self.stores
            if isinstance(op, tl.LoadRegionOp) and collected and not any(each in self.stores for each in run):
                self._write([op], op)
            elif collected and not op.regions:
                run.append(op)
            elif op.regions or op is block.last_op or not is_side_effect_free(op):
                self._write(run, op)
                run = []
                if isinstance(op, scf.ForOp):
                    self._loop(op)
                else:
                    for region in op.regions:
                        for inner in region.blocks:
                            self._block(inner)

    def _write(self, ops: Sequence[Operation], before: Operation) -> None:
        for n in range(self.count):
            for op in ops:
                new = self._part(op, n, before)
                _insert(new, before, op)
                for result in new.results:
                    result.name_hint = op.results[0].name_hint
                    self.parts.setdefault(op.results[0], []).append(result)
        self.old += ops

    def _part(self, op: Operation, n: int, before: Operation) -> Operation:
        """The n-th part of what an op does; what it needs besides goes before `before`."""
        shape = shape_of(op.results[0].type)[1:] if op.results else ()
        of = {v: self.parts[v][n] for v in op.operands if v in self.parts}
        match op:
            case tl.LoadRegionOp():
                kind = TensorType(element_of(op.result.type), shape)
                return tl.LoadRegionOp(self._region_part(op, op.region, n, before), kind, op.hints)
            case tl.StoreRegionOp():
                return tl.StoreRegionOp(self._region_part(op, op.region, n, before), of[op.value], op.hints)
            case tl.DotOp():
                precision = op.input_precision.data if op.input_precision is not None else None
                acc = of[op.acc] if op.acc is not None else None
                return tl.DotOp(of[op.a], of[op.b], acc, element_of(op.result.type), precision)
            case tl.SplatOp():
                return tl.SplatOp(op.operand, shape)
            case arith.ConstantOp():
                assert isinstance(op.value, DenseIntOrFPElementsAttr)
                number = _insert(arith.ConstantOp(next(op.value.iter_attrs())), before, op)
                return tl.SplatOp(number, shape)
            case tl.BroadcastOp():
                source = of.get(op.operand)
                if source is None:
                    source = _insert(tl.ReshapeOp(op.operand, shape_of(op.operand.type)[1:]), before, op)
                return tl.BroadcastOp(source, shape)
            case tl.ExpandDimsOp():
                return tl.ExpandDimsOp(of[op.operand], op.axis.value.data - 1)
            case tl.ReduceOp():
                return tl.ReduceOp(
                    op.kind.data, of[op.operand], op.axis.value.data - 1, unsigned=op.unsigned is not None
                )
            case tl.TransOp():
                return tl.TransOp(of[op.operand], [axis - 1 for axis in op.permutation[1:]])
            case _:
                return type(op).create(
                    operands=[of.get(v, v) for v in op.operands],
                    result_types=[with_shape(op.results[0].type, shape)],
                    properties=dict(op.properties),
                    attributes=dict(op.attributes),
                )

    def _region_part(self, op: Operation, region: SSAValue, n: int, before: Operation) -> SSAValue:
        """The region at lane n of the first axis of a region."""
        assert self.analysis is not None
        form = self.forms[region]
        first, *rest = form.axes
        maker = Materialiser(self.analysis.symbols, before, op.location)
        return write(replace(form, offset=form.offset + first.stride * Poly.of(n), axes=tuple(rest)), maker).result

    def _loop(self, loop: scf.ForOp) -> None:
        body = loop.body.block
        numbers = [n for n, arg in enumerate(body.args[1:]) if arg in self.values]
        if not numbers:
            self._block(body)
            return
        kept = [n for n in range(len(loop.iter_args)) if n not in numbers]
        arguments = [body.args[n + 1] for n in numbers]
        for argument in arguments:
            kind = with_shape(argument.type, shape_of(argument.type)[1:])
            self.parts[argument] = [body.insert_arg(kind, len(body.args)) for _ in range(self.count)]
            for part in self.parts[argument]:
                part.name_hint = argument.name_hint
        self._block(body)
        last = body.last_op
        assert last is not None
        split = [part for n in numbers for part in self.parts[last.operands[n]]]
        last.operands = [*(last.operands[n] for n in kept), *split]
        inits = [loop.iter_args[n] for n in kept] + [p for n in numbers for p in self.parts[loop.iter_args[n]]]
        for argument in arguments:
            # Only ops that are about to go still take it.
            argument.replace_all_uses_with(self.parts[argument][0])
            body.erase_arg(argument)
        new = scf.ForOp(loop.lb, loop.ub, loop.step, inits, loop.detach_region(loop.body))
        new.location = loop.location
        assert loop.parent is not None
        loop.parent.insert_op_before(new, loop)
        for n, result in zip(kept, new.results, strict=False):
            result.name_hint = loop.results[n].name_hint
            loop.results[n].replace_all_uses_with(result)
        rest: list[SSAValue] = list(new.results[len(kept) :])
        for position, n in enumerate(numbers):
            self.parts[loop.results[n]] = rest[position * self.count : (position + 1) * self.count]
        self.old.append(loop)


def _carried(loop: scf.ForOp, number: int) -> Sequence[SSAValue]:
    """What a loop carries as number `number`: init, argument, next value, result."""
    last = loop.body.block.last_op
    assert last is not None
    return loop.iter_args[number], loop.body.block.args[number + 1], last.operands[number], loop.results[number]


def _splits(op: Operation) -> bool:
    """Whether the parts of what an op gives follow from the parts of what it takes."""
    match op:
        case tl.DotOp():
            return op.is_batch
        case tl.ExpandDimsOp() | tl.ReduceOp():
            return op.axis.value.data > 0
        case tl.BroadcastOp():
            return True
        case tl.TransOp():
            return op.permutation[0] == 0
        case _:
            return is_lane_by_lane(op)


def _insert(op: Operation, before: Operation, like: Operation) -> SSAValue:
    """Put `op` before another, with the location of `like`; what it gives, if anything."""
    op.location = like.location
    assert before.parent is not None
    before.parent.insert_op_before(op, before)
    return op.results[0] if op.results else like.operands[0]
