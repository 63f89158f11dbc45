"""Operators: on Python numbers at compile time as Python computes them, on values as Triton does.

One table says which element-wise function an operator is for which kind of operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import BlockArgument

from ..dialects import tl
from .emit import Emitter, holds
from .types import DType, PointerType, TypeFault, check_number, computation_type, float32, int1, int64, type_of_number
from .values import LOAD, Item, Region, Value, describe

# Operator -> {"float" | "sint" | "uint": kind of the element-wise table}.
KINDS: dict[str, dict[str, str]] = {
    "+": {"float": "add", "sint": "addi", "uint": "addi"},
    "-": {"float": "sub", "sint": "subi", "uint": "subi"},
    "*": {"float": "mul", "sint": "muli", "uint": "muli"},
    "/": {"float": "div"},
    "//": {"sint": "divsi", "uint": "divui"},
    "%": {"float": "rem", "sint": "remsi", "uint": "remui"},
    "&": {"sint": "and", "uint": "and"},
    "|": {"sint": "or", "uint": "or"},
    "^": {"sint": "xor", "uint": "xor"},
    "<<": {"sint": "shl", "uint": "shl"},
    ">>": {"sint": "shrsi", "uint": "shrui"},
}
DIVISIONS = ("/", "//", "%")
PREDICATES: dict[str, dict[str, str]] = {
    "==": {"float": "oeq", "sint": "eq", "uint": "eq"},
    "!=": {"float": "une", "sint": "ne", "uint": "ne"},
    "<": {"float": "olt", "sint": "slt", "uint": "ult"},
    "<=": {"float": "ole", "sint": "sle", "uint": "ule"},
    ">": {"float": "ogt", "sint": "sgt", "uint": "ugt"},
    ">=": {"float": "oge", "sint": "sge", "uint": "uge"},
}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "**": lambda a, b: a**b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": lambda a, b: a is b or (isinstance(a, type(b)) and a == b),
    "is not": lambda a, b: not (a is b or (isinstance(a, type(b)) and a == b)),
}
# A compile-time number or tuple beyond this is a mistake, and would take all memory before it is found out.
_LARGEST_BITS = 4096
_LONGEST_TUPLE = 65536


def binary(emit: Emitter, operator: str, a: Item, b: Item) -> Item:
    """`a operator b`, comparisons included. Raises TypeFault where Triton has no such operation."""
    if operator in ("is", "is not", "in", "not in"):
        return _identity(operator, a, b)
    if not isinstance(a, Value) and not isinstance(b, Value):
        return _at_compile_time(operator, a, b)
    for item in (a, b):
        if not isinstance(item, Value | bool | int | float):
            if operator in ("==", "!="):
                return operator == "!="  # a value is never equal to a string, a type or None
            raise TypeFault(f"'{operator}' needs numbers or blocks, not {describe(item)}", "compute with numbers only")
    if operator in PREDICATES:
        return compare(emit, operator, a, b)
    if operator not in KINDS:
        hint = "tl.dot multiplies blocks" if operator == "@" else None
        raise TypeFault(f"'{operator}' of run-time values is not supported in a kernel", hint)
    pointers = [i for i in (a, b) if isinstance(i, Value) and i.is_pointer]
    return _pointer(emit, operator, a, b) if pointers else _arithmetic(emit, operator, a, b)


def _arithmetic(emit: Emitter, operator: str, a: Item, b: Item) -> Value:
    x, y = same_type(emit, a, b, division=operator in DIVISIONS)
    dtype = x.element
    assert isinstance(dtype, DType)
    if operator == "/" and dtype.is_int:
        x, y, dtype = emit.cast(x, float32), emit.cast(y, float32), float32
    kind = KINDS[operator].get(domain(dtype))
    if operator == ">>" and dtype.is_int:
        # Which bits come in is a matter of the left operand, or of the right one where the left is a Python number.
        shifted = _element(a if isinstance(a, Value) else b)
        kind = "shrsi" if isinstance(shifted, DType) and shifted.signed else "shrui"
    if kind is None:
        hint = "use tl.floor(x / y) for floats" if operator == "//" else "cast with `.to(tl.int32)`"
        raise TypeFault(f"'{operator}' is not defined for {dtype}", hint)
    return emit.elementwise(kind, x, y)


def domain(dtype: DType) -> str:
    """The column of an operator's row for operands of this type."""
    return "float" if dtype.is_float else "sint" if dtype.signed else "uint"


