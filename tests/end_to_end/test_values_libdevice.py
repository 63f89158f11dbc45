"""Functions of libdevice and bits of one type read as another: by numpy and after every pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

KERNEL = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def k(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(o + i, {0}, mask=i < n)
"""


def _erratic(a: Array) -> Array:
    """Some numbers of `a` replaced by what functions treat apart."""
    a = a.copy()
    a[:6] = [np.nan, np.inf, -np.inf, 0.5, -2.5, 0.0]
    return a


def _round(a: Array) -> Array:
    return np.trunc(a + np.copysign(np.float32(0.5), a))


def _small(function: Callable[[Array], Array], a: Array) -> Array:
    """The function of the numbers of `a` that are below 9, of 0 elsewhere."""
    return function(np.where(np.abs(a) < 9, a, np.float32(0)))


FUNCTIONS: list[tuple[str, Callable[[Array, Array], Any]]] = [
    ("libdevice.tanh(a)", lambda a, b: np.tanh(a)),
    ("tl.math.tanh(a)", lambda a, b: np.tanh(a)),
    ("libdevice.pow(tl.abs(a), b)", lambda a, b: np.power(np.abs(a), b)),
    ("libdevice.atan2(a, b)", lambda a, b: np.arctan2(a, b)),
    ("libdevice.log1p(a * a)", lambda a, b: np.log1p(a * a)),
    ("libdevice.expm1(a) + libdevice.cosh(b)", lambda a, b: np.expm1(a) + np.cosh(b)),
    ("libdevice.asin(b / 8) * libdevice.acos(b / 8)", lambda a, b: np.arcsin(b / 8) * np.arccos(b / 8)),
    ("libdevice.rint(a) + libdevice.trunc(b)", lambda a, b: np.rint(a) + np.trunc(b)),
    (
        "libdevice.llrint(tl.where(tl.abs(a) < 9, a, 0)) + libdevice.llround(tl.where(tl.abs(b) < 9, b, 0))",
        lambda a, b: _small(np.rint, a) + _small(_round, b),
    ),
    ("tl.libdevice.tanh(a)", lambda a, b: np.tanh(a)),
    ("libdevice.round(a)", lambda a, b: np.trunc(a + np.copysign(np.float32(0.5), a))),
    ("libdevice.copysign(a, b)", lambda a, b: np.copysign(a, b)),
    ("libdevice.fast_dividef(a, b)", lambda a, b: a / b),
    ("libdevice.exp10(b)", lambda a, b: np.float32(10) ** b),
    ("libdevice.rcp_rn(b)", lambda a, b: 1 / b),
    ("tl.where(libdevice.isnan(a), 1, 2) + tl.where(libdevice.isinf(a), 10, 20)",
     lambda a, b: np.where(np.isnan(a), 1, 2) + np.where(np.isinf(a), 10, 20)),
    ("libdevice.int_as_float(libdevice.float_as_int(b) + 1)",
     lambda a, b: (b.view(np.int32) + 1).view(np.float32)),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "twin"), FUNCTIONS, ids=[e for e, _ in FUNCTIONS])
def test_a_function_of_libdevice(expression: str, twin: Callable[..., Any]) -> None:
    """The same as numpy's, special values included."""
    x, y = _erratic(random_array([77], "fp32", 1)), random_array([77], "fp32", 2)
    o = random_array([77], "fp32", 3)
    case = case_of_text(KERNEL.format(expression), "k", {"x": x, "y": y, "o": o, "n": 77}, {"B": 32}, (3,))
    with np.errstate(all="ignore"):
        assert_close(reference_values(case), {"o": np.asarray(twin(x, y)).astype(np.float32)}, "by numpy")
    check_every_pass(case, "composite")


@pytest.mark.parametrize(
    ("source", "target"),
    [("fp32", "i32"), ("i32", "fp32"), ("fp16", "u16"), ("u16", "bf16"), ("fp8e4nv", "u8"), ("i8", "fp8e5"),
     ("fp64", "i64"), ("bf16", "fp16")],
)  # fmt: skip
def test_bits_as_another_type(source: str, target: str) -> None:
    """`bitcast=True` keeps the bits, of a block and of a scalar."""
    x, o = random_array([77], source, 1), random_array([77], target, 2)
    text = KERNEL.format("a.to(o.dtype.element_ty, bitcast=True)")
    case = case_of_text(text, "k", {"x": x, "y": x, "o": o, "n": 77}, {"B": 32}, (3,))
    assert (reference_values(case)["o"].view(np.uint8) == x.view(np.uint8)).all()
    check_every_pass(case, "composite")
    text = KERNEL.format("tl.cast(tl.load(x + 3), o.dtype.element_ty, bitcast=True)")
    case = case_of_text(text, "k", {"x": x, "y": x, "o": o, "n": 77}, {"B": 32}, (3,))
    assert (reference_values(case)["o"].view(np.uint8) == np.repeat(x[3:4], 77).view(np.uint8)).all()
    check_every_pass(case, "composite")
