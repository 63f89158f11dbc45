"""Kernel files on the disk and in wheels: which there are, their texts, and which file an import names.

A wheel is a zip of text and is read as it lies; the file `ops/exp.py` in it goes by the name `WHEEL.whl/ops/exp.py`.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from ..dialects.errors import Place, fail
from ..frontend.module import Module, module_of

_WHEEL = ".whl/"


def files_of(path: str, place: Place | None = None) -> list[str]:
    """The Python files that `path` is or holds, sorted. Raises AhbmcError at `place` where there is no such path."""
    where = Path(path)
    if path.endswith(".whl") and where.is_file():
        return [f"{path}/{name}" for name in sorted(_contents(path, place)) if name.endswith(".py")]
    if where.is_dir():
        found: list[str] = []
        for folder, folders, names in os.walk(where):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            found += [str(Path(folder) / name) for name in sorted(names) if name.endswith(".py")]
        return found
    if where.is_file():
        return [str(where)]
    raise fail(f"there is no file or folder {path}", place, hint="give Python files, folders or wheels of them")


def text_of(name: str) -> str:
    """The text of a file, in a wheel or not; bytes that are no UTF-8 are replaced. May raise OSError."""
    wheel, inside = _split(name)
    raw = _archive(wheel, os.getpid()).read(inside) if wheel else Path(name).read_bytes()
    return raw.decode("utf-8", errors="replace").replace("\r\n", "\n")


def module_in(name: str) -> Module:
    """The kernel file `name` with what it imports, taken apart once."""
    return module_of(text_of(name), name, find_import)


@lru_cache(maxsize=65536)
def find_import(file: str, module: str) -> tuple[str, str] | None:
    """The file that `module`, imported in `file`, is, and its text: relative to the file, or below a folder that the
    file lies in, the nearest first.
    """
    for name in _candidates(file, module):
        if _exists(name):
            try:
                return name, text_of(name)
            except OSError:
                return None
    return None


def _candidates(file: str, module: str) -> Iterator[str]:
    dots = len(module) - len(module.lstrip("."))
    parts = module.replace(".", " ").split()
    folders = list(PurePosixPath(file).parents)
    if dots:
        folders = folders[dots - 1 : dots]
    for folder in folders:
        base = folder.joinpath(*parts)
        if parts:
            yield f"{base}.py"
        yield f"{base}/__init__.py"


def _split(name: str) -> tuple[str, str]:
    """(wheel, name inside) of a file's name; no wheel: ("", name)."""
    at = name.find(_WHEEL)
    return ("", name) if at < 0 else (name[: at + len(_WHEEL) - 1], name[at + len(_WHEEL) :])


@lru_cache(maxsize=65536)
def _exists(name: str) -> bool:
    wheel, inside = _split(name)
    return inside in _contents(wheel) if wheel else Path(name).is_file()


@lru_cache(maxsize=64)
def _contents(wheel: str, place: Place | None = None) -> frozenset[str]:
    try:
        return frozenset(_archive(wheel, os.getpid()).namelist())
    except (OSError, zipfile.BadZipFile) as error:
        raise fail(f"{wheel} cannot be read: {error}", place, hint="a wheel is a zip file; fetch it again") from None


@lru_cache(maxsize=64)
def _archive(wheel: str, process: int) -> zipfile.ZipFile:
    """An open wheel. A process that was forked opens it for itself: the place in an open file is shared."""
    return zipfile.ZipFile(wheel)
