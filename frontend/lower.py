"""The frontend's front: from the text of a kernel file to a module of `tl` with one function.

Kernel text is data here: it is parsed and lowered, never executed or imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region
from xdsl.traits import is_side_effect_free

from ..dialects.errors import AhbmcError, Fault, fail
from . import syntax
from .calls import is_constexpr
from .emit import Emitter, Site
from .expressions import Frame
from .loops import Loops
from .module import Find, Module, module_of
from .types import (
    DTYPES,
    DescriptorType,
    DType,
    PointerType,
    TypeFault,
    int64,
    ir_type,
    parse_descriptor_type,
    parse_type,
)
from .values import Descriptor, Item, JitFunction, Value

Constant = bool | int | float | str | tuple["Constant", ...] | None


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel: whether it is annotated `tl.constexpr`, and the text of its default."""

    name: str
    constexpr: bool
    default: str | None


def kernel_names(source: str, file: str) -> tuple[str, ...]:
    """The names of the functions under a jit decorator, in order. Raises AhbmcError where the file cannot be taken
    apart.
    """
    return module_of(source, file).kernels


def kernel_parameters(source: str, file: str, name: str) -> tuple[KernelParameter, ...]:
    """The parameters of a kernel, in order. Raises AhbmcError if there is no such kernel or it cannot be parsed."""
    module = module_of(source, file)
    tree = _kernel(module, name).tree

    def text(node: syntax.Expression | None) -> str | None:
        return None if node is None else source[node.span[0] : node.span[1]]

    return tuple(KernelParameter(p.name, is_constexpr(p.annotation), text(p.default)) for p in tree.parameters)


def compile_kernel(
    source: str,
    file: str,
    name: str,
    signature: Mapping[str, str],
    constants: Mapping[str, Constant],
    find: Find | None = None,
) -> ModuleOp:
    """The `tl` module of one kernel: a function of its run-time arguments, specialised for its constants.

    `signature` gives each run-time argument a type in Triton's notation (`*fp16`, `i32`), `constants` each other its
    value. `find` gives the files that it imports. Raises AhbmcError with the place of every fault; nothing in a
    kernel's text makes any other exception.
    """
    module = module_of(source, file, find)
    try:
        kernel = _kernel(module, name)
        return _Kernel(module, kernel.tree, signature, constants).lower()
    except RecursionError:
        raise fail(f"'{name}' is nested too deeply to be compiled", hint="split long expressions") from None


def _kernel(module: Module, name: str) -> JitFunction:
    found = module.function(name)
    if found is None:
        names = module.kernels
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"its kernels are: {', '.join(names) or 'none'}"
        raise fail(f"{module.text.file} has no kernel '{name}'", hint=hint)
    return found