def same_type(
    emit: Emitter, a: Item, b: Item, *, division: bool = False, pointers: bool = False
) -> tuple[Value, Value]:
    """Both operands in the type in which an operator computes, and in one shape."""
    left, right = _element(a), _element(b)
    if isinstance(left, PointerType) or isinstance(right, PointerType):
        if not (pointers and left == right):
            raise TypeFault(f"{describe(a)} and {describe(b)} do not go together")
        x, y = emit.value(a), emit.value(b)
    else:
        weak = isinstance(a, Value), isinstance(b, Value)
        dtype = computation_type(left, right, a_weak=not weak[0], b_weak=not weak[1], division=division)
        shape = next((i.shape for i in (a, b) if isinstance(i, Value) and i.is_block), ())
        x, y = _operand(emit, a, dtype, shape), _operand(emit, b, dtype, shape)
    x, y = emit.together(x, y)
    return x, y


def _operand(emit: Emitter, item: Item, dtype: DType, shape: tuple[int, ...]) -> Value:
    """A number right away in the other operand's shape, a value by a cast."""
    if isinstance(item, Value):
        return emit.cast(item, dtype)
    assert isinstance(item, bool | int | float)
    check_number(item, dtype)
    return emit.constant(item, dtype, shape)


def _element(item: Item) -> DType | PointerType:
    if isinstance(item, Value):
        return item.element
    if isinstance(item, bool | int | float):
        return type_of_number(item)
    raise TypeFault(f"a number or block is needed, not {describe(item)}")


def _pointer(emit: Emitter, operator: str, a: Item, b: Item) -> Value:
    """Pointer plus or minus a number of elements."""
    left, right = _element(a), _element(b)
    if isinstance(left, PointerType) and isinstance(right, PointerType):
        raise TypeFault(f"two pointers cannot be operands of '{operator}'")
    if operator not in ("+", "-") or (operator == "-" and isinstance(right, PointerType)):
        raise TypeFault(f"'{operator}' is not defined for {left} and {right}", "a pointer takes + and - of integers")
    pointer, offset = (a, b) if isinstance(left, PointerType) else (b, a)
    counted = emit.value(offset)
    dtype = counted.element
    if not isinstance(dtype, DType) or dtype.is_float:
        raise TypeFault(
            f"a pointer cannot be moved by {describe(offset)}", "offsets are integers: cast with `.to(tl.int32)`"
        )
    if operator == "-":
        counted = negative(emit, counted)
    elif not dtype.signed and dtype.bits < 64:
        counted = emit.cast(counted, int64)  # an offset counts as signed
    base, counted = emit.together(emit.value(pointer), counted)
    return emit.make(tl.AddPtrOp(base.ssa, counted.ssa), base.type)


def compare(emit: Emitter, operator: str, a: Item, b: Item) -> Value:
    """A comparison of values: an i1 or a block of them. A Python number has the type here that it has by itself."""
    x, y = same_type(emit, _own_type(emit, a, b), _own_type(emit, b, a))
    assert isinstance(x.element, DType)
    return emit.compare(PREDICATES[operator][domain(x.element)], x, y)


def _own_type(emit: Emitter, item: Item, other: Item) -> Item:
    """A number as a value of its own type; where the other operand's type has it exactly, that makes no difference and
    costs no cast.
    """
    if not isinstance(item, bool | int | float) or not isinstance(other, Value):
        return item
    if type_of_number(item) == float32:
        item = FloatAttr(item, f32).value.data
    if isinstance(other.element, DType) and holds(item, other.element):
        return item
    return emit.value(item)


