"""`ahbmc-opt`: options, errors with carets, exit statuses, and no traceback from any input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from ahbmc.dialects.errors import Sources, fail
from ahbmc.driver import opt, outermost

ADD = """func.func @f(%x: i32, %y: i32) -> i32 {
  %a = arith.addi %x, %y : i32
  %b = arith.addi %x, %y : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(ADD)
    return path


Capture = pytest.CaptureFixture[str]


def test_a_pass_runs_and_the_result_is_printed(source: Path, capsys: Capture) -> None:
    """`ahbmc-opt FILE -p cse`: one of two equal sums is left."""
    assert opt.main([str(source), "-p", "cse"]) == 0
    assert capsys.readouterr().out.count("arith.addi") == 1


@pytest.mark.parametrize("arguments", [["--cse"], ["--licm", "--cse"], ["--pass-pipeline=builtin.module(licm,cse)"]])
def test_passes_are_named_as_mlir_opt_names_them(source: Path, capsys: Capture, arguments: list[str]) -> None:
    """A flag per pass, or a pipeline of the module."""
    assert opt.main([*arguments, str(source)]) == 0
    assert capsys.readouterr().out.count("arith.addi") == 1


def test_flags_beside_a_pipeline_are_wrong_usage(source: Path, capsys: Capture) -> None:
    """Their order would be a guess."""
    assert opt.main([str(source), "--cse", "-p", "licm"]) == 2
    assert "--cse beside a pipeline" in capsys.readouterr().err


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """`-` is IR on standard input, and its places say so."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("func.func @f() { tl.nonsense }"))
    assert opt.main(["-"]) == 1
    assert "<stdin>:1:18: error: Operation tl.nonsense is not registered" in capsys.readouterr().err


def test_a_result_that_cannot_be_written(source: Path, tmp_path: Path, capsys: Capture) -> None:
    """One line of error, status 1."""
    assert opt.main([str(source), "-o", str(tmp_path / "no" / "out.mlir")]) == 1
    assert "error: cannot write" in capsys.readouterr().err


def test_the_result_goes_to_a_file(source: Path, tmp_path: Path, capsys: Capture) -> None:
    """-o FILE leaves standard output empty."""
    assert opt.main([str(source), "-o", str(tmp_path / "out.mlir")]) == 0
    assert "arith.muli" in (tmp_path / "out.mlir").read_text()
    assert capsys.readouterr().out == ""


def test_generic_form_and_locations(source: Path, capsys: Capture) -> None:
    """--print-op-generic and --print-debuginfo; an op without a location has its place in the file."""
    assert opt.main([str(source), "--print-op-generic", "--print-debuginfo"]) == 0
    out = capsys.readouterr().out
    assert '"arith.addi"(%x, %y)' in out
    assert f'loc("{source}":3:8)' in out


@pytest.mark.parametrize(
    ("arguments", "place", "message", "hint"),
    [
        (["-p", "cse,sce"], "<pipeline>:1:5", "there is no pass or pipeline 'sce'", "did you mean 'cse'?"),
        (["-p", "cse{deep=true}"], "<pipeline>:1:5", "pass 'cse' has no option 'deep'", "note: it has no options"),
        (["-p", "cse,"], "<pipeline>:1:5", "expected the name of a pass", "a pipeline is"),
        (["-p", "cse licm"], "<pipeline>:1:5", "expected a comma or `{`, found 'licm'", "a pipeline is"),
        (["-p", "cse{"], "<pipeline>:1:5", "expected the name of an option or `}`", "a pipeline is"),
    ],
)
def test_a_bad_pipeline_is_shown_with_a_caret(
    source: Path, capsys: Capture, arguments: list[str], place: str, message: str, hint: str
) -> None:
    """Each fault of a pipeline text: where, what, what instead; status 1."""
    assert opt.main([str(source), *arguments]) == 1
    captured = capsys.readouterr()
    assert f"{place}: error: {message}" in captured.err
    assert hint in captured.err
    assert "^" in captured.err
    assert captured.out == ""


def test_several_faults_of_a_pipeline_are_shown_at_once(source: Path, capsys: Capture) -> None:
    """Every independent fault, each once."""
    assert opt.main([str(source), "-p", "foo,bar"]) == 1
    err = capsys.readouterr().err
    assert "'foo'" in err
    assert "'bar'" in err


def test_a_missing_file_and_a_wrong_kind_of_file(tmp_path: Path, capsys: Capture) -> None:
    """Both are shown on the command line, with what to give."""
    assert opt.main([str(tmp_path / "no.mlir")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("<command line>:1:11: error: cannot read ") and "no such file or directory" in said
    assert "hint: give a file that exists" in said
    (tmp_path / "a.txt").write_text("")
    assert opt.main([str(tmp_path / "a.txt")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("<command line>:1:11: error: ") and "is no input of this tool" in said
    assert "hint: give a file .mlir, .py or .yaml" in said


def test_a_file_that_is_no_text(tmp_path: Path, capsys: Capture) -> None:
    """Bytes that are not UTF-8 are refused with their line."""
    (tmp_path / "a.mlir").write_bytes(b"// one\n\xff\n")
    assert opt.main([str(tmp_path / "a.mlir")]) == 1
    assert "a.mlir:2:1: error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "flags", "said"),
    [
        ("w.yaml", ["--kernel", "k"], ":{}: error: --kernel says what a kernel of a .py file is called with"),
        ("w.yaml", ["--const=B=3"], ":{}: error: --const says"),
        ("a.mlir", ["--arg", "x=i32"], "and the input is IR"),
        ("a.mlir", ["--machine", "tiny"], "hint: leave --machine out"),
        ("k.py", ["--kernel", "sale"], ":{}: error: "),
        ("k.py", ["--kernel", "sale"], "hint: did you mean `scale`?"),
    ],
)
def test_flags_that_do_not_fit_the_input(
    file: str, flags: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Shown on the command line, whichever of the words is wrong."""
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text("import triton\n\n\n@triton.jit\ndef scale(x):\n    return\n")
    Path("w.yaml").write_text("kernel: k.py::scale\n")
    Path("a.mlir").write_text("")
    assert opt.main([file, *flags]) == 1
    column = len(f"ahbmc-opt {file} ") + (len("--kernel ") if file == "k.py" else 0) + 1
    assert said.format(column) in capsys.readouterr().err


def test_a_folder_or_a_file_that_cannot_be_made(source: Path, capsys: Capture) -> None:
    for flag in ("--dump-dir", "-o"):
        assert opt.main([str(source), flag, f"{source}/x"]) == 1
        said = capsys.readouterr().err
        assert said.startswith("<command line>:1:") and "cannot " in said and "hint: give a f" in said


def test_wrong_usage_has_status_2() -> None:
    """argparse's own errors."""
    assert opt.main(["--no-such-flag"]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "}",
        "func.func",
        '"a"(',
        "%0 = ",
        "func.func @f(%x: tensor<",
        "func.func @f(%x: !tl.ptr) { func.return }",
        "func.func @f(%x: !ahbm.buffer<4x, tcm>) { func.return }",
        "func.func @f() { %0 = arith.constant 99999999999999 : i8 func.return }",
        "\x00",
        "func.func @f() { func.return } func.func @f() { func.return }",
        "module { } module { }",
        "func.func @f() {" + "scf.if %c {" * 2000,
    ],
)
def test_broken_input_ends_in_an_error_and_no_traceback(tmp_path: Path, capsys: Capture, text: str) -> None:
    """No input is so bad that Python shows."""
    (tmp_path / "a.mlir").write_text(text)
    status = opt.main([str(tmp_path / "a.mlir"), "-p", "canonicalize"])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert status in (0, 1)
    assert ("error" in captured.err) == (status == 1)


