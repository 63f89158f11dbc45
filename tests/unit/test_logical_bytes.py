"""Logical bytes of commands, counted anew from the list that is the contract, and what they cost on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.simulate import simulate
from ahbmc.backend_sim.target.cost import issue_cycles
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects import ahbm
from ahbmc.dialects.ahbm.commands import CommandOp
from ahbmc.dialects.errors import AhbmcError
from ahbmc.dialects.pointer import PointerType
from ahbmc.dialects.region import RegionType
from ahbmc.passes import run_pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f16,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

# Bytes of what a descriptor holds: handle, scalar, and an index view (start, step, axis).
BYTES = {"handle": 8, "scalar": 4, "index": 12, "running": 0}
EXTRAS: dict[str, tuple[Attribute, int]] = {
    "axis": (IntegerAttr(1, i64), 4),
    "number": (FloatAttr(2.0, f32), 4),
    "flag": (IntegerAttr(1, i1), 1),
    "word": (StringAttr("fast"), 1),
    "pair": (ArrayAttr([IntegerAttr(0, i64), IntegerAttr(1, i64)]), 1 + 2 * 4),
}
EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@dataclass(frozen=True)
class Spec:
    """An op of a composite as it is drawn: which kinds of operands, whether it has an out, its extras."""

    kind: str
    scope: ahbm.Scope
    operands: tuple[str, ...]
    out: bool
    extras: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """3 + operands + 8 (out) + 1 + extras; the three extents of a GEMM are extras."""
        extents = 12 if self.kind == "gemm" else 0
        extras = sum(EXTRAS[name][1] for name in self.extras)
        return 3 + sum(BYTES[o] for o in self.operands) + 8 * self.out + 1 + extents + extras


@st.composite
def maths(draw: st.DrawFn, scope: ahbm.Scope, operands: Sequence[str]) -> Spec:
    """`add` of any two operands, or `exp` of one."""
    chosen = draw(st.lists(st.sampled_from(operands), min_size=1, max_size=2))
    out = scope is ahbm.Scope.ONCE or draw(st.booleans())
    extras = draw(st.lists(st.sampled_from(sorted(EXTRAS)), unique=True, max_size=3))
    return Spec(("exp", "add")[len(chosen) - 1], scope, tuple(chosen), out, tuple(extras))


@st.composite
def composites(draw: st.DrawFn) -> tuple[list[Spec], int]:
    """The ops of a composite, with a GEMM or without, and how many handles it writes for the outside."""
    anything = ("handle", "scalar", "index")
    before = draw(st.lists(maths(ahbm.Scope.ONCE, anything), max_size=4))
    if not draw(st.booleans()):
        return before or [Spec("exp", ahbm.Scope.ONCE, ("handle",), True)], draw(st.integers(0, 1))
    gemm = Spec("gemm", ahbm.Scope.K_TILE, ("handle", "handle"), True)
    tiles = draw(st.lists(maths(ahbm.Scope.OUTPUT_TILE, (*anything, "running")), max_size=4))
    after = draw(st.lists(maths(ahbm.Scope.ONCE, anything), max_size=2))
    return [*before, gemm, *tiles, *after], draw(st.integers(0, 2 if before or after else 1))


def built(specs: Sequence[Spec], written: int) -> tuple[ModuleOp, ahbm.CompositeOp]:
    """A module whose one function issues the composite. MATH works on part 0, the GEMM goes from 1 and 2 to 3."""
    ops: list[Operation] = [
        *(ahbm.AllocOp(ahbm.BufferType(shape, kind)) for shape, kind in (([32, 32], f32), ([32, 64], f16))),
        *(ahbm.AllocOp(ahbm.BufferType(shape, kind)) for shape, kind in (([64, 32], f16), ([32, 32], f32))),
        arith.ConstantOp(FloatAttr(2.0, f32)),
        *(arith.ConstantOp(IntegerAttr(n, i64)) for n in (32, 32, 64)),
    ]
    values = [op.results[0] for op in ops]
    index = ahbm.IndexOp(values[5], [values[5], values[6]], ahbm.IndexType([32, 32], f32))
    parts: list[SSAValue] = [*values[:5], index.result]
    number = {"handle": 0, "scalar": 4, "index": 5, "running": ahbm.types.RUNNING_TILE}
    made: list[ahbm.SpecAttr] = []
    for spec in specs:
        extras = {name: EXTRAS[name][0] for name in spec.extras}
        if spec.kind == "gemm":
            made.append(ahbm.SpecAttr("gemm", spec.scope, [1, 2], 3))
        else:
            out = (3 if spec.scope is ahbm.Scope.OUTPUT_TILE else 0) if spec.out else ahbm.types.NO_OUT
            made.append(ahbm.SpecAttr(spec.kind, spec.scope, [number[o] for o in spec.operands], out, extras))
    gemm = any(spec.kind == "gemm" for spec in specs)
    outs = [3, 0] if gemm else [0]
    composite = ahbm.CompositeOp(parts, values[5:8] if gemm else [], made, outs[:written])
    function = func.FuncOp("f", ((), ()))
    function.body.block.add_ops([*ops, index, composite, func.ReturnOp()])
    return ModuleOp([function]), composite


@EXAMPLES
@given(composites())
def test_bytes_of_a_composite(drawn: tuple[list[Spec], int]) -> None:
    """Framing 4, two lengths, the ops, and 8 for each handle that it writes."""
    specs, written = drawn
    _, composite = built(specs, written)
    composite.verify()
    assert composite.spec_bytes == [spec.bytes for spec in specs]
    assert composite.logical_bytes == 4 + 1 + 1 + sum(spec.bytes for spec in specs) + 8 * written


@EXAMPLES
@given(composites(), st.integers(0, 200), st.integers(0, 200), st.integers(0, 64))
def test_issue_cycles_on_any_machine(
    drawn: tuple[list[Spec], int], composite_fixed: int, single_fixed: int, rate_64: int
) -> None:
    """PE_CPU is held for round-half-even(FIXED + bytes x R) cycles of 1 ns, by the op-log; so it is for `wait`."""
    specs, written = drawn
    module, composite = built(specs, written)
    rate = Decimal(rate_64) / 64
    overrides = [
        f"pe.cpu.fixed_cycles_composite={composite_fixed}",
        f"pe.cpu.fixed_cycles_single={single_fixed}",
        f"pe.cpu.cycles_per_byte={rate}",
    ]
    module.attributes["ahbm.machine_set"] = ArrayAttr([StringAttr(text) for text in overrides])
    block = composite.parent
    assert block is not None
    block.insert_op_after(ahbm.WaitOp([composite.parts[0]]), composite)
    run_pipeline(module, "allocate-scratch,tile-composites,insert-dma-stages,check-limits")
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    machine = load_machine("ahbm-2sip", overrides)
    launch = Launch(function, machine, (), (1, 1, 1), {0: [(0, 0, 0)]})
    records = simulate([launch], values=False).oplog.records
    held = (records["issue_end"] - records["issue_start"]).tolist()
    size = 6 + sum(spec.bytes for spec in specs) + 8 * written
    assert held == [1000 * rounded(composite_fixed + size * rate), 1000 * rounded(single_fixed + 4 * rate)]
    assert issue_cycles(machine, size, composite=True) * 1000 == held[0]


def rounded(cycles: Decimal) -> int:
    return int(cycles.quantize(Decimal(1), ROUND_HALF_EVEN))


@EXAMPLES
@given(composites(), st.integers(1, 400))
def test_the_cap_of_any_machine(drawn: tuple[list[Spec], int], cap: int) -> None:
    """At the cap a composite passes; over it the error has the bytes of every op."""
    specs, written = drawn
    module, composite = built(specs, written)
    size = composite.logical_bytes
    module.attributes["ahbm.machine_set"] = ArrayAttr([StringAttr(f"composite_max_bytes={cap}")])
    if size <= cap:
        run_pipeline(module, "check-limits")
        return
    with pytest.raises(
        AhbmcError, match=f"has {size} bytes; a command has {cap} at most, {size - cap} fewer"
    ) as caught:
        run_pipeline(module, "check-limits")
    listed = 0
    for note in caught.value.faults[0].notes[:-1]:
        _, _, rest = note.partition(": ")
        each, _, times = rest.replace(",", "").partition(" bytes")
        listed += int(each) * int(times.replace("times", "") or 1)
    assert listed == sum(spec.bytes for spec in specs)


def _buffer(shape: Sequence[int], kind: Attribute = f16) -> SSAValue:
    return ahbm.AllocOp(ahbm.BufferType(shape, kind)).result


OPERANDS = {
    "handle": lambda: _buffer([8, 8], f32),
    "scalar": lambda: arith.ConstantOp(FloatAttr(1.0, f32)).result,
    "index": lambda: ahbm.IndexOp(_number(), [_number(), _number()], ahbm.IndexType([8, 8], f32)).result,
}


def _number() -> SSAValue:
    return arith.ConstantOp(IntegerAttr(1, i64)).result


@EXAMPLES
@given(st.lists(st.sampled_from(sorted(OPERANDS)), min_size=1, max_size=3), st.integers(1, 3), st.data())
def test_bytes_of_single_commands(kinds: list[str], axis_rank: int, data: st.DataObject) -> None:
    """DMA 17 (25 with an index), gemm 40, math 14 and its operands (4 for an axis), copy 24, wait 4, of any shape."""
    kind = {1: "exp", 2: "add", 3: "select"}[len(kinds)]
    math = ahbm.MathOp(kind, [OPERANDS[name]() for name in kinds], _buffer([8, 8], f32))
    assert math.logical_bytes == 14 + sum(BYTES[name] for name in kinds)
    shape = data.draw(st.lists(st.integers(1, 64), min_size=axis_rank, max_size=axis_rank))
    block = _buffer(shape)
    reduced = ahbm.MathOp("reduce_max", [block], _buffer(shape[1:]), axis=0)
    assert reduced.logical_bytes == 14 + 8 + 4
    place = Block(arg_types=[RegionType(f16, axis_rank), PointerType(f16), ahbm.IndexType(shape, i64)])
    region, pointer, index = place.args
    commands: list[tuple[CommandOp, int]] = [
        (ahbm.DmaReadOp(region, block), 17),
        (ahbm.DmaWriteOp(block, region), 17),
        (ahbm.LoadScalarOp(pointer, _buffer([])), 17),
        (ahbm.StoreScalarOp(_buffer([]), pointer), 17),
        (ahbm.GatherOp(pointer, index, None, block), 25),
        (ahbm.ScatterOp(pointer, index, None, block), 25),
        (ahbm.CopyOp(block, _buffer(shape)), 24),
        (ahbm.WaitOp([block] * axis_rank), 4),
        (ahbm.GemmOp(_buffer([3, 5]), _buffer([5, 7]), _buffer([3, 7], f32)), 40),
    ]
    for command, size in commands:
        command.verify()
        assert command.logical_bytes == size
