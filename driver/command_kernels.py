"""Kernels that are written as commands: functions at the `ahbm` level in a `.mlir` file, with or without `pe` plans.

Everything here is IR; what a launch sees of it stands in `kernels.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ..backend_sim.numerics.dtypes import TRITON_TYPES
from ..backend_sim.target.document import closest
from ..dialects.errors import AhbmcError, Category, Fault, Place, fail, place_of
from ..dialects.pointer import PointerType
from ..dialects.text import parse_module
from ..dialects.verify import verify

SUFFIX = ".mlir"
_NAME = "ahbm.name"
# Pipelines begin with kernel text; a program of commands goes through the passes after this one.
_MAKES_COMMANDS = "lower-to-commands"


def function_names(source: str, file: str) -> tuple[str, ...]:
    """The functions of a file, in order. Raises AhbmcError where the text is no IR."""
    return tuple(function.sym_name.data for function in _functions(parse_module(source, file)))


def find_function(source: str, file: str, name: str, place: Place | None) -> func.FuncOp:
    """The function `name`, verified, alone in its module. Raises AhbmcError: at `place` if there is none, in the file
    for every fault of the text.
    """
    module = parse_module(source, file)
    functions = {function.sym_name.data: function for function in _functions(module)}
    if name not in functions:
        close = closest(name, functions)
        hint = f"did you mean `{close}`?" if close else None
        raise fail(
            f"{file} has no function `{name}`; its functions: {', '.join(functions) or 'none'}", place, hint=hint
        )
    verify(module)
    found = functions[name]
    for other in functions.values():
        if other is not found:
            other.detach()
            other.erase()
    if found.is_declaration or len(found.body.blocks) != 1 or found.function_type.outputs.data:
        message = f"`{name}` is no kernel: it needs a body of one block and no results"
        raise fail(message, place_of(found.location), Category.INVALID_IR, "results go to HBM by dma_write")
    return found


def parameters_of(function: func.FuncOp) -> dict[str, Attribute]:
    """Name -> type of the arguments: `{ahbm.name = "x"}` on an argument, else `%x`. Raises AhbmcError."""
    place = place_of(function.location)
    attributes = function.arg_attrs.data if function.arg_attrs else ()
    found: dict[str, Attribute] = {}
    faults: list[Fault] = []
    for number, argument in enumerate(function.args):
        named = attributes[number].data.get(_NAME) if attributes else None
        name = named.data if isinstance(named, StringAttr) else argument.name_hint
        if name is None or name in found:
            what = "has no name" if name is None else f"is the second `{name}`"
            hint = f'name it `%x`, or give it {{{_NAME} = "x"}}; a number at the end of `%x_1` is no part of a name'
            faults.append(Fault(f"argument {number} of `{function.sym_name.data}` {what}", place, hint=hint))
        elif _type_name(argument.type) is None:
            allowed = f"allowed: {', '.join(str(row.ir) for row in _FIRST.values())}, or !tl.ptr of one"
            faults.append(Fault(f"argument `{name}` is of type {argument.type}; {allowed}", place, Category.INVALID_IR))
        else:
            found[name] = argument.type
    if faults:
        raise AhbmcError(*faults)
    return found


def type_name(kind: Attribute) -> str:
    """The type of an argument as a signature names it: "*fp16", "i32"."""
    name = _type_name(kind)
    assert name is not None, "held by parameters_of"
    return name


def passes_for(passes: Sequence[ModulePass]) -> Sequence[ModulePass]:
    """Those passes of a pipeline that a program of commands still has before it."""
    names = [each.name for each in passes]
    return passes[names.index(_MAKES_COMMANDS) + 1 :] if _MAKES_COMMANDS in names else passes


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]


# The first name of each IR type; the others are of unsigned integers, which IR does not tell apart.
_FIRST = {row.ir: row for row in TRITON_TYPES.values() if not row.name.startswith("u")}


def _type_name(kind: Attribute) -> str | None:
    row = _FIRST.get(kind.element_type if isinstance(kind, PointerType) else kind)
    return None if row is None else f"{'*' * isinstance(kind, PointerType)}{row.name}"
