"""`ahbmc init`: the workload that it writes runs, and what it guesses of a kernel."""

from __future__ import annotations

from pathlib import Path

import ahbmc
import pytest
from ahbmc.driver.guess import guessed
from ahbmc.driver.init import draft_of
from ahbmc.driver.kernel_files import module_in
from ahbmc.driver.kernels import kernel_of
from ahbmc.driver.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def helper(p, at):
    return tl.load(p + at)


@triton.autotune(configs=[triton.Config({"BLOCK": 128, "SPLIT": True})], key=["n"])
@triton.jit
def k(out, x, table, words, valid_mask, stride_xm, stride_xk,
      out_stride_row, out_stride_dim, n, eps, count: tl.int64, BLOCK: tl.constexpr,
      SPLIT: tl.constexpr, MODE: tl.constexpr, HAS_EPS: tl.constexpr, OUT_DTYPE: tl.constexpr, D: tl.constexpr = 8):
    row = helper(table, tl.program_id(1))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = x + row * stride_xm
    v = tl.load(base + i * stride_xk, mask=(i < n) & tl.load(valid_mask + i), other=0.0)
    if MODE == "twice":
        v = v * 2
    if HAS_EPS:
        v = v + eps
    v = v + (tl.load(words + i) & 3)
    tl.store(out + row * 100000 + i, v, mask=i < n)
"""


def kernel_file(folder: Path, text: str = KERNEL) -> str:
    file = folder / "k.py"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_types_and_constants_follow_from_their_use(tmp_path: Path) -> None:
    """Pointers from accesses, also in a helper; integers from addresses and bits; constants from configs and tests."""
    module = module_in(kernel_file(tmp_path))
    guess = guessed(module, kernel_of(module, "k"))
    assert guess.signature == {
        "out": "*fp32", "x": "*fp32", "table": "*i32", "words": "*i32", "valid_mask": "*i1", "stride_xm": "i32",
        "stride_xk": "i32", "out_stride_row": "i32", "out_stride_dim": "i32", "n": "i32", "eps": "fp32", "count": "i64",
    }  # fmt: skip
    assert guess.constants == {
        "BLOCK": 128, "SPLIT": True, "MODE": "twice", "HAS_EPS": False, "OUT_DTYPE": "fp32"
    }  # fmt: skip


def test_types_follow_through_arithmetic(tmp_path: Path) -> None:
    """A bound made of two loaded values, a loaded address moved before its use, a stride of scales, a choice."""
    text = """\
import triton
import triton.language as tl


@triton.jit
def k(ends, goals, bins, x, out, scale_stride, threshold, KIND: tl.constexpr):
    first = tl.load(ends)
    count = tl.load(ends + 1) - first
    local = tl.maximum(tl.load(goals).to(tl.int64), 0) - 1
    place = tl.load(bins)
    v = tl.load(x + place // 2)
    large = (place >= 0) & (v > threshold)
    if KIND == 1:
        v = v * 2.0
    elif KIND == 3:
        v = v + 1.0
    for i in range(0, tl.minimum(count, 4)):
        tl.store(out + i * scale_stride + local, v, mask=large)
"""
    module = module_in(kernel_file(tmp_path, text))
    guess = guessed(module, kernel_of(module, "k"))
    assert guess.signature == {
        "ends": "*i32", "goals": "*i32", "bins": "*i32", "x": "*fp32", "out": "*fp32", "scale_stride": "i32",
        "threshold": "i32"
    }  # fmt: skip
    assert guess.constants == {"KIND": 1}


def test_strides_and_grid(tmp_path: Path) -> None:
    """The last of the strides of a tensor is 1; the grid has the axes that the kernel asks for."""
    draft = draft_of(module_in(kernel_file(tmp_path)), "k")
    strides = [value for name, value in draft.scalars.items() if "stride" in name]
    assert (strides, draft.grid) == ([64, 1, 64, 1], (2, 2))


def test_the_tensors_are_as_large_as_what_the_kernel_touches(tmp_path: Path) -> None:
    """A trial finds out, and the workload runs."""
    kernel = kernel_file(tmp_path, KERNEL.replace("row * 100000", "(row + 1) * 100000"))
    out = tmp_path / "k.yaml"
    assert main(["init", f"{kernel}::k", "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "kernel: k.py::k" in text and "out: {shape: [131072], dtype: fp32" in text
    assert ahbmc.run(out).latency_ns > 0


@pytest.mark.parametrize("name", ["vector_add", "softmax", "matmul", "flash_attention", "gemm"])
def test_an_example_gets_a_workload_that_runs(name: str, tmp_path: Path) -> None:
    """With guesses alone."""
    out = tmp_path / "w.yaml"
    assert main(["init", str(EXAMPLES / f"{name}.py"), "-o", str(out)]) == 0
    result = ahbmc.run(out)
    assert result.latency_ns > 0 and result.outputs


def test_a_kernel_that_does_not_run_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is written all the same, to be completed."""
    text = KERNEL.replace("tl.program_id(1)", "n - 1000")
    assert main(["init", f"{kernel_file(tmp_path, text)}::k", "-o", str(tmp_path / "w.yaml")]) == 1
    err = capsys.readouterr().err
    assert "the workload does not run as it is" in err and "touches element -936 of 'table'" in err
    assert (tmp_path / "w.yaml").is_file()


def test_a_kernel_that_never_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial has a limit."""
    monkeypatch.setattr("ahbmc.driver.init._TRIAL_S", 0.5)
    text = (
        "import triton.language as tl\n@triton.jit\ndef k(x):\n    while tl.load(x) == 0:\n        tl.store(x + 1, 1)\n"
    )
    text = text.replace("tl.load(x) == 0", "tl.load(x) != 12345")
    assert main(["init", f"{kernel_file(tmp_path, text)}::k", "-o", "-"]) == 1
    assert "a trial of the kernel fails: it takes longer than the limit" in capsys.readouterr().err