def test_parts_of_a_split_file_keep_their_places(tmp_path: Path, capsys: Capture) -> None:
    """An error in the second part names its line in the file, and the first part is printed all the same."""
    (tmp_path / "a.mlir").write_text(ADD + "// -----\n\ntl.cycles {cycles = -1 : i64}\n")
    assert opt.main([str(tmp_path / "a.mlir"), "--split-input-file"]) == 1
    captured = capsys.readouterr()
    assert "a.mlir:9:1: error: 'tl.cycles': -1 cycles [invalid-ir]" in captured.err
    assert "arith.muli" in captured.out


def test_diagnostics_can_be_output(tmp_path: Path, capsys: Capture) -> None:
    """--verify-diagnostics without expectations prints errors to standard output and succeeds."""
    (tmp_path / "a.mlir").write_text("tl.cycles {cycles = -1 : i64}\n")
    assert opt.main([str(tmp_path / "a.mlir"), "--verify-diagnostics"]) == 0
    assert "'tl.cycles': -1 cycles" in capsys.readouterr().out
    (tmp_path / "a.mlir").write_text("tl.cycles {\n")
    assert opt.main([str(tmp_path / "a.mlir"), "--parsing-diagnostics"]) == 0
    assert "a.mlir:2:1: error" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("comment", "status", "message"),
    [
        ("// expected-error @+1 {{-1 cycles}}", 0, ""),
        ("// expected-error @below {{-1 cycles}}", 0, ""),
        ("// expected-error @+1 {{-2 cycles}}", 1, 'expected error "-2 cycles" was not produced'),
        ("// expected-error {{-1 cycles}}", 1, "unexpected error: 'tl.cycles': -1 cycles"),
    ],
)
def test_expected_errors_are_compared(tmp_path: Path, capsys: Capture, comment: str, status: int, message: str) -> None:
    """`expected-error` names line and text; a missing and an unexpected error both fail."""
    (tmp_path / "a.mlir").write_text(f"{comment}\ntl.cycles {{cycles = -1 : i64}}\n")
    assert opt.main([str(tmp_path / "a.mlir"), "--verify-diagnostics"]) == status
    assert message in capsys.readouterr().err


