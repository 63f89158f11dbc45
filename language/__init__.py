"""The names of the kernel language, for editors and for live functions: `import ahbmc.language as tl`.

A kernel is parsed, never executed, so nothing here computes anything: a call outside a kernel raises `OutsideKernel`.
The names are those of `triton.language` that the frontend knows, and AHBM's own (`ref`, `wait`, `cycles`, `copy_to`); a
test holds them and their parameters to the frontend's tables. Those that are written in the kernel language itself are
in library.py.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

from ..dialects.elementwise import BY_TL
from .library import *  # noqa: F403 -- exactly its __all__
from .outside import OutsideKernel as OutsideKernel
from .outside import outside as _outside


class dtype:
    """The type of the elements of a block."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


class constexpr:
    """The annotation of a parameter that the compiler knows; as a call, a value that it knows."""

    def __init__(self, value: Any):
        self.value = value


class PropagateNan:
    """What `maximum` and `minimum` do with a NaN."""

    ALL: Literal["all"] = "all"
    NONE: Literal["none"] = "none"


int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("float8e5")
float8e4nv = dtype("float8e4nv")
float16 = dtype("float16")
bfloat16 = dtype("bfloat16")
float32 = dtype("float32")
float64 = dtype("float64")


# Blocks, memory and arithmetic


def program_id(axis: Any) -> Any:
    """The number of this program on an axis (0, 1 or 2) of the launch grid."""
    _outside("program_id")


def num_programs(axis: Any) -> Any:
    """The number of programs on an axis of the launch grid."""
    _outside("num_programs")


def arange(start: Any, end: Any) -> Any:
    """The block `[start, start + 1, ..., end - 1]`; the number of elements is a power of two."""
    _outside("arange")


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """A block of a shape, filled with a value."""
    _outside("full")


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, `y` elsewhere."""
    _outside("where")


def trans(input: Any, *dims: Any) -> Any:
    """The block with its axes permuted; without `dims` the last two swapped."""
    _outside("trans")


def permute(input: Any, *dims: Any) -> Any:
    """The block with its axes in the order `dims`."""
    _outside("permute")


def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    """The elements in row-major order as a block of another shape."""
    _outside("reshape")


def view(input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    """The same as `reshape`."""
    _outside("view")


def ravel(x: Any, can_reorder: Any = False) -> Any:
    """The elements as a block of one axis."""
    _outside("ravel")


def expand_dims(input: Any, axis: Any) -> Any:
    """The block with an axis of one element put in at `axis`."""
    _outside("expand_dims")


def broadcast_to(input: Any, *shape: Any) -> Any:
    """The block repeated along its axes of one element up to a shape."""
    _outside("broadcast_to")


def broadcast(input: Any, other: Any) -> Any:
    """Two blocks, each repeated to the shape of both."""
    _outside("broadcast")


def pointer_type(element_ty: Any, address_space: Any = 1, const: Any = False) -> Any:
    """The type of pointers to elements of a type."""
    _outside("pointer_type")


def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Any:
    """Read the elements at a pointer, a block of pointers, a block pointer or a region (`ref`)."""
    _outside("load")


def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> Any:
    """Write a value at a pointer, a block of pointers, a block pointer or a region (`ref`)."""
    _outside("store")


def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any = None) -> Any:
    """A pointer to a block of a tensor of a given shape and strides."""
    _outside("make_block_ptr")


def advance(base: Any, offsets: Any) -> Any:
    """A block pointer moved on by offsets."""
    _outside("advance")


def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: str = "zero") -> Any:
    """A tensor of a given shape and strides, to be read and written in blocks: `d.load(offsets)`, `d.store(...)`."""
    _outside("make_tensor_descriptor")


def load_tensor_descriptor(desc: Any, offsets: Any, cache_modifier: str = "", eviction_policy: str = "") -> Any:
    """The block of a tensor descriptor at `offsets`."""
    _outside("load_tensor_descriptor")


def store_tensor_descriptor(desc: Any, offsets: Any, value: Any, store_reduce: Any = None) -> Any:
    """Write a block through a tensor descriptor; lanes outside of the tensor are not written."""
    _outside("store_tensor_descriptor")


def get_int_dtype(bitwidth: int, signed: bool) -> Any:
    """The integer type of a width."""
    _outside("get_int_dtype")


def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Add a value to what is at a pointer or a block of pointers, in one step; the result is what was there."""
    _outside("atomic_add")


def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Raise what is at a pointer to a value, in one step; the result is what was there."""
    _outside("atomic_max")


def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Lower what is at a pointer to a value, in one step; the result is what was there."""
    _outside("atomic_min")


def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """And a value into what is at a pointer, in one step; the result is what was there."""
    _outside("atomic_and")


def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Or a value into what is at a pointer, in one step; the result is what was there."""
    _outside("atomic_or")


def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Exclusive-or a value into what is at a pointer, in one step; the result is what was there."""
    _outside("atomic_xor")


