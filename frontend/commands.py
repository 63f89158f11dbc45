"""AHBM's own functions that stand for a command, or for how long blocks are kept: what a programmer places by hand."""

from __future__ import annotations

from ..dialects import tl
from .builtin import Builtin, row
from .emit import Emitter
from .types import TypeFault
from .values import Item, ScratchScope, Value, describe


def _wait(emit: Emitter, values: tuple[Item, ...]) -> Item:
    waited = [v for item in values for v in (item if isinstance(item, tuple) else (item,))]
    if not waited:
        raise TypeFault("there is nothing to wait for", "name the blocks, as in al.wait(a, b)")
    for item in waited:
        if not isinstance(item, Value):
            raise TypeFault(f"only a value can be waited for, not {describe(item)}", "name blocks, as in al.wait(a, b)")
    emit.insert(tl.WaitOp(*(v.ssa for v in waited if isinstance(v, Value))))
    return None


def _cycles(emit: Emitter, n: int) -> Item:
    if not 0 <= n < 1 << 31:
        raise TypeFault(f"{n} cycles", "from 0 to 2147483647 can be waited")
    emit.insert(tl.CyclesOp(n))
    return None


def _copy_to(emit: Emitter, dst: Item, src: Item) -> Item:
    """One copy from block to block, so nothing is converted or repeated on the way."""
    for name, item in (("dst", dst), ("src", src)):
        if not isinstance(item, Value) or not item.is_block or item.is_pointer:
            raise TypeFault(
                f"'{name}' is {describe(item)}; al.copy_to copies between blocks, which lie in TCM",
                "tl.load and tl.store move blocks from and to HBM",
            )
    assert isinstance(dst, Value) and isinstance(src, Value)
    if dst.shape != src.shape:
        raise TypeFault(f"'dst' has the shape {list(dst.shape)}, 'src' {list(src.shape)}", "copy a block of this shape")
    if dst.element != src.element:
        raise TypeFault(
            f"'dst' holds {dst.element}, 'src' {src.element}",
            "cast first, as in `src.to(...)`; a copy converts nothing",
        )
    return emit.make(tl.CopyToOp(src.ssa, dst.ssa), dst.type)


def _scratch_scope(emit: Emitter) -> Item:
    return ScratchScope()


COMMANDS: tuple[Builtin, ...] = (
    row("wait", "*values", _wait),
    row("cycles", "n: int", _cycles),
    row("copy_to", "dst, src", _copy_to, writes="dst"),
    row("scratch_scope", "", _scratch_scope),
)
