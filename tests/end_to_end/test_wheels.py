"""Kernels of projects that others publish, under guessed signatures: a seeded part of three wheels compiles.

`.ci/run` downloads the wheels and keeps them; `AHBMC_WHEELS` names their folder. Without them there is nothing to
compile: nothing is downloaded here.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from ahbmc.backend_sim.target.machine_file import DEFAULT
from ahbmc.driver.check import checked
from ahbmc.driver.check_rows import rows_of_files
from ahbmc.driver.kernel_files import files_of, text_of

_FOLDER = os.environ.get("AHBMC_WHEELS", "")
_WHEELS = sorted(Path(_FOLDER).glob("*.whl")) if _FOLDER else []
# The share that must compile, raised when more do and never lowered.
_FLOOR = float(Path(__file__).with_name("wheels_floor.txt").read_text(encoding="utf-8"))
_FILES = 40


@pytest.mark.slow
@pytest.mark.skipif(not _WHEELS, reason="AHBMC_WHEELS names no folder with wheels (.ci/run downloads them)")
def test_kernels_of_wheels_compile() -> None:
    """As many as ever did, and none shows a fault of the compiler."""
    files = [f for wheel in _WHEELS for f in files_of(str(wheel)) if ".jit" in text_of(f)]
    rows = rows_of_files(sorted(random.Random(4).sample(files, _FILES)))
    outcomes = checked(rows, DEFAULT, "composite", jobs=2, limit_s=20)
    faults = [(r.path, r.function, o.fault) for r, o in zip(rows, outcomes, strict=True) if o.fault is not None]
    assert not [f for f in faults if f[2].category == "internal"]
    count = Counter(o.status for o in outcomes)
    reasons = "\n".join(f"{path} {function}: {fault.message}" for path, function, fault in faults)
    assert count["compiled"] / len(rows) >= _FLOOR, f"{count['compiled']} of {len(rows)} compile:\n{reasons}"
