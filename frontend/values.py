"""What a name of a kernel can stand for while it is compiled: a value of kernel time, or something known at compile
time.

Compile-time things are plain Python objects where Python has them (numbers, strings, None, tuples) and the small
classes below where it has not. A `Value` is a kernel-time scalar, pointer or block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from xdsl.ir import SSAValue

from . import syntax
from .types import BlockType, DType, PointerType, ScalarType, Type, element_of, shape_of

if TYPE_CHECKING:
    from .builtin import Builtin
    from .emit import Site
    from .module import Module


@dataclass(frozen=True, eq=False)
class Value:
    """A kernel-time value. `known` is its number where the compiler has just made it of one (`x = 0`)."""

    ssa: SSAValue
    type: Type
    known: bool | int | float | None = None

    @property
    def element(self) -> ScalarType:
        return element_of(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.type)

    @property
    def is_block(self) -> bool:
        return isinstance(self.type, BlockType)

    @property
    def is_pointer(self) -> bool:
        return isinstance(self.element, PointerType)


@dataclass(frozen=True, eq=False)
class Region:
    """`al.ref(...)`: a piece of HBM to stream, with the static shape that a load of it has."""

    ssa: SSAValue
    element: DType
    shape: tuple[int, ...]


LOAD = "load it first, as in tl.load(al.ref(...))"
"""What to do with a region where a block is needed."""


@dataclass(frozen=True, eq=False)
class BlockPointer:
    """`tl.make_block_ptr(...)`: a base with the tensor's shape and strides, and the block's offsets in it, all
    scalars of 64 bits.
    """

    base: Value
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]
    offsets: tuple[Value, ...]
    block: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Descriptor:
    """`tl.make_tensor_descriptor(...)`, or an argument of such a type: a base with the tensor's shape and strides in
    64 bits, the shape of the blocks that are read and written, and what lanes outside read ("zero", "nan").
    """

    base: Value
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]
    block: tuple[int, ...]
    padding: str = "zero"

    @property
    def element(self) -> DType:
        pointer = self.base.element
        assert isinstance(pointer, PointerType)
        return pointer.element


@dataclass(frozen=True)
class Namespace:
    """A module that kernels may name, by its full dotted path (`triton.language`)."""

    path: str


@dataclass(frozen=True, eq=False)
class FileModule:
    """A kernel file that another one imports as a module."""

    module: Module


@dataclass(frozen=True)
class Opaque:
    """Something of the host that no kernel can use; `origin` says what it is in words."""

    origin: str


@dataclass(frozen=True, eq=False)
class HostValue:
    """What only code of the host has: a dictionary, a lambda, a configuration. `host.py` knows what is in it."""

    content: Any


@dataclass(frozen=True, eq=False)
class JitFunction:
    """A function of a kernel file or of the library of `*.tl` files, inlined where it is called; a `static` one is
    computed at compile time.
    """

    name: str
    module: Module
    tree: syntax.Function
    jit: bool = True
    static: bool = False


@dataclass(frozen=True, eq=False)
class Method:
    """A builtin or library function bound to the value that it was looked up on."""

    receiver: Item
    function: Builtin | JitFunction


@dataclass(frozen=True, eq=False)
class Iteration:
    """`range(...)` and its kin. `static` ones are unrolled while compiling."""

    start: Item
    stop: Item
    step: Item
    static: bool = False


@dataclass(frozen=True, eq=False)
class Entry:
    """What a dictionary of a call has under one key: the item, its place, and its name if it is given by one."""

    item: Item
    site: Site
    name: str | None


@dataclass(frozen=True, eq=False)
class Record:
    """A dictionary of a call: an op of a composite with its operands by name."""

    entries: dict[str, Entry]
    site: Site


@dataclass(frozen=True, eq=False)
class Written:
    """What a function gives that writes operands: its result, and the values that names stand for from now on."""

    item: Item
    names: Mapping[str, Value]


@dataclass(frozen=True)
class ScratchScope:
    """`al.scratch_scope()`, which only `with` can open."""


@dataclass(frozen=True)
class Undefined:
    """The state of a name that has no one value here; `reason` says why, for when it is used, and `hint` what to do."""

    reason: str
    hint: str = "give it a value before, of the same type"
    span: syntax.Span = field(default=(0, 0), compare=False)


Item: TypeAlias = Union[
    Value,
    Region,
    BlockPointer,
    Descriptor,
    Namespace,
    FileModule,
    Opaque,
    HostValue,
    JitFunction,
    Method,
    Iteration,
    Record,
    Written,
    ScratchScope,
    Undefined,
    "Builtin",
    DType,
    PointerType,
    BlockType,
    bool,
    int,
    float,
    str,
    "slice[Any, Any, Any]",
    "tuple[Item, ...]",
    None,
]


def parts(item: Item) -> tuple[Item, ...] | None:
    """What an item consists of; None if it is one thing."""
    if isinstance(item, BlockPointer):
        return (item.base, *item.sizes, *item.strides, *item.offsets)
    if isinstance(item, Descriptor):
        return (item.base, *item.sizes, *item.strides)
    return item if isinstance(item, tuple) else None


def leaves_of(item: Item) -> list[Value]:
    """The values that an item is, or consists of."""
    inner = parts(item)
    if inner is not None:
        return [leaf for part in inner for leaf in leaves_of(part)]
    return [item] if isinstance(item, Value) else []


def with_parts(item: Item, new: tuple[Item, ...]) -> Item:
    """An item of the same make with other parts."""
    if isinstance(item, BlockPointer):
        values = tuple(i for i in new if isinstance(i, Value))
        rank = len(item.block)
        cut = [values[1 + n * rank : 1 + (n + 1) * rank] for n in range(3)]
        return BlockPointer(values[0], cut[0], cut[1], cut[2], item.block)
    if isinstance(item, Descriptor):
        values, rank = tuple(i for i in new if isinstance(i, Value)), len(item.block)
        return Descriptor(values[0], values[1 : 1 + rank], values[1 + rank :], item.block, item.padding)
    return new


def describe(item: Item) -> str:
    """An item in a message: what it is, and its type or value."""
    match item:
        case Value():
            if item.is_block:
                return f"a block {item.type}"
            return f"a {item.type}" if item.is_pointer else f"a run-time {item.type}"
        case Region():
            return f"a region of {item.element} {list(item.shape)}"
        case BlockPointer():
            return f"a block pointer to {item.base.element} {list(item.block)}"
        case Descriptor():
            return f"a tensor descriptor of {item.element} {list(item.block)}"
        case Namespace():
            return f"the module {item.path}"
        case FileModule():
            return f"the module {item.module.text.file}"
        case Opaque():
            return item.origin
        case HostValue():
            return "a value of the host"
        case JitFunction():
            return f"the function {item.name}"
        case Method():
            return "a method"
        case Iteration():
            return "a range"
        case Written():
            return describe(item.item)
        case Record():
            return "a dictionary"
        case ScratchScope():
            return "a scratch scope"
        case Undefined():
            return "an undefined name"
        case DType() | PointerType() | BlockType():
            return f"the type {item}"
        case tuple():
            return f"a tuple of {len(item)}"
        case str():
            return f"the string {item!r}"
        case bool() | None:
            return f"{item}"
        case int() | float():
            return f"the number {item}"
        case slice():
            return "a slice"
        case _:
            return f"the function {item.name}"
