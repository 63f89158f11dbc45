"""All builtin functions, by the module that has them. Library functions written in the kernel language are in
standard.tl.
"""

from __future__ import annotations

from . import hints
from .atomics import ATOMICS
from .builtin import Builtin
from .hints import PYTHON, TRITON
from .mathematics import ELEMENTWISE, MATHEMATICS
from .memory import MEMORY, OWN_MEMORY
from .shapes import SHAPES

LANGUAGE: tuple[Builtin, ...] = (*SHAPES, *MEMORY, *ATOMICS, *MATHEMATICS, *ELEMENTWISE, *hints.HINTS)
OWN: tuple[Builtin, ...] = OWN_MEMORY
MATH: tuple[Builtin, ...] = hints.MATH

# Functions of standard.tl that a value has as methods, as in Triton.
LIBRARY_METHODS = frozenset(
    {"cdiv", "sigmoid", "softmax", "max", "min", "sum", "argmax", "argmin", "xor_sum", "reduce_or"},
)

__all__ = ["LANGUAGE", "LIBRARY_METHODS", "MATH", "OWN", "PYTHON", "TRITON"]
