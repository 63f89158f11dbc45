"""Functions that compute nothing: hints, checks, prints, ranges, and Python's own functions on compile-time things."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..dialects.elementwise import BY_TL
from . import attributes
from .builtin import Builtin, known, row
from .emit import Emitter
from .mathematics import absolute, apply
from .types import BlockType, DType, PointerType, TypeFault
from .values import Descriptor, Item, Iteration, Value, describe


def _nothing(emit: Emitter, **_: Item) -> Item:
    return None


def _same(emit: Emitter, input: Item, values: Item) -> Item:
    """A promise about a value: the analysis of addresses proves what it needs by itself."""
    return input


def _static_assert(emit: Emitter, cond: Item, msg: Item) -> Item:
    if not known(cond):
        raise emit.fail(
            f"static assertion failed{f': {msg}' if msg else ''}", "choose constants for which the condition holds"
        )
    return None


def _to_tensor(emit: Emitter, x: Value) -> Item:
    return x


def _constexpr(emit: Emitter, value: Item) -> Item:
    return known(value)


def _iteration(static: bool) -> Callable[..., Item]:
    def lower(emit: Emitter, bounds: tuple[Item, ...], step: Item = None, **_: Item) -> Item:
        if not 1 <= len(bounds) <= 3:
            raise TypeFault(f"one to three bounds are needed, not {len(bounds)}")
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        if len(bounds) == 3 and step is not None:
            raise TypeFault("the step is given twice")
        by = bounds[2] if len(bounds) == 3 else 1 if step is None else step
        for bound in (start, stop, by):
            if not isinstance(bound, int) and not (
                isinstance(bound, Value)
                and not bound.is_block
                and isinstance(bound.element, DType)
                and bound.element.is_int
            ):
                raise TypeFault(f"a bound must be an integer, not {describe(bound)}", "`//` and tl.cdiv give integers")
        return Iteration(start, stop, by, static)

    return lower


def _next_power_of_2(emit: Emitter, n: int) -> Item:
    return 1 << max(n - 1, 0).bit_length()


def _cdiv(emit: Emitter, x: int, y: int) -> Item:
    if y == 0:
        raise TypeFault("a division by zero")
    return -(-x // y)


def _length(emit: Emitter, value: Item) -> Item:
    if isinstance(value, Value) and value.is_block:
        return value.shape[0]
    if not isinstance(value, tuple | str):
        raise TypeFault(f"{describe(value)} has no length")
    return len(value)


def _extreme(name: str, python: Callable[..., Item]) -> Callable[..., Item]:
    def lower(emit: Emitter, values: tuple[Item, ...]) -> Item:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if not items:
            raise TypeFault("at least one value is needed")
        for item in items:
            if not isinstance(item, Value | bool | int | float):
                raise TypeFault(f"numbers are needed, not {describe(item)}")
        result = items[0]
        for item in items[1:]:
            if isinstance(result, Value) or isinstance(item, Value):
                result = apply(emit, name, BY_TL[name], emit.value(result), emit.value(item))
            else:
                result = python(result, item)
        return result

    return lower


def _absolute(emit: Emitter, x: Item) -> Item:
    if isinstance(x, Value):
        return absolute(emit, x)
    if isinstance(x, bool | int | float):
        return abs(x)
    raise TypeFault(f"a number is needed, not {describe(x)}")


def _number(make: Callable[[Item], Item], what: str) -> Callable[..., Item]:
    def lower(emit: Emitter, x: Item) -> Item:
        item = known(x)
        try:
            return make(item)
        except (TypeError, ValueError, OverflowError):
            raise TypeFault(f"{describe(item)} makes no {what}") from None

    return lower


def _is_tuple(emit: Emitter, x: Item) -> Item:
    return isinstance(x, tuple)


def _text(emit: Emitter, x: Item) -> Item:
    return str(known(x))


def _square_root(emit: Emitter, x: Item) -> Item:
    item = known(x)
    if not isinstance(item, int | float) or item < 0:
        raise TypeFault(f"{describe(item)} has no square root")
    return math.sqrt(item)


def _is_instance(emit: Emitter, value: Item, kind: Item) -> Item:
    """As in Triton, where a compile-time value counts as what Python takes it for."""
    if isinstance(kind, tuple):
        return any(_is_instance(emit, value, each) for each in kind)
    tests: dict[str, bool] = {
        "tensor": isinstance(value, Value),
        "tensor_descriptor": isinstance(value, Descriptor),
        "tensor_descriptor_base": isinstance(value, Descriptor),
        "constexpr": False,
        "dtype": isinstance(value, DType | PointerType | BlockType),
        "tuple": isinstance(value, tuple),
        "bool": isinstance(value, bool),
        "int": isinstance(value, int),
        "float": isinstance(value, float),
        "str": isinstance(value, str),
    }
    name = kind.name if isinstance(kind, Builtin) else ""
    if name not in tests:
        raise TypeFault(f"{describe(kind)} is no type that a value can be an instance of")
    return tests[name]


def _attribute_of(emit: Emitter, owner: Item, name: str, default: Item) -> Item:
    found = attributes.attribute(emit, owner, name)
    return default if found is attributes.ABSENT else found


def _has_attribute(emit: Emitter, owner: Item, name: str) -> Item:
    return attributes.attribute(emit, owner, name) is not attributes.ABSENT


def _class(emit: Emitter, **_: Item) -> Item:
    raise TypeFault("a kernel makes no values of this class", "it is there for isinstance")


def _log2(emit: Emitter, i: int) -> Item:
    return max(i, 1).bit_length() - 1


HINTS: tuple[Builtin, ...] = (
    row("multiple_of", "input, values: hint", _same),
    row("max_contiguous", "input, values: hint", _same),
    row("max_constancy", "input, values: hint", _same),
    row("assume", "cond: hint", _nothing),
    row("debug_barrier", "", _nothing),
    row("static_assert", "cond, msg: item = ''", _static_assert),
    row("static_print", "*values", _nothing),
    row("device_print", "prefix: item = '', *values, hex: hint = False", _nothing),
    row("device_assert", "cond: hint, msg: hint = '', mask: hint = None", _nothing),
    row("constexpr", "value", _constexpr),
    row("to_tensor", "x: value", _to_tensor),
    row("_is_tuple", "x", _is_tuple),
    row(
        "range",
        "*bounds, step: item = None, num_stages: hint = None, loop_unroll_factor: hint = None, "
        "disallow_acc_multi_buffer: hint = None, flatten: hint = None, warp_specialize: hint = None, "
        "disable_licm: hint = None",
        _iteration(static=False),
    ),
    row("static_range", "*bounds, step: item = None", _iteration(static=True)),
)

TRITON: tuple[Builtin, ...] = (
    row("next_power_of_2", "n: int", _next_power_of_2),
    row("cdiv", "x: int, y: int", _cdiv),
)

PYTHON: tuple[Builtin, ...] = (
    row("range", "*bounds, step: item = None", _iteration(static=False)),
    row("len", "value", _length),
    row("min", "*values", _extreme("minimum", min)),
    row("max", "*values", _extreme("maximum", max)),
    row("abs", "x", _absolute),
    row("float", "x", _number(float, "float")),  # pyright: ignore[reportArgumentType] -- what does not convert raises
    row("int", "x", _number(int, "integer")),  # pyright: ignore[reportArgumentType]
    row("bool", "x", _number(bool, "boolean")),
    row("str", "x", _text),
    row("print", "*values", _nothing),
    row("isinstance", "value, kind", _is_instance),
    row("getattr", "owner, name: str, default: item = None", _attribute_of),
    row("hasattr", "owner, name: str", _has_attribute),
)

# Classes of Triton's language that a kernel names for `isinstance`.
CLASSES: tuple[Builtin, ...] = tuple(
    row(name, "*values", _class) for name in ("tensor", "tensor_descriptor", "tensor_descriptor_base", "dtype", "tuple")
)

STANDARD: tuple[Builtin, ...] = (row("_log2", "i: int", _log2),)

# Programmatic dependent launch: a launch here starts when the one before it has ended.
CUDA: tuple[Builtin, ...] = (row("gdc_wait", "", _nothing), row("gdc_launch_dependents", "", _nothing))

MATH: tuple[Builtin, ...] = (row("sqrt", "x", _square_root),)
