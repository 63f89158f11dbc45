"""Passes and recipes of one's own: Python files outside of this tree, made known by `--load-pass FILE.py` and
`--load-recipe FILE.py`.

A file of a pass is as one of `passes/`: `fold_scale.py` holds the class `FoldScalePass` with `name = "fold-scale"`; a
file of recipes holds values of `passes.recipe.Recipe`. They are executed, as any Python file that is imported; kernels
and workloads never are, and so neither names such a file.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar, get_type_hints

from ..dialects.errors import Category, Fault, Place, fail

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

Value = TypeVar("Value")


@dataclass(frozen=True)
class LoadedPass:
    """A pass of one's own, its file and the text of that."""

    cls: type[ModulePass]
    file: Path
    text: str


_executed: dict[str, str] = {}
_loaded: dict[str, LoadedPass] = {}
_recipe_places: dict[str, Place] = {}
LOADED: Mapping[str, LoadedPass] = _loaded
"""The passes that this process has loaded, by name."""


def load_pass(file: str | Path, taken: Collection[str], place: Place | None = None) -> str:
    """Execute `file` and make the pass in it known; its name. What the same file gave before is replaced.

    `taken` are the names that passes and pipelines have already, `place` is where the user names the file. Raises
    AhbmcError for whatever is wrong with the file.
    """
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        hint = "name it as the pass, in snake case: fold_scale.py holds FoldScalePass"
        raise fail(f"'{file}' is no file of a pass: its name is no Python module's", place, hint=hint)
    text = _read(path, place)
    name = path.stem.replace("_", "-")
    if name in taken:
        message = f"'{file}' would be pass '{name}', and there is a pass or pipeline of that name"
        raise fail(message, place, hint="give the file, its class and its name another one")
    if name in _loaded and _loaded[name].file != path:
        message = f"'{file}' would be pass '{name}', and '{_loaded[name].file}' is"
        raise fail(message, place, hint="load one of them, or give one, its class and its name another name")
    _loaded[name] = LoadedPass(_checked(_execute(path, text), name, path), path, text)
    return name


def load_recipes(file: str | Path, place: Place | None = None) -> list[str]:
    """Execute `file` and make the recipes in it known; their names. Those of the same file are replaced.

    `place` is where the user names the file. Raises AhbmcError for whatever is wrong with it.
    """
    from .recipe import Recipe, WrongRecipe
    from .recipes import OWN, RECIPES

    path = Path(file)
    text = _read(path, place)
    try:
        module = _execute(path, text)
    except WrongRecipe as error:
        at = fault_of_own(error)
        hint = "mend the recipe; docs/write_a_pass.md says what its parts are"
        raise fail(str(error), at and at.place, hint=hint) from None
    found: dict[str, tuple[Recipe, Place]] = {}
    for value, at in _of_type(Recipe, module, text):
        known = found[value.name][1] if value.name in found else _recipe_places.get(value.name)
        if known is not None and (value.name in found or known.file != at.file):
            message = f"recipe '{value.name}' is at {known.file}:{known.line} already"
            raise fail(message, at, hint="give one of them another name")
        if value.name in RECIPES and value.name not in OWN:
            raise fail(f"there is a recipe '{value.name}' already", at, hint="give yours another name")
        found[value.name] = value, at
    if not found:
        hint = "give a name of the file a Recipe of passes.recipe"
        raise fail("there is no recipe in this file", Place(str(path), 1, 1), hint=hint)
    OWN.update((name, recipe) for name, (recipe, _) in found.items())
    _recipe_places.update((name, at) for name, (_, at) in found.items())
    return list(found)


def _of_type(kind: type[Value], module: ModuleType, text: str) -> Iterator[tuple[Value, Place]]:
    """The values of a type that a module names, each once, with the place of the first statement that gives it a name;
    one that no statement of the file names has that of the file.
    """
    lines = {
        target.id: statement.lineno
        for statement in reversed(ast.parse(text).body)
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }
    seen: list[Value] = []
    for name, value in module.__dict__.items():
        if isinstance(value, kind) and not any(value is other for other in seen):
            seen.append(value)
            yield value, Place(str(module.__file__), lines.get(name, 1), 1)


def forget_own() -> None:
    """Make all passes and recipes of one's own unknown again."""
    _loaded.clear()
    _executed.clear()
    _recipe_places.clear()
    if (recipes := sys.modules.get(f"{__package__}.recipes")) is not None:
        recipes.OWN.clear()


def executed_texts() -> Mapping[str, str]:
    """File -> text of all that has been loaded, on which what is compiled depends."""
    return _executed


def _read(path: Path, place: Place | None) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"cannot read '{path}': {(error.strerror or str(error)).lower()}"
        raise fail(message, place, hint="name a Python file") from None
    except UnicodeDecodeError:
        raise fail(f"'{path}' is not UTF-8 text", place, hint="save it as UTF-8") from None


def _execute(path: Path, text: str) -> ModuleType:
    module = ModuleType(f"ahbmc_own_{path.stem}")
    module.__file__ = str(path)
    _executed[str(path)] = text
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        place = Place(str(path), error.lineno or 1, error.offset or 1)
        raise fail(f"no Python: {error.msg}", place, hint="mend the file") from None
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
    _check_use(cls, whole)
    return cls


def _check_use(cls: type[ModulePass], whole: Place) -> None:
    """Raises AhbmcError unless a pass can be made from options and applied."""
    from .pipeline_text import accepted

    try:
        inspect.signature(cls.apply).bind(None, None, None)
    except TypeError as error:
        message = f"'{cls.__name__}.apply' is not called as passes are: {error}"
        raise fail(message, whole, hint="write `def apply(self, ctx, op):`") from None
    if inspect.isabstract(cls):
        raise fail(f"'{cls.__name__}' has no `apply`", whole, hint="write `def apply(self, ctx, op):`")
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as error:
        message = f"the type of a field of '{cls.__name__}' has no meaning: {error}"
        raise fail(message, whole, hint="import it, or write it as a ClassVar") from None
    for field in dataclasses.fields(cls):
        try:
            accepted(hints[field.name])
        except KeyError:
            message = f"option '{field.name}' of '{cls.__name__}' is of a type that no text can give: {field.type}"
            raise fail(
                message, whole, hint="allowed: int, float, bool, str, Literal, tuples of these, and None"
            ) from None


def fault_of_own(error: BaseException) -> Fault | None:
    """What an exception says that left a file of the user's own, loading or running it: the fault of the file, at the
    line at which it left it; None if it left none.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if frame.filename in _executed), None)
    if own is None:
        return None
    said = str(error).splitlines()[0] if str(error) else "no message"
    last = frames[-1]
    notes = (f"raised at {last.filename}:{last.lineno} in {last.name}",) if last.filename != own.filename else ()
    hint = "mend the file; AHBMC_DEBUG=1 prints the traceback"
    place = Place(own.filename, own.lineno or 1, (own.colno or 0) + 1, (own.end_colno or 0) + 1)
    return Fault(f"{type(error).__name__}: {said}", place, Category.INVALID_INPUT, hint, notes)
