"""The command line as a text that places point into: what is wrong with an argument is shown with a caret too."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..dialects.errors import Place, Sources

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMAND_LINE = "<command line>"


class ArgumentParser(argparse.ArgumentParser):
    """One whose help, if it cannot be written, is an error as any other output: argparse passes over that."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stdout).write(self.format_help())


def add_command_line(sources: Sources, program: str, argv: Sequence[str]) -> None:
    """Make the words of the command line known to `word_place`."""
    sources.add(COMMAND_LINE, shlex.join([program, *argv]))


def word_place(sources: Sources, word: str) -> Place | None:
    """Where `word` stands on the command line; None where it does not, as in a call from Python."""
    text, quoted = sources.texts.get(COMMAND_LINE, ""), shlex.quote(word)
    for end in ("(?= |$)", ""):  # the whole of a word of the line, else the beginning of one
        if found := re.search(f"(?<=[ =]){re.escape(quoted)}{end}", text):
            return Place(COMMAND_LINE, 1, found.start() + 1, found.end() + 1)
    return None
