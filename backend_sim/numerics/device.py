"""The device without time: command instances on byte memories, and a whole launch run in issue order.

The engine calls `Device.execute` with each instance as it completes; `run_device` issues and completes in one go, which
is what a test of a pass wants. Both use the same effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as cartesian
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects import ahbm
from ...dialects.pointer import PointerType
from .addresses import AddressSpace, Allocation, bytes_of
from .blas import single_threaded
from .closures import Builder, Code, Handler, Slots, Step, compile_function
from .commands import SINGLE_OPS, Effect, Operands, PeMemory, content, read_scalar
from .composite_values import composite
from .dtypes import numpy_dtype
from .operand_ops import OPERAND_HANDLERS, buffer_at
from .operands import Buffer
from .reference import Observer, Program, checked_array, kernel_function
from .region_ops import region_step
from .scalars import scalar

_SPACING = 1 << 40


@dataclass
class Device:
    """Executes command instances. The effect of an op is compiled when it is first met."""

    _effects: dict[Operation, Effect] = field(default_factory=dict[Operation, Effect])

    def execute(self, op: Operation, operands: Operands, memory: PeMemory) -> None:
        """Do to `memory` what the command `op` does with these operands (one for each SSA operand, resolved)."""
        effect = self._effects.get(op)
        if effect is None:
            effect = self._effects[op] = effect_of(op)
        with np.errstate(all="ignore"):
            effect(operands, memory)


def effect_of(op: Operation) -> Effect:
    """The compiled effect of a command op (or of `ahbm.fill`)."""
    return composite(op) if isinstance(op, ahbm.CompositeOp) else SINGLE_OPS[op.name](op)


def run_device(
    kernel: ModuleOp | func.FuncOp,
    arguments: Sequence[Any],
    grid: Sequence[int],
    programs: Sequence[Program] | None = None,
    observe: Observer | None = None,
) -> None:
    """Run a launch of a lowered kernel, program by program, each command completing as it is issued.

    `arguments` are as for `run_reference`. Buffers without a place in scratch get one of their own, so that this works
    before `allocate-scratch` too; recipes must be expanded. `observe` is told of every command, of the buffers that it
    wrote and, with none, of writes to HBM.
    """
    function = kernel_function(kernel)
    x, y, z, *_ = (*grid, 1, 1, 1)
    run = _Run((x, y, z), observe=observe)
    code = run.compile(function)
    bound = run.bind(function, arguments)
    with single_threaded():
        for program in programs or [(i, j, k) for k, j, i in cartesian(range(z), range(y), range(x))]:
            run.program = program
            code.run(code.frame(bound))


@dataclass
class _Run:
    grid: Program
    program: Program = (0, 0, 0)
    device: Device = field(default_factory=Device)
    memory: PeMemory = field(default_factory=lambda: PeMemory(np.zeros(0, np.uint8), AddressSpace(())))
    scratch_bytes: int = 0
    observe: Observer | None = None

    def compile(self, function: func.FuncOp) -> Code:
        for op in function.walk():
            if isinstance(op, ahbm.AllocOp) and op.offset is not None:
                self.scratch_bytes = max(self.scratch_bytes, buffer_at(op, op.offset.value.data).byte_range[1])
        handlers: dict[str, Handler] = {
            **OPERAND_HANDLERS,
            **dict.fromkeys((*SINGLE_OPS, "ahbm.composite"), self._command),
            "ahbm.alloc": self._alloc,
            "ahbm.region": self._region,
            "ahbm.read_scalar": self._read_scalar,
            "ahbm.program_id": self._program_id,
            "ahbm.num_programs": self._num_programs,
        }
        return compile_function(function, handlers)

    def bind(self, function: func.FuncOp, arguments: Sequence[Any]) -> list[Any]:
        allocations: list[Allocation] = []
        bound: list[Any] = []
        for parameter, argument in zip(function.body.block.args, arguments, strict=True):
            name = parameter.name_hint or f"argument {parameter.index}"
            if not isinstance(parameter.type, PointerType):
                bound.append(scalar(argument, numpy_dtype(parameter.type)))
                continue
            base = (len(allocations) + 1) * _SPACING
            allocations.append(Allocation(name, base, bytes_of(checked_array(argument, parameter.type, name))))
            bound.append(base)
        # What nobody wrote reads as NaN in every float type, so that a kernel that needs it shows.
        scratch = np.full(self.scratch_bytes, 0xFF, np.uint8)
        self.memory = PeMemory(scratch, AddressSpace(allocations))
        return bound

    def _alloc(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.AllocOp)
        if op.offset is not None:
            builder.constant(op.result, buffer_at(op, op.offset.value.data))
            return
        buffer = buffer_at(op, -(-self.scratch_bytes // 64) * 64)
        self.scratch_bytes = buffer.byte_range[1]
        builder.constant(op.result, buffer)

    def _region(self, op: Operation, builder: Builder) -> Step:
        # Commands complete as they are issued, so a block of indices is there when the region is made.
        return region_step(op, builder, lambda block: content(block, np.dtype(np.int64), self.memory).copy())

    def _command(self, op: Operation, builder: Builder) -> Step:
        sources = builder.slots(op.operands)
        if self.observe is not None:
            return self._observed(op, sources, self.observe)

        def step(slots: Slots) -> None:
            self.device.execute(op, [slots[s] for s in sources], self.memory)

        return step

    def _observed(self, op: Operation, sources: Sequence[int], observe: Observer) -> Step:
        # A command writes its last operand, a composite the outs of its specs.
        outs = {len(sources) - 1}
        if isinstance(op, ahbm.CompositeOp):
            outs = {*op.outs}

        def step(slots: Slots) -> None:
            operands = [slots[s] for s in sources]
            self.device.execute(op, operands, self.memory)
            written = [operands[n] for n in sorted(outs)]
            buffers = [each for each in written if isinstance(each, Buffer)]
            if buffers:
                observe(op, [buffer.array(self.memory.scratch) for buffer in buffers])
            if len(buffers) < len(written):
                observe(op, ())

        return step

    def _read_scalar(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.ReadScalarOp)
        source, out = builder.slot(op.buffer), builder.slot(op.result)

        def step(slots: Slots) -> None:
            slots[out] = read_scalar(slots[source], self.memory)

        return step

    def _program_id(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, ahbm.ProgramIdOp)
        axis, out = op.axis.value.data, builder.slot(op.result)

        def step(slots: Slots) -> None:
            slots[out] = self.program[axis]

        return step

    def _num_programs(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ahbm.NumProgramsOp)
        builder.constant(op.result, self.grid[op.axis.value.data])
