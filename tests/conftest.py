"""Collects the FileCheck files: every `tests/filecheck/**/*.{mlir,py,yaml}` with RUN lines is a test."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import runline  # noqa: E402  (tests are no package: the line above makes it importable)
from ahbmc.driver import opt  # noqa: E402


def _ahbmc(argv: Sequence[str]) -> int:
    from ahbmc.driver import main  # loads much: only for the files that call it

    return main.main(argv)


TOOLS: dict[str, runline.Tool] = {"ahbmc-opt": opt.main, "ahbmc": _ahbmc}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the outputs that documents show anew")


@pytest.fixture
def compile_anew() -> Iterator[None]:
    """Nothing that was compiled before, such as with a fault, is used again, nor what this test compiles."""
    from ahbmc.driver.compile_cache import forget

    forget()
    yield
    forget()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much the generated kernels were checked."""
    found = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", ())
        if name == "generated kernels"
    ]
    if found:
        kernels, passes, compared = (sum(column) for column in zip(*found, strict=True))
        terminalreporter.write_line(
            f"{kernels} generated kernels kept their values: {passes:,} passes, {compared:,} comparisons"
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix in (".mlir", ".py", ".yaml") and HERE / "filecheck" in file_path.parents:
        # pytest declares the keywords of `from_parent` without types.
        return RunLineFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
    return None


class RunLineFile(pytest.File):
    """One FileCheck file; its one item runs all its RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        commands = runline.run_lines(self.path.read_text(encoding="utf-8"))
        if commands:
            yield RunLineItem.from_parent(  # pyright: ignore[reportUnknownMemberType]
                self, name=self.path.stem, commands=commands
            )


class RunLineItem(pytest.Item):
    """The RUN lines of one file, in order."""

    def __init__(self, *, commands: list[str], **kwargs: object):
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.commands = commands

    def runtest(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            for command in self.commands:
                result = runline.run(command, self.path, TOOLS, Path(scratch))
                if result.code:
                    raise RunLineError(result.err)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        return str(excinfo.value) if isinstance(excinfo.value, RunLineError) else str(excinfo.getrepr())

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, 0, str(self.path.relative_to(HERE))


class RunLineError(Exception):
    """A RUN line whose status was not the expected one; the text says which and shows its outputs."""
