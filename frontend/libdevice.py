"""The functions of `libdevice`: those of the element-wise table under the names that CUDA gives them, and some made of
others. They take fp32 and fp64, as the library does.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dialects.elementwise import BY_KIND, ELEMENTWISE
from . import operators
from .builtin import Builtin, row
from .emit import Emitter
from .mathematics import apply, bits_as
from .types import DType, TypeFault, float32, float64, int32, int64, uint32
from .values import Item, Value, describe

# Functions that Triton's language has too, by their names here.
_SHARED: dict[str, str] = {
    "fast_expf": "exp",
    "exp": "exp",
    "exp2": "exp2",
    "fast_logf": "log",
    "log": "log",
    "fast_log2f": "log2",
    "log2": "log2",
    "fast_sinf": "sin",
    "sin": "sin",
    "fast_cosf": "cos",
    "cos": "cos",
    "sqrt": "sqrt",
    "sqrt_rn": "sqrt",
    "rsqrt": "rsqrt",
    "rsqrt_rn": "rsqrt",
    "erf": "erf",
    "fast_erf": "erf",
    "floor": "floor",
    "ceil": "ceil",
    "fma": "fma",
    "fma_rn": "fma",
    "add_rn": "add",
    "sub_rn": "sub",
    "mul_rn": "mul",
    "div_rn": "div",
    "fast_dividef": "div",
}
_OPERANDS = ("arg0", "arg1", "arg2")


def _function(name: str, kind: str) -> Builtin:
    element = BY_KIND[kind]
    names = _OPERANDS[: element.arity]

    def lower(emit: Emitter, **given: Value) -> Item:
        result = apply(emit, name, (element,), *(given[n] for n in names))
        if result.element not in (float32, float64):
            raise TypeFault(f"fp32 or fp64 is needed, not {result.element}", "cast with `.to(tl.float32)`")
        return result

    return row(name, ", ".join(f"{n}: value" for n in names), lower)


def _float(x: Value) -> Value:
    if x.element not in (float32, float64):
        raise TypeFault(f"fp32 or fp64 is needed, not {describe(x)}", "cast with `.to(tl.float32)`")
    return x


def _isnan(emit: Emitter, arg0: Value) -> Item:
    return operators.binary(emit, "!=", _float(arg0), arg0)


def _size_is(operator: str) -> Callable[..., Item]:
    """The size of a number against infinity."""

    def lower(emit: Emitter, arg0: Value) -> Item:
        return operators.binary(emit, operator, emit.elementwise("abs", _float(arg0)), float("inf"))

    return lower


def _reciprocal(emit: Emitter, arg0: Value) -> Item:
    return operators.binary(emit, "/", 1.0, _float(arg0))


def _rounded(kind: str) -> Callable[..., Item]:
    """A float to the integer that a rule of rounding gives."""

    def lower(emit: Emitter, arg0: Value) -> Item:
        return emit.cast(emit.elementwise(kind, _float(arg0)), int64)

    return lower


def _power_of_10(emit: Emitter, arg0: Value) -> Item:
    ten = emit.constant(10.0, float64 if _float(arg0).element == float64 else float32, arg0.shape)
    return emit.elementwise("pow", ten, arg0)


def _bits(source: DType, target: DType) -> Callable[..., Item]:
    def lower(emit: Emitter, arg0: Value) -> Item:
        if arg0.element != source:
            raise TypeFault(f"{source} is needed, not {describe(arg0)}")
        return bits_as(emit, arg0, target)

    return lower


LIBDEVICE: tuple[Builtin, ...] = (
    *(_function(name, each.kind) for each in ELEMENTWISE for name in each.libdevice),
    *(_function(name, kind) for name, kind in _SHARED.items()),
    row("isnan", "arg0: value", _isnan),
    row("isinf", "arg0: value", _size_is("==")),
    row("finitef", "arg0: value", _size_is("<")),
    row("isfinited", "arg0: value", _size_is("<")),
    row("rcp_rn", "arg0: value", _reciprocal),
    row("llrint", "arg0: value", _rounded("rint")),
    row("llround", "arg0: value", _rounded("round")),
    row("exp10", "arg0: value", _power_of_10),
    row("fast_exp10f", "arg0: value", _power_of_10),
    row("float_as_int", "arg0: value", _bits(float32, int32)),
    row("float_as_uint", "arg0: value", _bits(float32, uint32)),
    row("int_as_float", "arg0: value", _bits(int32, float32)),
    row("uint_as_float", "arg0: value", _bits(uint32, float32)),
)
