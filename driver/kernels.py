"""The kernels of a file as a launch sees them: their parameters, and which of those are constants of the compiler.

A `.py` file holds kernel text, a `.mlir` file programs of commands (`command_kernels.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import Attribute

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail, place_of
from ..frontend.calls import is_constexpr
from ..frontend.module import Module, module_of
from . import command_kernels
from .kernel_files import find_import


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel. `required`: it has no default value. `type` is what it must be in a program of
    commands; the parameters of kernel text take the type of what they are given.
    """

    name: str
    constexpr: bool
    required: bool
    place: Place
    type: Attribute | None = None


@dataclass(frozen=True)
class Kernel:
    """One kernel of a file, whose text is `source`."""

    file: str
    name: str
    source: str
    parameters: tuple[Parameter, ...]
    place: Place

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def is_commands(self) -> bool:
        """Whether it is a program of commands rather than kernel text."""
        return _is_commands(self.file)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)


def kernel_names(source: str, file: str) -> tuple[str, ...]:
    """The functions of a file that are kernels: all of a `.mlir` file, of others those under a jit decorator, in order.
    Raises AhbmcError where the text falls apart.
    """
    if _is_commands(file):
        return command_kernels.function_names(source, file)
    return module_of(source, file, find_import).kernels


def find_kernel(source: str, file: str, name: str, place: Place | None = None) -> Kernel:
    """The kernel `name`. Raises AhbmcError: at `place` if there is none, in the file if its text is wrong."""
    if _is_commands(file):
        return _of_commands(source, file, name, place)
    return kernel_of(module_of(source, file, find_import), name, place)


def _is_commands(file: str) -> bool:
    return file.endswith(command_kernels.SUFFIX)


def _of_commands(source: str, file: str, name: str, place: Place | None) -> Kernel:
    function = command_kernels.find_function(source, file, name, place)
    at = place_of(function.location) or Place(file, 1, 1)
    parameters = command_kernels.parameters_of(function)
    return Kernel(file, name, source, tuple(Parameter(n, False, True, at, t) for n, t in parameters.items()), at)


def kernel_of(module: Module, name: str, place: Place | None = None) -> Kernel:
    """The kernel `name` of a module. Raises AhbmcError as `find_kernel` does."""
    text = module.text
    file = text.file
    function = module.function(name)
    if function is None:
        close = closest(name, module.kernels)
        hint = f"did you mean `{close}`?" if close else "name one of them" if module.kernels else "give another file"
        known = ", ".join(module.kernels) or "none"
        raise fail(f"{file} has no kernel `{name}`; its kernels: {known}", place, hint=hint)
    parameters: list[Parameter] = []
    for each in function.tree.parameters:
        at = text.place(each.span)
        if each.kind in ("rest", "keywords"):
            raise fail(f"kernel `{name}` takes any number of arguments (`{each.name}`)", at, hint="name each of them")
        parameters.append(Parameter(each.name, is_constexpr(each.annotation), each.default is None, at))
    start = text.place(function.tree.span)
    header = replace(start, end_column=start.column + len(f"def {name}"))
    return Kernel(file, name, text.content, tuple(parameters), header)
