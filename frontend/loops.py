"""Loops: `for` over ranges and tuples, `while`.

A run-time loop carries the names that its body changes. Which these are is known only once the body is lowered, so
all that the body may bind are carried first, and those that turn out unchanged are dropped. A compile-time constant
that the body changes becomes a value, and the body is lowered again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from . import scopes, syntax
from .emit import Site
from .statements import WRITERS, Statements
from .types import DType, TypeFault, int32, ir_type, promote_integers, type_of_number
from .values import Item, Iteration, Undefined, Value, describe, leaves_of, parts, with_parts
from .values import Region as HbmRegion

_MOST_UNROLLED = 65536
_NEW_REGION = "make the region where it is used, as in al.ref(...)"


class Loops(Statements):
    """Lowers loops; the last layer of the lowering of a function."""

    def _for(self, statement: syntax.For) -> None:
        if statement.orelse:
            raise self.emit.unsupported("`else` of a loop", site=self.site(statement))
        iterable = self.evaluate(statement.iterable)
        self.at(statement.iterable)
        match iterable:
            case Iteration(static=static) if static or self.emit.into is None:
                self._unrolled(statement, self._numbers(iterable))
            case Iteration():
                self._counted(statement, iterable)
            case tuple():
                self._unrolled(statement, iterable)
            case _:
                hint = "loop over range(...), tl.range(...), tl.static_range(...) or a tuple"
                raise self.emit.fail(
                    f"{describe(iterable)} cannot be looped over", hint, site=self.site(statement.iterable)
                )

    # Unrolled -------------------------------------------------------------------------------------

    def _numbers(self, loop: Iteration) -> tuple[Item, ...]:
        start, stop, step = (b.known if isinstance(b, Value) else b for b in (loop.start, loop.stop, loop.step))
        bounds = (start, stop, step)
        if not all(isinstance(b, int) for b in bounds):
            unknown = next(b for b in (loop.start, loop.stop, loop.step) if not isinstance(b, int))
            raise TypeFault(
                f"tl.static_range needs compile-time integers, but a bound is {describe(unknown)}",
                "use tl.range or range for run-time bounds",
            )
        assert isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
        if step == 0:
            raise TypeFault("a range with a step of 0", "a step counts up or down")
        numbers = range(start, stop, step)
        if len(numbers) > _MOST_UNROLLED:
            raise TypeFault(f"{len(numbers)} iterations to unroll; {_MOST_UNROLLED} are the most", "use tl.range")
        return tuple(numbers)

    def _unrolled(self, statement: syntax.For, items: tuple[Item, ...]) -> None:
        self.frame.loops += 1
        for item in items:
            self.bind(statement.target, item)
            self.run(statement.body)
        self.frame.loops -= 1

    # Run-time for ---------------------------------------------------------------------------------

    def _counted(self, statement: syntax.For, loop: Iteration) -> None:
        """`scf.for` with a positive step: a negative one is turned round here, before any pass could take it for an
        empty loop.
        """
        step = loop.step.known if isinstance(loop.step, Value) and loop.step.known is not None else loop.step
        if step == 0:
            raise TypeFault("a range with a step of 0", "a step counts up or down")
        dtype = self._counter_type(loop)
        backward = isinstance(step, int) and step < 0
        start, stop = self.emit.typed(loop.start, dtype), self.emit.typed(loop.stop, dtype)
        if backward:
            assert isinstance(step, int)
            lower = self.emit.constant(0, dtype)
            upper = self.emit.elementwise("subi", start, stop)
            stride = self.emit.constant(-step, dtype)
        else:
            lower, upper, stride = start, stop, self.emit.typed(step, dtype)
        bounds = (lower, upper, stride)
        self._carried_loop(statement, dtype, bounds, start if backward else None)

    def _counter_type(self, loop: Iteration) -> DType:
        """The common integer type of the bounds, at least i32."""
        dtype: DType = int32
        for bound in (loop.start, loop.stop, loop.step):
            found = bound.element if isinstance(bound, Value) else None
            if isinstance(bound, int):
                found = type_of_number(bound)
            if not isinstance(found, DType) or not found.is_int or (isinstance(bound, Value) and bound.is_block):
                raise TypeFault(f"a bound of a range must be an integer, not {describe(bound)}")
            dtype = promote_integers(dtype, found)
        return dtype

    def _carried_loop(
        self, statement: syntax.For, dtype: DType, bounds: tuple[Value, Value, Value], backward_from: Value | None
    ) -> None:
        carried = Carried(self, statement.body, statement)
        site = self.emit.site
        while True:
            body = Block(arg_types=[ir_type(dtype), *carried.types])
            counter = Value(body.args[0], dtype)
            names = carried.enter(list(body.args[1:]))
            after = self._body(body, statement, counter, names, backward_from)
            self.emit.site = site
            if not carried.constants_changed(after):
                break
            _forget(body)
        with self.emit.inside(body):
            kept = carried.leave(after, [list(body.args[1:])])
            self.emit.insert(scf.YieldOp(*kept.yields))
        if isinstance(statement.target, syntax.Name):
            self.emit.name(counter.ssa, statement.target.id)
        lower, upper, step = bounds
        op = scf.ForOp(lower.ssa, upper.ssa, step.ssa, kept.inits, body)
        self.emit.insert(op)
        self.frame.names = carried.names_after(after, kept, list(op.results))
        for name in scopes.target_names(statement.target):
            self.frame.names[name] = Undefined("it is the counter of a loop that has ended")

    def _body(
        self, body: Block, statement: syntax.For, counter: Value, names: dict[str, Item], backward_from: Value | None
    ) -> dict[str, Item]:
        """The names after one lowering of a loop's body."""
        outer = self.frame
        self.frame = replace(outer, names=names, loops=outer.loops + 1)
        try:
            with self.emit.inside(body):
                item: Item = counter
                if backward_from is not None:
                    item = self.emit.elementwise("subi", backward_from, counter)
                self.bind(statement.target, item)
                self.run(statement.body)
            return self.frame.names
        finally:
            self.frame = outer

    # While ----------------------------------------------------------------------------------------

    def _while(self, statement: syntax.While) -> None:
        if statement.orelse:
            raise self.emit.unsupported("`else` of a loop", site=self.site(statement))
        named = next((n for n in scopes.walk(statement.test) if isinstance(n, syntax.Named)), None)
        if named is not None:
            raise self.emit.unsupported("`:=` in the condition of a loop", site=self.site(named))
        self.at(statement.test)  # the loop itself is of this place too
        if self.emit.into is None:
            self._while_static(statement)
            return
        carried = Carried(self, statement.body, statement)
        site = self.emit.site
        while True:
            before, after = Block(arg_types=carried.types), Block(arg_types=carried.types)
            condition = self._while_condition(statement, before, carried.enter(list(before.args)))
            if condition is False:
                _forget(before)
                return
            left = self._while_body(statement, after, carried.enter(list(after.args)))
            self.emit.site = site
            if not carried.constants_changed(left):
                break
            _forget(before)
            _forget(after)
        if condition is True:
            message, hint = "a loop whose condition is always true never ends", "test a value that the body changes"
            raise self.emit.fail(message, hint, site=self.site(statement.test))
        with self.emit.inside(after):
            kept = carried.leave(left, [list(before.args), list(after.args)])
            self.emit.insert(scf.YieldOp(*kept.yields))
        with self.emit.inside(before):
            self.emit.insert(scf.ConditionOp(kept.now(condition.ssa), *before.args))
        types: list[Attribute] = [v.type for v in kept.inits]
        op = scf.WhileOp(kept.inits, types, Region(before), Region(after))
        self.emit.insert(op)
        self.frame.names = carried.names_after(left, kept, list(op.results))

    def _while_static(self, statement: syntax.While) -> None:
        """A loop of a function that is computed at compile time."""
        self.frame.loops += 1
        for _ in range(_MOST_UNROLLED):
            if not self._guard(statement.test):
                break
            self.run(statement.body)
        else:
            raise self.emit.fail(
                f"the loop has not ended after {_MOST_UNROLLED} rounds", site=self.site(statement.test)
            )
        self.frame.loops -= 1

    def _while_condition(self, statement: syntax.While, target: Block, names: dict[str, Item]) -> bool | Value:
        outer = self.frame
        self.frame = replace(outer, names=names, loops=outer.loops + 1)
        try:
            with self.emit.inside(target):
                return self._guard(statement.test)
        finally:
            self.frame = outer

    def _while_body(self, statement: syntax.While, target: Block, names: dict[str, Item]) -> dict[str, Item]:
        outer = self.frame
        self.frame = replace(outer, names=names, loops=outer.loops + 1)
        try:
            with self.emit.inside(target):
                self.run(statement.body)
            return self.frame.names
        finally:
            self.frame = outer

    _rules: ClassVar = {**Statements._rules, syntax.For: _for, syntax.While: _while}


