"""A lowered kernel, compiled once to closures that make command instances: what PE_CPU runs for each program of a
launch.

Nothing here interprets IR: scalars and control flow are the closures of `numerics/closures.py`, and each command op
becomes a closure that resolves its operands to bytes, slices and times (`engine/commands.py`). Composites are made by
`composites.py`, what touches HBM is resolved by `accesses.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import ahbm
from ...dialects.ahbm.commands import CommandOp
from ...dialects.errors import AhbmcError, Category, Place, fail, place_of
from ...dialects.pointer import PointerType
from ...dialects.region import RegionOp
from ...dialects.shapes import element_of, shape_of
from ..engine.commands import Command, Compute, Dma, Fill, Hold, Range, ReadValues
from ..launch import Launch
from ..memory import Memory, Tensor
from ..numerics.closures import Builder, Code, Handler, Slots, Step, compile_function
from ..numerics.commands import PeMemory, addresses, read_scalar
from ..numerics.dtypes import numpy_dtype
from ..numerics.operand_ops import OPERAND_HANDLERS
from ..numerics.operands import Buffer, Index
from ..numerics.region_ops import REGION_HANDLERS
from ..numerics.scalars import scalar
from ..oplog import Site
from ..target import cost
from .accesses import HbmView
from .composites import composite_maker
from .lanes import Lanes
from .ranges import ranges_of

# PE_CPU goes through this many blocks of scalars without a command only if it never stops.
_MOST_BLOCKS = 5_000_000

# As many times in a row one and the same atomic on the same bytes only runs if nobody ends the spin that it stands in.
_MOST_SPINS = 100_000

# What a step may return: a command, or what PE_CPU must read first and what to do with the answer.
Pending = tuple[ReadValues, Callable[[Slots, Any], Command | None]]


def reads_values(function: Operation) -> bool:
    """Whether an address, a mask or control flow in a lowered kernel may depend on contents of memory."""
    return any(_reads_values(op) for op in function.walk())


def _reads_values(op: Operation) -> bool:
    match op:
        case ahbm.ReadScalarOp():
            return True
        case RegionOp():
            return any(isinstance(v.type, ahbm.BufferType) for v in op.indices)
        case ahbm.GatherOp() | ahbm.ScatterOp() | ahbm.AtomicOp():
            return isinstance(op.index.type, ahbm.BufferType) or op.mask is not None
        case _:
            return False


class Program:
    """The kernel of a launch, ready to run. `sites` are its command ops; `reads_values` says whether an address, a
    bound or control flow may depend on contents of memory."""

    def __init__(self, launch: Launch, memory: Memory, first_site: int = 0):
        self.launch = launch
        self.machine = launch.machine
        self.memory = memory
        self.sites: list[Site] = []
        self.reads_values = reads_values(launch.function)
        self._first_site = first_site
        self._program_ids: list[tuple[int, int]] = []
        self._view: int | None = None
        self._views: dict[int, HbmView] = {}
        self._code: Code = compile_function(launch.function, self._handlers())
        self.arguments = [self._argument(*pair) for pair in zip(launch.function.args, launch.arguments, strict=True)]

    def commands(self, program: tuple[int, int, int], pe: int) -> Generator[Command, Any, None]:
        """The command instances of one program on a PE, in issue order. A ReadValues must be answered by `send`."""
        slots = self._code.frame(self.arguments)
        for axis, slot in self._program_ids:
            slots[slot] = program[axis]
        if self._view is not None:
            slots[self._view] = self.view(pe)
        blocks, at, idle, spins = self._code.blocks, 0, 0, 0
        spinning: tuple[int, tuple[Range, ...]] | None = None
        while at >= 0:
            block, idle = blocks[at], idle + 1
            if idle > _MOST_BLOCKS:
                raise self._spin(program)
            for step in block.steps:
                made: Any = step(slots)
                if made.__class__ is tuple:
                    request, then = made
                    made = then(slots, (yield request))
                if made is not None:
                    idle = 0
                    if made.__class__ is Dma and made.update:
                        atomic = made.site, made.writes
                        spins, spinning = (spins + 1 if atomic == spinning else 0), atomic
                        if spins > _MOST_SPINS:
                            raise self._endless(program, made)
                    elif made.__class__ is not Fill:
                        spinning = None
                    yield made
            at = block.exit(slots)

    def _spin(self, program: tuple[int, int, int]) -> AhbmcError:
        place = place_of(self.launch.function.location)
        message = f"program {program} runs on in PE_CPU and issues nothing: a loop in it never ends"
        return fail(message, place, Category.DEADLOCK, "check the condition of its `while` and the bounds of its loops")

    def _endless(self, program: tuple[int, int, int], atomic: Dma) -> AhbmcError:
        site = self.sites[atomic.site - self._first_site]
        message = f"program {program} spins on an atomic that never finds what it waits for"
        hint = "let a program that runs before or on another PE write what this one waits for"
        return fail(message, Place(site.file, site.line, site.column), Category.DEADLOCK, hint)

    @property
    def waits_for_others(self) -> bool:
        """Whether a program may look at memory until another PE has written there."""
        return self.reads_values and any(site.kind == "atomic" for site in self.sites)

    def view(self, pe: int) -> HbmView:
        """HBM as a PE sees it."""
        if pe not in self._views:
            self._views[pe] = HbmView(self.memory, pe)
        return self._views[pe]

    @cached_property
    def lanes(self) -> Lanes:
        """The kernel on a lane per program."""
        return Lanes(self.launch.function, self.launch.grid, self.memory)

    def _argument(self, parameter: SSAValue, argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return self.memory.base(argument)
        if isinstance(parameter.type, PointerType):
            return int(argument)
        return scalar(argument, numpy_dtype(parameter.type))

    # What closures of commands need.

    def view_slot(self, builder: Builder) -> int:
        """The slot that holds the HbmView of the PE that runs."""
        if self._view is None:
            self._view = builder.fresh()
        return self._view

    def site(self, op: CommandOp, label: str) -> int:
        """A new site for a command op."""
        place = place_of(op.location) or Place("", 0, 0)
        self.sites.append(Site(op.KIND, label, op.logical_bytes, place.file, place.line, place.column))
        return self._first_site + len(self.sites) - 1

    def issue_ps(self, op: CommandOp) -> int:
        """What PE_CPU pays to issue a command."""
        return cost.issue_ps(self.machine, op.logical_bytes, composite=isinstance(op, ahbm.CompositeOp))

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            **OPERAND_HANDLERS,
            "ahbm.region": self._region,
            "ahbm.program_id": self._program_id,
            "ahbm.num_programs": self._num_programs,
            "ahbm.fill": self._fill,
            "ahbm.read_scalar": self._read_scalar,
            "ahbm.dma_read": self._dma_read,
            "ahbm.dma_write": self._dma_write,
            "ahbm.load_scalar": self._load_scalar,
            "ahbm.store_scalar": self._store_scalar,
            "ahbm.gather": self._indexed,
            "ahbm.scatter": self._indexed,
            "ahbm.atomic": self._indexed,
            "ahbm.gemm": self._gemm,
            "ahbm.math": self._math,
            "ahbm.copy": self._copy,
            "ahbm.wait": self._wait,
            "ahbm.cycles": self._cycles,
            "ahbm.composite": lambda op, builder: composite_maker(self, op, builder),
        }

    # PE_CPU's own ops.

    def _program_id(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.ProgramIdOp)
        self._program_ids.append((op.axis.value.data, builder.slot(op.result)))

    def _num_programs(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.NumProgramsOp)
        builder.constant(op.result, self.launch.grid[op.axis.value.data])

    def _region(self, op: Operation, builder: Builder) -> Step | None:
        """A region that goes by a block of indices knows its addresses only when the block is there."""
        assert isinstance(op, RegionOp)
        make = REGION_HANDLERS["ahbm.region"](op, builder)
        if not op.indices:
            return make
        assert make is not None
        indices, touched = builder.slots(op.indices), ranges_of(op.indices, builder)

        def read(slots: Slots) -> object:
            blocks = [slots[s] for s in indices]

            def then(slots: Slots, contents: list[Any]) -> None:
                for slot, content in zip(indices, contents, strict=True):
                    slots[slot] = content
                make(slots)
                for slot, block in zip(indices, blocks, strict=True):
                    slots[slot] = block

            if all(isinstance(b, Index) for b in blocks):
                then(slots, [b.array() for b in blocks])
                return None
            request = ReadValues(touched(slots), lambda memory: [_content(b, memory).copy() for b in blocks])
            return request, then

        return read

    def _read_scalar(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.ReadScalarOp)
        source, out, touched = builder.slot(op.buffer), builder.slot(op.result), ranges_of((op.buffer,), builder)

        def step(slots: Slots) -> Pending:
            buffer = slots[source]

            def then(slots: Slots, value: Any) -> None:
                slots[out] = value

            return ReadValues(touched(slots), lambda memory: read_scalar(buffer, memory)), then

        return step

    def _fill(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.FillOp)
        sources, filled = builder.slots(op.operands), ranges_of((op.buffer,), builder)
        return lambda slots: Fill(filled(slots), (op, [slots[s] for s in sources]))

    # Commands that touch HBM.

    def _dma_read(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.DmaReadOp)
        region, buffer, view = builder.slot(op.region), builder.slot(op.buffer), self.view_slot(builder)
        site, issue, place = self.site(op, str(shape_of(op.buffer.type))), self.issue_ps(op), place_of(op.location)
        here = ranges_of((op.buffer,), builder)

        def step(slots: Slots) -> Command:
            source, target = slots[region], slots[buffer]
            bounds, shares = slots[view].region(source, "the load", place)
            reads = (bounds,) if shares else ()
            operands = (op, (source, target))
            return Dma(site, issue, False, False, reads, here(slots), shares, source.valid_bytes, operands)

        return step

    def _dma_write(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.DmaWriteOp)
        buffer, region, view = builder.slot(op.buffer), builder.slot(op.region), self.view_slot(builder)
        site, issue, place = self.site(op, str(shape_of(op.buffer.type))), self.issue_ps(op), place_of(op.location)
        here = ranges_of((op.buffer,), builder)

        def step(slots: Slots) -> Command:
            source, target = slots[buffer], slots[region]
            bounds, shares = slots[view].region(target, "the store", place)
            writes = (bounds,) if shares else ()
            operands = (op, (source, target))
            return Dma(site, issue, True, True, here(slots), writes, shares, target.valid_bytes, operands)

        return step

    def _load_scalar(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.LoadScalarOp)
        pointer, buffer, view = builder.slot(op.pointer), builder.slot(op.buffer), self.view_slot(builder)
        site, issue, place = self.site(op, "scalar"), self.issue_ps(op), place_of(op.location)
        size, here = numpy_dtype(op.buffer.type).itemsize, ranges_of((op.buffer,), builder)

        def step(slots: Slots) -> Command:
            address, target = slots[pointer], slots[buffer]
            share = slots[view].element(address, size, "the load", place)
            reads: tuple[Range, ...] = ((address, address + size),)
            return Dma(site, issue, False, True, reads, here(slots), share, size, (op, (address, target)))

        return step

    def _store_scalar(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.StoreScalarOp) and isinstance(op.pointer.type, PointerType)
        value, pointer, view = builder.slot(op.value), builder.slot(op.pointer), self.view_slot(builder)
        site, issue, place = self.site(op, "scalar"), self.issue_ps(op), place_of(op.location)
        size, here = numpy_dtype(op.pointer.type.element_type).itemsize, ranges_of((op.value,), builder)

        def step(slots: Slots) -> Command:
            source, address = slots[value], slots[pointer]
            share = slots[view].element(address, size, "the store", place)
            writes: tuple[Range, ...] = ((address, address + size),)
            return Dma(site, issue, True, True, here(slots), writes, share, size, (op, (source, address)))

        return step

    def _indexed(self, op: Operation, builder: Builder) -> Step:
        """A gather, scatter or atomic: which bursts it needs depends on the indices and the mask."""
        assert isinstance(op, ahbm.GatherOp | ahbm.ScatterOp | ahbm.AtomicOp)
        write, update = isinstance(op, ahbm.ScatterOp), isinstance(op, ahbm.AtomicOp)
        base, index = builder.slot(op.base), builder.slot(op.index)
        mask = builder.slot(op.mask) if op.mask is not None else builder.fresh()
        sources, view = builder.slots(op.operands), self.view_slot(builder)
        site, issue, place = self.site(op, str(shape_of(op.buffer.type))), self.issue_ps(op), place_of(op.location)
        dtype, what = numpy_dtype(op.buffer.type), "the store" if write else "the atomic" if update else "the load"
        chosen_by = (op.index,) if op.mask is None else (op.index, op.mask)
        known_by, here_of = ranges_of(chosen_by, builder), ranges_of((op.buffer,), builder)
        taken_of = ranges_of(op.operands if write else op.operands[:-1], builder)

        def step(slots: Slots) -> object:
            start, numbers, chosen = slots[base], slots[index], slots[mask]
            operands = (op, [slots[s] for s in sources])

            def lanes(memory: PeMemory) -> Any:
                where = addresses(start, numbers, dtype, memory).reshape(-1)
                return where if chosen is None else where[chosen.array(memory.scratch).reshape(-1)]

            def then(slots: Slots, where: Any) -> Command:
                bounds, shares = slots[view].lanes(where, dtype.itemsize, what, place)
                hbm: tuple[Range, ...] = (bounds,) if shares else ()
                reads = taken_of(slots) + (() if write else hbm)
                writes = (() if write else here_of(slots)) + (hbm if write or update else ())
                useful = len(where) * dtype.itemsize
                return Dma(site, issue, write, write or update, reads, writes, shares, useful, operands, update)

            if isinstance(numbers, Index) and chosen is None:
                return then(slots, numbers.array().reshape(-1).astype(np.int64) * dtype.itemsize + start)
            return ReadValues(known_by(slots), lanes), then

        return step

    # Commands inside the PE.

    def _gemm(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.GemmOp)
        (m, k), (_, n) = shape_of(op.a.type), shape_of(op.b.type)
        service = cost.gemm_ps(self.machine, m, k, n, str(element_of(op.a.type)))
        return self._compute(op, builder, f"{m}x{k}x{n}", True, service, 2 * m * k * n)

    def _math(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.MathOp)
        kind: StringAttr = op.kind
        elements = max(_count(v) for v in op.operands)
        service = cost.math_ps(self.machine, kind.data, elements, op.axis_size)
        return self._compute(op, builder, kind.data, False, service)

    def _copy(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.CopyOp)
        service = cost.math_ps(self.machine, "copy", _count(op.destination))
        return self._compute(op, builder, "copy", False, service)

    def _compute(
        self, op: CommandOp, builder: Builder, label: str, on_gemm: bool, service: int, flops: int = 0
    ) -> Step:
        sources = builder.slots(op.operands)
        reads, writes = ranges_of(op.operands[:-1], builder), ranges_of(op.operands[-1:], builder)
        site, issue = self.site(op, label), self.issue_ps(op)

        def step(slots: Slots) -> Command:
            operands = [slots[s] for s in sources]
            return Compute(site, issue, on_gemm, service, reads(slots), writes(slots), flops, (op, operands))

        return step

    def _wait(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.WaitOp)
        reads, site, issue = ranges_of(op.operands, builder), self.site(op, ""), self.issue_ps(op)
        return lambda slots: Hold(site, issue, reads(slots))

    def _cycles(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.CyclesOp)
        site, held = self.site(op, ""), cost.cycles_ps(self.machine, op.cycles.value.data)
        return lambda slots: Hold(site, held)


def _content(block: Any, memory: PeMemory) -> Any:
    return block.array(memory.scratch) if isinstance(block, Buffer) else block.array()


def _count(value: SSAValue) -> int:
    count = 1
    for extent in shape_of(value.type):
        count *= extent
    return count
