"""A loop that carries more values than before."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import SSAValue


def carry_more(loop: scf.ForOp, inits: Sequence[SSAValue]) -> scf.ForOp:
    """The loop in place of `loop` with `inits` after its own initial values; the body has the arguments for them and
    yields them already.
    """
    new = scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, *inits], loop.detach_region(loop.body))
    new.location = loop.location
    assert loop.parent is not None
    loop.parent.insert_op_before(new, loop)
    for old, result in zip(loop.results, new.results, strict=False):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    loop.detach()
    loop.erase()
    return new
