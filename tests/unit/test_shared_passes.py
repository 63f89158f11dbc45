"""Pipelines that share what passes make of a kernel: modules as when each is compiled alone, passes run once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ahbmc.dialects.errors import AhbmcError
from ahbmc.dialects.text import print_module
from ahbmc.driver.ablation import Passes, ablate
from ahbmc.driver.lowering import Request, compile_request
from ahbmc.driver.prepare import prepare
from ahbmc.driver.shared_passes import SharedPasses
from ahbmc.driver.variants import Trials
from ahbmc.driver.workload import load
from ahbmc.passes.canonicalize import CanonicalizePass
from ahbmc.passes.pipeline_text import single_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = (
    "normalise-loops,raise-regions,raise-k-loops,match-recipes,form-composites,lower-to-commands,expand-recipes,"
    "allocate-scratch,tile-composites"
)


def request_of(name: str, *settings: str) -> Request:
    (request,) = prepare(load(EXAMPLES / f"{name}.yaml", settings), None, None).requests
    return request


def without_each(pipeline: str) -> Iterator[str]:
    """The pipeline, and it without each of its passes."""
    passes = single_passes(pipeline)
    yield pipeline
    for i in range(len(passes)):
        yield ",".join((*passes[:i], *passes[i + 1 :]))


@pytest.mark.parametrize("name", ["flash_attention", "softmax"])
def test_modules_are_those_of_compiling_alone(name: str) -> None:
    """To the last location and name; what is refused is refused alike."""
    request, shared = request_of(name), SharedPasses()
    for pipeline in without_each(SHORT):
        each = replace(request, pipeline=pipeline)
        try:
            alone = compile_request(each)
        except AhbmcError as error:
            with pytest.raises(AhbmcError) as found:
                shared.compile_all([each])
            assert str(found.value) == str(error)
            continue
        (found,) = shared.compile_all([each])
        assert print_module(found.module, locations=True) == print_module(alone.module, locations=True)
        assert found.writes == alone.writes


def test_an_ablation_is_that_of_variants_apart() -> None:
    """Every step has the parts, the lines or the refusal of a run of its own."""
    file, settings = str(EXAMPLES / "gemm_load_ref.yaml"), ("args.K=200",)
    trials = Trials(file, timing_only=True, shared=True)
    found = ablate(Passes(trials, single_passes(SHORT), settings))
    for variant in (found.whole, found.least, *(step.variant for step in (*found.left_out, *found.added))):
        alone = Trials(file, timing_only=True).run(variant.pipeline, settings)
        assert variant.refusal == alone.refusal
        if variant.measured is not None and alone.measured is not None:
            assert variant.measured.parts == alone.measured.parts
            assert variant.measured.lines == alone.measured.lines


def test_a_pass_runs_once_on_the_same_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelines with the same beginning, and a pass that changes nothing in between."""
    runs: list[ModuleOp] = []
    apply = CanonicalizePass.apply

    def counted(self: CanonicalizePass, ctx: Context, op: ModuleOp) -> None:
        runs.append(op)
        apply(self, ctx, op)

    monkeypatch.setattr(CanonicalizePass, "apply", counted)
    request, shared = request_of("vector_add"), SharedPasses()
    primitive = ",".join(single_passes("primitive"))
    shared.compile_all([replace(request, pipeline=primitive)])
    once = len(runs)
    shared.compile_all([replace(request, pipeline=f"{primitive},check-limits")])
    shared.compile_all([replace(request, pipeline=primitive.replace("dot-accumulate,", "")) for _ in range(2)])
    assert once > 0 and len(runs) == once
