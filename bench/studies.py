"""Runs the studies of `examples/studies/` and writes their tables into `docs/studies.md`, their pictures beside it.

`python bench/studies.py [NAME ...]` takes about a minute for all; names are those of the study files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ahbmc.backend_sim.analysis.plots import picture
from ahbmc.backend_sim.analysis.report import text
from ahbmc.dialects.errors import Sources
from ahbmc.driver.study import study_of
from ahbmc.driver.study_figures import figures
from ahbmc.driver.study_tables import over_points

ROOT = Path(__file__).parents[1]
STUDIES, PAGE, PICTURES = ROOT / "examples" / "studies", ROOT / "docs" / "studies.md", ROOT / "docs" / "studies"


def tables(name: str) -> re.Pattern[str]:
    """The tables of a study on the page: the text below its picture."""
    return re.compile(rf"(?<=\(studies/{name}\.svg\)\n\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def main(names: list[str]) -> int:
    for name in names or sorted(path.stem for path in STUDIES.glob("*.yaml")):
        study = study_of([str(STUDIES / f"{name}.yaml")], timing_only=True, sources=Sources())
        drawn = figures(study)
        (PICTURES / f"{name}.svg").write_text(picture(drawn), encoding="utf-8")
        shown = "\n".join(text(over_points(figure)) for figure in drawn)
        page, count = tables(name).subn(lambda _, shown=shown: shown, PAGE.read_text(encoding="utf-8"), count=1)
        assert count == 1, f"docs/studies.md has no picture and table of {name}"
        PAGE.write_text(page, encoding="utf-8")
        print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
