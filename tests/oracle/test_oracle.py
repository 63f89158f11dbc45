"""Kernels of production libraries compute what Triton computes: `dev.tsv` of the corpus under Triton's interpreter and
on the simulated device, from the same bytes. Needs what `support_oracle.py` says; `pytest -m oracle` runs it alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from oracle.launches import LAUNCHES
from support_oracle import Row, folder, interpret, interpreted, prepared, rows, simulated, slices
from support_values import TOLERANCES

pytestmark = pytest.mark.oracle

PYTHON = os.environ.get("AHBMC_TRITON_PYTHON")
CORPUS, SOURCES = folder("AHBMC_CORPUS"), folder("AHBMC_CORPUS_SOURCES")
ABSENT = PYTHON is None or CORPUS is None or SOURCES is None
NEEDED = "needs AHBMC_TRITON_PYTHON, AHBMC_CORPUS and AHBMC_CORPUS_SOURCES (tests/support_oracle.py)"

# Rows that cannot be compared, and why. Goal: at most five.
KNOWN: Mapping[str, str] = dict.fromkeys(
    ("d033", "d035"), "takes tensors of addresses, which the launch would have to know on both sides"
)


@pytest.fixture(scope="session")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder per row with what Triton's interpreter left there; made by the first process that asks."""
    if PYTHON is None or CORPUS is None or SOURCES is None:
        pytest.skip(NEEDED)
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "oracle"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "done").exists():
            kernels = slices(CORPUS, SOURCES, shared / "kernels")
            there = [row for row in rows() if (kernels / f"{row.id}.py").exists()]
            for row in there:
                (shared / row.id).mkdir()
                prepared(row, kernels / f"{row.id}.py", shared / row.id)
            interpret(CORPUS, PYTHON, [shared / row.id for row in there])
            (shared / "done").touch()
    return shared


def changed(before: Array, after: Array) -> int:
    """How many elements differ in any bit."""
    bits = [a.reshape(-1).view(np.uint8).reshape(a.size, -1) for a in (before, after)]
    return int((bits[0] != bits[1]).any(axis=1).sum())


@pytest.mark.skipif(ABSENT, reason=NEEDED)
@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.id}-{row.function}") for row in rows()])
def test_values_are_those_of_triton(row: Row, launched: Path) -> None:
    """Every tensor, written or not: integers and copies to the bit, floats within what another order rounds."""
    if not (launched / row.id).exists():
        pytest.skip(f"there is no {row.repo}/{row.path} among the sources")
    if row.id in KNOWN:
        pytest.xfail(KNOWN[row.id])
    wanted = interpreted(row, launched / row.id)
    before = row.buffers()
    assert np.prod(row.launch.grid) >= 2
    assert sum(changed(before[n], wanted[n]) for n in wanted) >= row.launch.changed
    assert SOURCES is not None
    got = simulated(row, SOURCES / row.repo / row.path)
    for name, dtype in row.tensors.items():
        if row.launch.exact or before[name].dtype.kind in "iub":
            assert changed(got[name], wanted[name]) == 0, name
            continue
        rtol, atol = TOLERANCES[dtype]
        np.testing.assert_allclose(
            got[name].astype(np.float64).ravel(), wanted[name].astype(np.float64), rtol=rtol, atol=atol, err_msg=name
        )


@pytest.mark.skipif(ABSENT, reason=NEEDED)
def test_rows_agree_but_for_five() -> None:
    """The goal of the corpus: 55 of 60; what is excused has a reason, and every launch that is set up is of a row."""
    ids = {row.id for row in rows()}
    assert len(ids) == 60
    assert len(KNOWN) <= 5
    assert {*KNOWN, *LAUNCHES} <= ids
