"""One `tl` op to the commands and views that do it, but for control flow, scalars of PE_CPU and composites."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ...dialects import ahbm, tl
from ...dialects.errors import Category, fail, place_of
from ...dialects.shapes import element_bytes, element_of, is_float, shape_of
from .along_axis import ALONG_AXIS
from .cpu_scalars import scalar_of
from .emission import Emission, view_axes
from .math_kinds import is_lane_by_lane, math_kind
from .pointer_accesses import atomic, load, store
from .residence import KeepOp, Residence, through_views


def select(e: Emission, op: Operation) -> bool:
    """Put the commands for `op` before it. False: `op` is none of this file's and stays as it is."""
    results = op.results
    if results and e.residences[results[0]] is Residence.UNIFORM:
        e.scalars[results[0]] = _uniform(e, op)
        return True
    if results and e.residences[results[0]] is Residence.INDEX:
        return not isinstance(op, scf.ForOp | scf.IfOp)
    if results and e.residences[results[0]] is Residence.POINTERS:
        _pointers(e, op)
        return True
    if results and e.residences[results[0]] is Residence.VIEW:
        e.views[results[0]] = _view(e, op)
        return True
    if is_lane_by_lane(op):
        return _lane_by_lane(e, op)
    if (make := _MAKERS.get(type(op))) is not None:
        make(e, op)
        return True
    return False


def _uniform(e: Emission, op: Operation) -> SSAValue:
    """The scalar that every lane of a block holds."""
    if isinstance(op, arith.ConstantOp):
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        first = next(op.value.iter_attrs())
        assert isinstance(first, FloatAttr | IntegerAttr)
        return e.insert(arith.ConstantOp(first)).result
    if isinstance(op, tl.SplatOp):
        return op.operand
    operands = [e.scalars[v] for v in op.operands]
    if isinstance(op, tl.ExpandDimsOp | tl.BroadcastOp | tl.ReshapeOp | tl.TransOp):
        return operands[0]
    return scalar_of(op, operands, element_of(op.results[0].type), e.insert)


def _view(e: Emission, op: Operation) -> SSAValue:
    source = e.operand(op.operands[0])
    if not isinstance(op, tl.ReshapeOp):
        return e.view(op.results[0], source, view_axes(op))
    packed = e.packed(op.operand)
    return e.insert(
        ahbm.ReshapeOp(packed, ahbm.BufferType(shape_of(op.result.type), element_of(op.result.type)))
    ).result


def _pointers(e: Emission, op: Operation) -> None:
    """A block of pointers as a scalar pointer and a block of offsets."""
    result = op.results[0]
    known = e.residences.analysis.of(result)
    if result in e.indices:
        assert known is not None and known.base is not None
        e.bases[result], e.views[result] = e.present(known.base), e.indices[result]
        return
    match op:
        case tl.SplatOp():
            e.bases[result], e.views[result] = op.operand, e.constant(0)
        case tl.AddPtrOp():
            if e.residences.has_storage(result):
                e.bases[result] = e.bases[op.pointer]
                e.insert(ahbm.MathOp("addi", [_offset(e, op.pointer), _wide(e, op.offset)], e.buffer(result)))
            else:
                # The first step away from one pointer, which may lie behind an argument by an offset of its own.
                splat = through_views(op.pointer).owner
                assert isinstance(splat, tl.SplatOp)
                e.bases[result], e.views[result] = splat.operand, e.operand(op.offset)
        case tl.ExpandDimsOp() | tl.BroadcastOp() | tl.TransOp():
            e.bases[result] = e.bases[op.operand]
            source = _offset(e, op.operand)
            e.views[result] = e.view(result, source, view_axes(op)) if shape_of(source.type) else source
        case tl.SelectOp():
            _select_pointers(e, op)
        case _:
            raise fail(
                "a block of pointers that comes from here cannot be lowered",
                place_of(op.location),
                Category.UNSUPPORTED,
                hint="compute a block of offsets and add it to one pointer",
            )


def _offset(e: Emission, pointers: SSAValue) -> SSAValue:
    found = e.views.get(pointers)
    return e.buffer(pointers) if found is None else found


def _select_pointers(e: Emission, op: tl.SelectOp) -> None:
    """Pointers of two blocks: offsets from the base of the first; those of the second lie behind by the distance of
    the bases, which counts in elements.
    """
    result, pointer = op.result, element_of(op.result.type)
    assert isinstance(pointer, tl.PointerType)
    first, second = e.bases[op.on_true], e.bases[op.on_false]
    e.bases[result] = first
    offsets = [_in_i64(e, _offset(e, side)) for side in (op.on_true, op.on_false)]
    if first is not second:
        here, there = (e.insert(ahbm.PtrCastOp(base, i64)).result for base in (first, second))
        size = e.constant(element_bytes(pointer.element_type))
        distance = e.insert(arith.DivSIOp(e.insert(arith.SubiOp(there, here)).result, size)).result
        moved = e.alloc(ahbm.BufferType(shape_of(result.type), i64))
        e.insert(ahbm.MathOp("addi", [offsets[1], distance], moved))
        offsets[1] = moved
    e.insert(ahbm.MathOp("select", [e.operand(op.condition), *offsets], e.buffer(result)))


