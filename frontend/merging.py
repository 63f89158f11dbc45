"""Where two branches meet: which items both leave behind, and the values that must be carried out of them.

An item is a tree of tuples whose leaves are values or compile-time things. Equal compile-time things stay what they
are; values are carried; anything else has no one value afterwards, which is said when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.traits import is_side_effect_free

from .emit import Emitter, ssa
from .types import DType, Type, type_of_number
from .values import BlockPointer, Descriptor, Item, Value, describe, parts, with_parts


@dataclass(frozen=True)
class Carried:
    """Stands for the carried value number `number` in a template."""

    number: int
    type: Type


@dataclass(frozen=True)
class Split:
    """Two items that do not become one; `reason` is a sentence."""

    reason: str


@dataclass(frozen=True)
class Same:
    """An item that both sides share."""

    item: Item


@dataclass(frozen=True)
class Parts:
    """An item of the make of `like`, with these parts."""

    like: Item
    parts: tuple[Template, ...]


Template = Carried | Split | Same | Parts


class Merge:
    """Collects pairs of values that the blocks `then` and `orelse` yield."""

    def __init__(self, emit: Emitter, then: Block, orelse: Block):
        self._emit = emit
        self._blocks = (then, orelse)
        self.left: list[Value] = []
        self.right: list[Value] = []

    @property
    def types(self) -> list[Attribute]:
        return [v.ssa.type for v in self.left]

    @property
    def pure(self) -> bool:
        """Whether neither block has an effect or control flow."""
        ops = (op for b in self._blocks for op in b.ops)
        return all(is_side_effect_free(op) and not op.regions for op in ops)

    def pair(self, a: Item, b: Item) -> Template:
        """The template of two items that meet."""
        if a is b:
            return Same(a)
        left, right = parts(a), parts(b)
        if left is not None and right is not None and type(a) is type(b):
            if len(left) != len(right) or (isinstance(a, BlockPointer | Descriptor) and describe(a) != describe(b)):
                return Split(f"{describe(a)} in one branch and {describe(b)} in the other")
            found = tuple(self.pair(x, y) for x, y in zip(left, right, strict=True))
            return next((p for p in found if isinstance(p, Split)), Parts(a, found))
        if not isinstance(a, Value) and not isinstance(b, Value) and type(a) is type(b) and a == b:
            return Same(a)
        return self._values(a, b)

    def _values(self, a: Item, b: Item) -> Template:
        numbers = bool | int | float
        if not isinstance(a, Value | numbers) or not isinstance(b, Value | numbers):
            return Split(f"{describe(a)} in one branch and {describe(b)} in the other")
        x, y = self._leaf(0, a, b), self._leaf(1, b, a)
        if x is None or y is None or x.type != y.type:
            return Split(f"{describe(a)} in one branch and {describe(b)} in the other")
        self.left.append(x)
        self.right.append(y)
        return Carried(len(self.left) - 1, x.type)

    def _leaf(self, side: int, item: Item, other: Item) -> Value | None:
        """A leaf as a value of its block. A Python number takes the type of the value that it meets, if it fits."""
        if isinstance(item, Value):
            return item
        assert isinstance(item, bool | int | float)
        dtype = type_of_number(item)
        if isinstance(other, Value):
            if not isinstance(other.element, DType) or dtype.kind > other.element.kind or other.is_block:
                return None
            dtype = other.element
        with self._emit.inside(self._blocks[side]):
            return self._emit.constant(item, dtype)

    def finish(self) -> None:
        """End both blocks by yielding what is carried."""
        for block, values in zip(self._blocks, (self.left, self.right), strict=True):
            with self._emit.inside(block):
                self._emit.insert(scf.YieldOp(*ssa(values)))

    def rebuild(self, template: Template, results: Sequence[SSAValue]) -> Item:
        """The item of a template once the carried values have come out as `results`."""
        match template:
            case Carried():
                return Value(results[template.number], template.type)
            case Same():
                return template.item
            case Parts():
                return with_parts(template.like, tuple(self.rebuild(part, results) for part in template.parts))
            case Split():
                raise AssertionError("a split item is handled by its owner")
