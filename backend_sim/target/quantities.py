"""Exact quantities of a machine file: rates as rationals, sizes with binary units; and the one rounding of times.

Floats never reach a time: 0.1 in a file is one tenth, not its binary neighbour.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

_UNIT_OF_KEY = {
    "ps_per_mm": "picoseconds per mm",
    "gb_per_s": "GB/s (bytes per ns)",
    "tflops": "TFLOP/s",
    "bytes": "bytes, or a number with B, KiB, MiB or GiB",
    "ghz": "GHz",
    "ps": "picoseconds (1 ns is 1000)",
    "mm": "mm",
}
_SIZE = re.compile(r"^\s*([0-9]+)\s*([A-Za-z]+)\s*$")
_FRACTION = re.compile(r"[0-9]+/[0-9]+")


# Beyond these a time of whole picoseconds says nothing, or needs more than 64 bits.
LEAST_RATE, MOST_RATE = Fraction(1, 10**6), Fraction(10**9)


class Rate(Fraction):
    """An exact positive rational: a bandwidth (GB/s = bytes per ns), a clock, a share of a peak."""


class Bytes(int):
    """A positive size in bytes; in a file an integer, or an integer with one of the units."""

    UNITS: ClassVar[dict[str, int]] = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def unit_of(key: str) -> str | None:
    """The unit that the name of a key ends in, in words."""
    return next((unit for end, unit in _UNIT_OF_KEY.items() if key == end or key.endswith(f"_{end}")), None)


def round_half_up(value: Fraction | int) -> int:
    """The nearest integer, halves up: how every service time becomes picoseconds."""
    return floor(value + Fraction(1, 2))


def service_ps(size: int, gb_per_s: Fraction) -> int:
    """Time of one service of `size` bytes: round_half_up(bytes * 1000 / rate)."""
    numerator = size * 1000 * gb_per_s.denominator
    return (2 * numerator + gb_per_s.numerator) // (2 * gb_per_s.numerator)


def quantity(kind: type[Any], value: object) -> Any:
    """The decoding hook of msgspec for these types. Raises ValueError that says what is allowed ("Expected ...")."""
    if issubclass(kind, Bytes):
        return _bytes(value)
    if issubclass(kind, Fraction):
        return _rational(kind, value)
    raise NotImplementedError(kind)


def _bytes(value: object) -> Bytes:
    match value:
        case int() if not isinstance(value, bool) and value > 0:
            return Bytes(value)
        case str() if (found := _SIZE.match(value)) and found[2] in Bytes.UNITS and int(found[1]) > 0:
            return Bytes(int(found[1]) * Bytes.UNITS[found[2]])
        case _:
            raise ValueError(
                f"Expected a positive size in bytes such as 4096 or 6 GiB (units {', '.join(Bytes.UNITS)})"
            )


def _rational(kind: type[Fraction], value: object) -> Fraction:
    positive = issubclass(kind, Rate)
    problem = f"Expected {'a positive' if positive else 'a non-negative'} number or fraction such as 256, 0.5 or 1/16"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _FRACTION.fullmatch(value)):
        raise ValueError(problem)
    try:
        number = kind(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(problem) from None
    if number < 0 or (number == 0 and positive):
        raise ValueError(problem)
    if positive and not LEAST_RATE <= number <= MOST_RATE:
        raise ValueError(f"Expected a number between {float(LEAST_RATE):g} and {float(MOST_RATE):g}")
    return number


def quantity_schema(kind: type[Any]) -> dict[str, Any]:
    """The hook of `msgspec.json.schema` for these types."""
    if issubclass(kind, Bytes):
        pattern = f"^\\s*[0-9]+\\s*({'|'.join(Bytes.UNITS)})\\s*$"
        return {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "string", "pattern": pattern}]}
    if issubclass(kind, Fraction):
        bound = "exclusiveMinimum" if issubclass(kind, Rate) else "minimum"
        return {"anyOf": [{"type": "number", bound: 0}, {"type": "string", "pattern": "^[0-9]+/[0-9]+$"}]}
    raise NotImplementedError(kind)
