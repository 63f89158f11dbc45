"""The dictionaries of a call of `al.composite`: ops by name with their operands, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from ..dialects.errors import AhbmcError
from .builtin import known
from .emit import Emitter
from .types import TypeFault
from .values import Entry, Record, Value, describe


def at(emit: Emitter, place: Record | Entry, make: Callable[[], Value]) -> Value:
    """What `make` makes; a fault of it is reported at `place`."""
    try:
        return make()
    except TypeFault as fault:
        raise emit.fail(f"composite: {fault}", fault.hint, site=place.site) from None


def name_of(emit: Emitter, record: Record) -> str:
    entry = record.entries.get("op")
    if entry is None:
        raise emit.fail("an op without a name", 'name it, as in {"op": "add", "other": x}', site=record.site)
    if not isinstance(entry.item, str):
        raise emit.fail(f"an op is named by a string, not by {describe(entry.item)}", site=entry.site)
    return entry.item


def unknown(emit: Emitter, record: Record, what: str, name: str, names: Iterable[str]) -> AhbmcError:
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = f"there are {', '.join(names)}; a recipe of --load-recipe is looked for in kernels and has no name there"
    hint = f"did you mean '{near[0]}'?" if near else listed
    return emit.fail(f"there is no {what} '{name}'", hint, site=record.entries["op"].site)


def check_entries(
    emit: Emitter,
    record: Record,
    name: str,
    needed: tuple[str, ...],
    scopes: tuple[str, ...],
    choices: Iterable[str] = (),
) -> str:
    """Refuse operands that an op does not have, and those that are missing; `choices` may be left out. Returns the
    scope, the first of `scopes` if none is given.
    """
    scope = scopes[0]
    takes = f"{name} takes {', '.join(repr(n) for n in needed)}" if needed else f"{name} takes no operand"
    for given, entry in record.entries.items():
        if given == "scope":
            scope = str(known(entry.item))
            if scope not in scopes:
                hint = f"here it is {' or '.join(repr(s) for s in scopes)}"
                raise emit.unsupported(f"{name} with scope {describe(entry.item)}", hint, site=entry.site)
        elif given != "op" and given not in (*needed, *choices):
            raise emit.fail(f"{name} has no operand '{given}'", takes, site=entry.site)
    for missing in needed:
        if missing not in record.entries:
            raise emit.fail(f"{name} needs an operand '{missing}'", takes, site=record.site)
    return scope
