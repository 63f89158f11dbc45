"""The tutorial runs: its files are written, its commands executed in order, and what they print is what it shows.

`pytest --update tests/unit/test_write_a_pass.py` writes what they print now into the page.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import runline
from ahbmc.driver import main, opt
from ahbmc.driver.outermost import CHECK_FAILED

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "write_a_pass.md"
FENCE = re.compile(r"^```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?P<command>[^\n]*)\n(?P<output>(?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)


class Tools(dict[str, runline.Tool]):
    """`ahbmc` and `ahbmc-opt` run in this process, whatever else is named as a program of the host."""

    def __missing__(self, name: str) -> runline.Tool:
        def native(arguments: Sequence[str]) -> int:
            done = subprocess.run(
                [name, *arguments], input=sys.stdin.read(), capture_output=True, text=True, check=False
            )
            sys.stdout.write(done.stdout)
            sys.stderr.write(done.stderr)
            return done.returncode

        return native


TOOLS = Tools({"ahbmc": main.main, "ahbmc-opt": opt.main})


def shown(command: str) -> str:
    """What a terminal shows of a command: both outputs of the last stage of a pipe; `> F` goes to a file."""
    words = shlex.split(command)
    target = words[-1] if words[-2:-1] == [">"] else None
    stages = runline.stages(words[:-2] if target else words)
    text = ""
    for stage in stages:
        name, *arguments = stage
        result = runline.run_stage(name, [word for word in arguments if word != "2>&1"], TOOLS, text)
        if name in TOOLS and result.code not in (0, CHECK_FAILED):
            pytest.fail(f"$ {command}\n{result.err}")
        text = result.out + (result.err if "2>&1" in stage or stage is stages[-1] else "")
    if target is None:
        return "".join(line.rstrip() + "\n" for line in text.rstrip().splitlines())
    Path(target).write_text(text, encoding="utf-8")
    return ""


def executed(text: str) -> str:
    """A block of commands with what they print now."""
    return "".join(f"$ {found['command']}\n{shown(found['command'])}" for found in COMMAND.finditer(text))


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ahbmc").symlink_to(ROOT)
    page = PAGE.read_text(encoding="utf-8")
    now = io.StringIO()
    end = 0
    for fence in FENCE.finditer(page):
        if fence["file"]:
            Path(fence["file"]).write_text(fence["text"], encoding="utf-8")
        elif fence["kind"] == "console":
            now.write(page[end : fence.start("text")] + executed(fence["text"]))
            end = fence.end("text")
    now.write(page[end:])
    if pytestconfig.getoption("--update"):
        PAGE.write_text(now.getvalue(), encoding="utf-8")
    else:
        assert now.getvalue() == page


def test_its_files_and_commands_are_found() -> None:
    """The page is not empty of what the test above runs."""
    page = PAGE.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(page))
    assert {"contract_fma.py", "contract-fma.mlir"} <= {fence["file"] for fence in fences}
    commands = [each["command"] for fence in fences for each in COMMAND.finditer(fence["text"])]
    assert {"study", "bisect", "run", "passes"} <= {command.split()[1] for command in commands}
