"""The README runs: its example prints what it shows, its commands are those of the CI script.

`pytest --update tests/unit/test_readme.py` writes what the example prints now into the README.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from ahbmc.driver import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BIN = ".venv/bin/"
EXAMPLE = re.compile(r"^```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    """The command is run, its output compared but for the errors of the values, which depend on the host's BLAS."""
    monkeypatch.chdir(ROOT)
    text = README.read_text(encoding="utf-8")
    (example,) = EXAMPLE.finditer(text)
    assert main.main(shlex.split(example["command"].removeprefix(BIN))[1:]) == 0
    printed = "".join(line.rstrip() + "\n" for line in capsys.readouterr().out.rstrip().splitlines())
    if pytestconfig.getoption("--update"):
        README.write_text(text[: example.start("output")] + printed + text[example.end("output") :], encoding="utf-8")
    else:
        assert _without_errors(example["output"]) == _without_errors(printed)


def _without_errors(report: str) -> str:
    return re.sub(r"[\d.e-]+ absolute, [\d.e-]+ relative *", "ERRORS ", report)


def test_the_ci_script_runs_the_commands_of_the_readme() -> None:
    """Two commands to run the main job, which is the example's, and two to pass the tests, which are the script's."""
    text = README.read_text(encoding="utf-8")
    (_, run), (install, tests) = (block.strip().splitlines() for block in COMMANDS.findall(text))
    (example,) = EXAMPLE.finditer(text)
    assert run == example["command"]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    make, _, fill = install.partition(" && ")
    assert make in script
    assert fill in script
    assert f"step {tests}\n" in script


def test_the_readme_leads_to_what_there_is() -> None:
    """Its links, the files at which each step begins, the folders of the package, and the commands."""
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    steps = re.findall(r"^\|[^|]+\| `([\w/]+/)` \| ([^|]+) \|$", text, re.MULTILINE)
    begins = [folder + file for folder, files in steps for file in re.findall(r"`([^`]+)`", files)]
    assert len(links) > 3 and len(begins) > 10
    assert [path for path in (*links, *begins) if not (ROOT / path).exists()] == []
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders - {folder.split("/")[0] for folder, _ in steps} == set()
    table = re.findall(r"^\| `ahbmc (.*?) \|", text, re.MULTILINE)
    named = {word for row in table for word in re.findall(r"(?:^|`, `)(\w+)", row)}
    assert named == set(re.findall(r"^    (\w+)", main.argument_parser().format_help(), re.MULTILINE))
