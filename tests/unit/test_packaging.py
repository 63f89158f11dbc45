"""What is installed: the package list is the folders, and the wheel holds `ahbmc/` with its data files and nothing
else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_PACKAGES = ("tests", "typings", "build", "examples", "docs", "bench", ".venv")


def folders_with_modules() -> list[str]:
    """Package names of all folders of the checkout that hold modules and are meant to be installed."""
    found = {"ahbmc"}
    for path in ROOT.glob("*/**/*.py"):
        parts = path.parent.relative_to(ROOT).parts
        if parts[0] not in NOT_PACKAGES and not any(p.startswith(".") or p.endswith(".egg-info") for p in parts):
            found.add(".".join(("ahbmc", *parts)))
    return sorted(found)


def test_the_list_of_packages_is_the_folders() -> None:
    """A folder that is missing from the list works in an editable install and is lost in a wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert sorted(project["tool"]["setuptools"]["packages"]) == folders_with_modules()


def test_every_package_has_an_init_file() -> None:
    """Without it the folder is a namespace package, which tools skip."""
    missing = [
        package
        for package in folders_with_modules()
        if not (ROOT.joinpath(*package.split(".")[1:]) / "__init__.py").is_file()
    ]
    assert not missing


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel that is built from a copy of the checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    copy = checkout / "ahbmc_copy"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "build", "typings", "__pycache__", "*.egg-info", ".*_cache", "tests"
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        ".",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(checkout),
    ]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = checkout.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: list[str]) -> None:
    """Nothing generic (`passes`, `tests`) lands in site-packages."""
    tops = {file.split("/")[0] for file in wheel}
    assert tops == {"ahbmc", next(t for t in tops if t.endswith(".dist-info"))}
    assert not [file for file in wheel if file.startswith(("ahbmc/tests", "ahbmc/examples", "ahbmc/typings"))]


@pytest.mark.slow
def test_the_wheel_holds_every_module_and_data_file(wheel: list[str]) -> None:
    """Grammar, standard library of kernels, machine files and the marker of types ship, and so does every module."""
    expected = {"ahbmc/py.typed"}
    for package in folders_with_modules():
        folder = ROOT.joinpath(*package.split(".")[1:])
        expected |= {f"ahbmc/{p.relative_to(ROOT)}" for p in folder.glob("*.py")}
    expected |= {f"ahbmc/{p.relative_to(ROOT)}" for p in (ROOT / "frontend").glob("*.lark")}
    expected |= {f"ahbmc/{p.relative_to(ROOT)}" for p in (ROOT / "frontend").glob("*.tl")}
    machines = {f"ahbmc/{p.relative_to(ROOT)}" for p in (ROOT / "backend_sim" / "target" / "machines").glob("*.yaml")}
    assert machines
    assert sorted((expected | machines) - set(wheel)) == []
