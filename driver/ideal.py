"""`run --ideal issue,fetch`: the latency of the same program on machines on which a cost is nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ..backend_sim.target.document import closest
from ..backend_sim.target.ideal import IDEAL
from ..dialects.errors import Sources, fail
from .command_line import word_place
from .execution import Executed, execute


def costs_of(text: str, sources: Sources) -> tuple[str, ...]:
    """The costs that the command line names, each once. Raises AhbmcError for one that there is not."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in IDEAL:
            close = closest(name, list(IDEAL))
            hint = f"did you mean `{close}`?" if close else "docs/study.md says what each means"
            message = f"`{name}` is no cost that can be ideal; there are {', '.join(IDEAL)}"
            raise fail(message, word_place(sources, text), hint=hint)
    return tuple(dict.fromkeys(names))


def ideal_latencies(executed: Executed, costs: Sequence[str]) -> dict[str, int]:
    """The latency in ps without each of `costs`, and if they are several also without all of them (`issue,fetch`)."""
    chosen = [(name,) for name in costs] + ([tuple(costs)] if len(costs) > 1 else [])
    found: dict[str, int] = {}
    for names in chosen:
        machine = executed.machine
        for name in names:
            machine = IDEAL[name].without(machine)
        run = execute(executed.compiled, executed.bound, machine, values=False)
        found[",".join(names)] = run.execution.latency_ps
    return found
