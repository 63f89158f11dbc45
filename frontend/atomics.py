"""Atomics: `tl.atomic_add` and its kin, on a pointer or a block of pointers."""

from __future__ import annotations

from collections.abc import Callable

from ..dialects import tl
from .builtin import Builtin, row
from .emit import Emitter
from .memory import address_of, as_mask, hints_of
from .types import BlockType, DType, PointerType, TypeFault, float32, float64
from .values import Item, Value, describe

_SEMANTICS = (None, "", "relaxed", "acquire", "release", "acq_rel")
_SCOPES = (None, "", "gpu", "cta", "sys")


def _check_hints(sem: str | None, scope: str | None) -> None:
    for name, given, allowed in (("sem", sem, _SEMANTICS), ("scope", scope, _SCOPES)):
        if given not in allowed:
            raise TypeFault(f"'{name}' is '{given}'", f"it is one of {', '.join(a for a in allowed if a)}")


def _check_element(kind: str, element: DType) -> None:
    """Which elements Triton takes in an atomic of this kind."""
    floats = {
        "add": "floats of 16 bits or more",
        "max": "fp32 and fp64",
        "min": "fp32 and fp64",
        "xchg": "fp32 and fp64",
    }
    wide = element.bits >= 32 if element.is_int else element in (float32, float64)
    if wide and not (element.is_float and kind in ("and", "or", "xor")):
        return
    if element.is_float and element.bits == 16 and kind == "add":
        return
    allowed = " and ".join(["integers of 32 and 64 bits", *([floats[kind]] if kind in floats else [])])
    raise TypeFault(f"memory holds {element}; it takes {allowed}", "keep these in a wider type")


def _read_modify_write(kind: str) -> Callable[..., Item]:
    def lower(emit: Emitter, pointer: Item, val: Value, mask: Value | None, sem: str | None, scope: str | None) -> Item:
        address, element = address_of(pointer)
        _check_element(kind, element)
        _check_hints(sem, scope)
        value = _fitted(emit, "val", emit.cast(val, element), address)
        chosen = None if mask is None else _fitted(emit, "mask", _truth(mask), address)
        return _made(emit, _signed(kind, element), address, element, value, None, chosen, sem, scope)

    return lower


def combine(emit: Emitter, kind: str, address: Value, value: Value, mask: Value) -> None:
    """An atomic of a block of values at a block of pointers, whose old contents nobody asks for."""
    _, element = address_of(address)
    if element.is_float and kind in ("and", "or", "xor"):
        raise TypeFault(f"memory holds {element}, whose bits are not combined", "view it as integers")
    _made(emit, _signed(kind, element), address, element, value, None, mask, None, None)


def _signed(kind: str, element: DType) -> str:
    """The kind of the op: extrema of numbers without a sign are kinds of their own."""
    return f"{kind}u" if kind in ("max", "min") and element.is_int and not element.signed else kind


def _compare_and_swap(emit: Emitter, pointer: Item, cmp: Value, val: Value, sem: str | None, scope: str | None) -> Item:
    address, element = address_of(pointer)
    if element.bits not in (16, 32, 64):
        raise TypeFault(
            f"memory holds {element}; it takes elements of 16, 32 and 64 bits", "keep these in a wider type"
        )
    _check_hints(sem, scope)
    compare = _fitted(emit, "cmp", emit.cast(cmp, element), address)
    value = _fitted(emit, "val", emit.cast(val, element), address)
    return _made(emit, "cas", address, element, value, compare, None, sem, scope)


def _truth(mask: Value) -> Value:
    checked = as_mask(mask)
    assert checked is not None
    return checked


def _fitted(emit: Emitter, name: str, item: Value, address: Value) -> Value:
    """An operand in the shape of the pointers, which does not change."""
    if address.is_block:
        return emit.broadcast(item, address.shape)
    if item.is_block:
        raise TypeFault(
            f"'{name}' is {describe(item)}, but the pointer is a single one", "give a block of pointers, one per lane"
        )
    return item


def _made(
    emit: Emitter,
    kind: str,
    address: Value,
    element: DType | PointerType,
    value: Value,
    compare: Value | None,
    mask: Value | None,
    sem: str | None,
    scope: str | None,
) -> Value:
    parts = [None if v is None else v.ssa for v in (compare, mask)]
    op = tl.AtomicOp(kind, address.ssa, value.ssa, *parts, hints=hints_of(sem=sem, scope=scope))
    return emit.make(op, BlockType(address.shape, element) if address.is_block else element)


_ORDER = "sem: str = None, scope: str = None"
_PARAMETERS = f"pointer, val: value, mask: value = None, {_ORDER}"

ATOMICS: tuple[Builtin, ...] = (
    *(
        row(
            f"atomic_{kind}",
            f"pointer, val: value, mask: value = None, {_ORDER}",
            _read_modify_write(kind),
            method=True,
        )
        for kind in ("add", "max", "min", "and", "or", "xor", "xchg")
    ),
    row("atomic_cas", f"pointer, cmp: value, val: value, {_ORDER}", _compare_and_swap, method=True),
)
