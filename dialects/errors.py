"""The one way in which anything here says that it cannot go on.

A `Fault` says where, what was found, what was allowed and what to change; an `AhbmcError` carries every independent
fault of one step, each once. Rendering needs the text of the files, which `Sources` reads on demand, so a pass need not
carry text along.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Attribute


class Category(StrEnum):
    """What kind of fault it is; printed in brackets and part of `check --json`."""

    INVALID_INPUT = "invalid-input"
    INVALID_IR = "invalid-ir"
    DOES_NOT_FIT = "does-not-fit"
    UNSUPPORTED = "unsupported"
    DEADLOCK = "deadlock"
    INTERNAL = "internal"


@dataclass(frozen=True)
class Place:
    """A span of one line of a text file. Lines and columns count from 1; `end_column` is exclusive."""

    file: str
    line: int
    column: int
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: `message` says what was found and what was allowed, `hint` what to change."""

    message: str
    place: Place | None = None
    category: Category = Category.INVALID_INPUT
    hint: str | None = None
    notes: tuple[str, ...] = ()


class AhbmcError(Exception):
    """One or more faults that end the current step. Exit status 1 (70 for `internal`)."""

    def __init__(self, *faults: Fault):
        assert faults, "an error without a fault"
        self.faults = faults
        super().__init__(*faults)  # SimPy makes an error that crosses it anew, from its arguments

    def __str__(self) -> str:
        return "\n".join(f"{f.place}: {f.message}" if f.place else f.message for f in self.faults)

    @property
    def exit_status(self) -> int:
        return 70 if any(f.category is Category.INTERNAL for f in self.faults) else 1


def fail(
    message: str,
    place: Place | None = None,
    category: Category = Category.INVALID_INPUT,
    hint: str | None = None,
    notes: Iterable[str] = (),
) -> AhbmcError:
    """An error of a single fault, to be raised by the caller (`raise fail(...)`)."""
    return AhbmcError(Fault(message, place, category, hint, tuple(notes)))


def place_of(location: Attribute) -> Place | None:
    """The place of kernel text that an op's location names; None where the op has none."""
    # Everything imports this file, `--help` too, and xDSL takes a quarter of a second to load.
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    match location:
        case FileLineColLoc():
            return Place(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return place_of(location.location)
        case CallSiteLoc():
            return place_of(location.callee)
        case FusedLoc(locations=ArrayAttr() as parts):
            return next(filter(None, map(place_of, parts)), None)
        case _:
            return None


@dataclass
class Sources:
    """The texts that places point into. A text that is not a file (standard input, a live function) is put in with
    `add`.
    """

    texts: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, text: str) -> None:
        self.texts[name] = text

    def line(self, place: Place) -> str | None:
        """The line that `place` is on, without its end; None where the text is not to be had."""
        if place.file not in self.texts:
            try:
                self.texts[place.file] = Path(place.file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                self.texts[place.file] = ""
        lines = self.texts[place.file].splitlines()
        return lines[place.line - 1] if 0 < place.line <= len(lines) else None


def render(error: AhbmcError, sources: Sources | None = None) -> str:
    """The error as a user reads it: place, category, message, line with caret, notes and hint of each fault."""
    sources = sources or Sources()
    return "\n".join(_render_fault(f, sources) for f in error.faults)


def _render_fault(fault: Fault, sources: Sources) -> str:
    head = f"{fault.place}: " if fault.place else ""
    lines = [f"{head}error: {fault.message} [{fault.category}]"]
    if fault.place and (text := sources.line(fault.place)) is not None:
        start = min(fault.place.column - 1, len(text))
        end = max(start + 1, min((fault.place.end_column or start + 2) - 1, len(text)))
        # A tab of the text stays a tab under it, so that the caret lands where a terminal shows the character.
        blank = "".join("\t" if c == "\t" else " " for c in text[:start])
        lines += [f"    {text}", f"    {blank}{'^' * (end - start)}"]
    lines += [f"  note: {note}" for note in fault.notes]
    if fault.hint:
        lines.append(f"  hint: {fault.hint}")
    return "\n".join(lines)
