"""A function of IR, compiled once to Python closures over a list of slots: control flow here, what ops do in handlers.

Every SSA value owns a slot, and every op becomes one closure that reads and writes slots. `scf` control flow becomes
basic blocks: a tuple of steps and an exit that names the next block. So the reference runs a program in one plain
loop, and whoever must stop between two ops (PE_CPU waiting for a command) walks the same blocks step by step and looks
at what a step returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.errors import Category, fail, place_of

Slots = list[Any]
# What a step returns is between its handler and whoever walks the code; `Code.run` drops it.
Step = Callable[[Slots], object]
Exit = Callable[[Slots], int]
Handler = Callable[[Operation, "Builder"], Step | None]
# Told after each op what it was given and what it made: the contents of the slots of its operands and results.
Watcher = Callable[[Operation, Sequence[Any], Sequence[Any]], None]

END = -1


@dataclass(frozen=True)
class BasicBlock:
    """Steps that run in order, then `exit`, which gives the number of the next block or END."""

    steps: tuple[Step, ...]
    exit: Exit


@dataclass(frozen=True)
class Code:
    """A compiled function: run it on a `frame`, which holds the constants and the arguments of one call."""

    blocks: tuple[BasicBlock, ...]
    template: tuple[Any, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]

    def frame(self, arguments: Sequence[Any]) -> Slots:
        """Fresh slots of one call. Only constants and arguments are set."""
        assert len(arguments) == len(self.arguments)
        slots = list(self.template)
        for slot, value in zip(self.arguments, arguments, strict=True):
            slots[slot] = value
        return slots

    def run(self, slots: Slots) -> None:
        """Run to the end in one go."""
        blocks, at = self.blocks, 0
        while at >= 0:
            block = blocks[at]
            for step in block.steps:
                step(slots)
            at = block.exit(slots)


@dataclass
class _OpenBlock:
    steps: list[Step] = field(default_factory=list[Step])
    exit: Exit | None = None


class Builder:
    """Collects the blocks of one function while its ops are compiled in program order. Handlers ask it for slots."""

    def __init__(self, handlers: Mapping[str, Handler]):
        self._handlers = {**CONTROL_FLOW, **handlers}
        self._slots: dict[SSAValue, int] = {}
        self._template: list[Any] = []
        self._blocks: list[_OpenBlock] = [_OpenBlock()]
        self._at = 0
        self.results: tuple[int, ...] = ()

    # What handlers use.

    def slot(self, value: SSAValue) -> int:
        """The slot of a value; a value met first here gets a fresh one."""
        if value not in self._slots:
            self._slots[value] = self.fresh()
        return self._slots[value]

    def slots(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        return tuple(self.slot(value) for value in values)

    def fresh(self, initial: Any = None) -> int:
        """A slot of no SSA value, holding `initial` at the start of every call."""
        self._template.append(initial)
        return len(self._template) - 1

    def constant(self, value: SSAValue, content: Any) -> None:
        """Make `value` a constant of the frame: it costs no step. The content must never be changed in place."""
        self._slots[value] = self.fresh(content)

    def alias(self, value: SSAValue, slot: int) -> None:
        """Make `value` share a slot that already holds its content."""
        self._slots[value] = slot

    def step(self, step: Step) -> None:
        self._blocks[self._at].steps.append(step)

    def inline(self, region: Region, arguments: Sequence[SSAValue]) -> tuple[int, ...]:
        """Compile a single-block region in place, its arguments being the given values; the slots of what it yields."""
        for argument, value in zip(region.block.args, arguments, strict=True):
            self.alias(argument, self.slot(value))
        return self.body(region.block)

    def apart(self, block: Block) -> tuple[list[Step], tuple[int, ...]]:
        """Compile a block without control flow as steps that the caller runs; the slots of what it yields."""
        open_block = self._blocks[self._at]
        outer, open_block.steps = open_block.steps, []
        results = self.body(block)
        inner, open_block.steps = open_block.steps, outer
        return inner, results

    # What control flow uses.

    def body(self, block: Block) -> tuple[int, ...]:
        """Compile the ops of a block except its terminator; the slots of the terminator's operands."""
        terminator = block.last_op
        assert terminator is not None, "a block without a terminator"
        for op in block.ops:
            if op is not terminator:
                self.compile(op)
        return self.slots(terminator.operands)

    def compile(self, op: Operation) -> None:
        handler = self._handlers.get(op.name)
        if handler is None:
            hint = "a pipeline that runs ends in commands: add lower-to-commands, or take one of `ahbmc pipelines`"
            raise fail(f"'{op.name}' has no values here", place_of(op.location), Category.UNSUPPORTED, hint)
        step = handler(op, self)
        if step is not None:
            self.step(step)

    def new_block(self) -> int:
        self._blocks.append(_OpenBlock())
        return len(self._blocks) - 1

    def leave(self, exit: Exit, enter: int | None = None) -> None:
        """Close the current block with `exit` and go on compiling into block `enter`."""
        assert self._blocks[self._at].exit is None
        self._blocks[self._at].exit = exit
        if enter is not None:
            self._at = enter

    def finish(self, arguments: Sequence[SSAValue]) -> Code:
        slots = self.slots(arguments)
        blocks: list[BasicBlock] = []
        for block in self._blocks:
            assert block.exit is not None, "a block that leads nowhere"
            blocks.append(BasicBlock(tuple(block.steps), block.exit))
        return Code(tuple(blocks), tuple(self._template), slots, self.results)


