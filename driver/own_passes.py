"""`--load-pass FILE.py`: passes of one's own, made known before the command looks at pipelines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..dialects.errors import Sources
from ..passes import PASS_NAMES
from ..passes.loaded import load_pass
from ..passes.pipelines import PIPELINES
from .command_line import word_place


def add_load_pass(parser: argparse.ArgumentParser) -> None:
    """The flag, for a command that runs or prints passes."""
    parser.add_argument(
        "--load-pass",
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="make the pass of a file of your own known (docs/write_a_pass.md); the file is executed",
    )


def load_passes(files: Sequence[str], sources: Sources) -> None:
    """Load the passes of these files. Raises AhbmcError with the place at which a file, or its name, is wrong."""
    for file in files:
        load_pass(file, {*PASS_NAMES, *PIPELINES}, word_place(sources, file))
