"""What is computed at compile time: constexpr functions, classes that `isinstance` takes, facts of torch's types."""

from __future__ import annotations

import pytest
from ahbmc.dialects.errors import AhbmcError
from support_frontend import compiled, ran

HELPERS = """\
import torch
LARGEST = tl.constexpr(torch.finfo(torch.float16).max)

def plain(a):
    return a + 1

@tl.constexpr
def accumulator(dtype):
    if dtype.is_int():
        return tl.int64
    return tl.float32

@triton.constexpr_function
def bits(n):
    count = 0
    while n > 1:
        n = n // 2
        count += 1
    for extra in range(2):
        count = plain(count)
    return count

@triton.constexpr_function
def endless():
    while True:
        pass

@triton.jit
def size(a):
    if isinstance(a, tl.tensor):
        return 1
    return 2
"""


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("bits(32)", 7.0),
        ("tl.zeros((1,), accumulator(tl.int8)).dtype.primitive_bitwidth", 64.0),
        ("tl.full((), 1, accumulator(x.dtype.element_ty)).dtype.primitive_bitwidth", 32.0),
        ("LARGEST", 65504.0),
        ("torch.iinfo(torch.int8).min", -128.0),
        ("torch.finfo(torch.bfloat16).eps", 2.0**-7),
        ("size(tl.program_id(0)) * 10 + size(3)", 12.0),
        ("1 if isinstance((1, 2), tl.tuple) and not isinstance(1.5, int) else 0", 1.0),
        ("getattr(x.dtype, 'no_such', 5) + hasattr(x, 'dtype')", 6.0),
        ("3 if torch.version.hip is None else 4", 3.0),
        ("tl.get_int_dtype(16, signed=False).primitive_bitwidth", 16.0),
        ("2 if x else 3", 2.0),
    ],
)
def test_a_value_known_at_compile_time(value: str, wanted: float) -> None:
    """It can be a constant of the kernel."""
    body = f"c: tl.constexpr = {value}\ntl.static_assert(c == {wanted})\ntl.store(y, c)"
    assert ran(body, HELPERS)[0] == wanted


def test_a_scalar_takes_new_axes() -> None:
    """As in Triton, `:` of an axis that a scalar has not is let pass."""
    assert "tensor<1x1xi32>" in str(compiled("v = tl.program_id(0)\ntl.store(x + v[None, :, None], 1.0)"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tl.store(y, plain(3))", "'plain' is no kernel function"),
        ("c: tl.constexpr = bits(n)", "a compile-time constant"),
        ("endless()", "the loop has not ended after"),
        ("tl.tensor(3)", "a kernel makes no values of this class"),
        ("isinstance(n, tl.load)", "is no type that a value can be an instance of"),
        ("torch.finfo(tl.int8)", "i8 is no float"),
        ("torch.iinfo(tl.float32)", "fp32 is no integer"),
        ("tl.get_int_dtype(24, True)", "there is no integer of 24 bits"),
    ],
)
def test_what_is_not_known_at_compile_time(body: str, message: str) -> None:
    """Each misuse is an error."""
    with pytest.raises(AhbmcError) as caught:
        compiled(body, HELPERS)
    assert message in str(caught.value)
