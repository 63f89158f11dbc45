"""`--set path=1,2,4`: the values that a study runs through."""

from __future__ import annotations

from collections.abc import Sequence

from ..backend_sim.target.machine_file import SET
from ..dialects.errors import AhbmcError, Fault, Place


def axes(settings: Sequence[str]) -> dict[str, list[str]]:
    """The values of each path of `settings` (`path=1,2,4`). Raises AhbmcError for what is no setting."""
    found: dict[str, list[str]] = {}
    faults: list[Fault] = []
    for line, text in enumerate(settings, 1):
        path, separator, after = text.partition("=")
        path, values = path.strip(), _split(after)
        if not separator or not path or not all(values):
            hint = "write const.BLOCK=64, or const.BLOCK=32,64,128 for several"
            faults.append(Fault(f"`{text}` is not path=value,value,...", Place(SET, line, 1), hint=hint))
        elif path in found:
            hint = "give all its values in one: path=1,2,4"
            faults.append(Fault(f"`{path}` is set more than once", Place(SET, line, 1), hint=hint))
        else:
            found[path] = values
    if faults:
        raise AhbmcError(*faults)
    return found


def _split(values: str) -> list[str]:
    """The values between commas that stand in no brackets and no quotes, each once."""
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
    return list(dict.fromkeys(value.strip() for value in found))
