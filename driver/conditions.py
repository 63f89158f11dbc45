"""Conditions of `ahbmc compare --fail-if`: `KEY OP AMOUNT`, such as `latency_ns>+2%`.

KEY is a path of `run --json` (`bytes.hbm_read`), OP one of > < >= <= == !=. An amount with a sign is a change from the
first file to the second, in percent of the first or absolute; one without a sign is what the second file holds.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail

Figure = int | float | str | bool | None

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"\s*(?P<key>[\w.]+)\s*(?P<op>>=|<=|==|!=|>|<)\s*(?P<amount>[^<>=\s]+)\s*")
_AMOUNT = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?P<percent>%?)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CHECKS = ("pass", "fail", "skipped")
_FLOORS = "roofline.floors_ns."
_HINT = "write 'latency_ns>+2%' (a change), 'commands.total>+0', 'latency_ns>45000' (a bound) or 'check!=pass'"


@dataclass(frozen=True)
class Condition:
    """One condition. `amount` is a number, which may be a `change`, in `percent` of the first; or a word."""

    text: str
    key: str
    op: str
    amount: Fraction | str
    change: bool
    percent: bool

    def holds(self, before: Figure, after: Figure) -> bool:
        """Whether it holds of the two figures of its key."""
        compares = _OPERATORS[self.op]
        if isinstance(self.amount, str):
            return compares(word(after), self.amount)
        if not self.change:
            return compares(Fraction(_number(after)), self.amount)
        first, second = Fraction(_number(before)), Fraction(_number(after))
        # Of a figure that was 0 any growth is more than every percentage.
        bound = abs(first) * self.amount / 100 if self.percent else self.amount
        return compares(second - first, bound)


def parse(text: str, place: Place | None) -> Condition:
    """The condition in `text`. Raises AhbmcError."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise fail(f"`{text}` is no condition", place, hint=_HINT)
    amount = _AMOUNT.fullmatch(match["amount"])
    if amount is None:
        if match["op"] not in ("==", "!=") or not _WORD.fullmatch(match["amount"]):
            raise fail(f"`{match['amount']}` of the condition `{text}` is no amount", place, hint=_HINT)
        return Condition(text, match["key"], match["op"], match["amount"], False, False)
    change = amount["number"][0] in "+-"
    if amount["percent"] and not change:
        raise fail(f"`{match['amount']}` needs a sign: percentages are changes", place, hint=_HINT)
    return Condition(text, match["key"], match["op"], Fraction(amount["number"]), change, bool(amount["percent"]))


def check_key(
    condition: Condition, before: Mapping[str, Figure], after: Mapping[str, Figure], place: Place | None
) -> None:
    """Refuse a condition about what the files do not hold, about a number where there is none, or about a word that
    cannot stand there: it would never hold, or always.
    """
    for figures in (before, after):
        if condition.key not in figures:
            close = closest(condition.key, list(figures))
            hint = f"did you mean `{close}`?" if close else "take a key that `ahbmc compare` lists with --all"
            raise fail(f"there is no figure `{condition.key}` in the results", place, hint=hint)
        figure = figures[condition.key]
        if not isinstance(condition.amount, str):
            if not isinstance(figure, int | float) or not isfinite(figure):
                raise fail(f"`{condition.key}` is {word(figure)}, no number", place, hint=_HINT)
        elif isinstance(figure, int | float) and not isinstance(figure, bool):
            raise fail(f"`{condition.key}` is {figure}, no word", place, hint=_HINT)
        elif (words := _words(condition.key, figures)) and condition.amount not in words:
            close = closest(condition.amount, words)
            hint = f"did you mean `{close}`?" if close else f"it may be {', '.join(words)}"
            raise fail(f"`{condition.key}` is never `{condition.amount}`", place, hint=hint)


def _words(key: str, figures: Mapping[str, Figure]) -> Sequence[str]:
    """What a figure may be, where that is known."""
    if key == "check":
        return _CHECKS
    if key == "roofline.bound":
        return [each.removeprefix(_FLOORS) for each in figures if each.startswith(_FLOORS)]
    return ("true", "false") if isinstance(figures[key], bool) else ()


def word(figure: Figure) -> str:
    """A figure as JSON has it, a text without its quotes."""
    return figure if isinstance(figure, str) else json.dumps(figure)


def _number(figure: Figure) -> int | float:
    assert isinstance(figure, int | float), "held by check_key"
    return figure
