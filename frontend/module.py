"""The names of a file: its functions, imports and constants, each parsed and resolved when it is first asked for.

What a file imports from other kernel files is resolved the same way, through `Find`: who compiles says where files
lie, nothing here reads a disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

from ..dialects.errors import AhbmcError
from . import namespaces, syntax
from .parser import parse, parse_function
from .pieces import Piece, scan
from .text import Text
from .values import FileModule, Item, JitFunction, Namespace, Opaque

_JIT_CALL = re.compile(r"\bjit\(\s*(\w+)\s*\)")

Evaluate = Callable[["Module", syntax.Expression], Item]
Find = Callable[[str, str], tuple[str, str] | None]
"""(file, dotted module that it imports, relative ones with their dots) -> the module's file and text, if any."""


class Module:
    """A kernel file. `library` marks our own `*.tl` files, whose text no user sees."""

    def __init__(self, text: Text, *, library: bool = False, find: Find | None = None):
        self.text = text
        self.library = library
        self._find = find
        self._functions: dict[str, JitFunction] = {}
        self._kernel_functions: dict[str, JitFunction | None] = {}
        self._resolving: set[str] = set()
        self._resolved: dict[str, Item] = {}

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return scan(self.text)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all functions under a jit decorator, in order."""
        return tuple(dict.fromkeys(p.name for p in self.pieces if p.kind == "function" and self._is_jit(p)))

    def _is_jit(self, piece: Piece) -> bool:
        return piece.jit or piece.name in self._decorated_later

    @cached_property
    def _decorated_later(self) -> frozenset[str]:
        """Functions that get their decorator by a call, `f = triton.jit(f)`."""
        return frozenset(_JIT_CALL.findall(self.text.content))

    def function(self, name: str) -> JitFunction | None:
        """The function of that name, or of the name after the last dot in the function before it (`test_x.kernel`); of
        several the last one under a jit decorator, or else the last one.
        """
        if name not in self._functions:
            piece = self._function_piece(name)
            if piece is None:
                return None
            tree = parse_function(self.text, piece)
            self._functions[name] = JitFunction(piece.name, self, tree, self._is_jit(piece), piece.static)
        return self._functions[name]

    def _function_piece(self, name: str) -> Piece | None:
        owners, _, own = name.rpartition(".")
        found = self._named("function", own)
        owned = [p for p in found if owners and p.owner == owners.rpartition(".")[2]]
        return next((p for p in reversed(owned or found) if self._is_jit(p)), found[-1] if found else None)

    def decorators(self, name: str) -> tuple[syntax.Expression, ...]:
        """What stands above the function of that name, after each `@`, as far as the grammar of kernels can read it."""
        piece = self._function_piece(name)
        found: list[syntax.Expression] = []
        for span in piece.decorators if piece is not None else ():
            try:
                (statement,) = parse(self.text, Piece("constant", "", span, 0))
            except AhbmcError:
                continue
            if isinstance(statement, syntax.Evaluate):
                found.append(statement.value)
        return tuple(found)

    def constant(self, name: str) -> syntax.Expression | None:
        """What the file assigns to a global name last; None where it does not, or where the name is a function's."""
        pieces = self._named("constant", name) if self._function_piece(name) is None else []
        return self._assigned(pieces[-1]) if pieces else None

    def kernel_function(self, name: str) -> JitFunction | None:
        """The function of that name that the file defines, names anew or imports from another one."""
        if name not in self._kernel_functions:
            self._kernel_functions[name] = None  # for files that import each other
            self._kernel_functions[name] = self._kernel_function(name)
        return self._kernel_functions[name]

    def _kernel_function(self, name: str) -> JitFunction | None:
        found = self.function(name)
        origins = [o for o in self._imports.get(name, ()) if o[1] is not None]
        for path, original in [*origins, *((star, name) for star in self._stars)] if found is None else ():
            other = self._file(path)
            if other is not None and other is not self:
                found = found or other.kernel_function(original or name)
        return found or self._alias(name)

    def _alias(self, name: str) -> JitFunction | None:
        """The function that `name = function` stands for."""
        for piece in self._named("constant", name):
            match parse(self.text, piece)[0]:
                case syntax.Assign(value=syntax.Name(id=other)) if other != name:
                    return self.kernel_function(other)
                case _:
                    pass
        return None

    def _named(self, kind: str, name: str) -> list[Piece]:
        return self._by_name.get((kind, name), [])

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Piece]]:
        found: dict[tuple[str, str], list[Piece]] = {}
        for piece in self.pieces:
            found.setdefault((piece.kind, piece.name), []).append(piece)
        return found

    def lookup(self, name: str, evaluate: Evaluate) -> Item:
        """What a global name stands for. Raises KeyError where the file has no such name."""
        function = self.function(name)
        if function is not None:
            return function
        if name not in self._resolved:
            if name in self._resolving:
                raise KeyError(name)
            self._resolving.add(name)
            try:
                self._resolved[name] = self._resolve(name, evaluate)
            finally:
                self._resolving.discard(name)
        return self._resolved[name]

    def _resolve(self, name: str, evaluate: Evaluate) -> Item:
        """An import or constant. Of several, what a kernel can use wins over what it cannot."""
        found: Item = None
        known = False
        for origin in self._imports.get(name, ()):
            found, known = self._import(origin, evaluate), True
            if not isinstance(found, Opaque):
                return found
        pieces = self._named("constant", name)
        if pieces:
            constants = [self._constant(piece, evaluate) for piece in reversed(pieces)]
            constant = next((c for c in constants if not isinstance(c, Opaque)), constants[0])
            if not known or not isinstance(constant, Opaque):
                return constant
        for path in self._stars if not known else ():
            if (other := self._file(path)) is not None and other is not self:
                try:
                    return other.lookup(name, evaluate)
                except KeyError:
                    continue
        if not known or (isinstance(found, Opaque) and name in namespaces.DEFAULTS):
            raise KeyError(name)
        return found

    def _import(self, origin: namespaces.Origin, evaluate: Evaluate) -> Item:
        """What an import binds. Raises KeyError where a name is imported from a file that lacks it."""
        path, name = origin
        if name is None:
            if namespaces.is_module(path):
                return Namespace(path)
            other = self._file(path)
            return FileModule(other) if other is not None else Opaque(f"the module '{path}'")
        try:
            return namespaces.member(path, name)
        except KeyError:
            pass
        inside = self._file(f"{path}{name}" if path.endswith(".") else f"{path}.{name}")
        other = self._file(path)
        if other is not None and other is not self:
            try:
                return other.lookup(name, evaluate)
            except KeyError:
                if inside is None:
                    return Opaque(f"'{name}' of the module '{path}', which has no such name")
        return FileModule(inside) if inside is not None else Opaque(f"'{name}' of the module '{path}'")

    def _file(self, path: str) -> Module | None:
        """The kernel file that a module of this name is, if it is one and can be taken apart."""
        found = self._find(self.text.file, path) if self._find is not None else None
        if found is None:
            return None
        module = module_of(found[1], found[0], self._find)
        try:
            _ = module.pieces
        except AhbmcError:
            return None
        return module

    def _constant(self, piece: Piece, evaluate: Evaluate) -> Item:
        value = self._assigned(piece)
        return Opaque(f"the host value '{piece.name}'") if value is None else evaluate(self, value)

    def _assigned(self, piece: Piece) -> syntax.Expression | None:
        (statement, *_) = parse(self.text, piece)
        return statement.value if isinstance(statement, syntax.Assign | syntax.Annotated) else None

    @cached_property
    def _imports(self) -> dict[str, list[namespaces.Origin]]:
        """Where each imported name comes from. One may be imported twice (`try: ... except ImportError: ...`)."""
        names: dict[str, list[namespaces.Origin]] = {}
        for statement in self._import_statements:
            for name, origin in namespaces.bindings(statement):
                names.setdefault(name, []).append(origin)
        return names

    @cached_property
    def _stars(self) -> tuple[str, ...]:
        """The modules of which all names are imported."""
        return tuple(s.module for s in self._import_statements if isinstance(s, syntax.ImportFrom) and not s.names)

    @cached_property
    def _import_statements(self) -> tuple[syntax.Statement, ...]:
        return tuple(s for piece in self.pieces if piece.kind == "import" for s in parse(self.text, piece))

    @property
    def names(self) -> tuple[str, ...]:
        """All global names, for the closest match to a misspelt one."""
        return (*(p.name for p in self.pieces if p.name), *self._imports)


@lru_cache(maxsize=1024)
def module_of(source: str, file: str, find: Find | None = None) -> Module:
    """The module of a kernel file. A text is asked for its names, its parameters and its kernels, and is parsed once
    for all.
    """
    return Module(Text(file, source), find=find)
