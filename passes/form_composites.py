"""`form-composites`: every product becomes a composite whose operands are streamed from HBM or staged in TCM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.cost import GEMM_ELEMENTS
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from .commands.math_kinds import math_kind
from .composites.gemm_choice import Choice, Stage, choose, factor_element, reads_of
from .composites.iteration_cost import single_ops_are_faster
from .composites.loaded_ahead import InLoops, has_recipe, is_alone, loaded_ahead, loop_of
from .composites.loaded_once import issue_early, loaded_once
from .composites.operand_loads import absorb, drop_zero_accumulator, erase_dead_loads, stream_b
from .composites.shared_operand import choose_together, groups_of
from .composites.stage_operands import single_ops, stage_gemm, stage_in_pieces
from .composites.tile_ops import TileOps, captured, ops_of, ops_on, tile_region

When = Literal["always", "auto"]


@dataclass(frozen=True)
class FormCompositesPass(ModulePass):
    """Wrap every dot and every GEMM over regions into a composite.

    before:  %a = tl.load_region %ra : ... -> tensor<64x64xf16>
             %d = tl.dot %a, %q : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    after:   %d = tl.composite(%x = %ra : !ahbm.region<f16, 2>, %y = %q : tensor<64x64xf16>) {stage = "b"} -> ... {
               %g = tl.gemm %x, %y : ... ; tl.yield %g }

    Lane-by-lane ops between the load of an operand and the product (a cast, a dequantisation, a scale) are done to
    each tile that is fetched, where that costs less than doing them once to the whole block.

    An operand that is loaded for this product alone, in the same block and with no write in between, is streamed: its
    tiles are read while the composite runs. Any other operand is staged: it lies in TCM before the composite is issued.
    In a loop of three iterations or more with other products, an operand that a stream would read more than once is
    staged too, where it fits: it is loaded while they run, and read once. So is the b of a composite with a recipe.

    needs:   `raise-regions`; `raise-k-loops` for composites over the whole of K; arguments with `ahbm.value` (facts of
             the launch) to stage an operand over the whole of K, as its size must be known; `ahbm.sharers` on a pointer
             says how many PEs share each slice of the tensor, which counts in the cost.
    keeps:   values. Leaves a remark for every product: formed, or not and why.
    options: stage=a|b|none|auto  the operand to be read as a whole before the composite; `auto` takes the cheapest by
                                  the cost model, which may be both in pieces of K where loops load ahead. Over the
                                  whole of K it is one dma_read; what does not fit the scratch is cut along K, and the
                                  pieces are added up.
             when=always|auto     `auto` leaves a product as single-op commands where those are cheaper.
             in-loops=stream|load  whether a dot in a loop streams what the loop loads for it, or leaves it to the
                                  loads, for `prefetch-loads`; the only product of a loop streams
    """

    name = "form-composites"

    stage: Literal["a", "b", "none", "auto"] = "auto"
    when: When = "always"
    in_loops: InLoops = "stream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            for composite in [each for each in function.walk() if isinstance(each, tl.CompositeOp)]:
                if composite.recipe is not None and isinstance(composite.product, tl.DotOp):
                    self._feed(composite, composite.product, machine)
            products = [each for each in function.walk() if isinstance(each, tl.DotOp | tl.GemmOp)]
            for group in groups_of([p for p in products if not isinstance(p.parent_op(), tl.CompositeOp)]):
                if not self._form_together(group, machine):
                    for product in group:
                        self._form(product, machine)

    def _form_together(self, group: Sequence[tl.DotOp | tl.GemmOp], machine: Machine) -> bool:
        """Form composites over pieces of K of several GEMMs that share an operand, if that is cheaper."""
        gemms = [each for each in group if isinstance(each, tl.GemmOp)]
        if len(gemms) < 2 or self.in_loops != "load" or self.stage != "auto":
            return False
        if str(factor_element(gemms[0])) not in GEMM_ELEMENTS:
            return False
        choice = choose_together(gemms, machine, weigh_single=self.when == "auto")
        if choice is None:
            return False
        for gemm in gemms:
            remark(gemm, self.name, "composite", "formed", choice.reason)
            drop_zero_accumulator(gemm)
        for part in stage_in_pieces(gemms, choice.staged, choice.chunk):
            _wrap(part, part.a, part.b, None, choice)
        return True

    def _feed(self, composite: tl.CompositeOp, product: tl.DotOp, machine: Machine) -> None:
        """Let the product of a composite that begins with a recipe read its b from where it lies, or leave its load."""
        if not isinstance(product.b, BlockArgument) or composite.as_written is not None:
            return
        loaded, reads = composite.inputs[product.b.index], reads_of(product, machine)["b"]
        if self.stage != "b" and not self._stays_load(composite, loaded, reads, machine):
            stream_b(composite)

    def _stays_load(self, product: Operation, value: SSAValue, reads: int, machine: Machine) -> bool:
        """Whether an operand of a product in a loop, or of a composite, is left to its load, which a stream would read
        `reads` times.
        """
        if self.in_loops == "load" and loaded_ahead(product, value, machine) is not None:
            return True
        load = loaded_once(product, value, machine) if self.stage == "auto" and reads > 1 else None
        if load is not None:
            issue_early(load, machine)
        return load is not None

    def _form(self, product: tl.DotOp | tl.GemmOp, machine: Machine) -> None:
        element = str(factor_element(product))
        if element not in GEMM_ELEMENTS:
            # `check-limits` tells the user.
            remark(product, self.name, "composite", "refused", f"the GEMM engine does not take {element}")
            return
        if isinstance(product, tl.DotOp) and product.is_batch:
            remark(product, self.name, "composite", "refused", "a batch of products")
            return
        wanted: Stage | None = None if self.stage == "auto" else self.stage
        loop = loop_of(product)
        # Single ops would hold up PE_CPU, which is to issue the composites of a recipe beside them.
        weigh = self.when == "auto" and not (loop is not None and has_recipe(loop))
        if weigh and isinstance(product, tl.DotOp) and loop is not None and single_ops_are_faster(loop, machine):
            remark(product, self.name, "composite", "refused", "single ops do an iteration of the loop faster")
            return
        ops = ops_of(product)
        choice = choose(product, machine, wanted, weigh_single=weigh, ahead=self.in_loops == "load")
        if choice.single:
            remark(product, self.name, "composite", "refused", choice.reason)
            if isinstance(product, tl.GemmOp):
                single_ops(product, machine)
            return
        if isinstance(product, tl.DotOp) and not is_alone(product):
            reads = reads_of(product, machine)
            more = [n for n in "ab" if n not in choice.at_once]
            more = [n for n in more if self._stays_load(product, ops[n].source, reads[n], machine)]
            choice = choice.with_staged(more, reads)
        if choice.refused:
            remark(product, self.name, "composite", "refused", choice.refused)
        remark(product, self.name, "composite", "formed", choice.reason)
        drop_zero_accumulator(product)
        if isinstance(product, tl.GemmOp):
            for part in stage_gemm(product, choice):
                tiles = part.tiles.clone() if isinstance(part, tl.GemmOp) and part.tiles is not None else None
                _wrap(part, part.a, part.b, tiles, choice)
            return
        a, b = (TileOps(v) if n in choice.at_once else ops[n] for n, v in (("a", product.a), ("b", product.b)))
        tiles = tile_region(a, b) if a.ops or b.ops else None
        regions = [v if n in choice.staged else absorb(product, v) for n, v in (("a", a.source), ("b", b.source))]
        _wrap(product, regions[0], regions[1], tiles, choice)


def _wrap(product: tl.DotOp | tl.GemmOp, a: SSAValue, b: SSAValue, tiles: Region | None, choice: Choice) -> None:
    """Put a composite of `a` and `b` (regions or blocks), with the ops on their tiles, in the place of a product."""
    inputs = [a, b] + ([product.acc] if product.acc is not None else [])
    inputs = list(dict.fromkeys([*inputs, *(captured(tiles) if tiles is not None else ())]))
    body = Block(arg_types=[v.type for v in inputs])
    argument = dict(zip(inputs, body.args, strict=True))
    for value, arg in argument.items():
        arg.name_hint = value.name_hint
    acc = argument[product.acc] if product.acc is not None else None
    kind = product.result.type
    blocks = tiles is None and isinstance(a.type, TensorType) and isinstance(b.type, TensorType)
    if blocks:
        assert isinstance(product, tl.DotOp)
        precision = product.input_precision.data if product.input_precision is not None else None
        inner = tl.DotOp(argument[a], argument[b], acc, kind.element_type, precision)
    else:
        for op in tiles.block.ops if tiles is not None else ():
            op.operands = [argument.get(v, v) for v in op.operands]
        inner = tl.GemmOp(argument[a], argument[b], acc, kind, tiles)
    end = tl.YieldOp(inner.result)
    body.add_ops([inner, end])
    staged = "".join(choice.staged)
    made = tl.CompositeOp(inputs, [kind], Region(body), stage=staged if staged in ("a", "b") else "none")
    for op in (inner, end, made):
        op.location = product.location
    block = product.parent
    assert block is not None
    block.insert_op_before(made, product)
    for name in "ab":
        if tiles is not None and (ops := [math_kind(op) for op in ops_on(tiles, name)]):
            remark(made, FormCompositesPass.name, "operand", "fused", f"{', '.join(ops)} on the tiles of {name}")
    made.outputs[0].name_hint = product.result.name_hint
    product.result.replace_all_uses_with(made.outputs[0])
    operands = [product.a, product.b]
    product.detach()
    product.erase()
    erase_dead_loads(operands)
