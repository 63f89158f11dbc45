"""What each pass of a pipeline does to a workload: left out of the whole pipeline, and added to the least that lowers.

The change that a pass makes is told by the parts of the attribution: their differences add up to that of the latency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .variants import Measured, Trials, Variant


@dataclass(frozen=True)
class Step:
    """One pass more or less: the variant with the change, and the figures `before` it."""

    name: str
    variant: Variant
    before: Measured

    @property
    def change(self) -> dict[str, int] | None:
        """Difference of each part of the latency in ps; None if the variant has no figures."""
        return self.variant.measured.change_from(self.before) if self.variant.measured is not None else None


@dataclass(frozen=True)
class Ablation:
    """`left_out` compares with the whole pipeline, each of `added` with all before it that ran, the first with `least`:
    the passes without which nothing runs.
    """

    whole: Variant
    left_out: tuple[Step, ...]
    least: Variant
    added: tuple[Step, ...]


def names_of(passes: Sequence[str]) -> list[str]:
    """A name for each pass of a pipeline; of a pass that stands there more than once also which it is."""
    bare = [each.partition("{")[0] for each in passes]
    return [f"{name} #{bare[: i + 1].count(name)}" if bare.count(name) > 1 else name for i, name in enumerate(bare)]


def ablate(
    trials: Trials, passes: Sequence[str], settings: tuple[str, ...], advance: Callable[[], None] = lambda: None
) -> Ablation:
    """Study every pass of the pipeline `passes`, which takes about three runs for each (`advance` is called after each
    run). Raises the error of the whole pipeline if that does not run.
    """
    names = names_of(passes)

    def run(chosen: Sequence[int]) -> Variant:
        variant = trials.run(",".join(passes[i] for i in chosen), settings)
        advance()
        return variant

    numbers = list(range(len(passes)))
    whole = run(numbers)
    if whole.measured is None:
        assert whole.error is not None
        raise whole.error
    left_out = [Step(names[i], run([n for n in numbers if n != i]), whole.measured) for i in numbers]
    least = numbers
    for i in numbers:
        if left_out[i].variant.ran and run(fewer := [n for n in least if n != i]).ran:
            least = fewer
    base = run(least)
    assert base.measured is not None, "the least pipeline is one that ran"
    added: list[Step] = []
    chosen, before = least, base.measured
    for i in numbers:
        if i not in least:
            chosen = sorted([*chosen, i])
            step = Step(names[i], run(chosen), before)
            added.append(step)
            before = step.variant.measured or before
    return Ablation(whole, tuple(left_out), base, tuple(added))
