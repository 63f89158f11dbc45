"""Pipelines that have passes in common, compiled: a pass does not run again where another pipeline has been.

This is for studies of passes, whose pipelines differ by one pass each. What the first pipeline makes of a kernel is
kept pass by pass; the others go along it, on their own where they differ, and along it again as soon as their IR is the
same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.errors import AhbmcError
from ..dialects.text import new_context
from ..dialects.verify import verify
from ..passes import build_pipeline
from .command_kernels import passes_for
from .compile_cache import key_of
from .lowering import Compiled, Request, compile_request, front, function_of
from .writes import written_arguments


@dataclass(eq=False)
class _State:
    """A module on the way of the first pipeline, which is never changed, and what passes make of it: another such state
    or the fault that they find.
    """

    module: ModuleOp
    after: dict[ModulePass, _State | AhbmcError] = field(default_factory=dict["ModulePass", "_State | AhbmcError"])

    def next(self, each: ModulePass) -> _State:
        """What a known pass makes of it."""
        found = self.after[each]
        if isinstance(found, AhbmcError):
            raise found
        return found


class SharedPasses:
    """Compiles requests that differ in their pipelines."""

    def __init__(self) -> None:
        self._starts: dict[str, tuple[_State, tuple[str, ...]]] = {}
        self._states: dict[tuple[str, ...], list[_State]] = {}
        self._context = new_context()

    def compile_all(self, requests: Sequence[Request]) -> tuple[Compiled, ...]:
        """Every request compiled down to `pe`."""
        return tuple(map(self._compiled, requests))

    def _compiled(self, request: Request) -> Compiled:
        start = time.perf_counter()
        passes = build_pipeline(request.pipeline, request.options, request.pipeline_place)
        state, writes = self._start(request)
        module = self._run(state, passes_for(passes) if request.kernel.is_commands else passes)
        try:
            verify(module)
        except AhbmcError:
            return compile_request(request)  # it says which pass left this
        return Compiled(module, writes, time.perf_counter() - start)

    def _start(self, request: Request) -> tuple[_State, tuple[str, ...]]:
        key = key_of(replace(request, pipeline=""))
        if key not in self._starts:
            module, names = front(request), list(request.signature)
            verify(module)
            writes = tuple(names[i] for i in written_arguments(function_of(module)))
            state = self._state(module) or self._keep(module)
            self._starts[key] = state, writes
        return self._starts[key]

    def _run(self, start: _State, passes: Sequence[ModulePass]) -> ModuleOp:
        """What the passes make of a kernel: a module that must not be changed."""
        is_first = not start.after
        state: _State | None = start  # that `module` belongs to; none off the way of the first pipeline
        module = start.module
        for each in passes:
            if state is not None and each in state.after:
                state = state.next(each)
            else:
                module = module.clone() if state is not None else module
                try:
                    each.apply(self._context, module)
                except AhbmcError as error:
                    if state is not None:
                        state.after[each] = error
                    raise
                reached = self._state(module) or (self._keep(module) if is_first else None)
                if state is not None and reached is not None:
                    state.after[each] = reached
                state = reached
            module = state.module if state is not None else module
        return module

    def _state(self, module: ModuleOp) -> _State | None:
        """The state with the same IR, if there is one."""
        return next((s for s in self._states.get(_names(module), ()) if same_ir(s.module, module)), None)

    def _keep(self, module: ModuleOp) -> _State:
        state = _State(module)
        self._states.setdefault(_names(module), []).append(state)
        return state


def _names(module: ModuleOp) -> tuple[str, ...]:
    """The names of its ops: what is cheap to compare."""
    return tuple(op.name for op in module.walk())


def same_ir(one: ModuleOp, other: ModuleOp) -> bool:
    """Whether two modules are the same to the last location and name: they would print alike."""
    if not one.is_structurally_equivalent(other):
        return False
    return all(_same_notes(a, b) for a, b in zip(one.walk(), other.walk(), strict=True))


def _same_notes(one: Operation, other: Operation) -> bool:
    """What structural equivalence does not look at: locations, types and names of values."""
    if one.location != other.location or not _same_values(one.results, other.results):
        return False
    blocks = zip(_blocks(one), _blocks(other), strict=True)
    return all(_same_values(a.args, b.args) for a, b in blocks)


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _same_values(one: Sequence[SSAValue], other: Sequence[SSAValue]) -> bool:
    return all(a.type == b.type and a.name_hint == b.name_hint for a, b in zip(one, other, strict=True))