def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Replace what is at a pointer, in one step; the result is what was there."""
    _outside("atomic_xchg")


def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Any:
    """Replace what is at a pointer where it equals `cmp`, in one step; the result is what was there."""
    _outside("atomic_cas")


def gather(src: Any, index: Any, axis: Any) -> Any:
    """The lanes of a block that an index names along an axis."""
    _outside("gather")


def histogram(input: Any, num_bins: Any, mask: Any = None) -> Any:
    """How many lanes hold 0, 1, ... num_bins - 1."""
    _outside("histogram")


def add(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """x + y."""
    _outside("add")


def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """x - y."""
    _outside("sub")


def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """x * y."""
    _outside("mul")


def to_tensor(x: Any) -> Any:
    """The value; of a number the scalar of its own type."""
    _outside("to_tensor")


def maximum(x: Any, y: Any, propagate_nan: Any = "none") -> Any:
    """The larger of two values, element by element."""
    _outside("maximum")


def minimum(x: Any, y: Any, propagate_nan: Any = "none") -> Any:
    """The smaller of two values, element by element."""
    _outside("minimum")


def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """The value as another type; with `bitcast` its bits."""
    _outside("cast")


def to(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """The same as `cast`; kernels write `x.to(dtype)`."""
    _outside("to")


def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = None,
) -> Any:
    """The matrix product of two blocks, added to `acc` if that is given; accumulates in float32."""
    _outside("dot")


def fdiv(x: Any, y: Any, ieee_rounding: Any = False) -> Any:
    """The quotient of two floats."""
    _outside("fdiv")


def abs(x: Any) -> Any:
    """The absolute value."""
    _outside("abs")


def __getattr__(name: str) -> Any:
    """The element-wise functions (`exp`, `sqrt`, `erf`, ...): the rows of the table that every level reads."""
    rows = BY_TL.get(name)
    if rows is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def function(*_operands: Any) -> Any:
        _outside(name)

    function.__name__, function.__doc__ = name, f"`{name}` of each element, with {rows[0].arity} operand(s)."
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *BY_TL})


def multiple_of(input: Any, values: Any) -> Any:
    """A promise that values are multiples of a number; changes nothing here."""
    _outside("multiple_of")


def max_contiguous(input: Any, values: Any) -> Any:
    """A promise that values are contiguous; changes nothing here."""
    _outside("max_contiguous")


def max_constancy(input: Any, values: Any) -> Any:
    """A promise that values are constant in groups; changes nothing here."""
    _outside("max_constancy")


def assume(cond: Any) -> Any:
    """A promise that a condition holds; changes nothing here."""
    _outside("assume")


def debug_barrier() -> Any:
    """Nothing: programs have no threads."""
    _outside("debug_barrier")


def static_assert(cond: Any, msg: Any = "") -> Any:
    """An error at compile time unless the condition holds."""
    _outside("static_assert")


def static_print(*values: Any) -> Any:
    """Nothing: compile-time prints are ignored."""
    _outside("static_print")


def device_print(prefix: Any = "", *values: Any, hex: Any = False) -> Any:
    """Nothing: prints of a running kernel are ignored."""
    _outside("device_print")


def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> Any:
    """Nothing: checks of a running kernel are ignored."""
    _outside("device_assert")


def range(
    *bounds: Any,
    step: Any = None,
    num_stages: Any = None,
    loop_unroll_factor: Any = None,
    disallow_acc_multi_buffer: Any = None,
    flatten: Any = None,
    warp_specialize: Any = None,
    disable_licm: Any = None,
) -> Any:
    """The numbers of a loop, as Python's range; the keywords are hints."""
    _outside("range")


def static_range(*bounds: Any, step: Any = None) -> Any:
    """The numbers of a loop that is unrolled at compile time."""
    _outside("static_range")


# AHBM's own


def ref(pointer: Any, shape: Any, strides: Any = None) -> Any:
    """A region of memory at a pointer, of any shape, to load from, store to or stream; dense without `strides`."""
    _outside("ref")


def composite(op: str, a: Any = None, b: Any = None, out: Any = None, prologue: Any = (), epilogue: Any = ()) -> Any:
    """One composite command: a GEMM of `a` and `b` (op "gemm") or the block `a` (op "math"), then the `epilogue`.

    Blocks lie in TCM, regions are streamed. `prologue` is a recipe, whose primary output is then `a`. `out` is a
    region, a block that is written in place, or left out.
    """
    _outside("composite")


def wait(*values: Any) -> Any:
    """Wait until the values are there."""
    _outside("wait")


def cycles(n: Any) -> Any:
    """Keep PE_CPU busy for n cycles."""
    _outside("cycles")


def copy_to(dst: Any, src: Any) -> Any:
    """Copy block `src` into block `dst`, in place, as one command. Shapes and types must be the same."""
    _outside("copy_to")


def scratch_scope() -> Any:
    """`with scratch_scope():` says that no block made inside is used after it; their scratch is free at its end."""
    _outside("scratch_scope")


math = sys.modules[__name__]  # Triton has the same functions under `tl.math`
