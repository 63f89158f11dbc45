"""`--load-pass FILE.py`, `--load-recipe FILE.py`: passes and recipes of one's own, made known before the command looks
at pipelines.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..dialects.errors import Sources
from ..passes import PASS_NAMES
from ..passes.loaded import load_pass, load_recipes
from ..passes.pipelines import PIPELINES
from .command_line import word_place


def add_load_flags(parser: argparse.ArgumentParser) -> None:
    """The flags, for a command that runs or prints passes and recipes."""
    add = parser.add_argument
    add(
        "--load-pass",
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="make the pass of a file of your own known (docs/write_a_pass.md); the file is executed",
    )
    add(
        "--load-recipe",
        action="append",
        default=[],
        metavar="FILE.py",
        help="make the recipes of a file of your own known; the file is executed",
    )


def load_own(passes: Sequence[str], recipes: Sequence[str], sources: Sources) -> None:
    """Load the passes and recipes of these files. Raises AhbmcError with the place at which a file, or its name, is
    wrong.
    """
    for file in passes:
        load_pass(file, {*PASS_NAMES, *PIPELINES}, word_place(sources, file))
    for file in recipes:
        load_recipes(file, word_place(sources, file))
