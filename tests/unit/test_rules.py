"""`docs/rules.md` has every rule of `tests/filecheck/rules` with its cases, and each rule has one that shows it and one
that breaks it.

`pytest --update tests/unit/test_rules.py` writes the table of the page anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import runline

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rules.md"
FOLDER = ROOT / "tests" / "filecheck" / "rules"
FILES = sorted(path for path in FOLDER.iterdir() if re.match(r"\d\d-", path.name))
CASE = re.compile(r"(?:func\.func @|def )((shows|breaks)\w*)\(")


def rule_of(text: str) -> str:
    """The sentence that a file begins with."""
    lines = text.partition("\n\n")[0].splitlines()
    return " ".join(line.lstrip("/#").strip() for line in lines)


def cases_of(path: Path, what: str) -> str:
    """Links to the cases of a file that show its rule, or break it."""
    found = [
        f"[{match[1]}](../{path.relative_to(ROOT)}#L{number})"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := CASE.match(line)) and match[2] == what
    ]
    return ", ".join(found)


def table() -> str:
    lines = ["| | rule | holds | broken |", "|---|---|---|---|"]
    for path in FILES:
        rule = rule_of(path.read_text(encoding="utf-8"))
        lines.append(f"| {int(path.name[:2])} | {rule} | {cases_of(path, 'shows')} | {cases_of(path, 'breaks')} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_every_rule_with_its_cases(pytestconfig: pytest.Config) -> None:
    """The table is what the files say: their sentences, and links to the lines of their cases."""
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.index("| | rule |")]
    if pytestconfig.getoption("--update"):
        PAGE.write_text(head + table(), encoding="utf-8")
    else:
        assert text == head + table()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_has_both_cases_and_both_are_run(path: Path) -> None:
    """It begins with a sentence; each case is named by a command, or all of the file is read."""
    text = path.read_text(encoding="utf-8")
    assert rule_of(text).endswith((".", ")"))
    assert cases_of(path, "shows") and cases_of(path, "breaks")
    commands = runline.run_lines(text)
    whole = [command for command in commands if "::" not in command and "--kernel" not in command]
    for name, _ in CASE.findall(text):
        assert whole or any(re.search(rf"(::|--kernel ){name}\b", command) for command in commands), name


def test_rules_are_numbered_in_turn() -> None:
    assert [int(path.name[:2]) for path in FILES] == list(range(1, len(FILES) + 1))
