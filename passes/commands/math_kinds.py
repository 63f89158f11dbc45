"""Which `tl` ops the MATH engine does, and under which kind: as a command of their own or as an op of a composite."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from ...dialects import tl
from ...dialects.elementwise import BY_OP


def is_lane_by_lane(op: Operation) -> bool:
    """Lane i of the result depends on lane i of the operands alone, so the result may take the place of an operand."""
    return op.name in BY_OP or isinstance(op, tl.CmpOp | tl.SelectOp | tl.CastOp | arith.BitcastOp)


def math_kind(op: Operation) -> str:
    """The kind of MATH command (or op spec) that a lane-by-lane op or a reduction is."""
    match op:
        case tl.CmpOp():
            return f"cmp_{op.predicate.data}"
        case tl.SelectOp():
            return "select"
        case tl.CastOp():
            return "cast"
        case arith.BitcastOp():
            return "bitcast"
        case tl.ReduceOp():
            return f"reduce_{op.kind.data}"
        case _:
            return BY_OP[op.name].kind
