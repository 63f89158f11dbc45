"""`--set path=1,2,4`: the values that a study runs through, and every combination of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..backend_sim.target.machine_file import SET
from ..dialects.errors import AhbmcError, Fault, Place


def combinations(settings: Sequence[str]) -> list[tuple[str, ...]]:
    """Every combination of the values of `settings` (`path=1,2,4`), each a tuple of `path=value`; the last path varies
    fastest. Raises AhbmcError for what is no setting.
    """
    axes: list[list[str]] = []
    faults: list[Fault] = []
    for line, text in enumerate(settings, 1):
        path, separator, values = text.partition("=")
        found = _split(values)
        if not separator or not path.strip() or not all(found):
            hint = "write const.BLOCK=64, or const.BLOCK=32,64,128 for several"
            faults.append(Fault(f"`{text}` is not path=value,value,...", Place(SET, line, 1), hint=hint))
            continue
        axes.append([f"{path.strip()}={value}" for value in found])
    paths = [axis[0].partition("=")[0] for axis in axes]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            hint = "give all its values in one: path=1,2,4"
            faults.append(Fault(f"`{path}` is set more than once", Place(SET, number + 1, 1), hint=hint))
    if faults:
        raise AhbmcError(*faults)
    return list(product(*axes))


def _split(values: str) -> list[str]:
    """The values between commas that stand in no brackets and no quotes."""
    found, depth, quote = [""], 0, ""
    for c in values:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        if c == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += c
    return [value.strip() for value in found]
