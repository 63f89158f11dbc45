"""Integer wraps on the way to an address, found while values are computed.

A region computes addresses in 64 bits, so a kernel whose i32 index arithmetic wraps does not mean what it says. Other
integer arithmetic (hashes, random numbers) wraps as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from .closures import Builder, Handler, Step
from .dtypes import numpy_dtype
from .scalars import SCALAR_HANDLERS, binary


@dataclass(frozen=True)
class Wrap:
    """An i32 operation on the way to an address whose exact result does not fit."""

    operation: Operation
    exact: int


_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
}
_I32 = np.iinfo(np.int32)


def wrap_reporting(addressing: set[Operation], report: Callable[[Wrap], None]) -> Mapping[str, Handler]:
    """Handlers of add, sub and mul that call `report` when an op of `addressing` wraps in i32, on scalars and on
    blocks.
    """

    def handler_of(name: str) -> Handler:
        exact, plain = _EXACT[name], SCALAR_HANDLERS[name]

        def handler(op: Operation, builder: Builder) -> Step | None:
            if op not in addressing or numpy_dtype(op.results[0].type) != np.dtype(np.int32):
                return plain(op, builder)
            is_block = isinstance(op.results[0].type, TensorType)

            def compute(a: Any, b: Any) -> Any:
                wide = exact(np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64))
                if (low := int(wide.min())) < _I32.min or int(wide.max()) > _I32.max:
                    report(Wrap(op, low if low < _I32.min else int(wide.max())))
                narrow = wide.astype(np.int32)
                return narrow if is_block else int(narrow)

            return binary(compute, op, builder)

        return handler

    return {name: handler_of(name) for name in _EXACT}


_ADDRESSES: Mapping[str, slice] = {
    "tl.addptr": slice(1, None),
    "ahbm.region": slice(1, None),
    "ahbm.cut": slice(1, None),
}


def addressing_ops(root: Operation) -> set[Operation]:
    """The ops whose results go into addresses: of pointers, offsets, sizes and bounds, through arithmetic and
    loop-carried values.
    """
    pending: list[SSAValue] = []
    for op in root.walk():
        if op.name in _ADDRESSES:
            pending.extend(op.operands[_ADDRESSES[op.name]])
    found: set[Operation] = set()
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, Operation):
            found.add(owner)
            pending.extend(owner.operands)
            for region in owner.regions:
                pending.extend(
                    v for block in region.blocks if block.last_op is not None for v in block.last_op.operands
                )
        elif (parent := owner.parent_op()) is not None:
            pending.extend(parent.operands)
    return found
