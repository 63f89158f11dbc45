"""`allocate-scratch`: a place in the kernel scratch for every buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ..backend_sim.target.machine_file import machine_of
from ..dialects.errors import AhbmcError, Category, Fault, place_of
from ..dialects.programs import SCRATCH_ATTRIBUTE
from ..dialects.remarks import remarks
from ..dialects.shapes import shape_of
from .analysis.scratch import Lifetime, apart, lifetimes, pack, peak, untouched


@dataclass(frozen=True)
class AllocateScratchPass(ModulePass):
    """Give every buffer in TCM an offset in the kernel scratch; buffers in use at once share no byte.

    before:  %b = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
    after:   %b = ahbm.alloc {offset = 0 : i64} : !ahbm.buffer<64x64xf32, tcm>

    The largest buffer goes first, each to the lowest place that is free for as long as it lives. What a loop carries
    keeps its place throughout the loop. A buffer with an offset keeps it, and one that no command touches takes no
    room. The bytes needed stand on the function as `ahbm.scratch_bytes`.

    needs:   every buffer that there will be: `expand-recipes` adds the scratch of recipes.
    keeps:   everything else. More than the machine's `pe.tcm.scratch_bytes` is an error that lists what lives at the
    peak.
    options: reuse=always|short  `short`: buffers share bytes only where the scratch is too small for all of them, and
                                 then, if that is enough, only those that no loop uses both. A command that takes over
                                 bytes waits for those in flight that still use them, so what is to overlap must not
                                 share.
    """

    name = "allocate-scratch"

    reuse: Literal["always", "short"] = "always"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bound = machine_of(op).pe.tcm.scratch_bytes
        faults: list[Fault] = []
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            items = lifetimes(function)
            packing = pack(items)
            if self.reuse == "short":
                ways = (apart(items), pack(lifetimes(function, whole_loops=True)), packing)
                packing = next((way for way in ways if way.size <= bound), packing)
            if packing.size > bound:
                faults.append(_does_not_fit(function, items, packing.size, bound, op))
                continue
            for item, offset in zip(items, packing.offsets, strict=True):
                item.alloc.properties["offset"] = IntegerAttr(offset, i64)
            for alloc in untouched(function):
                alloc.properties["offset"] = IntegerAttr(0, i64)
            function.attributes[SCRATCH_ATTRIBUTE] = IntegerAttr(packing.size, i64)
        if faults:
            raise AhbmcError(*faults)


def _does_not_fit(function: func.FuncOp, items: list[Lifetime], size: int, bound: int, module: ModuleOp) -> Fault:
    most = peak(items)
    at_once = sum(i.size for i in most)
    notes = [f"{_name(i)}: {i.size} bytes ({i.alloc.result.type}){_where(i)}" for i in most]
    if at_once <= bound:
        notes.append(f"{at_once} bytes live at once; the rest is lost between buffers of different lifetimes")
    return Fault(
        f"kernel '{function.sym_name.data}' needs {size} bytes of scratch; a PE has {bound}, {size - bound} too few",
        place_of(most[0].alloc.location) if most else place_of(function.location),
        Category.DOES_NOT_FIT,
        f"make the largest of these blocks smaller ({_sizes(most, module.attributes.get('ahbm.constants'))}), "
        f"or take a machine with a larger pe.tcm.scratch_bytes{_less(module)}",
        tuple(notes),
    )


def _less(module: ModuleOp) -> str:
    """What passes have put into the scratch and can be told to leave out, which is not always enough."""
    done = {(each.pass_name, each.outcome) for each in remarks(module)}
    levers: list[str] = []
    if ("prefetch-loads", "prefetched") in done:
        levers.append("load less ahead (prefetch-loads{distance=0})")
    if done & {("software-pipeline", "one iteration early"), ("split-composites", "split")}:
        levers.append("let iterations follow each other (--pipeline fused)")
    if ("match-recipes", "matched") in done:
        levers.append("do without recipes and their blocks (--pipeline composite)")
    if ("form-composites", "formed") in done:
        levers.append("stream operands (form-composites{stage=none})")
    return f"; it may be enough to {', or to '.join(levers)}" if levers else ""


def _sizes(most: list[Lifetime], constants: Attribute | None) -> str:
    """The constants of the kernel, as the launch gave them, that are sizes of the largest block; all if none is."""
    if not isinstance(constants, StringAttr):
        return "BLOCK sizes"
    known = constants.data.split(", ")
    sizes = {str(size) for size in shape_of(most[0].alloc.result.type)} if most else set[str]()
    return f"constants: {', '.join([each for each in known if each.split('=')[-1] in sizes] or known)}"


def _name(item: Lifetime) -> str:
    return f"%{item.alloc.result.name_hint}" if item.alloc.result.name_hint else "a buffer"


def _where(item: Lifetime) -> str:
    place = place_of(item.alloc.location)
    return f", from {place}" if place else ""
