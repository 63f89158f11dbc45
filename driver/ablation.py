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


class Passes:
    """The passes of one pipeline, of which subsets are run on one workload; `advance` is called after each run."""

    def __init__(
        self,
        trials: Trials,
        passes: Sequence[str],
        settings: tuple[str, ...] = (),
        advance: Callable[[], None] = lambda: None,
    ):
        self.trials = trials
        self.passes = passes
        self.settings = settings
        self.advance = advance
        self.names = names_of(passes)

    def run(self, chosen: Sequence[int]) -> Variant:
        """The pipeline of the passes with these numbers."""
        variant = self.trials.run(",".join(self.passes[i] for i in chosen), self.settings)
        self.advance()
        return variant

    def whole(self) -> Variant:
        """The whole pipeline. Raises its error if it does not run."""
        whole = self.run(range(len(self.passes)))
        if whole.measured is None:
            assert whole.error is not None
            raise whole.error
        return whole

    def without(self, number: int) -> Variant:
        """All passes but one."""
        return self.run([n for n in range(len(self.passes)) if n != number])

    def least(self) -> list[int]:
        """The numbers of the passes that stay: those without which the others do not run, and of those that stand in
        for each other the last.
        """
        least = list(range(len(self.passes)))
        optional = [i for i in least if self.without(i).ran]
        needed = [i for i in least if i not in optional]
        if needed and self.run(needed).ran:
            return needed
        for i in optional:
            if self.run(fewer := [n for n in least if n != i]).ran:
                least = fewer
        return least

    def added(self, least: Sequence[int]) -> tuple[Variant, tuple[Step, ...]]:
        """The passes `least`, which must run, and the others added to them one after another."""
        base = self.run(least)
        if base.measured is None:
            assert base.error is not None
            raise base.error
        added: list[Step] = []
        chosen, before = list(least), base.measured
        for i, name in enumerate(self.names):
            if i not in least:
                chosen = sorted([*chosen, i])
                step = Step(name, self.run(chosen), before)
                added.append(step)
                before = step.variant.measured or before
        return base, tuple(added)


def ablate(passes: Passes) -> Ablation:
    """Study every pass of a pipeline, which takes two or three runs for each. Raises the error of the whole pipeline if
    that does not run.
    """
    whole = passes.whole()
    assert whole.measured is not None
    left_out = [Step(name, passes.without(i), whole.measured) for i, name in enumerate(passes.names)]
    base, added = passes.added(passes.least())
    return Ablation(whole, tuple(left_out), base, added)
