"""Who is in flight that a command waits for: all who use its bytes, back to the one who wrote all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from ahbmc.backend_sim.engine.commands import Command, Range
from ahbmc.backend_sim.engine.hazards import Flights
from ahbmc.backend_sim.engine.paths import Completion
from ahbmc.backend_sim.memory import FIRST_ADDRESS
from ahbmc.backend_sim.oplog import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st
from support_engine import Gemm, column, hbm, math, read, run, write


def flights(*commands: tuple[list[Range], list[Range]], scheduled: bool = True) -> tuple[Flights, list[Completion]]:
    """Commands in flight, each as (reads, writes)."""
    found, done = Flights(), [Completion(number) for number in range(len(commands))]
    for completion, (reads, writes) in zip(done, commands, strict=True):
        found.add(completion, reads, writes, scheduled=scheduled)
    return found, done


def test_the_last_writer_of_all_bytes_ends_the_search() -> None:
    """Whoever used them before has ended when that writer has: it waited for them."""
    found, (_, _, writer, reader) = flights(([], [(0, 8)]), ([(0, 8)], []), ([], [(0, 8)]), ([(4, 6)], []))
    assert found.writers([(2, 6)]) == [writer]
    assert found.users([(2, 6)]) == [writer, reader]


def test_a_writer_of_some_bytes_does_not() -> None:
    """The rest may be somebody else's; each range is looked up for itself, the oldest comes first."""
    found, (old, other, new) = flights(([], [(0, 8)]), ([], [(8, 16)]), ([], [(0, 4)]))
    assert found.writers([(2, 6)]) == [old, new]
    assert found.writers([(0, 4), (9, 10)]) == [other, new]
    assert found.writers([(16, 20)]) == []


def test_only_commands_of_the_kind_that_is_asked_for_end_the_search() -> None:
    found, (old,) = flights(([], [(0, 8)]), scheduled=False)
    new = Completion(1)
    found.add(new, [], [(0, 8)], scheduled=True)
    assert found.writers([(0, 8)], scheduled=False) == [old]
    assert found.writers([(0, 8)]) == [new]


def test_what_has_ended_is_forgotten() -> None:
    """At its end, not before; and it ends no search."""
    found, (old, new) = flights(([], [(0, 8)]), ([], [(0, 8)]))
    new.end = 50
    found.forget(49)
    assert found.writers([(0, 8)]) == [new]
    found.forget(50)
    assert found.writers([(0, 8)]) == [old]


def test_the_next_program_waits_for_scratch_only() -> None:
    """Programs of a launch do not depend on each other in HBM, whose addresses are far above those of the scratch."""
    hbm = (FIRST_ADDRESS, FIRST_ADDRESS + 64)
    found, (load, store) = flights(([hbm], [(0, 8)]), ([(8, 16)], [hbm]))
    assert found.users([hbm]) == [store]
    found.forget_hbm()
    assert found.users([hbm]) == []
    assert found.users([(0, 16)]) == [load, store]


BLOCKS = [(first, end) for first in (0, 8) for end in (first + 8, first + 12)]  # some of which overlap
PLACES = [part << 30 | at for part in range(3) for at in (0, 1 << 21)]  # where a composite's operands lie, and beside


Stage = tuple[tuple[Range, ...], tuple[Range, ...]]  # what an engine reads and writes


@dataclass(frozen=True)
class Drawn:
    """A command with the bytes that it uses; those of a composite by the engine that uses them first."""

    command: Command
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    stages: Mapping[str, Stage] = field(default_factory=dict[str, Stage])


@st.composite
def commands(draw: st.DrawFn) -> Drawn:
    """A load, a store, MATH, or a GEMM whose operands and output lie in TCM or HBM."""
    block = st.sampled_from(BLOCKS)
    into, of, at = draw(block), draw(block), draw(st.sampled_from(PLACES))
    match draw(st.sampled_from(["load", "store", "math", *["composite"] * 4])):
        case "load":
            size = draw(st.sampled_from([2048, 65536]))
            return Drawn(read(into, size, at=at), (hbm(at, size),), (into,))
        case "store":
            return Drawn(write(of, 2048, at=at), (of,), (hbm(at, 2048),))
        case "math":
            return Drawn(math(3000, [of], into), (of,), (into,))
        case _:
            a, b, out = (draw(st.booleans()) for _ in range(3))
            tail = draw(st.sampled_from([0, 60_000]))  # MATH on each output, so that stores of others might overtake
            base = draw(st.sampled_from([0, 2 << 30]))  # the output of one may be the a of another
            gemm = Gemm(64, 64, 32, a, b, out, out_math_ps=tail, a=of, b=draw(block), out=into, base=base)
            placed = [hbm(base + (part << 30), 1 << 20) for part in range(3)]
            streamed = tuple(p for p, yes in zip(placed, (a, b), strict=False) if yes)
            staged = tuple(p for p, yes in ((gemm.a, not a), (gemm.b, not b)) if yes)
            written = (placed[2] if out else into,)
            stages = {
                "dma_read": (streamed, ()),
                "fetch": (staged, ()),
                "dma_write" if out else "store": ((), written),
            }
            return Drawn(gemm.command(), (*streamed, *staged), written, stages)


def meet(some: Sequence[Range], others: Sequence[Range]) -> bool:
    return any(first < end_2 and first_2 < end for first, end in some for first_2, end_2 in others)


def waits(before: Drawn, reads: Sequence[Range], writes: Sequence[Range]) -> bool:
    """Read after write, write after write, write after read."""
    return meet(before.writes, (*reads, *writes)) or meet(before.reads, writes)


@pytest.mark.parametrize("exact", [False, True])
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(commands(), min_size=3, max_size=6))
def test_conflicting_commands_never_overlap(exact: bool, drawn: list[Drawn]) -> None:
    """By the op-log: whoever uses bytes that an earlier command changes, or changes bytes that it uses, comes when that
    has ended; of a composite the engine that uses them.
    """
    log = run([each.command for each in drawn], exact=exact)
    starts, ends = column(log, "start"), column(log, "end")
    first: dict[tuple[int, str], int] = {}
    for row in range(len(log.runs["record"])):
        record, engine, start = (int(log.runs[name][row]) for name in ("record", "engine", "start"))
        key = record, ENGINES[engine]
        first[key] = min(first.get(key, start), start)
    for later, each in enumerate(drawn):
        for earlier, before in enumerate(drawn[:later]):
            if not each.stages:
                assert starts[later] >= ends[earlier] or not waits(before, each.reads, each.writes)
            for engine, (reads, writes) in each.stages.items():
                if waits(before, reads, writes):
                    assert first[later, engine] >= ends[earlier]
