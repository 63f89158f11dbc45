"""A GEMM over regions with operands staged in TCM, whole or in pieces of K; or as single ops block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue

from ...backend_sim.target.machine import Machine
from ...dialects import tl
from ...dialects.region import CutOp, RegionOp, RegionType, operand_element
from ...dialects.shapes import shape_of
from ..commands.cpu_scalars import zero_of
from .gemm_choice import Choice, own_block_k
from .tile_ops import K_AXIS, do_to_block, without_ops


def stage_gemm(gemm: tl.GemmOp, choice: Choice) -> Sequence[tl.GemmOp | tl.DotOp]:
    """Load what is to be staged; the GEMMs that are left to be composites, in place of `gemm`."""
    names = [n for n in choice.staged if isinstance(_operand(gemm, n).type, RegionType)]
    if not names:
        return [gemm]
    if not choice.pieces:
        make = _Maker(gemm)
        zero, size = make.constant(0), make.constant(choice.chunk)
        return [make.piece(gemm, names, zero, size, choice.chunk, gemm.acc, at_once=choice.at_once, replaces=gemm)]
    return stage_in_pieces([gemm], names, choice.chunk)


def _operand(gemm: tl.GemmOp, name: str) -> SSAValue:
    return gemm.a if name == "a" else gemm.b


class _Maker:
    """Inserts ops before one op, with the location of the GEMM."""

    def __init__(self, before: Operation):
        self.before = before
        self.location = before.location
        self._loaded: dict[tuple[SSAValue, SSAValue], SSAValue] = {}

    def insert_op(self, op: Operation) -> Operation:
        op.location = self.location
        block = self.before.parent
        assert block is not None
        block.insert_op_before(op, self.before)
        return op

    def insert(self, op: Operation) -> SSAValue:
        return self.insert_op(op).results[0]

    def constant(self, value: int) -> SSAValue:
        return self.insert(arith.ConstantOp(IntegerAttr(value, i64)))

    def load(self, gemm: tl.GemmOp, name: str, start: SSAValue, size: SSAValue, chunk: int) -> SSAValue:
        """`chunk` lanes of K of an operand as a block; one that is there already is not read again."""
        value = _operand(gemm, name)
        if (value, start) in self._loaded:
            return self._loaded[value, start]
        region = self.insert(CutOp(value, start, size, K_AXIS[name]))
        rows, columns = shape_of(gemm.result.type)
        shape = [rows, chunk] if name == "a" else [chunk, columns]
        loaded = self.insert(tl.LoadRegionOp(region, TensorType(operand_element(value.type), shape)))
        loaded.name_hint = value.name_hint or name
        self._loaded[value, start] = loaded
        return loaded

    def piece(
        self,
        gemm: tl.GemmOp,
        names: Sequence[str],
        start: SSAValue,
        size: SSAValue,
        chunk: int,
        acc: SSAValue | None,
        *,
        at_once: Sequence[str] = (),
        replaces: tl.GemmOp | None = None,
    ) -> tl.GemmOp | tl.DotOp:
        """A product over `chunk` lanes of K from `start`: operands `names` as blocks, the others as regions. The ops of
        operands `at_once` are done to the whole block.
        """
        tiles = gemm.tiles.clone() if gemm.tiles is not None else None
        pair: dict[str, SSAValue] = {}
        for name in "ab":
            if name not in names:
                pair[name] = self.insert(CutOp(_operand(gemm, name), start, size, K_AXIS[name]))
                continue
            pair[name] = self.load(gemm, name, start, size, chunk)
            if tiles is not None and name in at_once:
                pair[name] = do_to_block(tiles, name, pair[name], self.insert_op)
                tiles = without_ops(tiles, name)
        kind = gemm.result.type
        if len(names) == len(pair) and tiles is None:
            made = tl.DotOp(pair["a"], pair["b"], acc, kind.element_type)
        else:
            made = tl.GemmOp(pair["a"], pair["b"], acc, kind, tiles)
        result = self.insert(made)
        result.name_hint = gemm.result.name_hint
        if replaces is not None:
            replaces.result.replace_all_uses_with(result)
            replaces.detach()
            replaces.erase()
        return made


def stage_in_pieces(gemms: Sequence[tl.GemmOp], names: Sequence[str], chunk: int) -> list[tl.GemmOp | tl.DotOp]:
    """A loop over all pieces but the last of GEMMs over one K, what they share being read once. The last pieces stand
    after it, so that what follows a GEMM can join its composite.
    """
    make = _Maker(gemms[-1])
    size = make.constant(chunk)
    last = make.insert(
        arith.SubiOp(make.insert(arith.MaxSIOp(_count(make, gemms[0], size), make.constant(1))), make.constant(1))
    )
    made: list[tl.GemmOp | tl.DotOp] = []

    def pieces(inside: _Maker, start: SSAValue, totals: Sequence[SSAValue]) -> list[SSAValue]:
        made.extend(inside.piece(g, names, start, size, chunk, t) for g, t in zip(gemms, totals, strict=True))
        return [each.result for each in made]

    totals = _loop(make, gemms, last, size, pieces)
    start = make.insert(arith.MuliOp(last, size))
    for gemm, total in zip(gemms, totals, strict=True):
        made.append(make.piece(gemm, names, start, size, chunk, total, replaces=gemm))
    return made


def single_ops(gemm: tl.GemmOp, machine: Machine) -> None:
    """The loop over blocks of K that the GEMM was raised from: load, load, dot."""
    make = _Maker(gemm)
    block_k = own_block_k(gemm, machine.pe.gemm.tile[1])
    size = make.constant(block_k)

    def block(inside: _Maker, start: SSAValue, totals: Sequence[SSAValue]) -> list[SSAValue]:
        a, b = (inside.load(gemm, name, start, size, block_k) for name in ("a", "b"))
        if gemm.tiles is not None:
            a = do_to_block(gemm.tiles, "a", a, inside.insert_op)
            b = do_to_block(gemm.tiles, "b", b, inside.insert_op)
        return [inside.insert(tl.DotOp(a, b, totals[0], gemm.result.type.element_type))]

    [total] = _loop(make, [gemm], _count(make, gemm, size), size, block)
    total.name_hint = gemm.result.name_hint
    gemm.result.replace_all_uses_with(total)
    gemm.detach()
    gemm.erase()


def _count(make: _Maker, gemm: tl.GemmOp, size: SSAValue) -> SSAValue:
    """How many pieces of `size` lanes K has."""
    region = next(v.owner for v in (gemm.a, gemm.b) if isinstance(v.owner, RegionOp))
    axis = 1 if region is gemm.a.owner else 0
    beyond = make.insert(arith.SubiOp(size, make.constant(1)))
    return make.insert(arith.DivSIOp(make.insert(arith.AddiOp(region.sizes[axis], beyond)), size))


def _loop(
    make: _Maker,
    gemms: Sequence[tl.GemmOp],
    count: SSAValue,
    size: SSAValue,
    body: Callable[[_Maker, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """`body(maker, start, sums)` for each of `count` pieces of `size` lanes; the last sums. They start from the
    accumulators of the GEMMs.
    """
    inits = [gemm.acc or _zero(make, gemm) for gemm in gemms]
    block = Block(arg_types=[i64, *(init.type for init in inits)])
    end = scf.YieldOp(*block.args[1:])
    end.location = make.location
    block.add_op(end)
    inside = _Maker(end)
    start = inside.insert(arith.MuliOp(block.args[0], size))
    end.operands = body(inside, start, block.args[1:])
    return make.insert_op(scf.ForOp(make.constant(0), count, make.constant(1), inits, block)).results


def _zero(make: _Maker, gemm: tl.GemmOp) -> SSAValue:
    kind = gemm.result.type
    return make.insert(tl.SplatOp(zero_of(kind.element_type, make.insert_op), shape_of(kind)))
