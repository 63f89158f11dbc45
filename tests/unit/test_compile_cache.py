"""What is compiled once: launches that differ in grid and contents; and what is compiled again: all else."""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.driver import compile_cache
from ahbmc.driver.lowering import Compiled, Request, compile_request
from ahbmc.driver.run import run_workload

KERNEL = """import triton
import triton.language as tl


@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""
WORKLOAD = """
kernel: k.py::k
args:
  x: {shape: [256], dtype: fp32, init: {normal: {seed: 1}}}
  o: {shape: [256], dtype: fp32}
  n: 256
const: {BLOCK: 64}
grid: [4]
pipeline: pipelined
check: {o: {reference: x + x}}
"""


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are compiled, from an empty cache on."""
    done: list[str] = []
    real = compile_request

    def counted(request: Request) -> Compiled:
        done.append(request.kernel.name)
        return real(request)

    compile_cache.forget()
    monkeypatch.setattr(compile_cache, "compile_request", counted)
    return done


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ((), 1),
        (("args.x.init.normal.seed=5",), 1),
        (("grid.0=2",), 2),  # programs per PE are a fact of the launch
        (("args.n=100",), 2),
        (("const.BLOCK=128", "grid.0=2"), 2),
        (("machine.pe.gemm.peak_tflops=16",), 2),
        (("pipeline=primitive",), 2),
    ],
)
def test_only_what_compiling_depends_on_compiles_again(
    changes: tuple[str, ...], count: int, compilations: list[str], tmp_path: Path
) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    first = run_workload(tmp_path / "w.yaml")
    second = run_workload(tmp_path / "w.yaml", overrides=changes)
    assert len(compilations) == count
    assert first.run.check == "pass"
    assert (second.run.wall_s["compile"] == 0) == (count == 1)


def test_a_changed_text_compiles_again(compilations: list[str], tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    for factor in ("2", "2", "2.0"):
        (tmp_path / "k.py").write_text(KERNEL.replace("* 2", f"* {factor}"))
        assert run_workload(tmp_path / "w.yaml").run.check == "pass"
    assert len(compilations) == 2
