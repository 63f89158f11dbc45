"""What the quick commands load: times depend on the host, what is imported does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A quarter of a second for xDSL, a tenth for numpy, on an idle core: too much for a list of names.
SLOW = ("lark", "matplotlib", "ml_dtypes", "numpy", "rich", "simpy", "xdsl")


def loaded(program: str, arguments: list[str]) -> list[str]:
    """The slow libraries that a program has loaded when it ends."""
    script = (
        "import sys, contextlib, io\n"
        f"from ahbmc.driver.{program} import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({arguments!r})\n"
        f"print(*[m for m in {SLOW!r} if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["probe", "--help"], ["passes"], ["pipelines"], ["machines"]]
)
def test_help_and_lists_load_nothing_slow(arguments: list[str]) -> None:
    """`ahbmc --help`, `passes`, `pipelines` and `machines` answer at once."""
    assert loaded("main", arguments) == []


def test_help_of_opt_loads_nothing_slow() -> None:
    """`ahbmc-opt --help` too."""
    assert loaded("opt", ["--help"]) == []


def test_ir_is_read_without_frontend_and_simulator(tmp_path: Path) -> None:
    """Of what is slow, `ahbmc-opt FILE.mlir` needs xDSL alone."""
    (tmp_path / "a.mlir").write_text("tl.cycles {cycles = 1 : i64}")
    assert loaded("opt", [str(tmp_path / "a.mlir"), "-p", "cse"]) == ["xdsl"]
