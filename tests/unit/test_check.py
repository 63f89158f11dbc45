"""`ahbmc check`: which kernels it finds, what it says of each, and that no kernel stops it."""

from __future__ import annotations

import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from ahbmc.driver.main import main
from ahbmc.driver.workers import Lost, pool

GOOD = """\
import triton
import triton.language as tl
from .moved import shifted


@triton.jit
def good(x_ptr, y_ptr, n, B: tl.constexpr):
    offs = shifted(tl.program_id(0) * B, B)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def wrong(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), missing)


@triton.jit
def refused(x_ptr, B: tl.constexpr):
    for i in range(B):
        break
"""
MOVED = """\
import triton
import triton.language as tl


@triton.jit
def shifted(start, B: tl.constexpr):
    return start + tl.arange(0, B)
"""
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "B": "constexpr"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder `src/pack` with a file of kernels and one that it imports."""
    folder = tmp_path / "src" / "pack"
    folder.mkdir(parents=True)
    (folder / "good.py").write_text(GOOD, encoding="utf-8")
    (folder / "moved.py").write_text(MOVED, encoding="utf-8")
    return tmp_path


def checked(*argv: str, folder: Path, status: int = 0) -> list[dict[str, Any]]:
    """The rows of `ahbmc check`."""
    out = folder / "rows.json"
    assert main(["check", *argv, "--json", str(out), "--jobs", "2"]) == status
    return json.loads(out.read_text(encoding="utf-8"))


def specs(folder: Path, *rows: dict[str, Any]) -> str:
    file = folder / "specs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_every_kernel_of_a_folder_is_a_row(project: Path) -> None:
    """Without specs: all jit functions that return nothing, under guessed signatures."""
    rows = {r["function"]: r for r in checked(str(project), folder=project)}
    assert rows["good"]["status"] == "compiled"
    assert rows["good"]["ms"] > 0
    assert (rows["wrong"]["status"], rows["wrong"]["line"]) == ("failed", 14)
    assert "undefined name 'missing'" in rows["wrong"]["reason"]
    assert (rows["refused"]["status"], rows["refused"]["line"]) == ("refused", 20)
    assert set(rows) == {"good", "wrong", "refused"}


def test_a_function_that_kernels_call_is_no_kernel_of_its_own(tmp_path: Path) -> None:
    """Unless it is launched too."""
    text = "import triton\n\n\n"
    for name, body in (("written", "pass"), ("both", "pass"), ("main", "written(x)\n    both(x)")):
        text += f"@triton.jit\ndef {name}(x):\n    {body}\n\n\n"
    (tmp_path / "k.py").write_text(f"{text}both[(1,)](3)\n", encoding="utf-8")
    assert [r["function"] for r in checked(str(tmp_path), folder=tmp_path)] == ["both", "main"]


def test_a_wheel_is_read_as_it_lies(project: Path, tmp_path: Path) -> None:
    """Kernels of a zip compile, with what they import from it."""
    wheel = tmp_path / "pack-1.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pack/good.py", GOOD)
        archive.writestr("pack/moved.py", MOVED)
    file = specs(
        tmp_path, {"path": "src/pack/good.py", "function": "good", "signature": SIGNATURE, "constexprs": {"B": 16}}
    )
    (row,) = checked(str(wheel), "--specs", file, folder=tmp_path)
    assert (row["status"], row["path"], row["function"]) == ("compiled", "src/pack/good.py", "good")


def test_rows_come_in_the_order_of_the_specs(project: Path) -> None:
    """A row without a file or a function is missing; extra keys are allowed; functions may have an owner."""
    good = {"path": "pack/good.py", "function": "good", "signature": SIGNATURE, "constexprs": {"B": 16}, "loc": 3}
    file = specs(
        project,
        {"path": "other/nowhere.py", "function": "good", "signature": {}},
        {"path": "pack/good.py", "function": "gone", "signature": {}},
        good,
        {**good, "function": "owner.good"},
        {**good, "constexprs": {"B": 17}},
    )
    rows = checked(str(project), "--specs", file, folder=project)
    assert [r["status"] for r in rows] == ["missing", "missing", "compiled", "compiled", "failed"]
    assert "power of two" in rows[-1]["reason"]


def test_fail_under(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The share of compiled kernels decides the exit status, and the table says why the others failed."""
    checked(str(project), "--fail-under", "0.3", folder=project)
    checked(str(project), "--fail-under", "0.9", folder=project, status=3)
    out = capsys.readouterr().out
    assert "1 of 3 kernels compile (33.3%); 1 failed, 1 refused, 0 missing" in out
    assert "undefined name" in out


def test_a_file_that_falls_apart_is_a_row(tmp_path: Path) -> None:
    """An open bracket anywhere in a file is that file's failure alone."""
    (tmp_path / "bad.py").write_text("@triton.jit\ndef k(x:\n    pass\n", encoding="utf-8")
    (row,) = checked(str(tmp_path), folder=tmp_path)
    assert (row["status"], row["line"]) == ("failed", 2)
    assert "never closed" in row["reason"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nowhere"], "there is no file or folder nowhere"),
        ([".", "--specs", "bad.jsonl"], "no kernel on this line"),
        (["empty"], "no jit kernel"),
        (["broken.whl"], "broken.whl cannot be read"),
    ],
)
def test_what_is_wrong_with_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    """Paths without kernels and specs that are none are errors of the user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.whl").write_text("no zip", encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"path": 3}\n', encoding="utf-8")
    assert main(["check", *argv]) == 1
    assert message in capsys.readouterr().err


def _work(task: int) -> int:
    if task == 1:
        os._exit(7)
    if task == 3:
        while True:
            pass
    if task == 5:
        time.sleep(60)
    return task * task


def test_a_task_that_dies_or_takes_too_long_is_lost_alone() -> None:
    """The tasks around it have their results, in its group too."""
    with pool(_work, [[0, 1, 2], [3, 4], [5]], 2, limit_s=0.2) as workers:
        results = dict(workers.results())
    assert {n: r for n, r in results.items() if not isinstance(r, Lost)} == {0: 0, 2: 4, 4: 16}
    assert results[1] == Lost("the compiling process died (exit status 7)")
    assert results[3] == results[5] == Lost("it takes longer than the limit of 0.2 s")
