"""Putting commands into a function while its blocks are still there: insertion, and what stands for a block as an
operand.

A block is named by its old value. `buffer` gives the buffer it lives in, `operand` what a MATH command or an op spec
takes for it, `packed` a whole buffer that holds it lane after lane.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, LocationAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.errors import Category, fail, place_of
from ...dialects.shapes import element_of, shape_of
from .buffers import Plan
from .residence import Residence

AnyOp = TypeVar("AnyOp", bound=Operation)


class Emission:
    """The state of one function that is being lowered. `at` is the op whose commands are made: all go before it."""

    def __init__(self, plan: Plan, entry: Block):
        self.plan = plan
        self.residences = plan.residences
        self.storage: dict[int, SSAValue] = {}
        self.scalars: dict[SSAValue, SSAValue] = {}
        self.indices: dict[SSAValue, SSAValue] = {}
        self.views: dict[SSAValue, SSAValue] = {}
        self.bases: dict[SSAValue, SSAValue] = {}
        self._replaced: dict[SSAValue, SSAValue] = {}
        self._entry = entry
        self._last_alloc: Operation | None = None
        assert entry.first_op is not None
        self.at: Operation = entry.first_op
        for number in plan.roots():
            if number not in plan.dynamic:
                # The name by which the kernel calls one of the values tells more than the place of the first.
                members = plan.members[number]
                named = next((m for m in members if m.name_hint is not None), members[0])
                self.storage[number] = self.alloc(_buffer_type(named.type), named)

    # --- insertion ---

    def insert(self, op: AnyOp) -> AnyOp:
        """Put `op` before the op that is being lowered, with its location."""
        op.location = self.at.location
        block = self.at.parent
        assert block is not None
        block.insert_op_before(op, self.at)
        return op

    def alloc(self, kind: ahbm.BufferType, named: SSAValue | None = None) -> SSAValue:
        """A buffer, at the head of the function so that every loop can take it."""
        op = ahbm.AllocOp(kind)
        op.location = _location(named) if named is not None else self.at.location
        if self._last_alloc is None:
            self._entry.insert_op_before(op, self._first())
        else:
            self._entry.insert_op_after(op, self._last_alloc)
        self._last_alloc = op
        op.result.name_hint = named.name_hint if named is not None else None
        return op.result

    def _first(self) -> Operation:
        assert self._entry.first_op is not None
        return self._entry.first_op

    def constant(self, value: int) -> SSAValue:
        return self.insert(arith.ConstantOp(IntegerAttr(value, i64))).result

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Let a scalar of PE_CPU take the place of an older one; what the analysis knows still names that."""
        old.replace_all_uses_with(new)
        self._replaced[old] = new

    def present(self, value: SSAValue) -> SSAValue:
        """What stands for a scalar that the analysis names."""
        while value in self._replaced:
            value = self._replaced[value]
        return value

    # --- what stands for a value ---

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer in which a value with storage lives."""
        return self.storage[self.plan.class_of(value)]

    def operand(self, value: SSAValue) -> SSAValue:
        """What a MATH command takes for a value: a buffer, a view, an index view or a scalar of PE_CPU."""
        match self.residences[value]:
            case Residence.BUFFER:
                return self.buffer(value)
            case Residence.VIEW:
                return self.views[value]
            case Residence.INDEX:
                return self.indices[value]
            case Residence.UNIFORM:
                return self.scalars[value]
            case Residence.POINTERS:
                raise fail(
                    "blocks of pointers cannot be computed with", place_of(self.at.location), Category.UNSUPPORTED
                )
            case Residence.CPU:
                return value

    def viewed(self, value: SSAValue) -> SSAValue:
        """A buffer or a view of one that holds `value`; made with a fill or a copy if there is none."""
        return (
            self._filled(value)
            if self.residences[value] in (Residence.INDEX, Residence.UNIFORM)
            else self.operand(value)
        )

    def packed(self, value: SSAValue) -> SSAValue:
        """A whole buffer that holds `value` in row-major order; made with a fill or a copy if there is none."""
        made = self.viewed(value)
        if not isinstance(made.owner, ahbm.ViewOp):
            return made
        buffer = self.alloc(_buffer_type(value.type), value)
        self.insert(ahbm.CopyOp(made, buffer))
        return buffer

    def _filled(self, value: SSAValue) -> SSAValue:
        buffer = self.alloc(_buffer_type(value.type), value)
        self.write(value, buffer)
        return buffer

    def write(self, value: SSAValue, buffer: SSAValue) -> None:
        """Put `value` into `buffer` by what does it: a fill, or a copy of an index view or of another buffer."""
        source = self.operand(value)
        if isinstance(source.type, ahbm.BufferType):
            if source is not buffer:
                self.insert(ahbm.CopyOp(source, buffer))
        elif isinstance(source.type, ahbm.IndexType):
            self.insert(ahbm.MathOp("copy", [source], buffer))
        else:
            self.insert(ahbm.FillOp(buffer, _constant_of(source) or source))

    def cpu(self, value: SSAValue) -> SSAValue:
        """A scalar for PE_CPU itself. One that lives in TCM is read, for which PE_CPU waits."""
        if self.residences[value] is not Residence.BUFFER:
            return value
        return self.insert(ahbm.ReadScalarOp(self.buffer(value))).result

    def pointers(self, value: SSAValue) -> tuple[SSAValue, SSAValue]:
        """(scalar pointer, index operand) of a block of pointers."""
        return self.bases[value], self.index_operand(value)

    def index_operand(self, pointers: SSAValue) -> SSAValue:
        """The offsets of a block of pointers from its base, as a buffer or an index view."""
        found = self.views.get(pointers)
        if found is None:
            found = self.buffer(pointers)
        if isinstance(found.type, ahbm.BufferType | ahbm.IndexType):
            return found
        return self.uniform_index(found, shape_of(pointers.type))

    def uniform_index(self, scalar: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """The index view that is `scalar` in every lane."""
        wide = scalar if scalar.type == i64 else self.insert(arith.ExtSIOp(scalar, i64)).result
        steps = [self.constant(0) for _ in shape]
        return self.insert(ahbm.IndexOp(wide, steps, ahbm.IndexType(shape, i64))).result

    def view(self, value: SSAValue, source: SSAValue, axes: list[int]) -> SSAValue:
        """`source` seen as `value`: result axis d is source axis `axes[d]`, -1 a repeated lane."""
        kind = type(source.type)
        assert kind in (ahbm.BufferType, ahbm.IndexType)
        shape, element = shape_of(value.type), element_of(source.type)
        result = ahbm.IndexType(shape, element) if kind is ahbm.IndexType else ahbm.BufferType(shape, element)
        return self.insert(ahbm.ViewOp(source, axes, result)).result

    def part(self, buffer: SSAValue, n: int) -> SSAValue:
        """Lane n of the first axis of a buffer, without that axis."""
        shape = shape_of(buffer.type)
        kind = ahbm.BufferType(shape[1:], element_of(buffer.type))
        rest = len(shape) - 1
        return self.insert(ahbm.ViewOp(buffer, range(1, len(shape)), kind, lanes=[n, *(0,) * rest])).result


def view_axes(op: Operation) -> list[int]:
    """The axes of `ahbm.view` for an op that moves or repeats axes of its operand."""
    match op:
        case tl.SplatOp():
            return [-1 for _ in shape_of(op.result.type)]
        case tl.ExpandDimsOp():
            at = op.axis.value.data
            return [d - (d > at) if d != at else -1 for d in range(len(shape_of(op.result.type)))]
        case tl.TransOp():
            return list(op.permutation)
        case _:
            return list(range(len(shape_of(op.results[0].type))))


def _buffer_type(kind: Attribute) -> ahbm.BufferType:
    """The buffer of a block or of a scalar; a block of pointers is its offsets, in i64."""
    element = element_of(kind)
    return ahbm.BufferType(shape_of(kind), i64 if isinstance(element, tl.PointerType) else element)


def _constant_of(scalar: SSAValue) -> FloatAttr | IntegerAttr | None:
    if isinstance(scalar.owner, arith.ConstantOp) and isinstance(scalar.owner.value, FloatAttr | IntegerAttr):
        return scalar.owner.value
    return None


def _location(value: SSAValue) -> LocationAttr:
    if isinstance(value.owner, Operation):
        return value.owner.location
    parent = value.owner.parent_op()
    assert parent is not None
    return parent.location
