"""All builtin functions, by the module that has them. Library functions written in the kernel language are in
`*.tl` files.
"""

from __future__ import annotations

from . import descriptors, hints, libdevice, memory
from .along_axis import ALONG_AXIS
from .atomics import ATOMICS
from .builtin import Builtin
from .commands import COMMANDS
from .composites import COMPOSITE
from .hints import PYTHON, TRITON
from .mathematics import ELEMENTWISE, MATHEMATICS
from .memory import MEMORY, REF
from .products import PRODUCTS
from .shapes import SHAPES

LANGUAGE: tuple[Builtin, ...] = (
    *SHAPES,
    *MEMORY,
    *descriptors.DESCRIPTORS,
    *ATOMICS,
    *ALONG_AXIS,
    *MATHEMATICS,
    *PRODUCTS,
    *ELEMENTWISE,
    *hints.HINTS,
)
OWN: tuple[Builtin, ...] = (REF, COMPOSITE, *COMMANDS)
MATH: tuple[Builtin, ...] = hints.MATH
CLASSES: tuple[Builtin, ...] = hints.CLASSES
STANDARD: tuple[Builtin, ...] = hints.STANDARD
CUDA: tuple[Builtin, ...] = hints.CUDA
LIBDEVICE: tuple[Builtin, ...] = libdevice.LIBDEVICE
DESCRIPTOR_METHODS = descriptors.METHODS
BLOCK_POINTER_METHODS = memory.METHODS

# Functions of the library that a value has as methods, as in Triton.
LIBRARY_METHODS = frozenset(
    (
        *("cdiv", "sigmoid", "softmax", "max", "min", "sum", "argmax", "argmin", "xor_sum", "reduce_or"),
        *("reduce", "associative_scan", "cumsum", "cumprod", "split", "flip"),
    )
)

__all__ = [
    "BLOCK_POINTER_METHODS",
    "CLASSES",
    "CUDA",
    "DESCRIPTOR_METHODS",
    "LANGUAGE",
    "LIBDEVICE",
    "LIBRARY_METHODS",
    "MATH",
    "OWN",
    "PYTHON",
    "STANDARD",
    "TRITON",
]
