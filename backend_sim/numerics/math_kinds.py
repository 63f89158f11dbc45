"""What a MATH op computes, by the kind that its command or op spec carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.elementwise import BY_KIND
from .dtypes import Array, DType, convert
from .elementwise import compare, exp2_diff, exp_diff, function_of, reduce, select

_OWN: dict[str, Callable[..., Any]] = {"exp_diff": exp_diff, "exp2_diff": exp2_diff, "select": select}

# Operands, and the dtype of what is written, to the result (of any dtype; the caller converts it).
MathFunction = Callable[[Sequence[Array], DType], Any]


def math_function(kind: str, *, axis: int | None = None, is_unsigned: bool = False) -> MathFunction:
    """The function of a kind that a composite may have. `axis` is a reduction's, `is_unsigned` a cast's or a
    reduction's.
    """
    if kind == "copy":
        return lambda operands, _: operands[0]
    if kind == "cast":
        return lambda operands, dtype: convert(np.asarray(operands[0]), dtype, is_unsigned=is_unsigned)
    if kind == "bitcast":
        return lambda operands, dtype: np.asarray(operands[0]).view(dtype)
    if kind.startswith("reduce_"):
        assert axis is not None
        name = kind.removeprefix("reduce_")
        return lambda operands, dtype: reduce(name, operands[0], axis, is_unsigned=is_unsigned, to=dtype)
    if kind.startswith("cmp_"):
        function = compare(kind.removeprefix("cmp_"))
    elif kind in _OWN:
        function = _OWN[kind]
    else:
        function = function_of(BY_KIND[kind])
    return lambda operands, _: function(*operands)