def compile_function(function: func.FuncOp, handlers: Mapping[str, Handler]) -> Code:
    """Compile the body of `function`; `handlers` maps op names to makers of closures; an op without one is an error."""
    builder = Builder(handlers)
    builder.slots(function.body.block.args)
    builder.results = builder.body(function.body.block)
    builder.leave(goto(END))
    return builder.finish(function.body.block.args)


def watched(handlers: Mapping[str, Handler], watcher: Watcher) -> dict[str, Handler]:
    """The same handlers; `watcher` is called after each step of theirs."""

    def one(handler: Handler) -> Handler:
        def compiled(op: Operation, builder: Builder) -> Step | None:
            step = handler(op, builder)
            if step is None:
                return None
            operands, results = builder.slots(op.operands), builder.slots(op.results)

            def both(slots: Slots) -> object:
                done = step(slots)
                watcher(op, [slots[s] for s in operands], [slots[s] for s in results])
                return done

            return both

        return compiled

    return {name: one(handler) for name, handler in handlers.items()}


def goto(block: int) -> Exit:
    return lambda _: block


def move(sources: Sequence[int], targets: Sequence[int]) -> Step | None:
    """Copy slots to slots, all at once (a loop may swap what it carries); None where nothing moves."""
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
    if not pairs:
        return None
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move_one(slots: Slots) -> None:
            slots[target] = slots[source]

        return move_one

    def move_all(slots: Slots) -> None:
        contents = [slots[source] for source, _ in pairs]
        for (_, target), content in zip(pairs, contents, strict=True):
            slots[target] = content

    return move_all


def _moved(builder: Builder, sources: Sequence[int], targets: Sequence[int]) -> None:
    step = move(sources, targets)
    if step is not None:
        builder.step(step)


def _for(op: Operation, builder: Builder) -> None:
    assert isinstance(op, scf.ForOp)
    lower, upper, stride = builder.slot(op.lb), builder.slot(op.ub), builder.slot(op.step)
    iv, *carried = builder.slots(op.body.block.args)
    _moved(builder, [lower, *builder.slots(op.iter_args)], [iv, *carried])
    body, done = builder.new_block(), builder.new_block()
    builder.leave(lambda slots: body if slots[iv] < slots[upper] else done, body)
    _moved(builder, builder.body(op.body.block), carried)

    def again(slots: Slots) -> int:
        slots[iv] = following = slots[iv] + slots[stride]
        return body if following < slots[upper] else done

    builder.leave(again, done)
    # After the loop the carried slots hold its results; nothing writes them until the loop is entered again.
    for result, slot in zip(op.results, carried, strict=True):
        builder.alias(result, slot)


def _if(op: Operation, builder: Builder) -> None:
    assert isinstance(op, scf.IfOp)
    condition = builder.slot(op.cond)
    results = builder.slots(op.results)
    then, done = builder.new_block(), builder.new_block()
    other = builder.new_block() if op.false_region.blocks else done
    builder.leave(lambda slots: then if slots[condition] else other, then)
    _moved(builder, builder.body(op.true_region.block), results)
    builder.leave(goto(done), other)
    if other != done:
        _moved(builder, builder.body(op.false_region.block), results)
        builder.leave(goto(done), done)


def _while(op: Operation, builder: Builder) -> None:
    assert isinstance(op, scf.WhileOp)
    before = builder.slots(op.before_region.block.args)
    results = builder.slots(op.results)
    _moved(builder, builder.slots(op.arguments), before)
    head, body, done = builder.new_block(), builder.new_block(), builder.new_block()
    builder.leave(goto(head), head)
    condition, *passed = builder.body(op.before_region.block)
    _moved(builder, passed, results)
    builder.leave(lambda slots: body if slots[condition] else done, body)
    for argument, slot in zip(op.after_region.block.args, results, strict=True):
        builder.alias(argument, slot)
    _moved(builder, builder.body(op.after_region.block), before)
    builder.leave(goto(head), done)


CONTROL_FLOW: Mapping[str, Handler] = {"scf.for": _for, "scf.if": _if, "scf.while": _while}
