"""Ops between the load of an operand and its product (a cast, a dequantisation, a scale): a composite does them to each
tile that it fetches, so that what is read and fetched is as narrow as what lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import tl
from ...dialects.shapes import element_of, shape_of
from ..commands.math_kinds import is_lane_by_lane, math_kind
from ..raise_regions import uniform_number
from .operand_loads import load_of

K_AXIS = {"a": 1, "b": 0}

REPEATED = (tl.BroadcastOp, tl.SplatOp)
"""Views that repeat lanes: an op on tiles takes what they repeat."""

KEEP_ZERO = frozenset(("cast", "mul", "muli", "neg", "and", "shl", "shrsi", "shrui"))
"""Kinds of ops that make a zero of a zero, so that lanes beyond the end of an operand still count for nothing."""


@dataclass(frozen=True)
class TileOps:
    """`source` is what is fetched, `ops` what is done to it, in order, until it is an operand of the product."""

    source: SSAValue
    ops: tuple[Operation, ...] = ()

    @property
    def keep_zero(self) -> bool:
        """Whether a zero of the source is a zero of the operand."""
        return all(math_kind(op) in KEEP_ZERO for op in self.ops)

    def sides(self) -> list[SSAValue]:
        """What the ops take beside the tile."""
        tiles = {self.source, *(op.results[0] for op in self.ops)}
        return [v for op in self.ops for v in op.operands if v not in tiles]


def tile_ops(product: Operation, value: SSAValue) -> TileOps:
    """The ops on an operand of a product, back to its load; none where it does not come from one."""
    return _back_to_load(product.parent, value) or TileOps(value)


def ops_of(product: tl.DotOp | tl.GemmOp) -> dict[str, TileOps]:
    """The ops on both operands of a product. A block that is both of them is taken as it is."""
    if isinstance(product, tl.GemmOp):
        return {"a": TileOps(product.a), "b": TileOps(product.b)}
    found = {"a": tile_ops(product, product.a), "b": tile_ops(product, product.b)}
    if found["a"].source is found["b"].source:
        return {"a": TileOps(product.a), "b": TileOps(product.b)}
    return found


def _back_to_load(block: Block | None, value: SSAValue) -> TileOps | None:
    if load_of(value) is not None:
        return TileOps(value)
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not block or not value.has_one_use() or not is_lane_by_lane(op):
        return None
    found = [c for v in dict.fromkeys(op.operands) if _may_be_tile(op, v) and (c := _back_to_load(block, v))]
    # Scales may be loaded lane by lane as well; the operand itself has come the longest way.
    best = max(found, key=lambda c: len(c.ops), default=None)
    return None if best is None else TileOps(best.source, (*best.ops, op))


def _may_be_tile(op: Operation, value: SSAValue) -> bool:
    """Whether `op` may change tiles of `value`: only a cast gives them another element type."""
    result = op.results[0].type
    if isinstance(op, tl.CastOp):
        return len(shape_of(result)) == 2
    return value.type == result and len(shape_of(result)) == 2


def exchange_transposes(function: Operation) -> None:
    """Put the transpose of an operand of a dot before the lane-by-lane ops on what it transposes, as far as they take
    nothing beside it but numbers: a load is then transposed as a region.
    """
    for trans in [op for op in function.walk() if isinstance(op, tl.TransOp)]:
        while _can_exchange(trans):
            op = trans.operand.owner
            assert isinstance(op, Operation) and trans.parent is not None
            shape = [shape_of(trans.operand.type)[axis] for axis in trans.permutation]
            operands: list[SSAValue] = []
            for value in op.operands:
                if isinstance(value.owner, tl.SplatOp):
                    turned: Operation = tl.SplatOp(value.owner.operand, shape)
                elif (number := uniform_number(value)) is not None:
                    constant = arith.ConstantOp(number)
                    _before(constant, trans)
                    turned = tl.SplatOp(constant.result, shape)
                else:
                    turned = tl.TransOp(value, trans.permutation)
                _before(turned, trans)
                operands.append(turned.results[0])
            made = type(op).create(
                operands=operands,
                result_types=[trans.result.type],
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
            _before(made, trans, op)
            trans.result.replace_all_uses_with(made.results[0])
            for each in (trans, op):
                each.detach()
                each.erase()
            moved = [v.owner for v in operands if isinstance(v.owner, tl.TransOp)]
            trans = moved[0]


def _can_exchange(trans: tl.TransOp) -> bool:
    op = trans.operand.owner
    if not isinstance(op, Operation) or not is_lane_by_lane(op) or not trans.operand.has_one_use():
        return False
    if not all(isinstance(use.operation, tl.DotOp) or is_lane_by_lane(use.operation) for use in trans.result.uses):
        return False
    tiles = [v for v in op.operands if not isinstance(v.owner, tl.SplatOp) and uniform_number(v) is None]
    return len(tiles) == 1 and _back_to_load(op.parent, tiles[0]) is not None


def _before(op: Operation, place: Operation, like: Operation | None = None) -> None:
    op.location = (like or place).location
    assert place.parent is not None
    place.parent.insert_op_before(op, place)


def is_same_along(side: SSAValue, axis: int) -> bool:
    """Whether all lanes of a side operand along an axis are one."""
    if isinstance(side.owner, tl.BroadcastOp):
        return shape_of(side.owner.operand.type)[axis] == 1
    return isinstance(side.owner, tl.SplatOp) or uniform_number(side) is not None


def tile_region(a: TileOps, b: TileOps) -> Region:
    """The ops on both operands as the `tiles` of a `tl.gemm`, which takes the sources."""
    body = Block(arg_types=[a.source.type, b.source.type])
    ends: list[SSAValue] = []
    for ops, argument in zip((a, b), body.args, strict=True):
        made: dict[SSAValue, SSAValue] = {ops.source: argument}
        for op in ops.ops:
            for side in op.operands:
                if side not in made and isinstance(side.owner, REPEATED):
                    repeated = side.owner.clone()
                    body.add_op(repeated)
                    made[side] = repeated.result
            body.add_op(op.clone(made))
            made[op.results[0]] = _last(body).results[0]
        ends.append(made[ops.ops[-1].results[0]] if ops.ops else argument)
    body.add_op(tl.YieldOp(*ends))
    return Region(body)


def _last(body: Block) -> Operation:
    assert body.last_op is not None
    return body.last_op


def captured(tiles: Region) -> list[SSAValue]:
    """What the ops on tiles take from outside, in order."""
    own = {*tiles.block.args, *(r for op in tiles.block.ops for r in op.results)}
    return list(dict.fromkeys(v for op in tiles.block.ops for v in op.operands if v not in own))


def ops_on(tiles: Region, name: str) -> list[Operation]:
    """The ops of `tiles` that make the tile of one operand, views aside."""
    return [op for op in _way_to(tiles, name) if not isinstance(op, REPEATED)]


def _way_to(tiles: Region, name: str) -> list[Operation]:
    """The ops of `tiles` that the tile of one operand comes from, in order."""
    end = _last(tiles.block).operands["ab".index(name)]
    wanted, found = {end}, list[Operation]()
    for op in reversed(list(tiles.block.ops)):
        if any(result in wanted for result in op.results):
            wanted.update(op.operands)
            found.insert(0, op)
    return found


def do_to_block(tiles: Region, name: str, block: SSAValue, insert: Callable[[Operation], Operation]) -> SSAValue:
    """The ops of `tiles` on one operand, done to a whole block of it at once."""
    shape = shape_of(block.type)
    made: dict[SSAValue, SSAValue] = {tiles.block.args["ab".index(name)]: block}

    def kind(value: SSAValue) -> Attribute:
        return TensorType(element_of(value.type), shape)

    for op in _way_to(tiles, name):
        for side in op.operands:
            if side not in made and shape_of(side.type) and (number := uniform_number(side)) is not None:
                made[side] = insert(tl.SplatOp(insert(arith.ConstantOp(number)).results[0], shape)).results[0]
        operands = [made.get(v, v) for v in op.operands]
        same = type(op).create(
            operands=operands,
            result_types=[kind(op.results[0])],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        made[op.results[0]] = insert(same).results[0]
    return made[_last(tiles.block).operands["ab".index(name)]]


def without_ops(tiles: Region, name: str) -> Region | None:
    """`tiles`, which belong to no op yet, once the ops on one operand are done already; None if no ops are left."""
    position = "ab".index(name)
    if not any(ops_on(tiles, other) for other in "ab" if other != name):
        tiles.drop_all_references()
        return None
    body = tiles.block
    done = _last(body).operands[position].type
    argument = body.insert_arg(done, position)
    _last(body).operands[position] = argument
    for op in reversed([op for op in body.ops if op is not _last(body)]):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    body.erase_arg(body.args[position + 1])
    return tiles
