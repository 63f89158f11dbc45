"""Where what a command makes goes: a file, or standard output for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from ..dialects.errors import Place, fail


def write(file: str, text: str, place: Place | None = None) -> None:
    """Write text to a file, or to standard output for `-`. Raises AhbmcError where the file cannot be written."""
    if file == "-":
        sys.stdout.write(text)
    else:
        write_bytes(file, text.encode(), place)


def check_folder(file: str, place: Place | None = None) -> None:
    """Raise AhbmcError where a file could not be written because its folder is not there, before the work is done."""
    if file != "-" and not Path(file).absolute().parent.is_dir():
        hint = "give a file in a folder that exists and can be written, or - for standard output"
        raise fail(f"cannot write {file}: its folder does not exist", place, hint=hint)


def make_folder(folder: str, place: Place | None = None) -> None:
    """Make a folder where there is none. Raises AhbmcError where that is not possible."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "give a folder, or one that can be made where it is"
        raise fail(f"cannot make the folder {folder}: {error.strerror}", place, hint=hint) from None


def write_bytes(file: str, data: bytes, place: Place | None = None) -> None:
    """Write a binary file (a picture), or to standard output for `-`. Raises AhbmcError where it cannot be written."""
    try:
        if file == "-":
            sys.stdout.buffer.write(data)
        else:
            Path(file).write_bytes(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = "give a file in a folder that exists and can be written, or - for standard output"
        raise fail(f"cannot write {file}: {error.strerror}", place, hint=hint) from None