def test_ir_between_passes_goes_to_standard_error(source: Path, capsys: Capture) -> None:
    """--print-ir-after-change shows only the pass that changed something, --print-ir-after-all both."""
    assert opt.main([str(source), "-p", "cse,licm", "--print-ir-after-change"]) == 0
    err = capsys.readouterr().err
    assert "IR after cse" in err
    assert "IR after licm" not in err
    assert opt.main([str(source), "-p", "cse,licm", "--print-ir-after-all"]) == 0
    err = capsys.readouterr().err
    assert err.count("IR after") == 2
    assert opt.main([str(source), "-p", "cse,licm", "--print-ir-after", "licm"]) == 0
    assert capsys.readouterr().err.count("IR after") == 1


def test_timing_names_every_pass(source: Path, capsys: Capture) -> None:
    """--timing: a line per pass and the total, on standard error."""
    assert opt.main([str(source), "-p", "cse,licm,cse", "--timing"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert sorted(line.split()[-1] for line in lines) == ["cse", "licm", "total"]


def test_an_unexpected_exception_is_reported_as_ours(capsys: Capture) -> None:
    """Status 70 and one message that says where; the traceback stays away from the user."""

    def body() -> int:
        raise ValueError("boom\nsecond line")

    assert outermost.guarded("ahbmc-opt", body, Sources()) == 70
    err = capsys.readouterr().err
    assert "error: ValueError: boom [internal]" in err
    assert "test_opt.py" in err
    assert "Traceback" not in err


def test_an_error_of_the_user_keeps_its_status(capsys: Capture) -> None:
    """An AhbmcError is printed as it is."""

    def body() -> int:
        raise fail("no good", hint="better")

    assert outermost.guarded("ahbmc-opt", body, Sources()) == 1
    assert capsys.readouterr().err == "error: no good [invalid-input]\n  hint: better\n"


def test_the_ir_after_each_pass_goes_into_a_folder(source: Path, tmp_path: Path, capsys: Capture) -> None:
    """Numbered, the input first; a file can be read again, and two in a row differ by one pass."""
    folder = tmp_path / "made" / "here"
    assert opt.main([str(source), "-p", "licm,cse", "--dump-dir", str(folder)]) == 0
    printed = capsys.readouterr().out
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["000-input.mlir", "001-licm.mlir", "002-cse.mlir"]
    assert [file.read_text().count("arith.addi") for file in files] == [2, 2, 1]
    assert files[2].read_text() == printed
    assert opt.main([str(files[1]), "-p", "cse"]) == 0
    assert capsys.readouterr().out == printed


def test_several_inputs_are_numbered_on(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(f"{ADD}// -----\n{ADD}")
    folder = tmp_path / "dump"
    assert opt.main([str(path), "--split-input-file", "-p", "cse", "--dump-dir", str(folder)]) == 0
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["000-input.mlir", "001-cse.mlir", "002-input.mlir", "003-cse.mlir"]
    capsys.readouterr()


def test_a_folder_that_cannot_be_made(source: Path, capsys: Capture) -> None:
    assert opt.main([str(source), "-p", "cse", "--dump-dir", str(source / "below")]) == 1
    err = capsys.readouterr().err
    assert f"cannot make the folder {source}/below: Not a directory" in err and "hint: give a folder" in err


def test_ir_after_a_pass_that_there_is_not(source: Path, capsys: Capture) -> None:
    assert opt.main([str(source), "-p", "cse", "--print-ir-after", "csee"]) == 2
    assert "invalid choice: 'csee'" in capsys.readouterr().err
