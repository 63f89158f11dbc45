"""Prints CPU seconds of kernels here and in the tools that people use today, one BLAS thread each; nothing is asserted.

Ours is everything after the imports: reading the workload, compiling, simulating, and values where the row says so.
A peer is run by a Python of its own that has it: `AHBMC_TRITON_PYTHON` and `AHBMC_SCALESIM_PYTHON` name them, else the
`python3` on PATH is tried. Triton's interpreter computes values without latency, SCALE-Sim latency without values.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ahbmc.driver.compile_cache import forget
from ahbmc.driver.run import run_workload

ROOT = Path(__file__).parents[1]
REPEATS = 3
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Peer:
    """A tool: the module that it is, the variable that names its Python, and the script that measures it."""

    name: str
    module: str
    variable: str
    script: str

    def python(self) -> str | None:
        """The Python that has it, if there is one."""
        python = os.environ.get(self.variable) or shutil.which("python3")
        if python is None:
            return None
        found = subprocess.run([python, "-c", f"import {self.module}"], capture_output=True, check=False)
        return python if found.returncode == 0 else None

    def seconds(self, python: str, kind: str, size: int) -> float:
        command = [python, str(ROOT / "bench" / self.script), kind, str(size), "1"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
        return float(done.stdout)


TRITON = Peer("Triton", "torch, triton", "AHBMC_TRITON_PYTHON", "peer_triton.py")
SCALESIM = Peer("SCALE-Sim", "scalesim", "AHBMC_SCALESIM_PYTHON", "peer_scalesim.py")


@dataclass(frozen=True)
class Row:
    """A kernel on one PE: the workload with its overrides, the goal in seconds (or as a part of those of the peer
    `part_of`), and the peers that can do it.
    """

    name: str
    workload: str
    overrides: tuple[str, ...]
    kind: str
    size: int
    values: bool
    goal: float | None
    peers: tuple[Peer, ...]
    part_of: Peer | None = None

    def ours(self) -> float:
        def once() -> float:
            gc.collect()
            forget()
            start = time.process_time()
            run_workload(ROOT / self.workload, overrides=self.overrides, timing_only=not self.values)
            return time.process_time() - start

        return median(once() for _ in range(REPEATS))


def gemm(size: int, *, values: bool, goal: float, peers: tuple[Peer, ...]) -> Row:
    """An fp16 GEMM of `examples/gemm.py`, blocks of 128 x 128 x 64."""
    overrides = (*[f"args.{extent}={size}" for extent in "MNK"], "pipeline=auto", "options={}", "check={}")
    name = f"GEMM {size}^3, {'values and latency' if values else 'latency'}"
    return Row(name, "examples/gemm_ref_ref.yaml", overrides, "gemm", size, values, goal, peers)


ATTENTION = ("args.S=4096", "const.BLOCK_M=128", "const.BLOCK_N=128", "const.CAUSAL=false", "check={}")
ROWS = (
    gemm(1024, values=True, goal=1.0, peers=(TRITON, SCALESIM)),
    gemm(2048, values=True, goal=2.0, peers=(TRITON,)),
    gemm(2048, values=False, goal=0.3, peers=()),
    Row(
        "attention S=4096 D=64, values and latency",
        "examples/flash_attention.yaml",
        ATTENTION,
        "attention",
        4096,
        True,
        0.9,
        (TRITON,),
        part_of=TRITON,
    ),
)


def main() -> int:
    gc.set_threshold(200_000, 20, 100)  # as the command line does
    pythons = {peer: peer.python() for peer in (TRITON, SCALESIM)}
    for peer, python in pythons.items():
        if python is None:
            print(f"{peer.name} is not installed: set {peer.variable} to a Python that has it")
    print(f"{'CPU seconds':<44}{'ours':>7}  {'goal':<12}  peers: seconds (times ours)")
    for row in ROWS:
        ours = row.ours()
        installed = [(peer, python) for peer in row.peers if (python := pythons[peer]) is not None]
        theirs = {peer: peer.seconds(python, row.kind, row.size) for peer, python in installed}
        goal = row.goal
        if row.part_of is not None and goal is not None:
            goal = goal * theirs[row.part_of] if row.part_of in theirs else None
        told = "" if goal is None else f"{goal:.2f}" if ours <= goal else f"{goal:.2f} missed"
        peers = ", ".join(f"{peer.name} {seconds:.2f} ({seconds / ours:.1f})" for peer, seconds in theirs.items())
        print(f"{row.name:<44}{ours:>7.2f}  {told:<12}  {peers}".rstrip(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
