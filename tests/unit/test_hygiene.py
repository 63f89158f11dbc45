"""Rules about the tree itself: sizes, docstrings, layers, one test file per pass, two cases per op."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from ahbmc.dialects.text import new_context
from ahbmc.passes import PASS_NAMES, all_passes, class_name
from ahbmc.passes.pipelines import PIPELINES
from xdsl.ir import Operation

ROOT = Path(__file__).parents[2]
SOURCE_FOLDERS = ("backend_sim", "dialects", "driver", "frontend", "language", "passes")
MAX_LINES = 500
MAX_FUNCTION_LINES = 60
VAGUE_NAMES = ("utils", "util", "common", "helpers", "helper", "misc")


def sources() -> list[Path]:
    """The Python files of the package."""
    return sorted([*ROOT.glob("*.py"), *(p for folder in SOURCE_FOLDERS for p in (ROOT / folder).rglob("*.py"))])


def files_of_tests() -> list[Path]:
    return sorted((ROOT / "tests").rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_file_of_the_checkout_is_text() -> None:
    """A wheel, a picture or a log that a command left in the checkout is none of its files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / file for file in listed.stdout.decode().split("\0")[:-1]]
    assert [name(p) for p in paths if p.is_file() and b"\0" in p.read_bytes()] == []


