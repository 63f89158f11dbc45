"""Element types and casts: names map both ways, and casts round, saturate and wrap as the hardware does."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import (
    TRITON_TYPES,
    bfloat16,
    convert,
    dtype_named,
    element_bytes,
    float8_e4m3fn,
    float8_e5m2,
    is_float,
    numpy_dtype,
    triton_name,
)
from ahbmc.dialects.errors import AhbmcError
from ahbmc.dialects.pointer import PointerType
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import TensorType, f16, i1

FLOAT32 = np.dtype(np.float32)


@pytest.mark.parametrize("name", TRITON_TYPES)
def test_a_named_type_has_one_dtype_in_ir_and_in_arrays(name: str) -> None:
    row = TRITON_TYPES[name]
    assert triton_name(dtype_named(name)) == name
    # Integers of IR have no sign, so an unsigned array is one of the signed type of its width.
    assert numpy_dtype(row.ir).itemsize == row.dtype.itemsize
    assert is_float(numpy_dtype(row.ir)) == is_float(row.dtype) == name.startswith(("fp", "bf"))


def test_blocks_have_the_dtype_of_their_elements_and_pointers_are_addresses() -> None:
    assert numpy_dtype(TensorType(f16, [4, 8])) == np.float16
    assert numpy_dtype(TensorType(PointerType(f16), [4])) == np.int64
    assert element_bytes(i1) == 1


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(AhbmcError) as caught:
        dtype_named("half")
    assert "'half'" in caught.value.faults[0].message and "fp16" in (caught.value.faults[0].hint or "")
    with pytest.raises(AhbmcError, match="complex128"):
        triton_name(np.dtype(np.complex128))


@settings(max_examples=60, deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_float32_to_bfloat16_rounds_to_the_nearest(value: float) -> None:
    source = np.array([value], np.float32)
    assert convert(source, bfloat16).view(np.uint16) == source.astype(ml_dtypes.bfloat16).view(np.uint16)


@settings(max_examples=60, deadline=None)
@given(st.floats(min_value=1e-30, max_value=1e30))
def test_float64_to_bfloat16_rounds_once(value: float) -> None:
    # The nearest bf16 is never farther away than its neighbours on both sides.
    got = convert(np.array([value]), bfloat16)
    bits = int(got.view(np.int16)[0])
    near = [np.array([bits + d], np.int16).view(ml_dtypes.bfloat16).astype(np.float64)[0] for d in (-1, 1)]
    error = abs(float(got.astype(np.float64)[0]) - value)
    assert all(error <= abs(n - value) for n in near if np.isfinite(n))


def test_a_double_rounding_would_show() -> None:
    """Just above a tie of bf16 by less than float32 can hold: rounding by way of float32 would go to the even one
    below.
    """
    value = 1.0 + 2.0**-8 + 2.0**-40
    assert float(convert(np.array([value]), bfloat16)[0]) == 1.0 + 2.0**-7


@pytest.mark.parametrize(("dtype", "largest"), [(float8_e4m3fn, 448.0), (float8_e5m2, 57344.0)])
def test_fp8_saturates_at_its_largest_value_and_keeps_nan(dtype: np.dtype[np.generic], largest: float) -> None:
    source = np.array([1e6, -1e6, np.inf, -np.inf, largest, 1.5, np.nan], np.float32)
    got = convert(source, dtype).astype(np.float32)
    assert got[:6].tolist() == [largest, -largest, largest, -largest, largest, 1.5]
    assert np.isnan(got[6])


def test_a_float_becomes_an_integer_by_dropping_its_fraction_and_saturates() -> None:
    source = np.array([1.9, -1.9, 1e20, -1e20, np.nan, np.inf, -np.inf], np.float32)
    high, low = 2**31 - 1, -(2**31)
    assert convert(source, np.dtype(np.int32)).tolist() == [1, -1, high, low, 0, high, low]
    # Read as unsigned: below 0 is 0, and the bits of the largest u8 are those of -1.
    assert convert(source, np.dtype(np.int8), is_unsigned=True).tolist() == [1, 0, -1, 0, 0, -1, 0]


def test_a_large_float_becomes_the_largest_64_bit_integer() -> None:
    source = np.array([2.0**63, -(2.0**63), 2.0**62])
    assert convert(source, np.dtype(np.int64)).tolist() == [2**63 - 1, -(2**63), 2**62]


def test_integers_wrap_and_widen_by_their_sign() -> None:
    assert convert(np.array([300, -1], np.int32), np.dtype(np.int8)).tolist() == [44, -1]
    narrow = np.array([-1], np.int8)
    assert convert(narrow, np.dtype(np.int32)).tolist() == [-1]
    assert convert(narrow, np.dtype(np.int32), is_unsigned=True).tolist() == [255]
    assert convert(narrow, FLOAT32, is_unsigned=True).tolist() == [255.0]


def test_all_but_zero_is_true() -> None:
    assert convert(np.array([0.0, -0.0, 0.5, np.nan]), np.dtype(np.bool_)).tolist() == [False, False, True, True]


def test_a_scalar_stays_a_scalar() -> None:
    assert convert(np.float32(1.0005), np.dtype(np.float16)) == np.float16(1.0005)
