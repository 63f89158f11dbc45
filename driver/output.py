"""Where a text that a command makes goes: a file, or standard output for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from ..dialects.errors import Place, fail


def write(file: str, text: str, place: Place | None = None) -> None:
    """Write text to a file, or to standard output for `-`. Raises AhbmcError where the file cannot be written."""
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "give a file in a folder that exists and can be written, or - for standard output"
        raise fail(f"cannot write {file}: {error.strerror}", place, hint=hint) from None
