"""Triton's rules of promotion: the expected types are those of Triton 3.8's semantics, written out case by case."""

from __future__ import annotations

import pytest
from ahbmc.frontend import types as t
from ahbmc.frontend.types import TypeFault, computation_type

BY_NAME = t.BY_NAME

# (left, right, common type of + - *, common type of / // %); None: refused.
VALUES = [
    ("i32", "i32", "i32", "i32"),
    ("i32", "i64", "i64", "i64"),
    ("i8", "i16", "i16", "i16"),
    ("i32", "u32", "u32", None),  # one has a sign, the other has none: no division
    ("i64", "u32", "i64", None),
    ("u8", "i8", "u8", None),
    ("u8", "u32", "u32", "u32"),
    ("i1", "i32", "i32", None),  # booleans count as unsigned
    ("i1", "i1", "i1", "i1"),
    ("fp16", "fp16", "fp16", "fp32"),
    ("bf16", "bf16", "bf16", "fp32"),
    ("fp16", "bf16", "fp16", "fp32"),
    ("fp16", "fp32", "fp32", "fp32"),
    ("bf16", "fp32", "fp32", "fp32"),
    ("bf16", "i32", "fp32", "fp32"),
    ("fp16", "i32", "fp16", "fp32"),
    ("fp16", "i64", "fp16", "fp32"),
    ("fp32", "i64", "fp32", "fp32"),
    ("fp64", "fp32", "fp64", "fp64"),
    ("fp64", "i32", "fp64", "fp64"),
    ("fp8e5", "fp8e5", "fp8e5", "fp8e5"),
    ("fp8e5", "fp8e4nv", "fp16", "fp16"),
    ("fp8e5", "i32", None, None),
    ("fp8e5", "fp32", "fp32", "fp32"),
    ("fp8e5", "bf16", "fp32", "fp32"),
]


@pytest.mark.parametrize(("left", "right", "expected", "divided"), VALUES)
def test_two_values_meet_in_tritons_type(left: str, right: str, expected: str | None, divided: str | None) -> None:
    """Both orders of operands give one type, for every pair that Triton treats in its own way."""
    for a, b in ((left, right), (right, left)):
        for division, want in ((False, expected), (True, divided)):
            if want is None:
                with pytest.raises(TypeFault):
                    computation_type(BY_NAME[a], BY_NAME[b], division=division)
            else:
                assert computation_type(BY_NAME[a], BY_NAME[b], division=division).name == want


# (value, Python number, common type, type of a division)
WEAK = [
    ("fp16", 2, "fp16", "fp32"),
    ("fp16", 2.5, "fp16", "fp32"),
    ("bf16", 2.5, "bf16", "fp32"),
    ("bf16", True, "bf16", "fp32"),
    ("fp32", 2, "fp32", "fp32"),
    ("fp8e5", 1.0, "fp8e5", "fp8e5"),
    ("i8", 2, "i8", "i8"),
    ("u64", 2, "u64", "u64"),
    ("i32", 2.5, "fp32", "fp32"),  # a float is of a higher kind than an integer: it does take part
    ("i64", 2.5, "fp32", "fp32"),
    ("i1", 2, "i32", None),
    ("i1", True, "i1", "i1"),
    ("fp16", 1e300, "fp16", "fp32"),
    ("i32", 1e300, "fp64", "fp64"),  # a number that only fp64 holds
]


@pytest.mark.parametrize(("value", "number", "expected", "divided"), WEAK)
def test_a_python_number_takes_the_type_of_the_value(
    value: str, number: float, expected: str, divided: str | None
) -> None:
    """A number of a lower or equal kind does not widen the value it meets."""
    left, right = BY_NAME[value], t.type_of_number(number)
    assert computation_type(left, right, b_weak=True).name == expected
    assert computation_type(right, left, a_weak=True).name == expected
    if divided is None:
        with pytest.raises(TypeFault):
            computation_type(left, right, b_weak=True, division=True)
    else:
        assert computation_type(left, right, b_weak=True, division=True).name == divided


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (True, "i1"),
        (0, "i32"),
        (2**31 - 1, "i32"),
        (-(2**31), "i32"),
        (2**31, "u32"),
        (2**32, "i64"),
        (-(2**31) - 1, "i64"),
        (2**63, "u64"),
        (1.0, "fp32"),
        (0.0, "fp32"),
        (float("inf"), "fp32"),
        (float("nan"), "fp32"),
        (1e39, "fp64"),
        (1e-40, "fp64"),
    ],
)
def test_a_number_by_itself_takes_the_smallest_type_that_triton_gives_it(number: float, expected: str) -> None:
    """Literals become i32 and fp32 where these hold them."""
    assert t.type_of_number(number).name == expected


def test_a_number_beyond_64_bits_has_no_type() -> None:
    """The largest unsigned integer is the end."""
    with pytest.raises(TypeFault, match="fits no integer type"):
        t.type_of_number(2**64)


def test_numbers_are_checked_against_the_type_they_take() -> None:
    """300 is no i8 and -1 no u8, while a float may be any number."""
    t.check_number(127, t.int8)
    t.check_number(1 << 40, t.float16)
    with pytest.raises(TypeFault, match="300 is out of the range of i8, which is -128 to 127"):
        t.check_number(300, t.int8)
    with pytest.raises(TypeFault, match="-1 is out of the range of u8"):
        t.check_number(-1, t.uint8)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((), (4,), (4,)),
        ((4,), (), (4,)),
        ((4, 1), (1, 8), (4, 8)),
        ((8,), (4, 8), (4, 8)),
        ((1,), (4, 8), (4, 8)),
        ((2, 1, 3), (5, 1), (2, 5, 3)),
    ],
)
def test_shapes_broadcast_as_in_triton(a: tuple[int, ...], b: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Axes are added in front, and axes of size 1 repeat."""
    assert t.broadcast_shapes(a, b) == expected


def test_shapes_that_do_not_go_together_are_refused() -> None:
    """The message names the axis."""
    with pytest.raises(TypeFault, match="axis 1 has 4 and 8"):
        t.broadcast_shapes((2, 4), (2, 8))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*fp16", "pointer<fp16>"),
        ("i32", "i32"),
        ("u1", "i1"),
        ("*kfp32", "pointer<fp32>"),
        ("fp8e4nv", "fp8e4nv"),
        ("float32", "fp32"),
        ("*i64:16", "pointer<i64>"),
    ],
)
def test_types_of_signatures(text: str, expected: str) -> None:
    """Triton's notation, with the marks of alignment that it may carry."""
    assert str(t.parse_type(text)) == expected


@pytest.mark.parametrize("text", ["", "*", "fp17", "**fp16", "constexpr", "i33"])
def test_unknown_types_of_signatures_are_refused(text: str) -> None:
    """The hint lists what there is."""
    with pytest.raises(TypeFault, match="unknown type") as caught:
        t.parse_type(text)
    assert caught.value.hint is not None and "bf16" in caught.value.hint
