"""Modules that a kernel may name, and what their names stand for: the tables of builtins, the types, and the library
of `*.tl` files.

A module is known by its full dotted path, whatever a file calls it (`import triton.language as tl`, `from ahbmc
import language as al`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from . import syntax, tables, torch
from .builtin import Builtin
from .text import Text
from .types import BY_SPELLING
from .values import BlockPointer, Descriptor, Item, JitFunction, Namespace, Value

if TYPE_CHECKING:
    from .module import Module

LANGUAGE = "triton.language"
LIBDEVICE = f"{LANGUAGE}.extra.libdevice"
OWN = "ahbmc.language"

# Path -> the paths whose names it has too.
_MODULES: dict[str, tuple[str, ...]] = {
    "triton": (),
    LANGUAGE: (),
    f"{LANGUAGE}.math": (LANGUAGE, LIBDEVICE),
    f"{LANGUAGE}.core": (LANGUAGE,),
    f"{LANGUAGE}.standard": (LANGUAGE,),
    f"{LANGUAGE}.extra": (),
    LIBDEVICE: (LANGUAGE,),
    f"{LANGUAGE}.libdevice": (LIBDEVICE,),  # where Triton 2 has it
    f"{LANGUAGE}.extra.cuda": (),
    f"{LANGUAGE}.extra.cuda.gdc": (f"{LANGUAGE}.extra.cuda",),
    f"{LANGUAGE}.extra.cuda.libdevice": (LIBDEVICE,),
    f"{LANGUAGE}.extra.hip": (),
    f"{LANGUAGE}.extra.hip.libdevice": (LIBDEVICE,),
    f"{LANGUAGE}.PropagateNan": (),
    "ahbmc": (),
    OWN: (LANGUAGE,),
    "math": (),
    "torch": (),
    "torch.version": (),
}
# What a text may use that does not import it, as the function of a live file does.
DEFAULTS: dict[str, str] = {
    "tl": LANGUAGE,
    "al": OWN,
    "triton": "triton",
    "ahbmc": "ahbmc",
    "libdevice": LIBDEVICE,
    "tl_extra_shim": LIBDEVICE,
    "math": "math",
}

_LIBRARY = ("standard.tl", "reductions.tl", "rearranging.tl", "random.tl", "scaled.tl")

# Functions of Triton that this language lacks as yet -> what a kernel can do instead.
NOT_YET: dict[str, str] = {
    "inline_asm_elementwise": "leave it out: this machine has no counterpart",
    **dict.fromkeys(("send", "recv", "recv_async", "all_reduce"), "programs of different PEs meet in HBM as yet"),
}


@cache
def _members() -> dict[str, dict[str, Item]]:
    """Path -> name -> item."""
    language: dict[str, Item] = {b.name: b for b in (*tables.LANGUAGE, *tables.CLASSES)}
    language |= dict(BY_SPELLING)
    return {
        LANGUAGE: language,
        OWN: {b.name: b for b in tables.OWN},
        "triton": {b.name: b for b in tables.TRITON},
        f"{LANGUAGE}.standard": {b.name: b for b in tables.STANDARD},
        f"{LANGUAGE}.extra.cuda": {b.name: b for b in tables.CUDA},
        LIBDEVICE: {b.name: b for b in tables.LIBDEVICE},
        **torch.MEMBERS,
        f"{LANGUAGE}.PropagateNan": {"ALL": "all", "NONE": "none"},
        "math": {
            **{b.name: b for b in tables.MATH},
            "pi": math.pi,
            "e": math.e,
            "inf": math.inf,
            "nan": math.nan,
            "tau": math.tau,
        },
    }


@cache
def python_names() -> dict[str, Builtin]:
    """Python's own functions that a kernel may call."""
    return {b.name: b for b in tables.PYTHON}


@cache
def library() -> tuple[Module, ...]:
    """The modules of library functions that are written in the kernel language itself."""
    from .module import Module  # a lazy table; module.py builds on this file

    folder = files(__package__ or "ahbmc.frontend")
    return tuple(Module(Text(n, folder.joinpath(n).read_text(encoding="utf-8")), library=True) for n in _LIBRARY)


def library_names() -> tuple[str, ...]:
    """The library functions that a kernel may call."""
    return tuple(n for module in library() for n in module.kernels if not n.startswith("_"))


def library_function(name: str) -> JitFunction | None:
    """A library function that a kernel may call, or that another library function may."""
    return next((found for module in library() if (found := module.function(name)) is not None), None)


def member(path: str, name: str) -> Item:
    """The item that `path.name` stands for. Raises KeyError."""
    if f"{path}.{name}" in _MODULES:
        return Namespace(f"{path}.{name}")
    for place in (path, *_MODULES.get(path, ())):
        found = _members().get(place, {})
        if name in found:
            return found[name]
        if place == LANGUAGE and (function := library_function(name)) is not None:
            return function
    raise KeyError(name)


def method(owner: Item, name: str) -> Builtin | JitFunction | None:
    """The function that `owner.name(...)` calls."""
    if isinstance(owner, Descriptor):
        return tables.DESCRIPTOR_METHODS.get(name)
    if isinstance(owner, BlockPointer):
        return tables.BLOCK_POINTER_METHODS.get(name)
    if not isinstance(owner, Value):
        return None
    found = _members()[LANGUAGE].get(name)
    if isinstance(found, Builtin):
        return found if found.method else None
    return library_function(name) if name in tables.LIBRARY_METHODS else None


def closest(path: str, name: str) -> str | None:
    """A hint with the known name that is most like `name`."""
    if path == LANGUAGE and name in _members()[OWN]:
        return "it is one of AHBM's own: `from ahbmc import language as al`"
    names = [n for place in (path, *_MODULES.get(path, ())) for n in _members().get(place, {})]
    if LANGUAGE in (path, *_MODULES.get(path, ())):
        names += library_names()
    return suggestion(name, names)


def suggestion(name: str, names: list[str]) -> str | None:
    found = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean '{found[0]}'?" if found else None


Origin = tuple[str, str | None]
"""Where an imported name comes from: a module's path and the name in it, None for the module itself."""


def bindings(statement: syntax.Statement) -> Iterator[tuple[str, Origin]]:
    """The names that an import binds, each with its origin; `*` binds none."""
    match statement:
        case syntax.Import(names=names):
            for path, alias in names:
                yield (alias, (path, None)) if alias is not None else (path.split(".")[0], (path.split(".")[0], None))
        case syntax.ImportFrom(module=path, names=names):
            for name, alias in names:
                yield alias or name, (path, name)
        case _:
            pass


def is_module(path: str) -> bool:
    """Whether a path is that of a module of these tables."""
    return path in _MODULES
