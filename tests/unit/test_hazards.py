"""Who is in flight that a command waits for: all who use its bytes, back to the one who wrote all of them."""

from __future__ import annotations

from ahbmc.backend_sim.engine.commands import Range
from ahbmc.backend_sim.engine.hazards import Flights
from ahbmc.backend_sim.engine.paths import Completion


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
