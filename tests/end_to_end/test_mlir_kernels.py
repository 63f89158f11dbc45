"""Programs of commands as kernels of workloads and of Python: what they give, and every fault of their text."""

from __future__ import annotations

import json
from pathlib import Path

import ahbmc
import numpy as np
import pytest
from ahbmc.driver.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
Capture = pytest.CaptureFixture[str]

PROGRAM = """\
func.func @other() {
  func.return
}
func.func @scale(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>, %factor: f16, %n: i64) {
  %b = ahbm.alloc : !ahbm.buffer<64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %id = ahbm.program_id {axis = 0 : i32}
  %p = arith.extsi %id : i32 to i64
  %at = arith.muli %p, %size : i64
  %left = arith.subi %n, %at : i64
  %hi = arith.minsi %left, %size : i64
  %from = ahbm.region %x[%at] sizes(%size) strides(%c1) lo(%c0) hi(%hi) {axes = ["affine"]}
    : !tl.ptr<f16> -> !ahbm.region<f16, 1>
  %to = ahbm.region %y[%at] sizes(%size) strides(%c1) lo(%c0) hi(%hi) {axes = ["affine"]}
    : !tl.ptr<f16> -> !ahbm.region<f16, 1>
  ahbm.dma_read %from, %b : !ahbm.region<f16, 1>, !ahbm.buffer<64xf16, tcm>
  ahbm.math "mul" ins(%b, %factor : !ahbm.buffer<64xf16, tcm>, f16) out(%b : !ahbm.buffer<64xf16, tcm>)
  ahbm.dma_write %b, %to : !ahbm.buffer<64xf16, tcm>, !ahbm.region<f16, 1>
  func.return
}
"""
WORKLOAD = """\
kernel: scale.mlir::scale
args:
  x: {shape: [n], dtype: fp16, init: {normal: {seed: 1}}}
  y: {shape: [n], dtype: fp16}
  factor: 3
const: {n: 300}
grid: ["cdiv(n, 64)"]
map: {pes: "sip0.cube0.pe0-1"}
check: {y: {reference: "x * factor", rtol: 1e-3, atol: 1e-3}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "scale.mlir").write_text(PROGRAM)
    (tmp_path / "scale.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runs_as_kernel_text_does(folder: Path, capsys: Capture) -> None:
    """Arguments, constants, expressions, grid, map, overrides and checks of values."""
    assert main(["run", "scale.yaml", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernel"], found["check"]) == ("scale.mlir::scale", "pass")
    assert found["commands"] == {"dma_read": 5, "math": 5, "dma_write": 5, "total": 15}
    assert found["bytes"]["hbm_read"] == 600
    assert main(["run", "scale.yaml", "--json", "-", "--set", "const.n=64", "--timing-only"]) == 0
    assert json.loads(capsys.readouterr().out)["commands"]["total"] == 3


def test_a_check_that_does_not_hold_fails(folder: Path) -> None:
    (folder / "scale.mlir").write_text(PROGRAM.replace('"mul"', '"add"'))
    assert main(["run", "scale.yaml"]) == 3


def test_compiles_by_the_passes_that_are_left(folder: Path, capsys: Capture) -> None:
    """The buffer gets its place and the module its machine; the function beside is not in the way."""
    assert main(["compile", "scale.yaml", "--emit", "pe"]) == 0
    workload = capsys.readouterr().out
    assert 'ahbm.machine = "ahbm-2sip"' in workload and "ahbm.alloc {offset = 0 : i64}" in workload
    assert "%n: i64 {ahbm.value = 300 : i64}" in workload and "@other" not in workload
    assert main(["compile", "scale.mlir::scale", "--emit", "ahbm"]) == 0
    assert "ahbm.dma_read" in capsys.readouterr().out


@pytest.mark.parametrize("level", ["ahbm", "pe"])
def test_what_compile_prints_is_a_kernel(level: str, folder: Path, capsys: Capture) -> None:
    """Kernel text compiled to commands, with plans or without, runs from there to the same picosecond and passes."""
    name, text = "gemm_ref_ref", (EXAMPLES / "gemm_ref_ref.yaml").read_text()
    (folder / "gemm.py").write_text((EXAMPLES / "gemm.py").read_text())
    (folder / f"{name}.yaml").write_text(text)
    assert main(["run", f"{name}.yaml", "--json", "-"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["compile", f"{name}.yaml", "--emit", level, "-o", "gemm.mlir"]) == 0
    (folder / "commands.yaml").write_text(text.replace("gemm.py::", "gemm.mlir::").replace(", BLOCK_K: 64", ""))
    capsys.readouterr()
    assert main(["run", "commands.yaml", "--json", "-"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["latency_ns"], again["check"]) == (first["latency_ns"], "pass")


def test_called_from_python(folder: Path) -> None:
    x = np.arange(100, dtype=np.float16)
    y = np.zeros(100, np.float16)
    kernel = ahbmc.load("scale.mlir").scale
    kernel[(2,)](x, y, np.float32(0.5), 100)
    np.testing.assert_array_equal(y, x / 2)
    with pytest.raises(ahbmc.AhbmcError, match=r"`n` is of type i64; found 1.5"):
        kernel[(2,)](x, y, 0.5, 1.5)
    with pytest.raises(ahbmc.AhbmcError, match="argument `n` is of type NoneType"):
        kernel[(2,)](x, y, 0.5, None)


def refused(capsys: Capture, *command: str) -> str:
    assert main([*command]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "@scale",
            "@scales",
            "scale.yaml:1:9: error: scale.mlir has no function `scale`; its functions: other, scales",
        ),
        ("arith.muli %p", "arith.mulli %p", "scale.mlir:11:9: error: "),
        ("ahbm.math", "ahbm.maths", "scale.mlir:19:3: error: "),
        ("lo(%c0) hi(%hi)", "lo(%c0, %c0) hi(%hi)", "scale.mlir:14:11: error: 'ahbm.region': 2 los for a region of"),
        ('"mul"', '"mull"', "scale.mlir:19:3: error: "),
        ("@other() {\n  func.return", "@other() {\n  %a = arith.addi %a, %a : i64", "scale.mlir:2:8: error: "),
        ("%size = ", "// %size\n  %size_2 = ", "scale.mlir:12:24: error: values used but not defined: [%size]"),
        ("other()", "other(%0: i64, %1: i64)", ""),
        ("@other() {\n  func.return\n}", "private @other() -> ()", ""),
        ("@other() {\n  func.return\n}\nfunc.func @scale", "private @scale()\nfunc.func @a", "`scale` is no kernel"),
        ("%n: i64)", "%n: i64, %0: i64)", "scale.mlir:4:1: error: argument 4 of `scale` has no name"),
        ("%n: i64)", "%n: i64, %n_1: i64)", "scale.mlir:4:1: error: argument 4 of `scale` is the second `n`"),
        ("%n: i64)", "%n: i64, %t: index)", "scale.mlir:4:1: error: argument `t` is of type index; allowed: f16"),
        ("%n: i64)", '%n: i64, %t: f16 {ahbm.name = "t_1"})', "kernel `scale` needs `t_1`"),
        ("  %to =", "  tl.barrier\n  %to =", "scale.mlir:16:3: error: "),
    ],
)
def test_faults_of_the_text_have_their_places(old: str, new: str, told: str, folder: Path, capsys: Capture) -> None:
    """Or are none, where the function beside is not the one that is asked for."""
    assert old in PROGRAM
    (folder / "scale.mlir").write_text(PROGRAM.replace(old, new))
    if told:
        assert told in refused(capsys, "run", "scale.yaml")
    else:
        assert main(["run", "scale.yaml"]) == 0


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("args.x.dtype=fp32", "`x` is of type !tl.ptr<f16>; found a tensor of fp32"),
        ("args.x=3", "`x` is of type !tl.ptr<f16>; found 3"),
        ("args.factor={shape: [3], dtype: fp16}", "`factor` is of type f16; found a tensor of fp16"),
        ("args.factor=true", "`factor` is of type f16; found True"),
        ("args.factor=null", "`factor` is of type f16; found None"),
        ("const.n=9223372036854775808000", "`n` is of type i64; found 9223372036854775808000"),
    ],
)
def test_arguments_must_have_the_types_of_the_program(override: str, told: str, folder: Path, capsys: Capture) -> None:
    fault = refused(capsys, "run", "scale.yaml", "--set", override, "--set", "grid=[1]", "--set", "args.y.shape=[300]")
    assert (
        fault.startswith(("--set:1:", "scale.yaml:3:6:"))
        and told in fault
        and "the program is at scale.mlir:4:1" in fault
    )


def test_what_only_kernel_text_has_is_refused(folder: Path, capsys: Capture) -> None:
    """The `tl` level, and types and constants from flags."""
    assert "no tl level" in refused(capsys, "compile", "scale.yaml", "--emit", "tl")
    assert "has its types" in refused(capsys, "compile", "scale.mlir::scale", "--arg", "n=i64")
    assert "scale.mlir has 2 kernels: other, scale" in refused(capsys, "compile", "scale.mlir")
