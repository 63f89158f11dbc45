"""The Lark parser of `kernel.lark`, built once per process and kept between processes in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from lark import Lark

from .layout import Layout

PIECE = "piece"


@cache
def layout() -> Layout:
    """The filter that the parser reads its tokens through."""
    return Layout()


@cache
def grammar() -> Lark:
    """The parser. Building it takes about half a second of CPU, reading it back from the cache a few hundredths."""
    source = files(__package__ or "ahbmc.frontend").joinpath("kernel.lark").read_text(encoding="utf-8")
    path = _cache_file(source)
    return Lark(
        source,
        start=PIECE,
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=True,
        postlex=layout(),
        cache=str(path) if path else False,
    )


def _cache_file(source: str) -> Path | None:
    """Where the built parser is kept: one file per grammar, Lark and Python. None where the folder cannot be
    written.
    """
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ahbmc"
        root.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no such folder can be made, or the user has no home
        return None
    if not os.access(root, os.W_OK):
        return None
    key = f"{source}{version('lark')}{sys.version}"
    return root / f"kernel-{hashlib.sha256(key.encode()).hexdigest()[:16]}.lark"
