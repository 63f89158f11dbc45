"""The type of an argument as a signature names it ("*fp16", "i32", "fp32"): the one that Triton gives a value, or the
one that a program of commands asks for.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ..backend_sim.memory import Tensor
from ..backend_sim.numerics.dtypes import TRITON_TYPES, triton_name
from ..dialects.errors import Place, fail
from ..dialects.pointer import PointerType
from .command_kernels import type_name
from .kernels import Parameter

Given = Tensor | bool | int | float


def scalar_type(value: bool | int | float, place: Place | None) -> str:
    """The type that Triton gives a Python number: i1, i32 (i64 or u64 where it must), fp32."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    for name, low, high in (("i32", -(1 << 31), 1 << 31), ("i64", -(1 << 63), 1 << 63), ("u64", 0, 1 << 64)):
        if low <= value < high:
            return name
    raise fail(f"{value} does not fit an integer of 64 bits", place, hint="take a smaller number")


def type_of(value: Given, place: Place | None) -> str:
    """The type of a value as a signature names it."""
    if isinstance(value, Tensor):
        return f"*{triton_name(value.dtype)}"
    return scalar_type(value, place)


def typed(parameter: Parameter, value: object, place: Place | None) -> tuple[str, Given]:
    """(type, value) of an argument that is no constant. Raises AhbmcError where a program of commands wants another
    type.
    """
    if parameter.type is None:
        assert isinstance(value, Given)
        return type_of(value, place), value
    taken = _taken(value, parameter.type)
    if taken is None:
        found = f"a tensor of {triton_name(value.dtype)}" if isinstance(value, Tensor) else f"{value!r}"
        message = f"`{parameter.name}` is of type {parameter.type}; found {found}"
        raise fail(message, place, hint=f"the program is at {parameter.place}")
    return type_name(parameter.type), taken


def _taken(value: object, kind: Attribute) -> Given | None:
    """The value as an argument of type `kind`; None where it is none."""
    match value, kind:
        case Tensor(), PointerType():
            return value if TRITON_TYPES[triton_name(value.dtype)].ir == kind.element_type else None
        case int(), IntegerType():
            return value if -(1 << kind.bitwidth >> 1) <= value < 1 << kind.bitwidth else None
        case (bool(), _) | (_, PointerType() | IntegerType()):
            return None
        case int() | float(), _:
            return float(value)
        case _:
            return None
