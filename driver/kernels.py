"""The kernels of a file as a launch sees them: their parameters, and which of those are constants of the compiler."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail
from ..frontend.calls import is_constexpr
from ..frontend.module import Module
from ..frontend.text import Text


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel. `required`: it has no default value."""

    name: str
    constexpr: bool
    required: bool
    place: Place


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
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)


def kernel_names(source: str, file: str) -> tuple[str, ...]:
    """The functions of a file under a jit decorator, in order. Raises AhbmcError where the text falls apart."""
    return Module(Text(file, source)).kernels


def find_kernel(source: str, file: str, name: str, place: Place | None = None) -> Kernel:
    """The kernel `name`. Raises AhbmcError: at `place` if there is none, in the file if its text is wrong."""
    text = Text(file, source)
    module = Module(text)
    function = module.function(name)
    if function is None:
        close = closest(name, module.kernels)
        hint = f"did you mean `{close}`?" if close else None
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
    return Kernel(file, name, source, tuple(parameters), header)
