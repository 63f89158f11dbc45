"""A builtin function as a row: its name, its parameters with what each must be, and the function that lowers it.

Rows are written as text close to Triton's own documentation: `row("load", "pointer, mask: value = None, volatile:
hint = False", f)`. Binding and converting arguments is done once, here and in `KINDS`, so that a lowering function
gets what it asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from .emit import Emitter
from .types import DType, PointerType, TypeFault
from .values import LOAD, Item, Record, Region, Value, describe


@dataclass(frozen=True)
class Parameter:
    """A parameter of a builtin. `kind` names a row of `KINDS`; a parameter without default is required; `*name` takes
    the rest.
    """

    name: str
    kind: str = "item"
    default: Item = None
    required: bool = True
    rest: bool = False


@dataclass(frozen=True, eq=False)
class Builtin:
    """A function that a kernel can call. `writes` names the parameter whose argument is rebound to the result."""

    name: str
    parameters: tuple[Parameter, ...]
    lower: Callable[..., Item] = field(repr=False)
    method: bool = False
    writes: str | None = None

    def takes_records(self, number: int, name: str | None) -> bool:
        """Whether an argument, by its place or its name, is a list of dictionaries."""
        given = self.parameters[number : number + 1] if name is None else self.parameters
        return any(p.kind == "records" and name in (None, p.name) for p in given)

    @property
    def usage(self) -> str:
        """The call as a hint shows it."""
        return f"{self.name}({', '.join(p.name if p.required else f'{p.name}=' for p in self.parameters)})"


def row(
    name: str, parameters: str, lower: Callable[..., Item], *, method: bool = False, writes: str | None = None
) -> Builtin:
    """A row of a table of builtins. `lower` is called with the emitter and, by name, one item per parameter."""
    return Builtin(name, tuple(map(_parameter, _split(parameters))), lower, method, writes)


def _split(parameters: str) -> list[str]:
    """The parameters of a row's text; commas within brackets do not separate."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [p.strip() for p in parts if p.strip()]


def _parameter(text: str) -> Parameter:
    declared, _, default = text.partition("=")
    name, _, kind = declared.partition(":")
    kind = kind.strip() or "item"
    assert kind in KINDS, kind
    name = name.strip()
    value = ast.literal_eval(default.strip()) if default else None
    return Parameter(name.lstrip("*"), kind, value, not default and not name.startswith("*"), name.startswith("*"))


# What a parameter can ask for ---------------------------------------------------------------------


def _number(_: Emitter, item: Item) -> Item:
    if isinstance(item, Value | bool | int | float):
        return item
    raise TypeFault(f"a number or block is needed, not {describe(item)}")


def _value(emit: Emitter, item: Item) -> Item:
    return emit.value(item)


def _block(_: Emitter, item: Item) -> Item:
    if isinstance(item, Value) and item.is_block:
        return item
    raise TypeFault(f"a block is needed, not {describe(item)}", LOAD if isinstance(item, Region) else None)


def known(item: Item) -> Item:
    """The compile-time item of an item; a value that was just made of a number is that number. Raises TypeFault."""
    if isinstance(item, Value):
        if item.known is None:
            raise TypeFault(
                f"a compile-time constant is needed, not {describe(item)}",
                "pass it as a `tl.constexpr` parameter, or compute it from such parameters",
            )
        return item.known
    if isinstance(item, tuple):
        return tuple(known(i) for i in item)
    return item


def _constant(_: Emitter, item: Item) -> Item:
    return known(item)


def _integer(_: Emitter, item: Item) -> Item:
    item = known(item)
    if isinstance(item, bool) or not isinstance(item, int):
        raise TypeFault(f"a compile-time integer is needed, not {describe(item)}", "write an integer, as in 64")
    return item


def _boolean(_: Emitter, item: Item) -> Item:
    item = known(item)
    if not isinstance(item, bool | int):
        raise TypeFault(f"True or False is needed, not {describe(item)}")
    return bool(item)


def _text(_: Emitter, item: Item) -> Item:
    item = known(item)
    if item is not None and not isinstance(item, str):
        raise TypeFault(f"a string is needed, not {describe(item)}", "write it in quotes")
    return item


def _shape(_: Emitter, item: Item) -> Item:
    item = known(item)
    shape = item if isinstance(item, tuple) else (item,)
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeFault(
                f"a shape is a tuple of compile-time integers; {describe(size)} is none", "write it as in (32, 64)"
            )
        if not 0 < size < 1 << 31:
            raise TypeFault(f"an axis of a shape cannot have {size} elements", "it has from 1 to 2147483647")
    return shape


def _integers(_: Emitter, item: Item) -> Item:
    item = known(item)
    found = item if isinstance(item, tuple) else (item,)
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in found):
        raise TypeFault(f"compile-time integers are needed, not {describe(item)}")
    return found


def _dtype(_: Emitter, item: Item) -> Item:
    item = known(item)
    if not isinstance(item, DType):
        raise TypeFault(f"a type such as tl.float32 is needed, not {describe(item)}")
    return item


def _type(_: Emitter, item: Item) -> Item:
    item = known(item)
    if not isinstance(item, DType | PointerType):
        raise TypeFault(f"a type such as tl.float32 is needed, not {describe(item)}")
    return item


def _axis(_: Emitter, item: Item) -> Item:
    item = known(item)
    if item is not None and (isinstance(item, bool) or not isinstance(item, int)):
        raise TypeFault(f"an axis is a compile-time integer or None, not {describe(item)}")
    return item


def _records(_: Emitter, item: Item) -> Item:
    if isinstance(item, tuple) and all(isinstance(i, Record) for i in item):
        return item
    found = item if not isinstance(item, tuple) else next(i for i in item if not isinstance(i, Record))
    raise TypeFault(f"a list of dictionaries is needed, not {describe(found)}", 'as in [{"op": "add", "other": x}]')


def _item(_: Emitter, item: Item) -> Item:
    return item


KINDS: dict[str, Callable[[Emitter, Item], Item]] = {
    "item": _item,  # anything, as it is
    "number": _number,  # a value or a Python number that has no type yet
    "value": _value,  # a kernel-time value; numbers become one
    "block": _block,
    "constant": _constant,  # anything known at compile time
    "int": _integer,
    "bool": _boolean,
    "str": _text,
    "shape": _shape,
    "ints": _integers,
    "dtype": _dtype,
    "type": _type,  # a number's type or a pointer's
    "axis": _axis,
    "records": _records,  # dictionaries, which are read as such in these arguments alone
    "hint": _item,  # accepted and kept as a hint, or ignored
}


def optional(kind: str, item: Item) -> bool:
    """Whether None stands for "not given" here, whatever the kind asks for."""
    return item is None and kind in ("value", "number", "dtype", "ints", "int", "shape", "block")
