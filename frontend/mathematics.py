"""Functions that compute: those of the element-wise table, casts, the dot product and reductions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation

from ..dialects import tl
from ..dialects.elementwise import BY_TL, Elementwise
from . import operators
from .builtin import Builtin, row
from .emit import Emitter
from .types import (
    DType,
    PointerType,
    TypeFault,
    bfloat16,
    float32,
    int1,
    ir_type,
    with_element,
)
from .values import Item, Value, describe

# Functions of the table that take more than their operands.
_EXTRA = {"fdiv": ", ieee_rounding: hint = False"}
_NAMES = ("x", "y", "z")
# Functions that Triton computes in f32 for bf16 operands.
_WIDENING = ("maximum", "minimum")


def _elementwise(name: str, rows: tuple[Elementwise, ...]) -> Builtin:
    """The builtin for a name of the table; operands come into one type and shape first."""
    names = _NAMES[: rows[0].arity]

    def lower(emit: Emitter, **given: Value) -> Item:
        return apply(emit, name, rows, *(given[n] for n in names))

    parameters = ", ".join(f"{n}: value" for n in names) + _EXTRA.get(name, "")
    return row(name, parameters, lower, method=True)


def apply(emit: Emitter, name: str, rows: tuple[Elementwise, ...], *operands: Value) -> Value:
    """The row for the operands' type, on the operands. Raises TypeFault if there is none."""
    values = list(operands)
    if name in _WIDENING:
        values = [emit.cast(v, float32) if v.element == bfloat16 else v for v in values]
    for _ in values[1:]:
        # Promotion in pairs, as far as it goes: the last pass leaves all in one type.
        for n in range(len(values) - 1):
            values[n], values[n + 1] = operators.same_type(emit, values[n], values[n + 1])
    values = list(emit.together(*values))
    dtype = values[0].element
    if not isinstance(dtype, DType):
        raise TypeFault(f"numbers are needed, not {describe(values[0])}")
    place = operators.domain(dtype)
    for candidate in rows:
        if candidate.domain == place or (candidate.domain == "int" and dtype.is_int):
            return emit.elementwise(candidate, *values)
    wanted = " or ".join(dict.fromkeys(_DOMAINS[r.domain] for r in rows))
    raise TypeFault(
        f"{wanted} are needed, not {dtype}", "cast with `.to(tl.float32)`" if rows[0].domain == "float" else None
    )


_DOMAINS = {"float": "floats", "int": "integers", "sint": "signed integers", "uint": "unsigned integers"}


def _operator(symbol: str) -> Callable[..., Item]:
    def lower(emit: Emitter, x: Item, y: Item, sanitize_overflow: Item) -> Item:
        return operators.binary(emit, symbol, x, y)

    return lower


def absolute(emit: Emitter, x: Value) -> Value:
    """The absolute value; an unsigned number is its own."""
    if isinstance(x.element, DType) and x.element.is_int and not x.element.signed:
        return x
    return apply(emit, "abs", BY_TL["abs"], x)


def _extremum(name: str, with_nan: str) -> Callable[..., Item]:
    def lower(emit: Emitter, x: Value, y: Value, propagate_nan: Item) -> Item:
        result = apply(emit, name, BY_TL[name], x, y)
        if propagate_nan != "all" or not (isinstance(result.element, DType) and result.element.is_float):
            return result
        made = result.ssa.owner
        assert isinstance(made, Operation)
        return emit.elementwise(with_nan, *(Value(o, result.type) for o in made.operands))

    return lower


def _cast(emit: Emitter, input: Value, dtype: DType | PointerType, fp_downcast_rounding: Item, bitcast: bool) -> Item:
    if fp_downcast_rounding not in (None, "rtne"):
        raise TypeFault(f"rounding '{fp_downcast_rounding}' is not supported", "'rtne' is what there is")
    if bitcast and isinstance(input.element, DType) and isinstance(dtype, DType):
        return bits_as(emit, input, dtype)
    return emit.cast(input, dtype)


def bits_as(emit: Emitter, value: Value, dtype: DType) -> Value:
    """The bits of numbers read as another type of the same width. Raises TypeFault."""
    source = value.element
    assert isinstance(source, DType)
    if source.bits != dtype.bits:
        raise TypeFault(f"the bits of {source} do not make {dtype}", "the two types must be of one width")
    if source == dtype:
        return value
    kind = with_element(value.type, dtype)
    if ir_type(source) == ir_type(dtype):
        return Value(value.ssa, kind)
    return emit.make(arith.BitcastOp(value.ssa, ir_type(kind)), kind)


def _where(emit: Emitter, condition: Value, x: Item, y: Item) -> Item:
    chosen = emit.cast(condition, int1)
    a, b = operators.same_type(emit, x, y, pointers=True)
    chosen, a, b = emit.together(chosen, a, b)
    return emit.make(tl.SelectOp(chosen.ssa, a.ssa, b.ssa), a.type)


_NAN = ", propagate_nan: constant = 'none'"

MATHEMATICS: tuple[Builtin, ...] = (
    *(
        row(name, "x, y, sanitize_overflow: hint = True", _operator(symbol))
        for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))
    ),
    row("abs", "x: value", absolute, method=True),
    row("maximum", f"x: value, y: value{_NAN}", _extremum("maximum", "max_nan")),
    row("minimum", f"x: value, y: value{_NAN}", _extremum("minimum", "min_nan")),
    row(
        "cast",
        "input: value, dtype: type, fp_downcast_rounding: str = None, bitcast: bool = False",
        _cast,
        method=True,
    ),
    row("to", "input: value, dtype: type, fp_downcast_rounding: str = None, bitcast: bool = False", _cast, method=True),
    row("where", "condition: value, x: number, y: number", _where),
)

# Names that Triton gives to reductions are in the table for Python's own `max` and `min`.
_TAKEN = {b.name for b in MATHEMATICS} | {"max", "min"}
ELEMENTWISE: tuple[Builtin, ...] = tuple(_elementwise(name, rows) for name, rows in BY_TL.items() if name not in _TAKEN)
