"""Passes of one's own: a Python file outside of this tree that holds one pass, made known by `--load-pass FILE.py`.

The file is as one of `passes/`: `fold_scale.py` holds the class `FoldScalePass` with `name = "fold-scale"`. It is
executed, as any Python file that is imported; kernels and workloads never are, and so neither names such a file.
"""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..dialects.errors import Category, Fault, Place, fail

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


@dataclass(frozen=True)
class LoadedPass:
    """A pass of one's own, the file that it comes from, and the text of it."""

    cls: type[ModulePass]
    file: str
    text: str


_executed: set[str] = set()
_loaded: dict[str, LoadedPass] = {}
LOADED: Mapping[str, LoadedPass] = _loaded
"""The passes that this process has loaded, by name."""


def load_pass(file: str | Path, taken: Collection[str], place: Place | None = None) -> str:
    """Execute `file` and make the pass in it known; its name. One of the same name that was loaded before is replaced.

    `taken` are the names that passes and pipelines have already, `place` is where the user names the file. Raises
    AhbmcError for whatever is wrong with the file.
    """
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        hint = "name it as the pass, in snake case: fold_scale.py holds FoldScalePass"
        raise fail(f"'{file}' is no file of a pass: its name is no Python module's", place, hint=hint)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise fail(f"cannot read '{file}': {(error.strerror or str(error)).lower()}", place) from None
    except UnicodeDecodeError:
        raise fail(f"'{file}' is not UTF-8 text", place) from None
    name = path.stem.replace("_", "-")
    if name in taken:
        message = f"'{file}' would be pass '{name}', and there is a pass or pipeline of that name"
        raise fail(message, place, hint="give the file, its class and its name another one")
    _loaded[name] = LoadedPass(_checked(_execute(path, text), name, path), str(path), text)
    return name


def forget_passes() -> None:
    """Make all passes of one's own unknown again."""
    _loaded.clear()


def _execute(path: Path, text: str) -> ModuleType:
    module = ModuleType(f"ahbmc_pass_{path.stem}")
    module.__file__ = str(path)
    _executed.add(str(path))
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        place = Place(str(path), error.lineno or 1, error.offset or 1)
        raise fail(f"no Python: {error.msg}", place, hint="mend the file of the pass") from None
    return module


def _checked(module: ModuleType, name: str, path: Path) -> type[ModulePass]:
    """The class of the pass in a module. Raises AhbmcError if there is none, or it is no pass of that name."""
    from xdsl.passes import ModulePass

    wanted = "".join(word.capitalize() for word in name.split("-")) + "Pass"
    cls = module.__dict__.get(wanted)
    whole = Place(str(path), 1, 1)
    if cls is None:
        there = [n for n, v in module.__dict__.items() if isinstance(v, type) and v.__module__ == module.__name__]
        hint = f"its classes are: {', '.join(there)}" if there else "it has no class"
        raise fail(f"a file of this name holds a class '{wanted}'; there is none", whole, hint=hint)
    if not isinstance(cls, type) or not issubclass(cls, ModulePass):
        hint = f"write `class {wanted}(ModulePass):`, ModulePass from xdsl.passes"
        raise fail(f"'{wanted}' is no pass", whole, hint=hint)
    if "__dataclass_params__" not in cls.__dict__ or not dataclasses.is_dataclass(cls):
        raise fail(f"'{wanted}' is no dataclass", whole, hint=f"write @dataclass(frozen=True) above `class {wanted}`")
    if cls.__dict__.get("name") != name:
        found = cls.__dict__.get("name")
        raise fail(f"'{wanted}' has the name {found!r}, its file says '{name}'", whole, hint=f'write name = "{name}"')
    return cls


def fault_of_own(error: Exception) -> Fault | None:
    """What an exception that left a file of a pass says, loading or running it: the user's fault, at the line at which
    it left the file; None if it left none.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if frame.filename in _executed), None)
    if own is None:
        return None
    said = str(error).splitlines()[0] if str(error) else "no message"
    last = frames[-1]
    notes = (f"raised at {last.filename}:{last.lineno} in {last.name}",) if last.filename != own.filename else ()
    hint = "mend the pass; AHBMC_DEBUG=1 prints the traceback"
    place = Place(own.filename, own.lineno or 1, (own.colno or 0) + 1, (own.end_colno or 0) + 1)
    return Fault(f"{type(error).__name__}: {said}", place, Category.INVALID_INPUT, hint, notes)
