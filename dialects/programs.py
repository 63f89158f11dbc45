"""What a function says of the programs that it runs as: how many a PE takes up at once, and their scratch."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

OVERLAP_ATTRIBUTE = "ahbm.overlap"
"""Attribute of a function: its programs overlap. A number says how many a PE takes up at once."""

PROGRAMS_ATTRIBUTE = "ahbm.programs"
"""Attribute of a function, a fact of its launch: how many programs the busiest PE has, one if it is not there."""

SCRATCH_ATTRIBUTE = "ahbm.scratch_bytes"
"""Attribute of a function: bytes of scratch that a program needs."""


def kernel_of(op: Operation) -> func.FuncOp:
    """The function that an op stands in."""
    at = op.parent_op()
    while not isinstance(at, func.FuncOp):
        assert at is not None, f"{op.name} stands in no function"
        at = at.parent_op()
    return at


def overlap(function: func.FuncOp) -> int | None:
    """How many programs of a kernel a PE takes up at once: 1 if they do not overlap, None if nothing says how many."""
    return _number(function, OVERLAP_ATTRIBUTE) if OVERLAP_ATTRIBUTE in function.attributes else 1


def programs_per_pe(function: func.FuncOp) -> int:
    """How many programs of a launch the busiest PE has, as far as that is known."""
    return _number(function, PROGRAMS_ATTRIBUTE) or 1


def next_overlaps(function: func.FuncOp) -> bool:
    """Whether another program of the kernel may run beside the end of one."""
    return overlap(function) != 1 and _number(function, PROGRAMS_ATTRIBUTE) != 1


def scratch_bytes(function: func.FuncOp) -> int | None:
    """Bytes of scratch that a program needs; None where no pass has placed its buffers."""
    return _number(function, SCRATCH_ATTRIBUTE)


def _number(function: func.FuncOp, name: str) -> int | None:
    known = function.attributes.get(name)
    return known.value.data if isinstance(known, IntegerAttr) else None
