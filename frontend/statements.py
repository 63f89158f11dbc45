"""Statements: assignments, branches and returns. Loops are in loops.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from . import merging, operators, scopes, syntax, tables
from .calls import Arguments, bind_function, is_constexpr
from .expressions import Expressions, Frame
from .scratch import Scope, home_of
from .types import TypeFault, type_of_number
from .values import Item, JitFunction, ScratchScope, Undefined, Value, describe, leaves_of

_DEEPEST_CALL = 64
_SCOPES = "`with al.scratch_scope():` is the only one that a kernel can open"
_KEEP = "make the block before the scope and write to it with al.copy_to(dst, src), or use it inside"


@dataclass(frozen=True)
class Returned:
    """A function has come to its end with this result."""

    item: Item


class Statements(Expressions):
    """Lowers bodies of functions."""

    depth = 0

    def run(self, body: syntax.Body) -> Returned | None:
        """Lower statements up to a return; None if the end is reached without one.

        What follows a run-time `if` that may return is lowered inside its branches, so that it only runs where none
        has returned.
        """
        pending = list(reversed(body))
        while pending:
            statement = pending.pop()
            match statement:
                case syntax.If():
                    test = self._guard(statement.test)
                    if isinstance(test, bool):
                        pending += reversed(statement.then if test else statement.orelse)
                    elif scopes.returns((statement,)):
                        rest = tuple(reversed(pending))
                        return self._branch_to_the_end(statement, test, rest)
                    else:
                        self._branch(statement, test)
                case syntax.Return():
                    return self._return(statement)
                case _:
                    self._statement(statement)
        return None

    def _guard(self, node: syntax.Expression) -> bool | Value:
        try:
            return self.condition(node)
        except TypeFault as fault:
            raise self.emit.fail(str(fault), fault.hint, site=self.site(node)) from None

    def _statement(self, statement: syntax.Statement) -> None:
        rule = self._rules.get(type(statement))
        if rule is None:
            what = statement.keyword if isinstance(statement, syntax.Refused) else _KEYWORDS[type(statement)]
            hint = "guard the rest of the loop's body with `if`" if what in ("break", "continue") else None
            raise self.emit.unsupported(f"`{what}`", hint, site=self.site(statement))
        try:
            rule(self, statement)
        except TypeFault as fault:
            raise self.emit.fail(str(fault), fault.hint, site=self.site(statement)) from None

    def _return(self, statement: syntax.Return) -> Returned:
        if self.frame.loops:
            raise self.emit.unsupported("`return` inside a loop", site=self.site(statement))
        item = None if statement.value is None else self.evaluate(statement.value)
        self.at(statement)
        return Returned(item)

    # Assignments ----------------------------------------------------------------------------------

    def _assign(self, statement: syntax.Assign) -> None:
        item = self.evaluate(statement.value)
        self.at(statement)
        for target in statement.targets:
            self.bind(target, self._settled(item))

    def _settled(self, item: Item) -> Item:
        """What a name holds after a plain assignment: a Python number has become a value of its own type, as in
        Triton.
        """
        if isinstance(item, tuple):
            return tuple(self._settled(i) for i in item)
        if isinstance(item, bool | int | float) and self.emit.into is not None:
            return self.emit.constant(item, type_of_number(item))
        return item

    def bind(self, target: syntax.Expression, item: Item) -> None:
        """Give the names of a target their items."""
        match target:
            case syntax.Name():
                if isinstance(item, Value) and item.ssa.name_hint is None and self.emit.pinned is None:
                    self.emit.name(item.ssa, target.id)
                self.frame.names[target.id] = item
            case syntax.Sequence():
                self._unpack(target, item)
            case _:
                hint = "a kernel writes memory with tl.store" if isinstance(target, syntax.Subscript) else None
                raise self.emit.unsupported("an assignment to this", hint, site=self.site(target))

    def _unpack(self, target: syntax.Sequence, item: Item) -> None:
        if not isinstance(item, tuple):
            raise self.emit.fail(f"{describe(item)} cannot be unpacked", "only a tuple can", site=self.site(target))
        star = next((n for n, t in enumerate(target.items) if isinstance(t, syntax.Starred)), None)
        count = len(target.items)
        if len(item) != count if star is None else len(item) < count - 1:
            hint = "give a name to each entry, `_` to those that are not needed"
            raise self.emit.fail(f"{count} names for a tuple of {len(item)}", hint, site=self.site(target))
        if star is not None:
            stop = len(item) - (count - star - 1)
            item = (*item[:star], item[star:stop], *item[stop:])
        for part, value in zip(target.items, item, strict=True):
            self.bind(part.value if isinstance(part, syntax.Starred) else part, value)

    def _augmented(self, statement: syntax.Augmented) -> None:
        current = self.evaluate(statement.target)
        other = self.evaluate(statement.value)
        self.at(statement)
        result = operators.binary(self.emit, statement.operator, current, other)
        self.bind(statement.target, self._settled(result))

    def _annotated(self, statement: syntax.Annotated) -> None:
        """`x: tl.constexpr = ...` keeps a compile-time constant; any other annotation says nothing. As in Triton, a
        value that is none may stand there, and is refused where a constant is needed.
        """
        if statement.value is None:
            return
        item = self.evaluate(statement.value)
        self.at(statement)
        if not is_constexpr(statement.annotation):
            self.bind(statement.target, self._settled(item))
            return
        self.bind(statement.target, item.known if isinstance(item, Value) and item.known is not None else item)

    # Scratch scopes -------------------------------------------------------------------------------

    def _with(self, statement: syntax.With) -> None:
        """A scratch scope: blocks that are made in it have no name after it."""
        for context, target in statement.items:
            if not isinstance(self.evaluate(context), ScratchScope):
                raise self.emit.unsupported("`with`", _SCOPES, site=self.site(statement))
            if target is not None:
                message, hint = "al.scratch_scope() gives nothing that could have a name", "leave `as` out"
                raise self.emit.fail(message, hint, site=self.site(target))
        if scopes.returns(statement.body):
            raise self.emit.unsupported("`return` inside a scratch scope", site=self.site(statement))
        self.at(statement)
        if self.emit.into is None:
            raise TypeFault("a scratch scope is one of kernel time")
        scope = Scope(self.emit.into)
        self.run(statement.body)
        made = scope.made()
        line = self.frame.module.text.position(statement.span[0])[0]
        gone = Undefined(f"it was made in the scratch scope of line {line}, which has ended", _KEEP)
        for name, item in self.frame.names.items():
            if scope.holds(item, made):
                self.frame.names[name] = gone

    # Effects and checks ---------------------------------------------------------------------------

    def _evaluate(self, statement: syntax.Evaluate) -> None:
        if isinstance(statement.value, syntax.Constant):
            return
        if isinstance(self.evaluate(statement.value), ScratchScope):
            message = "a scratch scope that nothing is in"
            raise self.emit.fail(message, "write `with al.scratch_scope():`", site=self.site(statement))

    def _assert(self, statement: syntax.Assert) -> None:
        """A condition known at compile time is checked; one of kernel time says nothing to the machine."""
        test = self._guard_of_assert(statement.test)
        if test is False:
            message = self.evaluate(statement.message) if statement.message is not None else None
            raise self.emit.fail(f"assertion failed{f': {message}' if message else ''}", site=self.site(statement))

    def _guard_of_assert(self, node: syntax.Expression) -> bool | Value:
        return operators.truth(self.emit, self.evaluate(node))

    def _raise(self, statement: syntax.Raise) -> None:
        """A kernel raises where a combination of constants is not supported: compiling it is the fault."""
        value = statement.value
        if isinstance(value, syntax.Call) and value.arguments:
            value = value.arguments[0]
        text = f": {value.value}" if isinstance(value, syntax.Constant) and isinstance(value.value, str) else ""
        raise self.emit.fail(f"the kernel raises an error here{text}", site=self.site(statement))

    def _pass(self, statement: syntax.Pass) -> None:
        pass

    # Branches -------------------------------------------------------------------------------------

    def _in_block(self, body: syntax.Body, names: dict[str, Item]) -> tuple[Block, dict[str, Item], Returned | None]:
        """A body lowered into a block of its own: the block, the names after it, and whether it returned."""
        target = Block()
        outer = self.frame
        self.frame = replace(outer, names=dict(names))
        try:
            with self.emit.inside(target):
                returned = self.run(body)
            return target, self.frame.names, returned
        finally:
            self.frame = outer

    def _branch(self, statement: syntax.If, test: Value) -> None:
        """A run-time `if` that goes on after itself: names that differ come out as results."""
        before = self.frame.names
        then, then_names, _ = self._in_block(statement.then, before)
        orelse, else_names, _ = self._in_block(statement.orelse, before)
        self.at(statement.test)
        merge = merging.Merge(self.emit, then, orelse)
        templates: dict[str, merging.Template] = {}
        line = self.frame.module.text.position(statement.span[0])[0]
        for name in dict.fromkeys((*then_names, *else_names)):
            if name not in then_names or name not in else_names:
                templates[name] = merging.Split(f"it gets one in only one branch of the `if` at line {line}")
            elif then_names[name] is not else_names[name]:
                templates[name] = merge.pair(then_names[name], else_names[name])
        merge.finish()
        has_else = bool(merge.left or len(orelse.ops) > 1)
        op = scf.IfOp(test.ssa, merge.types, Region(then), Region(orelse) if has_else else None)
        self.emit.insert(op)
        after = {n: i for n, i in then_names.items() if n not in templates}
        for name, template in templates.items():
            if isinstance(template, merging.Split):
                after[name] = Undefined(
                    template.reason if "branch of" in template.reason else f"it is {template.reason}"
                )
            else:
                after[name] = merge.rebuild(template, list(op.results))
        # The frame keeps its identity: callers hold on to it.
        self.frame.names = {**{n: after[n] for n in before if n in after}, **after}

    def _branch_to_the_end(self, statement: syntax.If, test: Value, rest: syntax.Body) -> Returned:
        """A run-time `if` with a return in it, and all that follows: the function ends with it."""
        then, _, then_result = self._in_block((*statement.then, *rest), self.frame.names)
        orelse, _, else_result = self._in_block((*statement.orelse, *rest), self.frame.names)
        self.at(statement.test)
        merge = merging.Merge(self.emit, then, orelse)
        template = merge.pair(
            then_result.item if then_result else None,
            else_result.item if else_result else None,
        )
        if isinstance(template, merging.Split):
            raise self.emit.fail(f"the function returns {template.reason}", "return values of one type everywhere")
        merge.finish()
        has_else = bool(merge.left or len(orelse.ops) > 1)
        op = scf.IfOp(test.ssa, merge.types, Region(then), Region(orelse) if has_else else None)
        self.emit.insert(op)
        return Returned(merge.rebuild(template, list(op.results)))

    # Functions ------------------------------------------------------------------------------------

    def inline(self, function: JitFunction, arguments: Arguments) -> Item:
        """Lower a function of the kernel language in place of its call."""
        emit = self.emit
        # What a compile-time function calls is Python to Triton, decorated or not.
        static = function.static or emit.into is None
        if not (function.jit or static or function.module.library):
            raise emit.fail(f"'{function.name}' is no kernel function", f"put @triton.jit above `def {function.name}`")
        if self.depth >= _DEEPEST_CALL:
            raise emit.fail(f"calls are nested deeper than {_DEEPEST_CALL}", "a kernel function cannot call itself")
        call, pinned, library = emit.site, emit.pinned, emit.library
        bound = bind_function(emit, function.tree, arguments)
        names: dict[str, Item] = {}
        for parameter in function.tree.parameters:
            argument = bound[parameter.name]
            if argument is None:
                assert parameter.default is not None
                names[parameter.name] = self.evaluate_global(function.module, parameter.default)
                continue
            # Triton takes any value for a `tl.constexpr` of a function that another one calls.
            item = names[parameter.name] = argument.item
            if (is_constexpr(parameter.annotation) or static) and isinstance(item, Value):
                names[parameter.name] = item if item.known is None else item.known
        outer, self.frame = self.frame, Frame(function.module, dict(names))
        if function.module.library:
            emit.pinned, emit.library = emit.pinned or call, emit.library or function.name
        self.depth += 1
        into = emit.into
        if static:
            emit.into = None
        try:
            returned = self.run(function.tree.body)
            lost = None if static else self._lost_block(names, self.frame.names, returned)
        finally:
            self.depth -= 1
            emit.into = into
            self.frame, emit.site, emit.pinned, emit.library = outer, call, pinned, library
        if lost is not None:
            message = f"{function.name} writes the block '{lost}', and its caller does not get what is written"
            raise emit.fail(message, f"return it, and give the result to the name: `{lost} = {function.name}(...)`")
        return returned.item if returned else None

    def _lost_block(self, given: dict[str, Item], after: dict[str, Item], returned: Returned | None) -> str | None:
        """A parameter whose block a function has written in place without returning it: a name of the caller would
        still stand for what was there before.
        """
        kept = {leaf.ssa for leaf in leaves_of(returned.item)} if returned else set[SSAValue]()
        for name, item in given.items():
            now = after.get(name)
            if not isinstance(item, Value) or not isinstance(now, Value) or now.ssa is item.ssa or now.ssa in kept:
                continue
            if item.is_block and home_of(now.ssa) is home_of(item.ssa):
                return name
        return None

    _rules: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        syntax.Assign: _assign,
        syntax.Augmented: _augmented,
        syntax.Annotated: _annotated,
        syntax.Evaluate: _evaluate,
        syntax.Assert: _assert,
        syntax.Raise: _raise,
        syntax.Pass: _pass,
        syntax.With: _with,
    }


WRITERS = frozenset(b.name for b in (*tables.LANGUAGE, *tables.OWN) if b.writes is not None)

_KEYWORDS: dict[type[Any], str] = {
    syntax.Function: "def",
    syntax.Import: "import",
    syntax.ImportFrom: "import",
}