class Kept:
    """What is left of the carried values once the unchanged ones are dropped."""

    def __init__(self) -> None:
        self.inits: list[SSAValue] = []
        self.yields: list[SSAValue] = []
        self.numbers: dict[int, int] = {}  # number of a leaf before -> its number now
        self.dropped: dict[SSAValue, SSAValue] = {}  # argument that is gone -> the value that it always was

    def now(self, value: SSAValue) -> SSAValue:
        return self.dropped.get(value, value)


class Carried:
    """The names that a loop may carry: their leaves before the loop, as arguments inside, and after it."""

    def __init__(self, lowering: Loops, body: syntax.Body, loop: syntax.Node):
        self._lowering = lowering
        self._emit = lowering.emit
        self._before = dict(lowering.frame.names)
        self._loop = loop
        self._body = body
        bound = scopes.bound_names(body, WRITERS)
        self._names = [n for n in bound if n in self._before and not isinstance(self._before[n], Undefined)]
        self._new = [n for n in bound if n not in self._before]

    @property
    def _leaves(self) -> list[Value]:
        return [leaf for n in self._names for leaf in leaves_of(self._before[n])]

    @property
    def types(self) -> list[Attribute]:
        return [leaf.ssa.type for leaf in self._leaves]

    def enter(self, arguments: list[BlockArgument]) -> dict[str, Item]:
        """The names inside the loop, with its arguments in place of what was there before."""
        names = dict(self._before)
        position = 0
        for name in self._names:
            names[name], position = _replaced(self._before[name], arguments, position)
        for name, leaf in zip(self._leaf_names(), arguments, strict=True):
            self._emit.name(leaf, name)
        return names

    def _leaf_names(self) -> list[str]:
        return [n for n in self._names for _ in leaves_of(self._before[n])]

    def constants_changed(self, after: dict[str, Item]) -> bool:
        """Make a value of every compile-time number that the body has changed; True if there was one."""
        changed = False
        for name in self._names:
            before, now = self._before[name], after[name]
            materialised = self._materialised(name, before, now)
            if materialised is not before:
                self._before[name] = materialised
                changed = True
        return changed

    def _materialised(self, name: str, before: Item, now: Item) -> Item:
        inner, after = parts(before), parts(now)
        if inner is not None:
            if after is None or type(before) is not type(now) or len(after) != len(inner):
                raise self._changes(name, before, now)
            made = tuple(self._materialised(name, b, n) for b, n in zip(inner, after, strict=True))
            return before if all(m is b for m, b in zip(made, inner, strict=True)) else with_parts(before, made)
        if isinstance(before, HbmRegion | Undefined) and before is not now:
            line = self._lowering.frame.module.text.position(self._loop.span[0])[0]
            reason = f"loops carry no regions, and the one at line {line} makes it another one"
            return before if isinstance(before, Undefined) else Undefined(reason, _NEW_REGION)
        if isinstance(before, Value) or before is now or (type(before) is type(now) and before == now):
            return before
        if isinstance(before, bool | int | float) and isinstance(now, Value | bool | int | float):
            dtype = type_of_number(before)
            if isinstance(now, Value) and isinstance(now.element, DType) and not now.is_block:
                dtype = now.element if now.element.kind >= dtype.kind else dtype
            return self._emit.constant(before, dtype)
        raise self._changes(name, before, now)

    def _changes(self, name: str, before: Item, now: Item) -> Exception:
        if isinstance(now, Undefined):
            message = f"'{name}' has no value at the end of the loop's body: {now.reason}"
            return self._emit.fail(message, now.hint, site=self._last_binding(name))
        return self._emit.fail(
            f"'{name}' is {describe(before)} before the loop and {describe(now)} after its body",
            "what a run-time loop carries keeps its type; tl.static_range unrolls a loop",
            site=self._last_binding(name),
        )

    def _last_binding(self, name: str) -> Site:
        """Where the body binds a name for the last time."""
        nodes = [n for n in scopes.walk(self._body) if name in scopes.names_bound_by(n, WRITERS)]
        return self._lowering.site(nodes[-1] if nodes else self._loop)

    def leave(self, after: dict[str, Item], arguments: list[list[BlockArgument]]) -> Kept:
        """Check what the body leaves behind, and drop what it does not change from the blocks' arguments."""
        kept, position = Kept(), 0
        dropped: list[int] = []
        for name in self._names:
            before = leaves_of(self._before[name])
            now = self._fitting(name, self._before[name], after[name])
            for first, last in zip(before, now, strict=True):
                own = arguments[-1][position]
                if last.ssa is own or last.ssa is first.ssa:
                    dropped.append(position)
                else:
                    kept.numbers[position] = len(kept.inits)
                    kept.inits.append(first.ssa)
                    kept.yields.append(last.ssa)
                position += 1
        leaves = self._leaves
        for number in reversed(dropped):
            for blocks in arguments:
                argument = blocks[number]
                kept.dropped[argument] = leaves[number].ssa
                argument.replace_all_uses_with(leaves[number].ssa)
                argument.block.erase_arg(argument)
        kept.yields = [kept.now(v) for v in kept.yields]
        return kept

    def _fitting(self, name: str, before: Item, now: Item) -> list[Value]:
        """The leaves of a name at the end of the body, each of the type that it had before."""
        inner, after = parts(before), parts(now)
        if inner is not None:
            assert after is not None
            return [leaf for b, n in zip(inner, after, strict=True) for leaf in self._fitting(name, b, n)]
        if not isinstance(before, Value):
            return []
        if isinstance(now, bool | int | float) and isinstance(before.element, DType) and not before.is_block:
            now = self._emit.typed(now, before.element)
        if not isinstance(now, Value) or now.type != before.type:
            raise self._changes(name, before, now)
        return [now]

    def names_after(self, after: dict[str, Item], kept: Kept, results: list[SSAValue]) -> dict[str, Item]:
        """The names after the loop: results for what changes, Undefined for what only the body has."""
        names = dict(self._before)
        position = 0
        for name in self._names:
            item = self._before[name]
            leaves = leaves_of(item)
            finals: list[SSAValue] = []
            for number, leaf in enumerate(leaves, position):
                finals.append(results[kept.numbers[number]] if number in kept.numbers else leaf.ssa)
            changed = any(f is not leaf.ssa for f, leaf in zip(finals, leaves, strict=True))
            names[name] = _replaced(item, finals, 0)[0] if changed else item
            position += len(leaves)
        line = self._lowering.frame.module.text.position(self._loop.span[0])[0]
        for name in self._new:
            if name in after:
                names[name] = Undefined(f"it gets one only in the body of the loop at line {line}")
        return names


def _replaced(item: Item, values: Sequence[SSAValue], position: int) -> tuple[Item, int]:
    """The item with the values from `position` on in place of its leaves, and the position after them."""
    inner = parts(item)
    if inner is not None:
        new: list[Item] = []
        for part in inner:
            replaced, position = _replaced(part, values, position)
            new.append(replaced)
        return with_parts(item, tuple(new)), position
    if isinstance(item, Value):
        return Value(values[position], item.type), position + 1
    return item, position


def _forget(block: Block) -> None:
    """Undo a lowering: nothing in the block uses a value of outside any more."""
    for op in block.walk():
        op.drop_all_references()
