"""The names of a file: its functions, imports and constants, each parsed and resolved when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from . import namespaces, syntax
from .parser import parse, parse_function
from .pieces import Piece, scan
from .text import Text
from .values import Item, JitFunction, Opaque

Evaluate = Callable[["Module", syntax.Expression], Item]


class Module:
    """A kernel file. `library` marks our own `standard.tl`, whose text no user sees."""

    def __init__(self, text: Text, *, library: bool = False):
        self.text = text
        self.library = library
        self._functions: dict[str, JitFunction] = {}
        self._resolving: set[str] = set()
        self._constants: dict[str, Item] = {}

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return scan(self.text)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all functions under a jit decorator, in order."""
        return tuple(dict.fromkeys(p.name for p in self.pieces if p.kind == "function" and p.jit))

    def function(self, name: str) -> JitFunction | None:
        """The function of that name; of several the last one under a jit decorator, or else the last one."""
        if name not in self._functions:
            found = self._named("function", name)
            if not found:
                return None
            piece = next((p for p in reversed(found) if p.jit), found[-1])
            self._functions[name] = JitFunction(name, self, parse_function(self.text, piece), jit=piece.jit)
        return self._functions[name]

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
        if name in self._imported:
            return self._imported[name]
        if name in self._constants:
            return self._constants[name]
        pieces = self._named("constant", name)
        if not pieces or name in self._resolving:
            raise KeyError(name)
        self._resolving.add(name)
        try:
            self._constants[name] = self._constant(pieces[-1], evaluate)
        finally:
            self._resolving.discard(name)
        return self._constants[name]

    def _constant(self, piece: Piece, evaluate: Evaluate) -> Item:
        (statement, *_) = parse(self.text, piece)
        if isinstance(statement, syntax.Assign | syntax.Annotated) and statement.value is not None:
            return evaluate(self, statement.value)
        return Opaque(f"the host value '{piece.name}'")

    @cached_property
    def _imported(self) -> dict[str, Item]:
        """What the file's imports bind. Where a name is imported twice (`try: ... except ImportError: ...`), what we
        know wins.
        """
        names: dict[str, Item] = {}
        for piece in self.pieces:
            if piece.kind == "import":
                for statement in parse(self.text, piece):
                    for name, item in namespaces.bindings(statement):
                        if name not in names or isinstance(names[name], Opaque):
                            names[name] = item
        return names

    @property
    def names(self) -> tuple[str, ...]:
        """All global names, for the closest match to a misspelt one."""
        return (*(p.name for p in self.pieces if p.name), *self._imported)