def minus(emit: Emitter, item: Item) -> Item:
    """`-x`."""
    if isinstance(item, Value):
        return negative(emit, item)
    if isinstance(item, bool | int | float):
        return -item
    raise TypeFault(f"'-' is not defined for {describe(item)}")


def negative(emit: Emitter, value: Value) -> Value:
    """A value with its sign turned; of unsigned integers the two's complement."""
    dtype = value.element
    if not isinstance(dtype, DType):
        raise TypeFault(f"'-' is not defined for {describe(value)}")
    if dtype.is_float:
        return emit.elementwise("neg", value)
    return emit.elementwise("subi", emit.constant(0, dtype, value.shape), value)


def invert(emit: Emitter, item: Item) -> Item:
    """`~x`: every bit turned over."""
    if not isinstance(item, Value):
        if isinstance(item, bool):
            return not item  # as Triton's i1 does
        if isinstance(item, int):
            return ~item
        raise TypeFault(f"'~' is not defined for {describe(item)}")
    dtype = item.element
    if not isinstance(dtype, DType) or dtype.is_float:
        raise TypeFault(f"'~' is not defined for {describe(item)}")
    ones = emit.constant(True if dtype.is_bool else -1, dtype, item.shape)
    return emit.elementwise("xor", item, ones)


def truth(emit: Emitter, item: Item) -> bool | Value:
    """Whether an item holds: known at compile time, or an i1 (or a block of them)."""
    if isinstance(item, Value):
        if item.is_pointer:
            if isinstance(item.ssa, BlockArgument) and not item.is_block:
                return True  # an argument that is a pointer points at a tensor
            raise TypeFault(f"{describe(item)} is neither true nor false", "compare it with None")
        if item.known is not None:
            return bool(item.known)
        return emit.cast(item, int1)
    return bool(item)


def negate(emit: Emitter, item: Item) -> Item:
    """`not x`."""
    known = truth(emit, item)
    return invert(emit, known) if isinstance(known, Value) else not known


def connect(emit: Emitter, operator: str, a: Item, b: Item) -> Item:
    """`a and b`, `a or b` where at least one is a run-time value; both sides are evaluated, as in Triton."""
    x, y = truth(emit, a), truth(emit, b)
    return binary(emit, "&" if operator == "and" else "|", x, y)


def _identity(operator: str, a: Item, b: Item) -> bool:
    if operator in ("in", "not in") and (not isinstance(b, tuple | str) or isinstance(a, Value)):
        raise TypeFault(f"'{operator}' needs a compile-time tuple, not {describe(b)}")
    if isinstance(a, Value) or isinstance(b, Value):
        return (a is b) == (operator == "is")
    return bool(_PYTHON[operator](a, b))


def _at_compile_time(operator: str, a: Item, b: Item) -> Item:
    """Python's own arithmetic."""
    _check_size(operator, a, b)
    try:
        result = _PYTHON[operator](a, b)
    except ZeroDivisionError:
        raise TypeFault(f"{a} {operator} {b} divides by zero", "test the divisor before") from None
    except (TypeError, ValueError, OverflowError):
        hint = LOAD if isinstance(a, Region) or isinstance(b, Region) else None
        raise TypeFault(f"'{operator}' is not defined for {describe(a)} and {describe(b)}", hint) from None
    if isinstance(result, complex):
        raise TypeFault(f"{a} {operator} {b} is no real number")
    return result


def _check_size(operator: str, a: Item, b: Item) -> None:
    large = False
    if isinstance(a, int) and isinstance(b, int):
        if operator == "<<":
            large = b > _LARGEST_BITS
        elif operator == "**":
            large = abs(b) * max(a.bit_length(), 1) > _LARGEST_BITS
        elif operator == "*":
            large = a.bit_length() + b.bit_length() > _LARGEST_BITS
    elif operator == "*":
        for sequence, times in ((a, b), (b, a)):
            if isinstance(sequence, tuple | str) and isinstance(times, int):
                large = large or len(sequence) * times > _LONGEST_TUPLE
    if large:
        raise TypeFault(f"the result of '{operator}' is too large for a compile-time constant")
