"""`al.composite(...)`: a composite command as a programmer writes it out.

What it computes is built as the body of a `tl.composite`, so that its values need no rule of their own. What an op
takes beside the running tile is made ready outside: in the type of the tile, and repeated to its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir import Region as Body

from ..dialects import tl
from ..dialects.elementwise import ELEMENTWISE
from . import operators
from .builtin import Builtin, row
from .contracts import contract_of, recipes, recipes_of
from .emit import Emitter
from .products import check_operands, result_type
from .records import at, check_entries, name_of, unknown
from .types import BlockType, DType, TypeFault, float32, ir_type
from .values import LOAD, Entry, Item, Record, Region, Value, Written, describe

Head = Literal["gemm", "math"]
_HEADS: Mapping[str, Head] = {"gemm": "gemm", "math": "math"}
_SCOPES: Mapping[Head, tuple[str, ...]] = {"gemm": ("output_tile", "once"), "math": ("once",)}


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
    """The body under construction. `inputs` are the values of outside that it takes, in order, `now` is what stands for
    each of them, `written` are the operands that a recipe writes, `ended` is the recipe after which no op can follow.
    """

    emit: Emitter
    head: Head
    block: Block = field(default_factory=Block)
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    now: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    written: list[Entry] = field(default_factory=list[Entry])
    ended: str | None = None

    def take(self, ssa: SSAValue) -> SSAValue:
        """What stands for a value of outside, as the ops so far have left it."""
        if ssa not in self.now:
            self.inputs.append(ssa)
            self.now[ssa] = self.block.insert_arg(ssa.type, len(self.block.args))
            self.now[ssa].name_hint = ssa.name_hint
        return self.now[ssa]

    def value(self, value: Value) -> Value:
        return Value(self.take(value.ssa), value.type)

    def recipe(self, record: Record, name: str, *, dtype: DType | None = None, tile: Value | None = None) -> Value:
        """The primary output of a recipe: what the GEMM takes as its a, whose b has type `dtype`, or the next tile."""
        contract = contract_of(name)
        chosen = contract.chosen_by(self.emit, record)
        needed = tuple(n for n in contract.inputs(chosen) if n != contract.tile)
        check_entries(self.emit, record, name, needed, (contract.scope,), contract.named_choices)
        operands = contract.operands_of(self.emit, record, chosen, tile)
        if tile is not None:
            self.now[tile.ssa] = tile.ssa
        inputs = [self.take(v.ssa) for v in operands.values()]
        with self.emit.inside(self.block):
            op, types = contract.lower(self.emit, record, chosen, operands, inputs, dtype)
        for n, result in zip(contract.written, op.outputs, strict=False):
            self.now[operands[n].ssa] = result
            self.written.append(record.entries[n])
        if not contract.makes:
            assert tile is not None
            self.ended = name
            return tile
        primary = op.outputs[-1]
        self.now[primary] = primary
        return Value(primary, types[-1])

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
        name = name_of(emit, record)
        if name in ("gemm", "dot"):
            raise emit.fail(
                "two GEMMs in one composite, which has one at most", "issue a second al.composite", site=record.site
            )
        if name in recipes_of("epilogue"):
            self._check_order(record, name, contract_of(name).scope)
            return self.recipe(record, name, tile=tile)
        every = (*EPILOGUE, *recipes_of("epilogue"))
        if name in recipes():
            message, hint = f"{name} is a recipe of a prologue", f"an epilogue takes {', '.join(every)}"
            raise emit.fail(message, hint, site=record.entries["op"].site)
        if name not in EPILOGUE:
            raise unknown(emit, record, "op", name, every)
        taken = {"cast": "to", "relu": None}.get(name, _OPS[name].operand if name in _OPS else None)
        scopes = ("output_tile",) if name == "cast" and self.head == "gemm" else _SCOPES[self.head]
        scope = check_entries(emit, record, name, () if taken is None else (taken,), scopes)
        self._check_order(record, name, scope)
        if name == "cast":
            return self._cast(record.entries["to"], tile)
        other = tile
        if taken is not None:
            other = self._beside(record.entries[taken], f"'{taken}' of {name}", tile)
        elif name == "relu":
            assert isinstance(tile.element, DType)
            other = self.value(emit.constant(0, tile.element, tile.shape))
        with emit.inside(self.block):
            made = at(emit, record, lambda: _OPS["max" if name == "relu" else name].make(emit, tile, other))
        if self.head == "gemm" and scope == "once":
            assert isinstance(made.ssa.owner, Operation)
            made.ssa.owner.attributes[tl.ONCE] = UnitAttr()
            self.ended = name
        return made

    def _check_order(self, record: Record, name: str, scope: str) -> None:
        """What runs once after a GEMM comes last."""
        if self.head == "gemm" and self.ended is not None and scope != "once":
            message = f"{name} after {self.ended}, which runs once at the end, on the output as it is then"
            raise self.emit.fail(message, f"put it before {self.ended}", site=record.site)

    def _cast(self, entry: Entry, tile: Value) -> Value:
        dtype = entry.item
        if not isinstance(dtype, DType):
            message = f"'to' of cast: a type such as tl.float16 is needed, not {describe(dtype)}"
            raise self.emit.fail(message, site=entry.site)
        with self.emit.inside(self.block):
            return at(self.emit, entry, lambda: self.emit.cast(tile, dtype))

    def _beside(self, entry: Entry, what: str, tile: Value) -> Value:
        """What an op takes beside the tile, of its type and shape."""

        def ready() -> Value:
            item = entry.item
            if isinstance(item, Region):
                raise TypeFault(f"{what} is {describe(item)}; ops beside the GEMM take blocks in TCM", LOAD)
            assert isinstance(tile.element, DType)
            if not isinstance(item, Value | bool | int | float) or (isinstance(item, Value) and item.is_pointer):
                raise TypeFault(f"{what}: a block or a number is needed, not {describe(item)}", "name a block in TCM")
            try:
                return self.emit.broadcast(self.emit.typed(item, tile.element), tile.shape)
            except TypeFault as fault:
                raise TypeFault(f"{what}: {fault}", fault.hint) from None

        return self.value(at(self.emit, entry, ready))

    def finish(self, tile: Value, out: Value | Region | None) -> Item:
        """Insert the composite; its output handle: a block in TCM, or the region that it has written."""
        if out is not None and out.shape != tile.shape:
            raise TypeFault(
                f"'out' has the shape {list(out.shape)}, the result {list(tile.shape)}", "give an output of this shape"
            )
        plain = tile.ssa in self.block.args  # nothing has been made of the block of a MATH composite
        at_end = self.ended if self.head == "gemm" else None
        if at_end is not None and out is not None and (isinstance(out, Region) or out.element != tile.element):
            message = f"'out' is {describe(out)}, and {at_end} runs once on the output, in TCM and as {tile.element}"
            raise TypeFault(message, f"give a block of {tile.element}, or leave 'out' out, and store it afterwards")
        if plain and out is not None:
            raise TypeFault(f"an 'out', but {self.ended} makes none", "leave it out")
        # What a recipe writes, but for the block that the tile goes to.
        beside = [
            e
            for e in self.written
            if isinstance(e.item, Value) and not (isinstance(out, Value) and e.item.ssa is out.ssa)
        ]
        given = [Value(self.now[e.item.ssa], e.item.type) for e in beside if isinstance(e.item, Value)]
        with self.emit.inside(self.block):
            if out is not None:
                assert isinstance(out.element, DType)
                tile = self.emit.cast(tile, out.element)
            if isinstance(out, Region):
                self.emit.insert(tl.StoreRegionOp(self.take(out.ssa), tile.ssa))
            else:
                if out is not None:
                    tile = self.emit.make(tl.CopyToOp(tile.ssa, self.take(out.ssa)), tile.type)
                given += [] if plain else [tile]
            self.emit.insert(tl.YieldOp(*(v.ssa for v in given)))
        op = tl.CompositeOp(self.inputs, [v.ssa.type for v in given], Body(self.block), stage="none", as_written=True)
        self.emit.insert(op)
        handles = [Value(ssa, v.type) for ssa, v in zip(op.outputs, given, strict=True)]
        names = {e.name: v for e, v in zip(beside, handles, strict=False) if e.name is not None}
        return Written(out if isinstance(out, Region) else None if plain else handles[-1], names)


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
    if head == "gemm":
        right = _matrix("b", b)
        left = _matrix("a", a) if not prologue else _primary(body, prologue, a, right)
        if output is not None and output.ssa in (left.ssa, right.ssa):
            raise TypeFault(
                "'out' is an operand of the product, which is still read while it is written", "write to another one"
            )
        tile = body.product(left, right)
    elif prologue:
        raise emit.fail("a recipe without a GEMM that takes what it makes", 'write op="gemm"', site=prologue[0].site)
    else:
        tile = body.value(_math_operand(a, b, epilogue))
    for record in epilogue:
        tile = body.apply(record, tile)
    return body.finish(tile, output)


def _primary(body: _Body, prologue: tuple[Record, ...], a: Item, b: Value | Region) -> Value:
    """What the recipe of a prologue makes for the GEMM."""
    emit, (record, *more) = body.emit, prologue
    if more:
        raise emit.fail("two recipes before one GEMM", "issue a second al.composite", site=more[0].site)
    if a is not None:
        raise TypeFault("'a' beside a prologue, whose recipe makes the GEMM's 'a'", "leave out one of the two")
    name = name_of(emit, record)
    known_names = recipes_of("prologue")
    if name in (*EPILOGUE, *recipes_of("epilogue")):
        message, hint = f"{name} is an op of an epilogue", f"a prologue takes a recipe: {', '.join(known_names)}"
        raise emit.fail(message, hint, site=record.entries["op"].site)
    if name not in known_names:
        raise unknown(emit, record, "recipe", name, known_names)
    assert isinstance(b.element, DType)
    return body.recipe(record, name, dtype=b.element)


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
        raise TypeFault(f"'a' is {describe(a)}; op 'math' takes a block in TCM", LOAD)
    if not isinstance(a, Value) or not a.is_block or a.is_pointer:
        raise TypeFault(f"op 'math' takes a block as 'a', not {describe(a)}", "give the block that the ops begin with")
    if not epilogue:
        raise TypeFault("a composite without ops", 'list them, as in epilogue=[{"op": "exp"}]')
    return a


COMPOSITE: Builtin = row(
    "composite",
    "op: str, a: item = None, b: item = None, out: item = None, prologue: records = (), epilogue: records = ()",
    _composite,
    writes="out",
)
