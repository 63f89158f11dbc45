"""200 generated kernels: right by numpy, and the same values after every pass of every pipeline.

The kernels are the same in every run; change the seeds and raise the numbers to search. A failing one is printed as it
is: to make it smaller takes minutes. How much was checked is a line of pytest's summary (`conftest.py`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from ahbmc.dialects import ahbm
from ahbmc.passes.allocate_scratch import AllocateScratchPass
from ahbmc.passes.pipelines import PIPELINES
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support_generated import Program, accesses, attention, lane_wise, products
from support_values import EveryPipeline, Tally, assert_close, reference_values
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64


def writes(program: Program) -> bool:
    """Whether a kernel writes anything: masks may leave nothing."""
    return any(not np.array_equal(v, program.case.arguments[n]) for n, v in program.expected.items())


FAMILIES: dict[str, tuple[st.SearchStrategy[Program], int]] = {
    "lane-wise programs": (lane_wise(), 76),
    "accesses": (accesses().filter(writes), 76),
    "products": (products(), 16),
    "more products": (products(), 16),
    "attention": (attention(), 16),
}


@pytest.fixture(autouse=True)
def fewer_collections() -> Iterator[None]:
    """IR is full of circles that die together; to look for them seldom saves a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    yield
    gc.set_threshold(*before)


def drawn(family: str) -> list[Program]:
    """The kernels of a family, the same each time."""
    strategy, count = FAMILIES[family]
    found: list[Program] = []

    def keep(program: Program) -> None:
        found.append(program)

    options = settings(
        max_examples=count,
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    seed(list(FAMILIES).index(family))(options(given(strategy)(keep)))()
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_kernels_keep_their_values(family: str, record_property: Callable[[str, object], None]) -> None:
    tally = Tally()
    every = EveryPipeline(tuple(PIPELINES), tally)
    for program in drawn(family):
        try:
            assert_close(reference_values(program.case), program.expected, "by numpy")
            every.check(program.case)
        except AssertionError:
            sys.stderr.write(f"{program}\n")
            raise
    assert tally.kernels == FAMILIES[family][1]
    record_property("generated kernels", [tally.kernels, tally.passes, tally.compared])


def test_a_pass_that_changes_values_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All buffers at one place: the first pipeline to get there says after which pass."""
    right = AllocateScratchPass.apply

    def wrong(self: AllocateScratchPass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        for alloc in (each for each in op.walk() if isinstance(each, ahbm.AllocOp)):
            alloc.properties["offset"] = IntegerAttr(0, i64)

    monkeypatch.setattr(AllocateScratchPass, "apply", wrong)
    with pytest.raises(AssertionError, match="after allocate-scratch"):
        EveryPipeline(tuple(PIPELINES), Tally()).check(drawn("products")[-1].case)
