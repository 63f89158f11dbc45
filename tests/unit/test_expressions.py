"""Integer expressions of workload files: what they compute, and where they say that something is wrong."""

from __future__ import annotations

import pytest
from ahbmc.dialects.errors import AhbmcError, Place
from ahbmc.driver.expressions import integer, parse

NAMES = {"M": 100, "N": 777, "BLOCK": 32, "scale": 0.5, "flag": True}


def value(text: str) -> int:
    return integer(parse(text, Place("grid", 3, 9)), NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("cdiv(M, BLOCK) * cdiv(N, BLOCK)", 4 * 25),
        ("M - N + BLOCK", 100 - 777 + 32),  # left to right
        ("2 + 3 * 4", 14),  # * binds tighter
        ("(2 + 3) * 4", 20),
        ("-M // BLOCK", -4),  # floor, as in Python
        ("M % BLOCK", 4),
        ("min(M, N, 50) + max(1, 2)", 52),
        ("--3", 3),
        ("flag + 1", 2),
        ("cdiv(1, 32,)", 1),  # a trailing comma is no operand
    ],
)
def test_value(text: str, expected: int) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("cdiv(M", 15, "expected `)`"),
        ("M +", 12, "found the end"),
        ("M N", 11, "unexpected `N`"),
        ("M & 3", 11, "unexpected `&`"),
        ("K + 1", 9, "`K` is no argument"),
        ("M / 2", 11, "`/` is no operation"),
        ("open(1)", 9, "`open` is no operation"),
        ("cdiv(M)", 9, "takes 2 operands, found 1"),
        ("M // (BLOCK - 32)", 11, "by zero"),
        ("scale", 9, "is 0.5, which is no integer"),
        ("1.5", 9, "1.5 is no integer"),
        ("", 9, "found the end"),
        ("(" * 80 + "1", 59, "nested deeper"),
        ("9" * 50, 9, "a number of 50 characters"),
        ("min(M, key=1)", 9, "no operation"),
    ],
)
def test_fault_has_its_place(text: str, column: int, part: str) -> None:
    with pytest.raises(AhbmcError) as caught:
        value(text)
    (fault,) = caught.value.faults
    assert part in fault.message
    assert fault.place is not None
    assert (fault.place.file, fault.place.line, fault.place.column) == ("grid", 3, column)


def test_unknown_name_suggests_a_near_one() -> None:
    with pytest.raises(AhbmcError) as caught:
        value("BLOK")
    assert caught.value.faults[0].hint == "did you mean `BLOCK`?"


def test_no_code_is_executed() -> None:
    with pytest.raises(AhbmcError):
        value("__import__('os').getcwd()")