def _in_i64(e: Emission, offset: SSAValue) -> SSAValue:
    if not isinstance(offset.type, ahbm.BufferType) or offset.type.element_type == i64:
        return offset
    buffer = e.alloc(ahbm.BufferType(shape_of(offset.type), i64))
    e.insert(ahbm.MathOp("cast", [offset], buffer))
    return buffer


def _wide(e: Emission, offset: SSAValue) -> SSAValue:
    """An offset operand in i64, as sums of offsets are kept."""
    return _in_i64(e, e.operand(offset))


def _lane_by_lane(e: Emission, op: Operation) -> bool:
    """One MATH command; none for what PE_CPU computes itself."""
    result = op.results[0]
    if e.residences[result] is Residence.CPU:
        return False
    inputs = [e.operand(v) for v in op.operands]
    unsigned = isinstance(op, tl.CastOp) and op.unsigned is not None
    e.insert(ahbm.MathOp(math_kind(op), inputs, e.buffer(result), unsigned=unsigned))
    return True


def _trans(e: Emission, op: Operation) -> None:
    """A transpose whose lanes are read in order: they have to be moved."""
    assert isinstance(op, tl.TransOp)
    e.insert(ahbm.CopyOp(e.view(op.result, e.viewed(op.operand), view_axes(op)), e.buffer(op.result)))


def _keep(e: Emission, op: Operation) -> None:
    assert isinstance(op, KeepOp)
    e.write(op.operand, e.buffer(op.result))


def _copy_to(e: Emission, op: Operation) -> None:
    """The one command that was asked for, also where a fill would do."""
    assert isinstance(op, tl.CopyToOp)
    if e.residences[op.source] is Residence.INDEX:
        e.write(op.source, e.buffer(op.result))
    else:
        e.insert(ahbm.CopyOp(e.viewed(op.source), e.buffer(op.result)))


def _dot(e: Emission, op: Operation) -> None:
    """A GEMM, and a MATH add where there is an accumulator: the command has none. Adding a zero is left out."""
    assert isinstance(op, tl.DotOp)
    out = e.buffer(op.result)
    a, b = e.viewed(op.a), e.viewed(op.b)
    acc = None if op.acc is None or _is_zero(e, op.acc) else e.operand(op.acc)
    product = out
    if acc is out:
        kind = out.type
        assert isinstance(kind, ahbm.BufferType)
        product = e.alloc(kind, op.result)
    for operands in _matrices(e, a, b, product):
        e.insert(ahbm.GemmOp(*operands))
    if acc is not None:
        e.insert(ahbm.MathOp("add" if is_float(op.result.type) else "addi", [acc, product], out))


def _matrices(e: Emission, *operands: SSAValue) -> Iterator[tuple[SSAValue, ...]]:
    """The operands of each GEMM: themselves, or of a batch the n-th matrix of each."""
    if len(shape_of(operands[0].type)) == 2:
        yield operands
        return
    for n in range(shape_of(operands[0].type)[0]):
        yield tuple(e.part(operand, n) for operand in operands)


def _is_zero(e: Emission, value: SSAValue) -> bool:
    if e.residences[value] is not Residence.UNIFORM:
        return False
    owner = e.scalars[value].owner
    return isinstance(owner, arith.ConstantOp) and _number(owner) == 0


def _number(op: arith.ConstantOp) -> float | int | None:
    return op.value.value.data if isinstance(op.value, FloatAttr | IntegerAttr) else None


def _load_region(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.LoadRegionOp)
    e.insert(ahbm.DmaReadOp(op.region, e.buffer(op.result)))


def _store_region(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.StoreRegionOp)
    e.insert(ahbm.DmaWriteOp(e.packed(op.value), op.region))


def _wait(e: Emission, op: Operation) -> None:
    buffers = [e.buffer(v) for v in op.operands if e.residences.has_storage(v)]
    if buffers:
        e.insert(ahbm.WaitOp(buffers))


def _cycles(e: Emission, op: Operation) -> None:
    assert isinstance(op, tl.CyclesOp)
    e.insert(ahbm.CyclesOp(op.cycles.value.data))


_MAKERS: dict[type[Operation], Callable[[Emission, Operation], None]] = {
    **ALONG_AXIS,
    tl.TransOp: _trans,
    KeepOp: _keep,
    tl.CopyToOp: _copy_to,
    tl.DotOp: _dot,
    tl.LoadRegionOp: _load_region,
    tl.StoreRegionOp: _store_region,
    tl.WaitOp: _wait,
    tl.CyclesOp: _cycles,
    tl.LoadOp: load,
    tl.StoreOp: store,
    tl.AtomicOp: atomic,
}
