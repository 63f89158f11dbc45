"""`al.composite(...)`: a composite command as a programmer writes it out.

What it computes is built as the body of a `tl.composite`, so that its values need no rule of their own. What an op
takes beside the running tile is made ready outside: in the type of the tile, and repeated to its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir import Region as Body

from ..dialects import tl
from ..dialects.elementwise import ELEMENTWISE
from ..dialects.errors import AhbmcError
from . import operators
from .builtin import Builtin, known, row
from .emit import Emitter
from .products import check_operands, result_type
from .types import BlockType, DType, TypeFault, float32, ir_type
from .values import Entry, Item, Record, Region, Value, describe

Head = Literal["gemm", "math"]
_HEADS: Mapping[str, Head] = {"gemm": "gemm", "math": "math"}
_SCOPES: Mapping[Head, str] = {"gemm": "output_tile", "math": "once"}
_LOAD = "load it first, as in tl.load(al.ref(...))"


# Ops on the running tile --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Op:
    """An op on the running tile: the name of what else it takes, and how its result is made of both."""

    operand: str | None
    make: Callable[[Emitter, Value, Value], Value]


def _binary(operator: str, operand: str = "other") -> _Op:
    def make(emit: Emitter, tile: Value, other: Value) -> Value:
        made = operators.binary(emit, operator, tile, other)
        assert isinstance(made, Value)
        return made

    return _Op(operand, make)


def _extremum(name: str) -> _Op:
    def make(emit: Emitter, tile: Value, other: Value) -> Value:
        assert isinstance(tile.element, DType)
        domain = operators.domain(tile.element)
        return emit.elementwise(name if domain == "float" else f"{name}{domain[0]}i", tile, other)

    return _Op("other", make)


def _function(kind: str) -> _Op:
    def make(emit: Emitter, tile: Value, _: Value) -> Value:
        if not (isinstance(tile.element, DType) and tile.element.is_float):
            raise TypeFault(f"{kind} of {tile.element}", 'cast first, as in {"op": "cast", "to": tl.float32}')
        return emit.elementwise(kind, tile)

    return _Op(None, make)


_OPS: Mapping[str, _Op] = {
    "add": _binary("+"),
    "sub": _binary("-"),
    "mul": _binary("*"),
    "div": _binary("/"),
    "max": _extremum("max"),
    "min": _extremum("min"),
    "scale": _binary("*", "by"),
    "bias": _binary("+", "bias"),
    **{r.kind: _function(r.kind) for r in ELEMENTWISE if r.arity == 1 and r.domain == "float"},
}
EPILOGUE: tuple[str, ...] = (*_OPS, "relu", "cast")
"""The names of the ops that an epilogue may have."""


# The body -----------------------------------------------------------------------------------------


@dataclass
class _Body:
    """The body under construction; `inputs` are the values of outside that it takes, in order."""

    emit: Emitter
    head: Head
    block: Block = field(default_factory=Block)
    inputs: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def take(self, ssa: SSAValue) -> SSAValue:
        """What stands for a value of outside."""
        if ssa not in self.inputs:
            self.inputs[ssa] = self.block.insert_arg(ssa.type, len(self.block.args))
            self.inputs[ssa].name_hint = ssa.name_hint
        return self.inputs[ssa]

    def value(self, value: Value) -> Value:
        return Value(self.take(value.ssa), value.type)

    def product(self, a: Value | Region, b: Value | Region) -> Value:
        """The GEMM of blocks (which lie in TCM) and regions (which are streamed)."""
        check_operands(a, b)
        if len(a.shape) != 2:
            raise TypeFault(
                f"a GEMM takes blocks of two axes, not {describe(a)}", "a composite holds one matrix product"
            )
        operand = a.element
        assert isinstance(operand, DType)
        element = result_type(operand, float32)
        shape = (a.shape[0], b.shape[1])
        left, right = self.take(a.ssa), self.take(b.ssa)
        with self.emit.inside(self.block):
            if isinstance(a, Value) and isinstance(b, Value):
                op = tl.DotOp(left, right, None, ir_type(element))
            else:
                op = tl.GemmOp(left, right, None, TensorType(ir_type(element), shape))
            return self.emit.make(op, BlockType(shape, element))

    def apply(self, record: Record, tile: Value) -> Value:
        """The tile after one op of the epilogue."""
        emit = self.emit
        name = _name_of(emit, record)
        if name in ("gemm", "dot"):
            raise emit.fail(
                "two GEMMs in one composite, which has one at most", "issue a second al.composite", site=record.site
            )
        if name not in EPILOGUE:
            raise _unknown(emit, record, "op", name, EPILOGUE)
        taken = {"cast": "to", "relu": None}.get(name, _OPS[name].operand if name in _OPS else None)
        _check_entries(emit, record, name, () if taken is None else (taken,), _SCOPES[self.head])
        if name == "cast":
            return self._cast(record.entries["to"], tile)
        other = tile
        if taken is not None:
            other = self._beside(record.entries[taken], f"'{taken}' of {name}", tile)
        elif name == "relu":
            assert isinstance(tile.element, DType)
            other = self.value(emit.constant(0, tile.element, tile.shape))
        with emit.inside(self.block):
            return _at(emit, record, lambda: _OPS["max" if name == "relu" else name].make(emit, tile, other))

    def _cast(self, entry: Entry, tile: Value) -> Value:
        dtype = entry.item
        if not isinstance(dtype, DType):
            message = f"'to' of cast: a type such as tl.float16 is needed, not {describe(dtype)}"
            raise self.emit.fail(message, site=entry.site)
        with self.emit.inside(self.block):
            return _at(self.emit, entry, lambda: self.emit.cast(tile, dtype))

    def _beside(self, entry: Entry, what: str, tile: Value) -> Value:
        """What an op takes beside the tile, of its type and shape."""

        def ready() -> Value:
            item = entry.item
            if isinstance(item, Region):
                raise TypeFault(f"{what} is {describe(item)}; ops beside the GEMM take blocks in TCM", _LOAD)
            assert isinstance(tile.element, DType)
            if not isinstance(item, Value | bool | int | float) or (isinstance(item, Value) and item.is_pointer):
                raise TypeFault(f"{what}: a block or a number is needed, not {describe(item)}")
            try:
                return self.emit.broadcast(self.emit.typed(item, tile.element), tile.shape)
            except TypeFault as fault:
                raise TypeFault(f"{what}: {fault}", fault.hint) from None

        return self.value(_at(self.emit, entry, ready))

    def finish(self, tile: Value, out: Value | Region | None) -> Item:
        """Insert the composite; its output handle: a block in TCM, or the region that it has written."""
        if out is not None and out.shape != tile.shape:
            raise TypeFault(
                f"'out' has the shape {list(out.shape)}, the result {list(tile.shape)}", "give an output of this shape"
            )
        results: list[Attribute] = []
        with self.emit.inside(self.block):
            if out is not None:
                assert isinstance(out.element, DType)
                tile = self.emit.cast(tile, out.element)
            if isinstance(out, Region):
                self.emit.insert(tl.StoreRegionOp(self.take(out.ssa), tile.ssa))
                self.emit.insert(tl.YieldOp())
            else:
                if out is not None:
                    tile = self.emit.make(tl.CopyToOp(tile.ssa, self.take(out.ssa)), tile.type)
                self.emit.insert(tl.YieldOp(tile.ssa))
                results.append(tile.ssa.type)
        op = tl.CompositeOp(list(self.inputs), results, Body(self.block), stage="none", as_written=True)
        self.emit.insert(op)
        return out if isinstance(out, Region) else Value(op.outputs[0], tile.type)


def _at(emit: Emitter, place: Record | Entry, make: Callable[[], Value]) -> Value:
    """What `make` makes; a fault of it is reported at `place`."""
    try:
        return make()
    except TypeFault as fault:
        raise emit.fail(f"composite: {fault}", fault.hint, site=place.site) from None


def _name_of(emit: Emitter, record: Record) -> str:
    entry = record.entries.get("op")
    if entry is None:
        raise emit.fail("an op without a name", 'name it, as in {"op": "add", "other": x}', site=record.site)
    if not isinstance(entry.item, str):
        raise emit.fail(f"an op is named by a string, not by {describe(entry.item)}", site=entry.site)
    return entry.item


def _unknown(emit: Emitter, record: Record, what: str, name: str, names: Iterable[str]) -> AhbmcError:
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
    return emit.fail(f"there is no {what} '{name}'", hint, site=record.entries["op"].site)


def _check_entries(emit: Emitter, record: Record, name: str, needed: tuple[str, ...], scope: str) -> None:
    """Refuse operands that an op does not have, and those that are missing."""
    takes = f"{name} takes {', '.join(repr(n) for n in needed)}" if needed else f"{name} takes no operand"
    for given, entry in record.entries.items():
        if given == "scope":
            if known(entry.item) != scope:
                hint = f"leave 'scope' out: here it is '{scope}'"
                raise emit.unsupported(f"{name} with scope {describe(entry.item)}", hint, site=entry.site)
        elif given != "op" and given not in needed:
            raise emit.fail(f"{name} has no operand '{given}'", takes, site=entry.site)
    for missing in needed:
        if missing not in record.entries:
            raise emit.fail(f"{name} needs an operand '{missing}'", takes, site=record.site)


# The call -----------------------------------------------------------------------------------------


def _composite(
    emit: Emitter,
    op: str,
    a: Item,
    b: Item,
    out: Item,
    prologue: tuple[Record, ...],
    epilogue: tuple[Record, ...],
) -> Item:
    head = _HEADS.get(op)
    if head is None:
        raise TypeFault(
            f"op '{op}' is none of 'gemm' and 'math'", 'write op="gemm" for a product, op="math" without one'
        )
    body = _Body(emit, head)
    output = _output(out)
    if prologue:
        raise emit.unsupported("a prologue", "leave it out", site=prologue[0].site)
    if head == "gemm":
        left, right = _matrix("a", a), _matrix("b", b)
        if isinstance(output, Value) and output.ssa in (left.ssa, right.ssa):
            raise TypeFault(
                "'out' is an operand of the product, which is still read while it is written", "write to another block"
            )
        tile = body.product(left, right)
    else:
        tile = body.value(_math_operand(a, b, epilogue))
    for record in epilogue:
        tile = body.apply(record, tile)
    return body.finish(tile, output)


def _output(out: Item) -> Value | Region | None:
    if out is None or isinstance(out, Region) or (isinstance(out, Value) and out.is_block and not out.is_pointer):
        return out
    raise TypeFault(f"'out' is {describe(out)}", "give a block, or al.ref(...) for an output in HBM, or leave it out")


def _matrix(name: str, item: Item) -> Value | Region:
    if item is None:
        raise TypeFault(f"a GEMM without '{name}'", "it is called as composite(op='gemm', a=..., b=...)")
    if isinstance(item, Region) or (isinstance(item, Value) and item.is_block and not item.is_pointer):
        return item
    raise TypeFault(f"'{name}' is {describe(item)}", "give a block, or al.ref(...) to stream it from HBM")


def _math_operand(a: Item, b: Item, epilogue: tuple[Record, ...]) -> Value:
    if b is not None:
        raise TypeFault(
            "op 'math' takes one block, as 'a'", 'name the other one in the epilogue, as in {"op": "add", "other": x}'
        )
    if isinstance(a, Region):
        raise TypeFault(f"'a' is {describe(a)}; op 'math' takes a block in TCM", _LOAD)
    if not isinstance(a, Value) or not a.is_block or a.is_pointer:
        raise TypeFault(f"op 'math' takes a block as 'a', not {describe(a)}")
    if not epilogue:
        raise TypeFault("a composite without ops", 'list them, as in epilogue=[{"op": "exp"}]')
    return a


COMPOSITE: Builtin = row(
    "composite",
    "op: str, a: item = None, b: item = None, out: item = None, prologue: records = (), epilogue: records = ()",
    _composite,
    writes="out",
)
