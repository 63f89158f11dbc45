"""`tl.dot`: products of matrices, with Triton's rules for the types of operands, accumulator and result."""

from __future__ import annotations

from ..dialects import tl
from .builtin import Builtin, row
from .emit import Emitter
from .types import BlockType, DType, PointerType, TypeFault, bfloat16, float16, float32, float64, int8, int32, ir_type
from .values import Item, Region, Value, describe

# All are computed in the operands' own precision here, which is the finest of them.
_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


def _dot(
    emit: Emitter,
    input: Value,
    other: Value,
    acc: Value | None,
    input_precision: str | None,
    allow_tf32: Item,
    max_num_imprecise_acc: Item,
    out_dtype: DType | None,
) -> Item:
    """Triton's dot: operands of one type, sums in f32 (i32, f64), the result in `out_dtype` or the accumulator's
    type.
    """
    input, other = _operands(emit, input, other)
    operand = input.element
    assert isinstance(operand, DType)
    _check_precision(input_precision, allow_tf32)
    if out_dtype is None:
        out_dtype = acc.element if acc is not None and isinstance(acc.element, DType) else float32
    if out_dtype == bfloat16:
        raise TypeFault(
            "out_dtype bf16 is not supported", "take tl.float32 and cast the result with `.to(tl.bfloat16)`"
        )
    result = result_type(operand, out_dtype)
    shape = (*input.shape[:-1], other.shape[-1])
    if acc is not None and (acc.shape != shape or acc.element != result):
        raise TypeFault(
            f"the accumulator is {describe(acc)}, the product a block {BlockType(shape, result)}",
            "out_dtype= sets the type of the product" if acc.shape == shape else None,
        )
    precision = input_precision.lower() if input_precision else None
    op = tl.DotOp(input.ssa, other.ssa, acc.ssa if acc is not None else None, ir_type(result), precision)
    return emit.make(op, BlockType(shape, result))


def _operands(emit: Emitter, input: Value, other: Value) -> tuple[Value, Value]:
    """Both operands in one type that can be multiplied. Raises TypeFault."""
    if input.element != other.element and _is_fp8(input.element) and _is_fp8(other.element):
        input, other = emit.cast(input, float16), emit.cast(other, float16)  # exact
    check_operands(input, other)
    return input, other


def check_operands(input: Value | Region, other: Value | Region) -> None:
    """Refuse what cannot be multiplied, blocks or regions. Raises TypeFault."""
    for operand in (input, other):
        if len(operand.shape) not in (2, 3):
            raise TypeFault(
                f"blocks of two axes (or of three: a batch) are needed, not {describe(operand)}",
                "x[:, None] adds an axis, tl.reshape drops one",
            )
    a, b = input.element, other.element
    if a != b:
        raise TypeFault(
            f"both blocks must be of one type, and they are {a} and {b}",
            f"cast one of them, as in `.to(tl.{_spelled(a)})`",
        )
    if not (isinstance(a, DType) and (a.is_float or a == int8)):
        raise TypeFault(f"blocks of floats or of i8 are needed, not of {a}", "cast them, as in `.to(tl.float16)`")
    if len(input.shape) != len(other.shape) or input.shape[:-2] != other.shape[:-2]:
        raise TypeFault(f"{describe(input)} and {describe(other)} are no batches of equally many matrices")
    if input.shape[-1] != other.shape[-2]:
        raise TypeFault(
            f"the shapes {list(input.shape)} and {list(other.shape)} do not go together: "
            f"the first has {input.shape[-1]} columns, the second {other.shape[-2]} rows",
            "tl.trans(x) swaps the axes of a block",
        )


def _is_fp8(element: DType | PointerType) -> bool:
    return isinstance(element, DType) and element.is_fp8


def _check_precision(input_precision: str | None, allow_tf32: Item) -> None:
    if input_precision is not None and input_precision.lower() not in _PRECISIONS:
        raise TypeFault(f"input_precision '{input_precision}'", f"it is one of {', '.join(_PRECISIONS)}")
    if input_precision is not None and allow_tf32 is not None:
        raise TypeFault("both input_precision and allow_tf32 are given", "allow_tf32 is the older form; leave it out")


def result_type(operand: DType, out: DType) -> DType:
    """The element type of a product, where `out` is the one that is asked for."""
    if operand.is_int:
        return int32
    if operand == float64:
        return float64
    if operand in (float32, bfloat16):
        return float32
    return float16 if out == float16 else float32


def _spelled(dtype: DType | PointerType) -> str:
    return dtype.spelled if isinstance(dtype, DType) else str(dtype)


PRODUCTS: tuple[Builtin, ...] = (
    row(
        "dot",
        "input: block, other: block, acc: block = None, input_precision: str = None, allow_tf32: constant = None, "
        "max_num_imprecise_acc: hint = None, out_dtype: dtype = None",
        _dot,
    ),
)
