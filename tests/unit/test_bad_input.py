"""Bad input: each kind ends in one error with file:line:column, caret, reason and, where one helps, a hint; never a
traceback.

Faults of kernel text as the frontend words them are in test_frontend_errors.py; here they come by
command line.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.driver.main import main

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    k = tl.arange(0, 64)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, 64)):
        a = tl.load(a_ptr + m[:, None] * K + (i * 64 + k)[None, :])
        b = tl.load(b_ptr + (i * 64 + k)[:, None] * BLOCK + m[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * BLOCK + m[None, :], acc.to(tl.float16))
"""
WORKLOAD = """\
kernel: gemm.py::gemm
machine: ahbm-2sip
pipeline: composite
args:
  a_ptr: {shape: [BLOCK, K], dtype: fp16, init: {normal: {seed: 1}}}
  b_ptr: {shape: [K, BLOCK], dtype: fp16, init: {normal: {seed: 2}}}
  c_ptr: {shape: [BLOCK, BLOCK], dtype: fp16}
  K: 128
const: {BLOCK: 32}
check: {c_ptr: {reference: "matmul(a_ptr, b_ptr)", rtol: 1e-2, atol: 1e-2}}
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gemm.py").write_text(KERNEL)
    Path("gemm.yaml").write_text(WORKLOAD)


def refused(capsys: pytest.CaptureFixture[str], argv: list[str], status: int = 1) -> str:
    """What goes to standard error; nothing goes to standard output, and nothing is a traceback."""
    assert main(argv) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def change(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new, 1))


def test_as_it_stands_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm.yaml"]) == 0
    assert "check pass" in capsys.readouterr().out


# (what is changed in the kernel, place, part of the message)
KERNEL_FAULTS = {
    "unclosed bracket": ("tl.arange(0, 64)\n", "tl.arange(0, 64\n", "gemm.py:8:18", "'(' was never closed"),
    "statement that no kernel has": ("    k = tl", "    del m\n    k = tl", "gemm.py:8:5", "`del`"),
    "function that is not there yet": ("tl.store(", "tl.inline_asm_elementwise(", "gemm.py:14:8", "unsupported"),
    "undefined name": ("m[:, None] * K", "zork * K", "gemm.py:11:", "undefined name 'zork'"),
    "bad indent": ("        b = tl.load", "      b = tl.load", "gemm.py:12:", "unindent"),
    "unknown tl name": ("tl.zeros", "tl.zeroes", "gemm.py:9:", "zeroes"),
    "wrong argument kind": ("tl.arange(0, 64)", "tl.arange(0, 'x')", "gemm.py:8:", "integer"),
    "rank mismatch": ("tl.dot(a, b, acc)", "tl.dot(m, b, acc)", "gemm.py:13:", "dot"),
    "dtype mismatch": ("tl.dot(a, b, acc)", "tl.dot(a, b.to(tl.float32), acc)", "gemm.py:13:", "fp32"),
    "arange that is no power of two": ("tl.arange(0, 64)", "tl.arange(0, 60)", "gemm.py:8:", "power of two"),
    "a constexpr that is none": ("tl.arange(0, BLOCK)", "tl.arange(0, K)", "gemm.py:7:", "compile-time"),
}


@pytest.mark.parametrize("case", KERNEL_FAULTS)
def test_fault_of_the_kernel(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, place, part = KERNEL_FAULTS[case]
    change("gemm.py", old, new)
    err = refused(capsys, ["run", "gemm.yaml"])
    assert err.startswith(place), err
    assert part in err and "^" in err
    assert err.count("error:") == 1 and "hint:" in err, err


# (what is changed in the workload, place, parts of what is printed)
WORKLOAD_FAULTS = {
    "unknown key": ("const:", "konst:", "gemm.yaml:9:1", ["unknown key `konst`", "did you mean `const`?"]),
    "wrong type": ("K: 128", "K: [128]", "gemm.yaml:8:6", ["`K` must be"]),
    "wrong unit": ("rtol: 1e-2", "rtol: 1 percent", "gemm.yaml:10:", ["`rtol` must be a number", "units are part of"]),
    "missing kernel file": ("gemm.py::gemm", "gem.py::gemm", "gemm.yaml:1:9", ["there is no kernel file gem.py"]),
    "missing kernel": ("gemm.py::gemm", "gemm.py::gem", "gemm.yaml:1:9", ["no kernel `gem`", "did you mean `gemm`?"]),
    "missing data file": ("{normal: {seed: 1}}", "{file: a.npy}", "gemm.yaml:5:", ["there is no file a.npy"]),
    "missing argument": ("  K: 128\n", "", "gemm.yaml:5:", ["`K` is no argument and no constant"]),
    "argument too many": ("  K: 128\n", "  K: 128\n  KK: 3\n", "gemm.yaml:9:3", ["no parameter `KK`"]),
    "unknown machine": ("ahbm-2sip", "ahbm-3sip", "gemm.yaml:2:10", ["no machine `ahbm-3sip`", "ahbm-2sip"]),
    "unknown pipeline": ("pipeline: composite", "pipeline: compos", "gemm.yaml:3:11", ["'compos'", "'composite'"]),
    "unknown pass in options": ("const:", "options: {fom: {a: 1}}\nconst:", "gemm.yaml:9:11", ["'fom'"]),
    "unknown option": ("const:", "options: {cse: {a: 1}}\nconst:", "gemm.yaml:9:17", ["no option 'a'"]),
    "wrong option value": (
        "const:", "options: {form-composites: {stage: c}}\nconst:", "gemm.yaml:9:36", ["'c'", "a, b, none, auto"],
    ),
    "tensor over the capacity": ("K: 128", "K: 120000000", "gemm.yaml:5:10", ["does-not-fit", "6,442,450,944"]),
    "bad dtype": ("dtype: fp16, init", "dtype: f16, init", "gemm.yaml:5:", ["`dtype` must be", "fp16"]),
    "bad grid": ("const:", "grid: [K & 3]\nconst:", "gemm.yaml:9:10", ["unexpected `&`"]),
    "bad PEs": ("const:", "map: {pes: sip0.cube0.pe8}\nconst:", "gemm.yaml:9:12", ["no pe8; it has pe0 to pe7"]),
    "PE named twice": ("const:", "map: {pes: [sip0.cube0.pe0, sip0.cube0.pe0-1]}\nconst:", "gemm.yaml:9:", ["twice"]),
    "shape of the check": ("matmul(a_ptr, b_ptr)", "a_ptr", "gemm.yaml:10:", ["shape [32, 128], the tensor [32, 32]"]),
    "check of no tensor": ("{c_ptr: {ref", "{K: {ref", "gemm.yaml:10:9", ["`K` is no tensor argument"]),
    "argument given twice": ("const: {", "const: {K: 64, ", "gemm.yaml:8:6", ["in `args` and in `const`"]),
    "argument defined by itself": ("K: 128", "K: K * 2", "gemm.yaml:8:6", ["defined by itself"]),
    "no axis": ("shape: [BLOCK, BLOCK]", "shape: []", "gemm.yaml:7:18", ["`shape` has 0 entries; allowed: 1 or more"]),
    "grid of four": ("const:", "grid: [1, 1, 1, 1]\nconst:", "gemm.yaml:9:7", ["4 entries; allowed: 1 to 3"]),
    "no file to check with": ('reference: "matmul(a_ptr, b_ptr)"', "file: r.npy", "gemm.yaml:10:23", ["no file r.npy"]),
    "unknown reference": ("matmul(a_ptr", "zork(a_ptr", "gemm.yaml:10:29", ["there is no reference `zork`"]),
    "dtype as torch has it": ("fp16, init", "float32, init", "gemm.yaml:5:", ["did you mean `fp32`?"]),
    "not YAML": ("const: {BLOCK: 32}", "const: {BLOCK: 32", "gemm.yaml:", ["this is not YAML"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKLOAD_FAULTS)
def test_fault_of_the_workload(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, place, parts = WORKLOAD_FAULTS[case]
    change("gemm.yaml", old, new)
    err = refused(capsys, ["run", "gemm.yaml"])
    assert err.startswith(place), err
    assert all(part in err for part in parts), err
    assert err.count("^\n") == err.count("hint:") == err.count("error:"), err


def test_missing_argument_names_the_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    change("gemm.yaml", "  K: 128\n", "")
    for shape in ("[BLOCK, K]", "[K, BLOCK]"):
        change("gemm.yaml", shape, "[32, 128]")
    err = refused(capsys, ["run", "gemm.yaml"])
    assert err.startswith("gemm.yaml:1:9: error: kernel `gemm` needs `K`, and the launch does not give it")
    assert "note: the parameter is at gemm.py:6:31" in err
    assert "hint: add it to `args:`" in err


def test_scratch_over_its_limit_lists_what_lives(capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(capsys, ["run", "gemm.yaml", "--set", "const.BLOCK=512", "--set", "pipeline=primitive"])
    assert err.startswith("gemm.py:")
    assert "does-not-fit" in err and "1048576" in err.replace(",", "") and "^" in err
    assert "hint: make the largest of these blocks smaller (constants: BLOCK=512)" in err


def test_levers_on_scratch_are_those_that_were_pulled(capsys: pytest.CaptureFixture[str]) -> None:
    """Constants that size the largest block, what the pipeline has added, and the machine."""
    sizes = [f"const.{name}" for name in ("BLOCK_M=512", "BLOCK_N=512", "HEAD_DIM=128")]
    workload = str(Path(__file__).parents[2] / "examples" / "flash_attention.yaml")
    err = refused(capsys, ["run", workload, *(word for size in sizes for word in ("--set", size))])
    assert "needs 1978368 bytes of scratch; a PE has 1048576, 929792 too few [does-not-fit]" in err
    assert "note: %qk: 1048576 bytes (!ahbm.buffer<512x512xf32, tcm>)" in err
    hint = err[err.index("hint: ") :]
    assert "constants: BLOCK_M=512, BLOCK_N=512)" in hint
    assert "--pipeline composite" in hint and "prefetch-loads" not in hint and "pe.tcm.scratch_bytes" in hint


def test_composite_over_its_limit_names_its_ops(capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(capsys, ["run", "gemm.yaml", "--set", "machine.composite_max_bytes=40"])
    assert err.startswith("gemm.py:")
    assert "40" in err and "gemm" in err and "does-not-fit" in err and "^" in err


def test_faults_that_are_independent_come_together(capsys: pytest.CaptureFixture[str]) -> None:
    change("gemm.yaml", "dtype: fp16, init", "dtype: f16, init")
    change("gemm.yaml", "const:", "konst:")
    change("gemm.yaml", "rtol: 1e-2", "rtol: x")
    err = refused(capsys, ["run", "gemm.yaml"])
    assert err.count("error:") == 3 and err.count("^\n") == 3


# (arguments behind `ahbmc`, status, place, part of what is printed)
COMMAND_FAULTS = {
    "missing workload": (["run", "none.yaml"], "<command line>:1:11", "there is no workload file none.yaml"),
    "a kernel in place of a workload": (["run", "gemm.py"], "<command line>:1:11", "a workload file (.yaml) is needed"),
    "unknown machine": (["run", "gemm.yaml", "--machine", "x"], "<command line>:1:31", "there is no machine `x`"),
    "unknown pass": (["run", "gemm.yaml", "--pipeline", "cse,csee"], "<pipeline>:1:5", "'csee'"),
    "unknown path": (["run", "gemm.yaml", "--set", "args.z=1"], "--set:1:6", "no parameter `z`"),
    "unknown machine key": (["run", "gemm.yaml", "--set", "machine.pe.x=1"], "--set:1:12", "unknown key `x`"),
    "file that cannot be written": (
        ["run", "gemm.yaml", "--json", "no/r.json"], "<command line>:1:28", "cannot write no/r.json",
    ),
    "unknown kernel": (["compile", "gemm.py::x"], "<command line>:1:15", "no kernel `x`"),
    "no type": (["compile", "gemm.py", "--arg", "K=int"], "--arg:1:3", "`int` is no type"),
    "no constant": (["compile", "gemm.py", "--const", "BLOCK"], "--const:1:1", "`BLOCK` is not NAME=VALUE"),
    "flags of a kernel": (["compile", "gemm.yaml", "--arg", "K=i32"], "<command line>:1:31", "--arg and --const"),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMAND_FAULTS)
def test_fault_of_the_command_line(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv, place, part = COMMAND_FAULTS[case]
    err = refused(capsys, argv)
    assert place in err and part in err and "^" in err, err


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"- 1\n", b"kernel: [\n", b"a: &x {b: *x}\n", b"{" * 5000, b"\x00"]
)
def test_no_content_of_a_file_makes_a_traceback(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_bytes(content)
    assert "error:" in refused(capsys, ["run", "bad.yaml"])
    Path("gemm.py").write_bytes(content)
    assert "error:" in refused(capsys, ["run", "gemm.yaml"])
