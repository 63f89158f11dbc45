"""From a launch as the workload says it to one that is bound: types and values of arguments, grid, programs per PE.

This is where a workload meets its kernel. Tensors are named and shaped here and get their first contents; every
independent fault is found, each at the place in the workload (or in the kernel, for a parameter that got nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias

from ..backend_sim import memory
from ..backend_sim.launch import Program
from ..backend_sim.memory import ONE_SLICE, Tensor
from ..backend_sim.numerics.dtypes import dtype_named
from ..backend_sim.target.document import Node, closest
from ..backend_sim.target.machine import Machine
from ..dialects.errors import AhbmcError, Fault, Place, fail
from . import expressions
from .argument_types import Given, typed
from .kernels import Kernel
from .mapping import FIRST_PE, map_programs, pe_numbers
from .tensors import fill, integer_at, shape_of
from .tuning import filled, lacking
from .workload import LaunchSpec, Workload
from .workload_schema import Argument, Constant, LaunchEntry, Placement, TensorArgument

Value: TypeAlias = Tensor | bool | int | float | str | tuple[bool | int | float | str | None, ...] | None
Lookup: TypeAlias = Callable[[str], Value]


@dataclass(frozen=True, eq=False)
class BoundLaunch:
    """A kernel with everything that a launch gives it. `signature` and `constants` together cover the parameters."""

    kernel: Kernel
    signature: Mapping[str, str]  # parameter -> "*fp16", "i32", "fp32", ...
    constants: Mapping[str, Constant]
    values: Mapping[str, Given]  # of the parameters in `signature`, in their order
    grid: Program
    programs: Mapping[int, Sequence[Program]]
    place: Place | None = None  # where the user asked for the launch
    lookup: Lookup | None = None  # every argument and constant by name, also those that the kernel does not take
    useful_macs: int | None = None  # multiply-adds that the result needs, where the workload says so
    with_contents: Callable[[], BoundLaunch] | None = (
        None  # the same with what its tensors hold at first, if they do not
    )

    def sharers(self, machine: Machine) -> dict[str, int]:
        """How many PEs of the launch share each slice of a tensor, by parameter."""
        pes = [pe for pe, programs in self.programs.items() if programs]
        return {n: memory.sharers(machine, v, pes) for n, v in self.values.items() if isinstance(v, Tensor)}

    @property
    def programs_per_pe(self) -> int:
        """Programs of the PE that has the most."""
        return max(map(len, self.programs.values()), default=0)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(v for v in self.values.values() if isinstance(v, Tensor))


@dataclass(frozen=True)
class Bindings:
    """The launches of a workload, and what the names at the top of its file stand for."""

    launches: tuple[BoundLaunch, ...]
    top: Lookup


def bind_all(workload: Workload, machine: Machine, kernels: Sequence[Kernel], *, values: bool) -> Bindings:
    """Every launch of a workload bound to its kernel; without `values` tensors hold nothing yet.

    Raises AhbmcError, also where the tensors do not fit the machine.
    """
    faults: list[Fault] = []
    bound: list[BoundLaunch] = []
    binder = Binder(workload, machine, values=values)
    for launch, kernel in zip(workload.launches, kernels, strict=True):
        try:
            bound.append(binder.bind(launch, kernel))
        except AhbmcError as error:
            faults += error.faults
    if faults:
        raise AhbmcError(*dict.fromkeys(faults))
    memory.Memory(machine, list(dict.fromkeys(t for b in bound for t in b.tensors)))
    if not values:

        @cache
        def filled() -> tuple[BoundLaunch, ...]:
            return bind_all(workload, machine, kernels, values=True).launches

        def with_contents(number: int) -> BoundLaunch:
            return filled()[number]

        bound = [replace(each, with_contents=partial(with_contents, i)) for i, each in enumerate(bound)]
    return Bindings(tuple(bound), binder.top())


class Binder:
    """Binds the launches of one workload in turn; tensors at the top of a file with `launches:` are made once."""

    def __init__(self, workload: Workload, machine: Machine, *, values: bool):
        self.workload = workload
        self.machine = machine
        self.fill_values = values
        self._tensors: dict[tuple[tuple[str | int, ...], str], Tensor] = {}
        self._names: set[str] = set()

    def bind(self, launch: LaunchSpec, kernel: Kernel) -> BoundLaunch:
        """The launch with all its values. Raises AhbmcError with every independent fault."""
        scope = _Scope(self, launch, kernel)
        faults = scope.unknown()
        values: dict[str, Value] = {}
        if not faults and lacking(kernel, {**launch.const, **launch.args}):
            launch = self._filled(launch, kernel, scope)
            scope = _Scope(self, launch, kernel)
        for parameter in kernel.parameters:
            if parameter.name not in launch.const and parameter.name not in launch.args:
                if parameter.required:
                    faults.append(scope.missing(parameter.name, parameter.constexpr))
                continue
            try:
                values[parameter.name] = scope.value(parameter.name)
            except AhbmcError as error:
                faults += error.faults
        if faults:
            raise AhbmcError(*dict.fromkeys(faults))
        grid = scope.grid()
        programs = self._programs(launch, grid)
        place = self.workload.place(launch, "kernel")
        arguments = self._arguments(launch, kernel, values)
        return BoundLaunch(kernel, *arguments, grid, programs, place, scope.value, scope.useful_macs())

    def _filled(self, launch: LaunchSpec, kernel: Kernel, scope: _Scope) -> LaunchSpec:
        """The launch with the constants that the decorators of the kernel give."""
        given = {n: scope.value(n) for n in (*launch.const, *launch.args) if kernel.parameter(n) is not None}
        try:
            return replace(launch, config={**launch.config, **filled(kernel, given)})
        except AhbmcError as error:
            place = self.workload.place(launch, "kernel")
            missing = [scope.missing(name, True) for name in lacking(kernel, given)]
            notes = tuple(f"{f.place}: {f.message}" if f.place else f.message for f in error.faults)
            raise AhbmcError(*(replace(f, place=place, notes=(*f.notes, *notes)) for f in missing)) from None

    def _arguments(
        self, launch: LaunchSpec, kernel: Kernel, values: Mapping[str, Value]
    ) -> tuple[dict[str, str], dict[str, Constant], dict[str, Given]]:
        """Signature, constants and values of the others, in the order of the parameters."""
        signature: dict[str, str] = {}
        constants: dict[str, Constant] = {}
        given: dict[str, Given] = {}
        faults: list[Fault] = []
        for parameter in kernel.parameters:
            name, in_const = parameter.name, parameter.name in launch.const
            if name not in values:
                continue
            value = values[name]
            place = self.workload.place(launch, "const" if in_const else "args", name)
            if not kernel.is_commands and (parameter.constexpr or in_const or isinstance(value, str | tuple | None)):
                assert not isinstance(value, Tensor)
                constants[name] = value
                continue
            try:
                signature[name], given[name] = typed(parameter, value, place)
            except AhbmcError as error:
                faults += error.faults
        if faults:
            raise AhbmcError(*faults)
        return signature, constants, given

    def top(self) -> Lookup:
        """What the names at the top of the file stand for."""
        last = self.workload.launches[-1]
        if not last.path:
            return _Scope(self, last, None).value
        bare = replace(last, entry=LaunchEntry(kernel=last.entry.kernel))
        return _Scope(self, bare, None).value

    def tensor(self, launch: LaunchSpec, name: str, argument: TensorArgument, names: Mapping[str, Constant]) -> Tensor:
        """The tensor of an argument, made when it is first asked for."""
        workload = self.workload
        owner = launch.path if name in launch.entry.args else ()
        node = workload.node(launch, "args", name)
        if (owner, name) not in self._tensors:
            shape = shape_of(argument, node, names)
            unique = name if name not in self._names else f"{name}@{owner[-1] if owner else 'top'}"
            self._names.add(unique)
            data = fill(name, argument, shape, node, workload.folder) if self.fill_values else None
            dtype = dtype_named(argument.dtype)
            self._tensors[owner, name] = Tensor(unique, dtype, shape, placement_of(argument.place), data, node.place)
        return self._tensors[owner, name]

    def _programs(self, launch: LaunchSpec, grid: Program) -> Mapping[int, Sequence[Program]]:
        node = self.workload.node(launch, "map")
        given = launch.map.pes
        texts = given if isinstance(given, tuple) else (given,) if given is not None else ()
        if not texts and launch.map.kind != "rank":
            texts = (FIRST_PE,)
        pes: list[int] = []
        for number, text in enumerate(texts):
            place = node.at("pes", number).place if isinstance(given, tuple) else node.at("pes").place
            for pe in pe_numbers(text, self.machine, place):
                if pe in pes:
                    raise fail(f"{memory.pe_name(self.machine, pe)} is named twice", place, hint="name each PE once")
                pes.append(pe)
        return map_programs(launch.map.kind, pes, grid, self.machine, self.workload.place(launch, "grid"))


@dataclass
class _Scope:
    """The names of one launch: arguments and constants, of which some are expressions over others."""

    binder: Binder
    launch: LaunchSpec
    kernel: Kernel | None

    def __post_init__(self) -> None:
        self.resolved: dict[str, Value] = {}
        self.open: list[str] = []

    def node(self, name: str) -> Node:
        return self.binder.workload.node(self.launch, "args", name)

    def unknown(self) -> list[Fault]:
        """Arguments and constants that the kernel does not have. Top-level ones serve several launches and may be."""
        assert self.kernel is not None
        faults: list[Fault] = []
        workload = self.binder.workload
        entry = workload.document.at(*self.launch.path)
        for section, given in (("args", self.launch.entry.args), ("const", self._own_constants())):
            for name in given:
                if self.kernel.parameter(name) is None and not self._used(name):
                    close = closest(name, self.kernel.names)
                    hint = f"did you mean `{close}`?" if close else f"its parameters: {', '.join(self.kernel.names)}"
                    place = entry.at(section).key_place(name)
                    faults.append(Fault(f"kernel `{self.kernel.name}` has no parameter `{name}`", place, hint=hint))
        for name, argument in self.launch.args.items():
            parameter = self.kernel.parameter(name)
            if name in self.launch.const and name in self.launch.entry.args:
                faults.append(
                    Fault(f"`{name}` is given in `args` and in `const`", self.node(name).place, hint="keep one")
                )
            if parameter is not None and parameter.constexpr and isinstance(argument, TensorArgument):
                faults.append(
                    Fault(f"`{name}` is a constexpr of the kernel; a tensor was given", self.node(name).place)
                )
        return faults

    def _own_constants(self) -> Mapping[str, Constant]:
        return self.launch.entry.const if self.launch.path else self.launch.const

    def _used(self, name: str) -> bool:
        """Whether an argument that the kernel lacks is used in a shape, a grid or another argument."""
        texts: list[str] = [t for t in (*self.launch.grid, self.launch.useful_macs) if isinstance(t, str)]
        for argument in self.launch.args.values():
            match argument:
                case TensorArgument():
                    texts += [e for e in argument.shape if isinstance(e, str)]
                case str():
                    texts.append(argument)
                case _:
                    pass
        texts += [c.reference for c in self.launch.entry.check.values() if c.reference]
        return any(name in expressions.words(text) for text in texts)

    def missing(self, name: str, constexpr: bool) -> Fault:
        assert self.kernel is not None
        section = "const" if constexpr else "args"
        parameter = self.kernel.parameter(name)
        assert parameter is not None
        message = f"kernel `{self.kernel.name}` needs `{name}`, and the launch does not give it"
        place = self.binder.workload.place(self.launch, "kernel")
        note = f"the parameter is at {parameter.place}"
        return Fault(message, place, hint=f"add it to `{section}:`", notes=(note,))

    def value(self, name: str) -> Value:
        """The value of a name. Raises AhbmcError."""
        if name in self.resolved:
            return self.resolved[name]
        if name in self.open:
            circle = " -> ".join([*self.open[self.open.index(name) :], name])
            raise fail(f"`{name}` is defined by itself: {circle}", self.node(name).place, hint="give one a number")
        self.open.append(name)
        try:
            self.resolved[name] = self._find(name)
        finally:
            self.open.pop()
        return self.resolved[name]

    def _find(self, name: str) -> Value:
        if name in self.launch.const:
            return self.launch.const[name]
        if name not in self.launch.args:
            raise KeyError(name)
        argument: Argument = self.launch.args[name]
        match argument:
            case TensorArgument():
                used = {w for e in argument.shape if isinstance(e, str) for w in expressions.words(e)}
                return self.binder.tensor(self.launch, name, argument, self.scalars(used))
            case str():
                return self._expression(name, argument)
            case _:
                return argument

    def _expression(self, name: str, text: str) -> Value:
        """A string argument: the name of a shared tensor or an integer expression over other arguments."""
        shared = self.binder.workload.file.args.get(text)
        if self.launch.path and isinstance(shared, TensorArgument):
            return self.value(text)
        return integer_at(text, self.node(name), self.scalars(expressions.words(text)))

    def scalars(self, wanted: Sequence[str] | set[str]) -> Mapping[str, Constant]:
        """The values of the names in `wanted` that are numbers here; the others keep None, so that they are known."""
        names: dict[str, Constant] = {}
        for name in (*self.launch.const, *self.launch.args):
            if name in wanted:
                value = self.value(name)
                names[name] = "a tensor" if isinstance(value, Tensor) else value
            elif not isinstance(self.launch.args.get(name), TensorArgument):
                names.setdefault(name, None)
        return names

    def grid(self) -> Program:
        """The grid, missing axes 1."""
        sizes: list[int] = []
        faults: list[Fault] = []
        for axis, entry in enumerate(self.launch.grid):
            node = self.binder.workload.node(self.launch, "grid", axis)
            try:
                used = expressions.words(entry) if isinstance(entry, str) else set[str]()
                size = integer_at(entry, node, self.scalars(used))
            except AhbmcError as error:
                faults += error.faults
                continue
            if size < 1:
                hint = "leave the launch out, or make the grid positive"
                faults.append(
                    Fault(f"axis {axis} of the grid has {size} programs; at least 1 is needed", node.place, hint=hint)
                )
            sizes.append(size)
        if faults:
            raise AhbmcError(*faults)
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z

    def useful_macs(self) -> int | None:
        """The multiply-adds that the result needs, if the workload says so."""
        text = self.launch.useful_macs
        if text is None:
            return None
        node = self.binder.workload.node(self.launch, "useful_macs")
        macs = integer_at(text, node, self.scalars(expressions.words(text) if isinstance(text, str) else set()))
        if macs < 1:
            raise fail(f"`useful_macs` is {macs}; at least 1 is needed", node.place, hint="leave it out")
        return macs


def placement_of(place: Placement | None) -> memory.Placement:
    """The placement in the words of the simulator; None is the slice of the first PE."""
    if place is None:
        return ONE_SLICE
    return memory.Placement(
        place.cube,
        place.pe,
        place.num_cubes,
        place.num_pes,
        place.cube_start,
        place.pe_start,
        place.sip,
        place.num_sips,
        place.sip_start,
    )