class _Kernel:
    """Binds the parameters of a kernel and lowers its body."""

    def __init__(
        self, module: Module, tree: syntax.Function, signature: Mapping[str, str], constants: Mapping[str, Constant]
    ):
        self.module = module
        self.tree = tree
        self.signature = signature
        self.constants = constants
        self.emit = Emitter(Site(module.text, self._head))
        self.lowering = Loops(self.emit, Frame(module))

    @property
    def _head(self) -> syntax.Span:
        """The span of `def name`."""
        start = self.tree.span[0]
        return start, self.module.text.content.index(self.tree.name, start) + len(self.tree.name)

    def lower(self) -> ModuleOp:
        items, arguments = self._parameters()
        descriptors = [(a.name, a.dtype) for a in arguments if isinstance(a.dtype, DescriptorType)]
        extents = [_Argument(n, int64) for name, kind in descriptors for n in _extents(name, len(kind.block))]
        body = Block(arg_types=[ir_type(a.scalar) for a in (*arguments, *extents)])
        values: dict[str, Value] = {}
        for given, argument in zip((*arguments, *extents), body.args, strict=True):
            self.emit.name(argument, given.name)
            values[given.name] = Value(argument, given.scalar)
        items |= {a.name: values[a.name] for a in arguments}
        with self.emit.inside(body):
            one = self.emit.constant(1, int64) if descriptors else None
        for name, kind in descriptors:
            assert one is not None
            rank = len(kind.block)
            found = [values[n] for n in _extents(name, rank)]
            items[name] = Descriptor(values[name], tuple(found[:rank]), (*found[rank:], one), kind.block)
        self.lowering.frame.names = items
        with self.emit.inside(body):
            returned = self.lowering.run(self.tree.body)
            if returned is not None and returned.item is not None:
                raise self.emit.fail("a kernel returns nothing", "store the result with tl.store")
            self.emit.at(self.module.text, self._head)
            self.emit.insert(func.ReturnOp())
        _drop_unused(body)
        kind = FunctionType.from_lists([a.type for a in body.args], [])
        function = func.FuncOp(self.tree.name, kind, Region(body))
        function.attributes["tl.kernel"] = UnitAttr()
        function.location = self.module.text.location(self._head)
        return ModuleOp([function])

    def _parameters(self) -> tuple[dict[str, Item], list[_Argument]]:
        """The compile-time parameters with their items, and the others, in order."""
        faults: list[Fault] = []
        items: dict[str, Item] = {}
        arguments: list[_Argument] = []
        for parameter in self.tree.parameters:
            try:
                item = self._parameter(parameter)
            except AhbmcError as error:
                faults += error.faults
                continue
            if isinstance(item, _Argument):
                arguments.append(item)
                item = None
            items[parameter.name] = item
        names = [p.name for p in self.tree.parameters]
        for given in (*self.signature, *self.constants):
            if given not in names:
                near = get_close_matches(given, names, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"its parameters are {', '.join(names)}"
                faults += self.emit.fail(f"the kernel '{self.tree.name}' has no parameter '{given}'", hint).faults
        if faults:
            raise AhbmcError(*faults)
        return items, arguments

    def _parameter(self, parameter: syntax.Parameter) -> Item | _Argument:
        site = Site(self.module.text, parameter.span)
        name, emit = parameter.name, self.emit
        if parameter.kind in ("rest", "keywords"):
            raise emit.unsupported(f"`*{name}` of a kernel", "name the parameters", site=site)
        if name in self.constants:
            return _constant(self.constants[name])
        if name in self.signature:
            if is_constexpr(parameter.annotation):
                raise emit.fail(
                    f"'{name}' is a tl.constexpr: it needs a compile-time value, not the type {self.signature[name]}",
                    f"give a constant for '{name}'",
                    site=site,
                )
            try:
                text = self.signature[name]
                return _Argument(name, parse_descriptor_type(text) or parse_type(text))
            except TypeFault as fault:
                raise emit.fail(f"argument '{name}': {fault}", fault.hint, site=site) from None
        if parameter.default is not None:
            return self.lowering.evaluate_global(self.module, parameter.default)
        what = "a constant" if is_constexpr(parameter.annotation) else "an argument"
        raise emit.fail(f"{what} for '{name}' of '{self.tree.name}' is missing", f"give '{name}' a value", site=site)


@dataclass(frozen=True)
class _Argument:
    """A run-time argument of the function. A descriptor is a pointer here; its sizes and strides follow at the end."""

    name: str
    dtype: DType | PointerType | DescriptorType

    @property
    def scalar(self) -> DType | PointerType:
        return PointerType(self.dtype.element) if isinstance(self.dtype, DescriptorType) else self.dtype


def _extents(name: str, rank: int) -> list[str]:
    """The names of the arguments that a descriptor of a tensor adds: its sizes, and its strides but for the last."""
    return [f"{name}_size_{d}" for d in range(rank)] + [f"{name}_stride_{d}" for d in range(rank - 1)]


def _constant(value: Constant) -> Item:
    """A constant as an item: a string that names a type is that type."""
    if isinstance(value, str):
        name = value.removeprefix("tl.")
        return next((t for t in DTYPES if name in (t.name, t.spelled)), value)
    if isinstance(value, list | tuple):
        return tuple(_constant(v) for v in value)
    return value


def _drop_unused(block: Block) -> None:
    """Erase ops without effect whose results nobody uses: constants of names that were only needed at compile time."""
    for op in reversed(list(block.ops)):
        _drop(op)


def _drop(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            _drop_unused(block)
    if op.results and is_side_effect_free(op) and not any(r.uses for r in op.results):
        op.detach()
        op.erase()
