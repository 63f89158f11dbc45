"""The reference: what a function of the `tl` level computes, program by program, in numpy. Every pass must keep these
values.

It takes the function as it stands after any pass of the `tl` level (pointers or regions, dots or GEMMs, composites).
Blocks are numpy arrays that no step changes in place; pointers are byte addresses; tensors lie far apart, so that an
access outside its tensor is always noticed. There is no time here and no placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product as cartesian
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.ir import Region as XdslRegion

from ...dialects import tl
from ...dialects.errors import AhbmcError, Category, Fault, Place, fail, place_of
from ...dialects.pointer import PointerType
from ...dialects.shapes import shape_of
from .addresses import AddressSpace, Allocation, bytes_of
from .atomics import change_of
from .blas import single_threaded
from .blocks import BLOCK_HANDLERS
from .closures import Builder, Code, Slots, Step, Watcher, compile_function, watched
from .dtypes import Array, numpy_dtype, triton_name, unsigned
from .elementwise import product
from .region_ops import REGION_HANDLERS
from .regions import Region
from .scalars import SCALAR_HANDLERS, scalar
from .wrapping import Wrap, addressing_ops, wrap_reporting

Program = tuple[int, int, int]
# Told of an op and the blocks that it made; of none where it wrote to memory.
Observer = Callable[[Operation, Sequence[Array]], None]

# Tensors lie this far apart: an offset that leaves a tensor never reaches the next one.
_SPACING = 1 << 40


@dataclass(frozen=True)
class ReferenceRun:
    """What a run tells beside the values, which are in the arrays that were passed."""

    programs: int
    wraps: tuple[Fault, ...]


def run_reference(
    kernel: ModuleOp | func.FuncOp,
    arguments: Sequence[Any],
    grid: Sequence[int],
    programs: Sequence[Program] | None = None,
    observe: Observer | None = None,
) -> ReferenceRun:
    """Run the programs of a launch in turn (all of `grid`, x fastest, unless `programs` names them).

    `arguments` are C-contiguous numpy arrays for pointers, written in place, and numbers for scalars. `observe` is
    told of every op that made blocks or wrote to memory. Raises AhbmcError
    for an argument that does not fit, an access outside its tensor, and an op that has no values.
    """
    function = kernel_function(kernel)
    x, y, z, *_ = (*grid, 1, 1, 1)
    machine = _Machine((x, y, z), observe=observe)
    code = machine.compile(function)
    frame_arguments = machine.bind(function, arguments)
    if programs is None:
        programs = [(i, j, k) for k, j, i in cartesian(range(z), range(y), range(x))]
    with np.errstate(all="ignore"), single_threaded():
        for program in programs:
            machine.run(code, frame_arguments, program)
    return ReferenceRun(len(programs), tuple(machine.wraps.values()))


def kernel_function(kernel: ModuleOp | func.FuncOp) -> func.FuncOp:
    """The kernel of a module: the function that is marked as one, or the only one."""
    if isinstance(kernel, func.FuncOp):
        return kernel
    functions = [op for op in kernel.body.block.ops if isinstance(op, func.FuncOp)]
    marked = [f for f in functions if "tl.kernel" in f.attributes]
    if len(marked or functions) != 1:
        raise fail(f"a module with {len(marked or functions)} kernels; one is needed")
    return (marked or functions)[0]


@dataclass
class _Machine:
    """The state that the closures of one run share: memory, grid and the program that runs."""

    grid: Program
    program: Program = (0, 0, 0)
    space: AddressSpace = field(default_factory=lambda: AddressSpace(()))
    wraps: dict[Operation, Fault] = field(default_factory=dict[Operation, Fault])
    observe: Observer | None = None

    def compile(self, function: func.FuncOp) -> Code:
        handlers = {
            **SCALAR_HANDLERS,
            **wrap_reporting(addressing_ops(function), self._wrapped),
            **REGION_HANDLERS,
            **BLOCK_HANDLERS,
            "tl.program_id": self._program_id,
            "tl.num_programs": self._num_programs,
            "tl.load": self._load,
            "tl.store": self._store,
            "tl.atomic": self._atomic,
            "tl.load_region": self._load_region,
            "tl.store_region": self._store_region,
            "tl.gemm": self._gemm,
        }
        if self.observe is not None:
            handlers = watched(handlers, self._watch(self.observe))
        return compile_function(function, handlers)

    def _watch(self, observe: Observer) -> Watcher:
        def watch(op: Operation, _: Sequence[Any], results: Sequence[Any]) -> None:
            blocks = [cast(Array, r) for r in results if isinstance(r, np.ndarray)]
            if blocks or isinstance(op, tl.StoreOp | tl.StoreRegionOp | tl.AtomicOp):
                observe(op, blocks)

        return watch

    def bind(self, function: func.FuncOp, arguments: Sequence[Any]) -> list[Any]:
        """The contents of the argument slots; sets up the memory."""
        parameters = function.body.block.args
        if len(arguments) != len(parameters):
            raise fail(f"{len(arguments)} arguments for {len(parameters)} parameters", place_of(function.location))
        allocations: list[Allocation] = []
        bound: list[Any] = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            name = parameter.name_hint or f"argument {parameter.index}"
            if not isinstance(parameter.type, PointerType):
                bound.append(scalar(argument, numpy_dtype(parameter.type)))
                continue
            array = checked_array(argument, parameter.type, name)
            base = (len(allocations) + 1) * _SPACING
            allocations.append(Allocation(name, base, bytes_of(array)))
            bound.append(base)
        self.space = AddressSpace(allocations)
        return bound

    def run(self, code: Code, arguments: Sequence[Any], program: Program) -> None:
        self.program = program
        try:
            code.run(code.frame(arguments))
        except AhbmcError as error:
            note = f"in program {program}"
            raise AhbmcError(*(replace(f, notes=(*f.notes, note)) for f in error.faults)) from None

    def _wrapped(self, wrap: Wrap) -> None:
        self.wraps.setdefault(wrap.operation, _wrap_fault(wrap))

    # Handlers that need the state.

    def _program_id(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.ProgramIdOp)
        axis, out = op.axis.value.data, builder.slot(op.result)

        def step(slots: Slots) -> None:
            slots[out] = self.program[axis]

        return step

    def _num_programs(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, tl.NumProgramsOp)
        builder.constant(op.result, self.grid[op.axis.value.data])

    def _load(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.LoadOp)
        place, dtype = place_of(op.location), numpy_dtype(op.result.type)
        is_block = isinstance(op.result.type, TensorType)
        pointer, out = builder.slot(op.pointer), builder.slot(op.result)
        mask = builder.slot(op.mask) if op.mask is not None else builder.fresh()
        zero: Any = np.zeros((), dtype) if is_block else scalar(0, dtype)
        other = builder.slot(op.other) if op.other is not None else builder.fresh(zero)

        def load_block(slots: Slots) -> None:
            slots[out] = self.space.gather(slots[pointer], slots[mask], slots[other], place)

        def load_scalar(slots: Slots) -> None:
            masked = slots[mask] is not None and not slots[mask]
            slots[out] = slots[other] if masked else scalar(self.space.read_scalar(slots[pointer], dtype, place), dtype)

        return load_block if is_block else load_scalar

    def _store(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.StoreOp)
        place, dtype = place_of(op.location), numpy_dtype(op.value.type)
        pointer, value = builder.slot(op.pointer), builder.slot(op.value)
        mask = builder.slot(op.mask) if op.mask is not None else builder.fresh()

        def store_block(slots: Slots) -> None:
            self.space.scatter(slots[pointer], slots[mask], slots[value], place)

        def store_scalar(slots: Slots) -> None:
            if slots[mask] is None or slots[mask]:
                self.space.scatter(np.asarray([slots[pointer]]), None, np.asarray([slots[value]], dtype), place)

        return store_block if isinstance(op.value.type, TensorType) else store_scalar

    def _atomic(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.AtomicOp)
        place, dtype = place_of(op.location), numpy_dtype(op.result.type)
        change, is_block = change_of(op.kind.data, dtype), isinstance(op.result.type, TensorType)
        pointer, out = builder.slot(op.pointer), builder.slot(op.result)
        values = builder.slots([op.value, *((op.compare,) if op.compare is not None else ())])
        mask = builder.slot(op.mask) if op.mask is not None else builder.fresh()

        def step(slots: Slots) -> None:
            given = [np.asarray(slots[v], dtype) for v in values]
            chosen = None if slots[mask] is None else np.asarray(slots[mask])
            old = self.space.update(np.asarray(slots[pointer]), chosen, given, change, place)
            slots[out] = old if is_block else scalar(old, dtype)

        return step

    def _load_region(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.LoadRegionOp)
        place, shape = place_of(op.location), shape_of(op.result.type)
        region, out = builder.slot(op.region), builder.slot(op.result)

        def step(slots: Slots) -> None:
            check_sizes(slots[region], shape, place)
            slots[out] = self.space.read_region(slots[region], place)

        return step

    def _store_region(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.StoreRegionOp)
        place, shape = place_of(op.location), shape_of(op.value.type)
        region, value = builder.slot(op.region), builder.slot(op.value)

        def step(slots: Slots) -> None:
            check_sizes(slots[region], shape, place)
            self.space.write_region(slots[region], slots[value], place)

        return step

    def _gemm(self, op: Operation, builder: Builder) -> Step:
        assert isinstance(op, tl.GemmOp)
        place, dtype = place_of(op.location), numpy_dtype(op.result.type)
        a, b, out = builder.slot(op.a), builder.slot(op.b), builder.slot(op.result)
        accumulator = builder.slot(op.acc) if op.acc is not None else builder.fresh()

        def block(operand: Region | Array) -> Array:
            return self.space.read_region(operand, place) if isinstance(operand, Region) else operand

        tiles = _tile_steps(op.tiles, builder) if op.tiles is not None else None

        def step(slots: Slots) -> None:
            left, right = block(slots[a]), block(slots[b])
            if left.shape[1] != right.shape[0]:
                raise fail(f"a product over {left.shape[1]} and {right.shape[0]} lanes", place, Category.INTERNAL)
            if tiles is not None:
                left, right = tiles(slots, left, right)
            slots[out] = product(left, right, slots[accumulator], dtype)

        return step


def _tile_steps(tiles: XdslRegion, builder: Builder) -> Callable[[Slots, Array, Array], tuple[Array, Array]]:
    """What is done to the operands of a GEMM before they are multiplied, one block of K after the other."""
    a, b = builder.slots(tiles.block.args)
    block_k = shape_of(tiles.block.args[0].type)[1]
    steps, ends = builder.apart(tiles.block)

    def run(slots: Slots, left: Array, right: Array) -> tuple[Array, Array]:
        lefts, rights = list[Array](), list[Array]()
        for start in range(0, left.shape[1], block_k):
            lanes = min(block_k, left.shape[1] - start)
            # The last block is filled up with zeros, whose products are cut off again.
            slots[a] = _filled_up(left[:, start : start + lanes], 1, block_k)
            slots[b] = _filled_up(right[start : start + lanes], 0, block_k)
            for step in steps:
                step(slots)
            lefts.append(slots[ends[0]][:, :lanes])
            rights.append(slots[ends[1]][:lanes])
        return (np.concatenate(lefts, 1), np.concatenate(rights)) if lefts else (left, right)

    return run


def _filled_up(block: Array, axis: int, lanes: int) -> Array:
    missing = lanes - block.shape[axis]
    return np.pad(block, [(0, missing if d == axis else 0) for d in range(2)]) if missing else block


def checked_array(argument: Any, pointer: PointerType, name: str) -> Array:
    """The array behind a pointer argument; refuses what is none, has another element type or is not contiguous."""
    wanted = numpy_dtype(pointer.element_type)
    if not isinstance(argument, np.ndarray):
        raise fail(f"'{name}' is a pointer to {triton_name(wanted)}, but got {type(argument).__name__}")
    array = cast(Array, argument)
    if array.dtype not in (wanted, unsigned(wanted)):
        raise fail(f"'{name}' is a pointer to {triton_name(wanted)}, but the array holds {array.dtype}")
    if not array.flags.c_contiguous:
        raise fail(f"'{name}' is not contiguous", hint="pass numpy.ascontiguousarray(...) of it")
    return array


def check_sizes(region: Region, shape: tuple[int, ...], place: Place | None) -> None:
    """Refuse a region whose sizes at run time are not the block's."""
    if region.sizes != shape:
        raise fail(f"a region of sizes {region.sizes} for a block of {shape}", place, Category.INTERNAL)


def _wrap_fault(wrap: Wrap) -> Fault:
    return Fault(
        f"index arithmetic wraps in i32: the exact value is {wrap.exact}",
        place_of(wrap.operation.location),
        hint="cast an operand to tl.int64",
    )
