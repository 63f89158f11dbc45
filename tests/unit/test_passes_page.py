"""The page of the passes: each pass has an example that it changes, and what the page leads to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ahbmc.driver.listing import pass_manual
from ahbmc.driver.passes_page import EFFECTS, example_of, outcomes, passes_page
from ahbmc.passes import PASS_NAMES
from ahbmc.passes.pipelines import ABOUT, PIPELINES
from ahbmc.passes.recipes import RECIPES

ROOT = Path(__file__).parents[2]
OP = re.compile(r"\b(?:tl|ahbm|pe|scf|arith|math)\.[a-z_0-9]+")
CASES = ROOT / "tests" / "filecheck" / "passes"


@pytest.mark.parametrize("name", [name for name in PASS_NAMES if not name.startswith("check-")])
def test_the_example_of_a_pass_is_changed_by_it(name: str) -> None:
    """The first case of its test file says what changes, in a sentence, and its IR is another afterwards."""
    example = example_of(CASES / f"{name}.mlir")
    assert re.search(rf"\b{name}\b", example.pipeline)
    assert example.about.endswith(".")
    assert example.before.startswith("func.func")
    assert example.after.startswith("func.func")
    assert example.after != example.before
    assert "CHECK" not in example.before


@pytest.mark.parametrize("name", [name for name in PASS_NAMES if not name.startswith("check-")])
def test_the_manual_shows_ops_of_the_example(name: str) -> None:
    """Before and after in the manual are the example in short: each op that they name is in it at that time."""
    shown = re.search(r"^before: (.*?)^after: (.*?)\n\n", pass_manual(name), re.MULTILINE | re.DOTALL)
    assert shown is not None
    example = example_of(CASES / f"{name}.mlir")
    for manual, ir in ((shown[1], example.before), (shown[2], example.after)):
        assert set(OP.findall(manual)) - set(OP.findall(ir)) == set()


def test_remarks_are_those_that_the_pass_makes() -> None:
    """The subjects of a pass's remarks on its test file with all their outcomes; a pass without remarks has none."""
    assert outcomes(CASES / "raise-k-loops.mlir", "raise-k-loops") == ["dot raised, refused"]
    assert outcomes(CASES / "licm.mlir", "licm") == []


def test_effects_and_pipelines_are_of_what_there_is() -> None:
    assert set(EFFECTS) <= set(PASS_NAMES)
    assert all(
        (ROOT / "examples" / f"{example}.yaml").is_file() for example in {shown.example for shown in EFFECTS.values()}
    )
    assert {shown.pipeline for shown in EFFECTS.values()} <= set(PIPELINES) == set(ABOUT)


def test_the_page_has_every_pass_and_its_links_lead_somewhere() -> None:
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert re.findall(r"^### Recipe (\S+)$", page, re.MULTILINE) == list(RECIPES)
    assert sections == list(PASS_NAMES)
    links = set(re.findall(r"\]\(([^)]+)\)", page))
    anchors = {link.removeprefix("#") for link in links if link.startswith("#")}
    assert anchors <= set(sections)
    assert [link for link in links if not link.startswith("#") and not (ROOT / "docs" / link).exists()] == []


@pytest.mark.slow
def test_the_committed_page_is_current(pytestconfig: pytest.Config) -> None:
    """IR and latencies are those of now. To mend a failure: `python -m ahbmc.driver.schema docs`, or `--update`."""
    page = ROOT / "docs" / "passes.md"
    now, committed = passes_page(ROOT), page.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update"):
        page.write_text(now, encoding="utf-8")
        return
    other = [line for line in now.splitlines() if line not in set(committed.splitlines())]
    assert now == committed, f"run `python -m ahbmc.driver.schema docs`; other lines: {other[:5]}"