def test_no_file_is_over_the_limit_of_lines() -> None:
    """One subject per file: a file over 500 lines holds several."""
    long = {
        name(p): n
        for p in [*sources(), *files_of_tests()]
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_no_function_is_over_the_limit_of_lines() -> None:
    """A function that does not fit a screen is several functions."""
    long = [
        f"{name(p)}:{f.lineno} {f.name}: {n} lines"
        for p in [*sources(), *files_of_tests()]
        for f in functions(p)
        if (n := (f.end_lineno or f.lineno) - f.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert not long


def test_every_file_opens_by_saying_what_it_is() -> None:
    """The first thing in a file is a docstring."""
    assert [
        name(p) for p in [*sources(), *files_of_tests()] if not _is_kernel(p) and not ast.get_docstring(tree(p))
    ] == []


def _is_kernel(path: Path) -> bool:
    # Kernels of the FileCheck tests are inputs, not modules.
    return ROOT / "tests" / "filecheck" in path.parents


def test_no_print_outside_the_driver() -> None:
    """The layers below the command line return what they have to say."""
    prints = [
        f"{name(p)}:{n.lineno}"
        for p in sources()
        if p.parent != ROOT / "driver"
        for n in ast.walk(tree(p))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print"
    ]
    assert not prints


def test_no_file_has_a_name_without_a_subject() -> None:
    """What has no subject has no home: no utils, common or helpers."""
    assert [name(p) for p in [*sources(), *files_of_tests()] if set(p.with_suffix("").parts) & set(VAGUE_NAMES)] == []


def imported(node: ast.AST) -> list[str]:
    """The top names of what a statement imports absolutely."""
    match node:
        case ast.ImportFrom(level=0, module=str(module)):
            return [module.split(".")[0]]
        case ast.Import(names=names):
            return [alias.name.split(".")[0] for alias in names]
        case _:
            return []


def test_imports_inside_the_package_are_relative() -> None:
    """Relative imports let tools follow them without an install, and keep a module from being imported under two
    names.
    """
    ours = {"ahbmc", *SOURCE_FOLDERS}
    assert [name(p) for p in sources() for n in ast.walk(tree(p)) if ours & set(imported(n))] == []


def test_no_broad_except() -> None:
    """`except Exception` hides faults; only the outermost frame of a program may turn what is left into a message."""
    broad = [
        f"{name(p)}:{n.lineno}"
        for p in sources()
        for n in ast.walk(tree(p))
        if isinstance(n, ast.ExceptHandler)
        and (n.type is None or (isinstance(n.type, ast.Name) and n.type.id in ("Exception", "BaseException")))
    ]
    assert [at for at in broad if not at.startswith("driver/outermost.py:")] == []


def test_no_todo_is_left() -> None:
    """What is not done is an issue, not a comment."""
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        f"{name(p)}:{number}"
        for p in [*sources(), *files_of_tests()]
        if p != Path(__file__)
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]
    assert not found


def test_import_contracts_hold() -> None:
    """Imports point down, as the contracts in pyproject.toml say."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_is_imported_under_two_names() -> None:
    """The root of the checkout is the package: importing everything from inside the checkout yields each file once."""
    script = (
        "import importlib, pkgutil, sys, collections, ahbmc\n"
        "for m in pkgutil.walk_packages(ahbmc.__path__, 'ahbmc.'):\n"
        "    importlib.import_module(m.name)\n"
        "names = collections.defaultdict(list)\n"
        f"root = {str(ROOT)!r}\n"
        "for n, m in list(sys.modules.items()):\n"
        "    f = getattr(m, '__file__', None)\n"
        "    if f and f.startswith(root) and '.venv' not in f and n != '__main__': names[f].append(n)\n"
        "twice = {f: n for f, n in names.items() if len(n) > 1 or not n[0].startswith('ahbmc')}\n"
        "assert len(names) > 20, names\n"
        "assert not twice, twice\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pass_name", PASS_NAMES)
def test_every_pass_has_its_class_manual_and_test(pass_name: str) -> None:
    """Name, file, class and test of a pass say the same, and its docstring is a manual that opens with one line."""
    cls = all_passes()[pass_name]()
    assert (cls.name, cls.__name__) == (pass_name, class_name(pass_name))
    assert cls.__module__ == "ahbmc.passes." + pass_name.replace("-", "_")
    manual = cls.__doc__ or ""
    # A pass that only checks changes nothing that could be shown before and after.
    shape = ("checks:",) if pass_name.startswith("check-") else ("before:", "after:")
    missing = [word for word in (*shape, "needs:", "keeps:", "options:") if word not in manual]
    assert not missing, f"the manual of {pass_name} lacks {missing}"
    assert manual.splitlines()[0].endswith("."), f"the summary of {pass_name} must fit its first line, which lists show"
    assert (ROOT / "tests" / "filecheck" / "passes" / f"{pass_name}.mlir").is_file()


def test_every_decision_has_a_number_of_its_own() -> None:
    """Text speaks of decisions by their numbers."""
    numbers = sorted(path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert numbers == [f"{n:04}" for n in range(1, len(numbers) + 1)]


def test_every_pass_is_in_the_table_of_names() -> None:
    """A file of `passes/` with a pass that `PASS_NAMES` does not have would never be found."""
    there = {
        path.stem.replace("_", "-")
        for path in (ROOT / "passes").glob("*.py")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and "ModulePass" in map(ast.unparse, node.bases)
    }
    assert there == set(PASS_NAMES)


def test_every_option_is_in_the_manual_of_its_pass() -> None:
    """An option that the manual does not explain is missing from it."""
    missing = [
        f"{pass_name}: {field.name}"
        for pass_name, load in all_passes().items()
        for field in dataclasses.fields(load())
        if field.name.replace("_", "-") not in (load().__doc__ or "")
    ]
    assert not missing


def test_no_pipeline_has_the_name_of_a_pass() -> None:
    """Passes and pipelines are named in one text, so their names differ."""
    assert not set(PASS_NAMES) & set(PIPELINES)


def operations(dialect: str) -> list[type[Operation]]:
    context = new_context()
    context.load_registered_dialect(dialect)
    return [op for op in context.loaded_ops if op.name.startswith(dialect + ".")]


@pytest.mark.parametrize("dialect", ["tl", "ahbm", "pe"])
def test_every_op_has_a_valid_and_an_invalid_case(dialect: str) -> None:
    """`ops.mlir` uses every op; `invalid.mlir` has an error that is reported for every op."""
    folder = ROOT / "tests" / "filecheck" / "dialects" / dialect
    valid = (folder / "ops.mlir").read_text(encoding="utf-8")
    invalid = "\n".join(re.findall(r"expected-error.*", (folder / "invalid.mlir").read_text(encoding="utf-8")))
    names = [op.name for op in operations(dialect)]
    assert names
    assert [n for n in names if not re.search(rf"{re.escape(n)}\b", valid)] == []
    assert [n for n in names if not re.search(rf"'{re.escape(n)}'", invalid)] == []
