"""Pipelines that have passes in common, compiled: a pass runs once on the same IR, whichever pipeline it stands in.

This is for studies of passes, whose pipelines differ by one pass each. What passes make of a kernel is a graph of
states: two ways that lead to the same IR go on as one, so that a pass that changes nothing costs no more.
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
    """A module, which is never changed, and what passes make of it (a state, or the fault that they find)."""

    module: ModuleOp
    after: dict[ModulePass, _State | AhbmcError] = field(default_factory=dict["ModulePass", "_State | AhbmcError"])
    compiled: Compiled | None = None


class SharedPasses:
    """Compiles requests; equal states of one request, its pipeline aside, are one."""

    def __init__(self) -> None:
        self._starts: dict[str, tuple[_State, tuple[str, ...]]] = {}
        self._states: dict[tuple[str, ...], list[_State]] = {}
        self._context = new_context()

    def compile_all(self, requests: Sequence[Request]) -> tuple[Compiled, ...]:
        """Every request compiled down to `pe`; those that come down to the same IR give the same objects."""
        return tuple(map(self._compiled, requests))

    def _compiled(self, request: Request) -> Compiled:
        start = time.perf_counter()
        passes = build_pipeline(request.pipeline, request.options, request.pipeline_place)
        state, writes = self._start(request)
        for each in passes_for(passes) if request.kernel.is_commands else passes:
            state = self._after(state, each)
        if state.compiled is None:
            try:
                verify(state.module)
            except AhbmcError:
                return compile_request(request)  # it says which pass left this
            state.compiled = Compiled(state.module, writes, time.perf_counter() - start)
        return state.compiled

    def _start(self, request: Request) -> tuple[_State, tuple[str, ...]]:
        key = key_of(replace(request, pipeline=""))
        if key not in self._starts:
            module, names = front(request), list(request.signature)
            verify(module)
            writes = tuple(names[i] for i in written_arguments(function_of(module)))
            self._starts[key] = self._state(module), writes
        return self._starts[key]

    def _after(self, state: _State, each: ModulePass) -> _State:
        if each not in state.after:
            module = state.module.clone()
            try:
                each.apply(self._context, module)
                state.after[each] = self._state(module)
            except AhbmcError as error:
                state.after[each] = error
        found = state.after[each]
        if isinstance(found, AhbmcError):
            raise found
        return found

    def _state(self, module: ModuleOp) -> _State:
        """The state of this module: one that has been reached before if it is the same IR."""
        alike = self._states.setdefault(tuple(op.name for op in module.walk()), [])
        for state in alike:
            if same_ir(state.module, module):
                return state
        alike.append(_State(module))
        return alike[-1]


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
