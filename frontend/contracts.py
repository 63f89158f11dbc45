"""The recipes that a composite may begin with, as a kernel sees them: contract and meaning of each, from `recipes.tl`.

Their rows, which are what is issued, are in passes/recipes.py; a test holds both to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from xdsl.ir import Block, Region, SSAValue

from ..dialects import tl
from . import syntax
from .builtin import known
from .emit import Emitter
from .text import Text
from .types import DType, Type, float32
from .values import LOAD, Entry, Item, JitFunction, Record, Value, describe
from .values import Region as HbmRegion


@cache
def recipes() -> Mapping[str, JitFunction]:
    """The functions of `recipes.tl`, by name."""
    from .module import Module  # a lazy table; module.py builds on this file

    text = files(__package__ or "ahbmc.frontend").joinpath("recipes.tl").read_text(encoding="utf-8")
    module = Module(Text("recipes.tl", text), library=True)
    return {name: function for name in module.kernels if (function := module.function(name)) is not None}


@dataclass(frozen=True)
class Contract:
    """What a recipe takes: operands in order with the names of their axes, which of them it writes, and what can be
    chosen, the first choice being the one that stands if none is given. One of the operands is the running tile
    (`tile`) in an epilogue; some (`conditions`) are there for one choice only. `makes` says whether there is a primary
    output.
    """

    name: str
    axes: Mapping[str, tuple[str, ...]]
    tile: str | None
    conditions: Mapping[str, tuple[str, str]]
    written: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]]
    makes: bool

    def inputs(self, chosen: Mapping[str, str]) -> tuple[str, ...]:
        """The operands that there are for some choices, in order."""
        return tuple(n for n in self.axes if n not in self.conditions or self.conditions[n] in chosen.items())

    def chosen_by(self, emit: Emitter, record: Record) -> dict[str, str]:
        """What a call chooses, but for what follows from its operands. Raises AhbmcError for what is no choice."""
        return {name: self._choice(emit, name, record.entries.get(name)) for name in self.named_choices}

    @property
    def named_choices(self) -> tuple[str, ...]:
        return tuple(name for name in self.choices if name not in self.axes)

    @property
    def scope(self) -> str:
        return "output_tile" if self.tile is not None and self.makes else "once"

    @property
    def written_inputs(self) -> tuple[int, ...]:
        """Numbers of the operands that are written."""
        return tuple(tuple(self.axes).index(name) for name in self.written)

    def operands_of(
        self, emit: Emitter, record: Record, chosen: Mapping[str, str], tile: Value | None
    ) -> dict[str, Value]:
        """The operands that a call gives. Raises AhbmcError at the first that is none."""
        found: dict[str, Value] = {}
        sizes: dict[str, tuple[int, str]] = {}
        for name in self.inputs(chosen):
            axes = self.axes[name]
            if name == self.tile and tile is not None:
                entry, value = Entry(tile, record.site, None), tile
            else:
                entry = record.entries[name]
                value = self._block(emit, name, entry) if axes else self._scalar(emit, name, entry)
            found[name] = value
            wanted = [sizes.get(axis, (size, name))[0] for axis, size in zip(axes, value.shape, strict=False)]
            if len(axes) != len(value.shape) or wanted != list(value.shape):
                sources = ", ".join(f"{a} is {size} by '{of}'" for a, (size, of) in sizes.items() if a in axes)
                message = f"'{name}' of {self.name} has the shape {list(value.shape)}, not [{', '.join(axes)}]"
                raise emit.fail(f"{message}{f'; {sources}' if sources else ''}", _LISTED, site=entry.site)
            sizes |= {axis: (size, name) for axis, size in zip(axes, value.shape, strict=True) if axis not in sizes}
        self._check_written(emit, record, found)
        return found

    def _block(self, emit: Emitter, name: str, entry: Entry) -> Value:
        item, what = entry.item, f"'{name}' of {self.name}"
        if isinstance(item, HbmRegion):
            message = f"{what} is {describe(item)}; the operands of a recipe must lie in TCM"
            raise emit.fail(message, LOAD, site=entry.site)
        if not isinstance(item, Value) or not item.is_block or item.is_pointer:
            raise emit.fail(f"{what} is a block, not {describe(item)}", _LISTED, site=entry.site)
        return item

    def _scalar(self, emit: Emitter, name: str, entry: Entry) -> Value:
        item = entry.item
        if not isinstance(item, Value | int | float) or (
            isinstance(item, Value) and (item.is_block or item.is_pointer)
        ):
            raise emit.fail(f"'{name}' of {self.name} is a number, not {describe(item)}", _LISTED, site=entry.site)
        return emit.typed(item, float32)

    def _check_written(self, emit: Emitter, record: Record, operands: Mapping[str, Value]) -> None:
        """What a recipe writes has a name, which goes on with what is written, and is no other operand."""
        for name in self.written:
            entry, what = record.entries[name], f"'{name}' of {self.name} is written"
            if entry.name is None:
                raise emit.fail(f"{what}, so it must be a name", "give the block a name before", site=entry.site)
            if sum(v.ssa is operands[name].ssa for v in operands.values()) > 1:
                raise emit.fail(f"{what}, and is another operand too", "give it a block of its own", site=entry.site)

    def lower(
        self,
        emit: Emitter,
        record: Record,
        chosen: Mapping[str, str],
        operands: Mapping[str, Value],
        inputs: Sequence[SSAValue],
        dtype: DType | None,
    ) -> tuple[tl.RecipeOp, list[Type]]:
        """Insert the recipe of `inputs`, which stand for the operands; the op and the types of its results."""
        block = Block(arg_types=[v.ssa.type for v in operands.values()])
        given: dict[str, Item] = {**chosen} if dtype is None else {**chosen, "dtype": dtype}
        params = {n: chosen[n] if n in chosen else _width(operands[n]) for n in self.choices}
        for (name, value), arg in zip(operands.items(), block.args, strict=True):
            arg.name_hint, given[name] = name, Value(arg, value.type)
        with emit.inside(block):
            made = emit.call(recipes()[self.name], given)
            results = [v for v in made if isinstance(v, Value)] if isinstance(made, tuple) else []
            emit.insert(tl.YieldOp(*(v.ssa for v in results)))
        for name, result in zip(self.written, results, strict=False):
            if result.type != operands[name].type:
                message = f"'{name}' of {self.name} is {describe(operands[name])}, and the recipe leaves "
                site = record.entries[name].site
                raise emit.fail(f"{message}{describe(result)} in it", "give it a block of this type", site=site)
        types = [v.ssa.type for v in results]
        op = tl.RecipeOp(self.name, params, inputs, types, Region(block))
        emit.insert(op)
        return op, [v.type for v in results]

    def _choice(self, emit: Emitter, name: str, entry: Entry | None) -> str:
        values = self.choices[name]
        if entry is None:
            return values[0]
        chosen = known(entry.item)
        if not isinstance(chosen, str) or chosen not in values:
            hint = f"it is one of {', '.join(repr(v) for v in values)}"
            raise emit.fail(f"'{name}' of {self.name} is {describe(chosen)}", hint, site=entry.site)
        return chosen


def _width(operand: Value) -> str:
    """The choice that follows from an operand: whether the engine has to widen it."""
    return "narrow" if isinstance(operand.element, DType) and operand.element.bits < float32.bits else "f32"


_LISTED = "`ahbmc recipes` lists the operands of each"


@cache
def contract_of(name: str) -> Contract:
    """The contract that the parameters and the `return` of a function of `recipes.tl` state."""
    tree = recipes()[name].tree
    axes: dict[str, tuple[str, ...]] = {}
    conditions: dict[str, tuple[str, str]] = {}
    tile: str | None = None
    choices: dict[str, tuple[str, ...]] = {}
    for parameter in tree.parameters:
        match parameter.annotation:
            case syntax.Constant(value=str(named)):
                names, _, condition = named.partition(" if ")
                axes[parameter.name] = tuple(names.removeprefix("tile ").split())
                tile = parameter.name if named.startswith("tile ") else tile
                if condition:
                    choice, _, value = condition.partition("=")
                    conditions[parameter.name] = (choice, value)
            case syntax.Sequence(items=items):
                choices[parameter.name.removesuffix("_")] = tuple(
                    str(i.value) for i in items if isinstance(i, syntax.Constant)
                )
            case _:
                assert parameter.name == "dtype", parameter.name
    last = tree.body[-1]
    assert isinstance(last, syntax.Return) and isinstance(last.value, syntax.Sequence)
    returned = [item.id for item in last.value.items if isinstance(item, syntax.Name)]
    written = tuple(n for n in returned if n in axes)
    return Contract(name, axes, tile, conditions, written, choices, len(returned) > len(written))


def recipes_of(place: Literal["prologue", "epilogue"]) -> tuple[str, ...]:
    """The names of the recipes that may stand in a prologue, or in an epilogue."""
    return tuple(name for name in recipes() if (contract_of(name).tile is not None) == (place == "epilogue"))
