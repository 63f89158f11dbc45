"""One launch of a kernel under Triton's interpreter and on the simulated device, from the same bytes.

Where things lie is said by the environment: `AHBMC_TRITON_PYTHON` a Python with torch, ml_dtypes and Triton 3.8,
`AHBMC_CORPUS` the folder of the corpus (`dev.tsv`, `dev_specs.json`, `extract.py`, `interp_fix.py`),
`AHBMC_CORPUS_SOURCES` a folder with a tree per repository, called `owner+name` (`pypi+name` for a package). Nothing is
fetched or installed.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from ahbmc.backend_sim.launch import Launch as DeviceLaunch
from ahbmc.backend_sim.memory import Tensor
from ahbmc.backend_sim.numerics.dtypes import Array, dtype_named
from ahbmc.backend_sim.simulate import simulate
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.driver.kernel_files import module_in
from ahbmc.driver.kernels import kernel_of
from ahbmc.driver.lowering import Request, compile_request
from oracle.launches import LAUNCHES, Launch, default_scalar

INTERPRETER = Path(__file__).parent / "oracle" / "interpreter.py"
ELEMENTS = 1 << 18
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d,]+)\]>")
_COUNTER = re.compile(r"(?i)lock|count$|counter")
_DESCRIBED = (1024, 128)  # the shape of a tensor behind a descriptor


@dataclass(frozen=True)
class Row:
    """A row of `dev.tsv` with its specification: what is compiled."""

    id: str
    repo: str
    path: str
    function: str
    signature: Mapping[str, str]
    constexprs: Mapping[str, Any]

    @property
    def launch(self) -> Launch:
        return LAUNCHES.get(self.id, Launch())

    @property
    def constants(self) -> dict[str, Any]:
        """`DTYPE` stands for a type."""
        every = {n: None for n, t in self.signature.items() if t == "constexpr"} | dict(self.constexprs)
        return every | dict(self.launch.constants)

    @property
    def scalars(self) -> dict[str, int | float]:
        plain = {n: t for n, t in self.signature.items() if t != "constexpr" and t[0] not in "*" and "<" not in t}
        return {
            n: self.launch.scalars.get(n, default_scalar(n, t)) for n, t in plain.items() if n not in self.constants
        }

    @property
    def descriptors(self) -> dict[str, tuple[int, ...]]:
        """Parameter -> block shape."""
        found = {n: _DESCRIPTOR.match(t) for n, t in self.signature.items()}
        return {n: tuple(int(size) for size in m[2].split(",")) for n, m in found.items() if m}

    @property
    def tensors(self) -> dict[str, str]:
        """Parameter -> element type."""
        found = {n: _DESCRIPTOR.match(t) for n, t in self.signature.items()}
        described = {n: m[1] for n, m in found.items() if m}
        return described | {n: t[1:] for n, t in self.signature.items() if t.startswith("*")}

    def buffers(self) -> dict[str, Array]:
        """What every tensor holds before the launch."""
        made: dict[str, Array] = {}
        for number, (name, dtype) in enumerate(self.tensors.items()):
            random = np.random.default_rng(number)
            size = int(np.prod(_DESCRIBED)) if name in self.descriptors else ELEMENTS
            kind = dtype_named(dtype)
            fill = self.launch.contents.get(name)
            if fill is not None:
                values = fill(random, size)
            elif _COUNTER.search(name):
                values = np.zeros(size)
            elif kind.kind in "iub":
                values = random.integers(0, 4, size)
            else:
                values = random.uniform(0.1, 0.6, size)
            made[name] = np.asarray(values).astype(kind)
        return made


def folder(variable: str) -> Path | None:
    """The folder that a variable of the environment names, if it is there."""
    found = os.environ.get(variable)
    return Path(found) if found and Path(found).is_dir() else None


def rows() -> list[Row]:
    """The rows of `dev.tsv`; none where there is no corpus."""
    corpus = folder("AHBMC_CORPUS")
    if corpus is None:
        return []
    specs = json.loads((corpus / "dev_specs.json").read_text())
    with (corpus / "dev.tsv").open() as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    return [
        Row(
            line["id"],
            line["repo"].replace("/", "+").replace("pypi:", "pypi+"),
            line["path"],
            line["function"],
            specs[line["id"]]["signature"],
            specs[line["id"]]["constexprs"],
        )
        for line in table
        if line["id"] in specs
    ]


@cache
def slices(corpus: Path, sources: Path, into: Path) -> Path:
    """Every kernel with what it needs in a file of its own, `ID.py`: Triton executes the file, so there is no more."""
    command = [sys.executable, corpus / "extract.py", "slice", "--src", sources, "--corpus", corpus / "dev.tsv"]
    subprocess.run([*command, "--out", into], check=True, capture_output=True)
    return into


def prepared(row: Row, kernel: Path, scratch: Path) -> None:
    """Fill a folder with what `interpreter.py` takes."""
    (scratch / "kernel.py").write_text(kernel.read_text())
    launch = {
        "function": row.function,
        "grid": row.launch.grid,
        "tensors": row.tensors,
        "descriptors": {n: (_DESCRIBED, block) for n, block in row.descriptors.items()},
        "scalars": row.scalars,
        "constants": row.constants,
    }
    (scratch / "launch.json").write_text(json.dumps(launch))
    for name, array in row.buffers().items():
        array.tofile(scratch / f"{name}.in")


def interpret(corpus: Path, python: str, folders: Sequence[Path]) -> None:
    """Run prepared launches under Triton's interpreter, in one process: it takes seconds to start."""
    subprocess.run([python, INTERPRETER, corpus, *folders], check=True, capture_output=True)


def interpreted(row: Row, scratch: Path) -> dict[str, Array]:
    """What the tensors hold after the launch under Triton's interpreter."""
    error = scratch / "error"
    assert not error.exists(), f"Triton's interpreter: {error.read_text()}"
    return {n: np.fromfile(scratch / f"{n}.out", dtype=np.uint8).view(dtype_named(t)) for n, t in row.tensors.items()}


def simulated(row: Row, file: Path, pipeline: str = "auto") -> dict[str, Array]:
    """What the tensors hold after the launch on two PEs of the simulated device."""
    kernel = kernel_of(module_in(str(file)), row.function)
    constants = {n: "float32" if v == "DTYPE" else v for n, v in row.constants.items()}
    signature = {n: t for n, t in row.signature.items() if n not in constants}
    module = compile_request(Request(kernel, signature, constants, pipeline=pipeline))
    tensors = {n: Tensor(n, a.dtype, a.shape, data=a) for n, a in row.buffers().items()}
    given: list[Tensor | int | float] = [tensors[n] if n in tensors else row.scalars[n] for n in signature]
    rows_, columns = _DESCRIBED
    given += [rows_, columns, columns] * len(row.descriptors)
    x, y, z = row.launch.grid
    ids = [(i, j, k) for k, j, i in product(range(z), range(y), range(x))]
    launch = DeviceLaunch(
        module.function, load_machine("ahbm-2sip"), tuple(given), (x, y, z), {0: ids[::2], 1: ids[1::2]}
    )
    memory = simulate([launch], values=True).memory
    return {n: memory[n] for n in tensors}
