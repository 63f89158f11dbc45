"""The kernels of the recipes among the examples: each matches its recipe, and its values are those by numpy under every
pipeline.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.driver.run import run_workload
from ahbmc.passes.pipelines import PIPELINES
from ahbmc.passes.recipes import RECIPES

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [name for name in RECIPES if name != "softmax_merge"]


@pytest.mark.parametrize("name", NAMES)
def test_two_kernels_of_a_recipe_match_it_and_keep_their_values(name: str) -> None:
    for pipeline in PIPELINES:
        found = run_workload(EXAMPLES / f"{name}.yaml", pipeline=pipeline).summary()
        assert found["check"] == "pass", pipeline
        matched = [r for r in found["remarks"] if r["subject"] == "recipe" and r["outcome"] == "matched"]
        recipes = pipeline in ("fused", "pipelined", "auto")
        assert [r["reason"] for r in matched] == [name] * (2 if recipes else 0), pipeline
