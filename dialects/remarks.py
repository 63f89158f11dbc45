"""What passes did, and why they did not: remarks are kept in the module, because the IR is the only channel between
passes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from .errors import Place, place_of

Subject = Literal[
    "dot", "load", "store", "recipe", "composite", "operand", "epilogue", "tail", "loop", "program", "kernel"
]

ATTRIBUTE = "ahbm.remarks"


@dataclass(frozen=True)
class Remark:
    """One remark: the pass, what it is about, what became of it ("raised", "strided", "refused", ...), and the reason
    if it was refused.
    """

    pass_name: str
    subject: str
    outcome: str
    reason: str
    place: Place | None


def remark(
    op: Operation, pass_name: str, subject: Subject, outcome: str, reason: str = "", location: Attribute | None = None
) -> None:
    """Note in the module of `op` what `pass_name` did about it. A remark that is there already is not repeated."""
    remark_all(module_of(op), pass_name, ((subject, outcome, reason, location or op.location),))


def remark_all(module: ModuleOp, pass_name: str, notes: Iterable[tuple[Subject, str, str, Attribute]]) -> None:
    """Note many things at once: (subject, outcome, reason, location) of each. Linear, where one by one is quadratic."""
    entries = dict.fromkeys(_entries(module))
    for subject, outcome, reason, location in notes:
        entry = DictionaryAttr(
            {
                "pass": StringAttr(pass_name),
                "subject": StringAttr(subject),
                "outcome": StringAttr(outcome),
                "reason": StringAttr(reason),
                "loc": location,
            }
        )
        entries[entry] = None
    if entries:
        module.attributes[ATTRIBUTE] = ArrayAttr(entries)


def amend(module: ModuleOp, subject: Subject, locations: Collection[Attribute], old: str, new: str) -> None:
    """What became of the subjects at these locations has changed: remarks with the outcome `old` say `new`, and no
    reason.
    """
    about = {"subject": StringAttr(subject), "outcome": StringAttr(old)}

    def amended(entry: DictionaryAttr) -> DictionaryAttr:
        if entry.data["loc"] not in locations or any(entry.data[key] != value for key, value in about.items()):
            return entry
        return DictionaryAttr({**entry.data, "outcome": StringAttr(new), "reason": StringAttr("")})

    entries = _entries(module)
    if entries:
        module.attributes[ATTRIBUTE] = ArrayAttr(dict.fromkeys(map(amended, entries)))


def remarks(module: ModuleOp) -> Iterator[Remark]:
    """The remarks of a module in the order in which they were made."""
    for entry in _entries(module):
        yield Remark(
            _text(entry, "pass"),
            _text(entry, "subject"),
            _text(entry, "outcome"),
            _text(entry, "reason"),
            place_of(entry.data.get("loc", UNKNOWN_LOC)),
        )


def _entries(module: ModuleOp) -> tuple[DictionaryAttr, ...]:
    match module.attributes.get(ATTRIBUTE):
        case ArrayAttr(data=entries):
            return tuple(e for e in entries if isinstance(e, DictionaryAttr))
        case _:
            return ()


def _text(entry: DictionaryAttr, key: str) -> str:
    value = entry.data[key]
    assert isinstance(value, StringAttr)
    return value.data


def module_of(op: Operation) -> ModuleOp:
    """The module that holds `op` (or is it)."""
    top: Operation | None = op
    while top is not None and not isinstance(top, ModuleOp):
        top = top.parent_op()
    assert top is not None, f"{op.name} is in no module"
    return top
