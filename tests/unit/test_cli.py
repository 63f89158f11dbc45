"""The command line: what commands print, which files they write, and with which status they end."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ahbmc.backend_sim.oplog_files import read_oplog
from ahbmc.driver.main import main
from ahbmc.passes import PASS_NAMES
from ahbmc.passes.pipelines import PIPELINES

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * factor, mask=i < n)
"""
WORKLOAD = """\
kernel: scale.py::scale
args:
  x_ptr: {shape: [n], dtype: fp32, init: {normal: {seed: 1}}}
  y_ptr: {shape: [n], dtype: fp32}
  n: 300
  factor: 3.0
const: {BLOCK: 128}
grid: ["cdiv(n, BLOCK)"]
check: {y_ptr: {reference: "x_ptr * factor", rtol: 1e-6, atol: 1e-6}}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "scale.py").write_text(KERNEL)
    (tmp_path / "scale.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    return "scale.yaml"


def test_run_reports_and_passes(workload: str, capsys: Capture) -> None:
    assert main(["run", workload]) == 0
    out, err = capsys.readouterr()
    assert "scale.py::scale on ahbm-2sip, pipeline auto, 3 programs on 1 PE" in out
    assert "check pass" in out and "Verdict" in out
    assert err == ""


def test_run_json_has_the_keys_of_the_contract(workload: str, capsys: Capture) -> None:
    assert main(["run", workload, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kernel"], found["machine"]) == (1, "scale.py::scale", "ahbm-2sip")
    assert (found["pipeline"], found["check"]) == ("auto", "pass")
    assert sum(found["attribution"].values()) == pytest.approx(found["latency_ns"], abs=1e-6)
    assert found["commands"]["total"] == 9 and found["commands"]["dma_read"] == 3
    assert found["bytes"]["hbm_read_useful"] == found["bytes"]["hbm_write"] == 1200
    assert {"issue_cycles", "issue_cycles_max", "engines", "roofline", "events"} <= found.keys()
    assert {"compile", "simulate", "values"} <= found["wall_s"].keys()
    assert {"bound", "floor_ns", "fraction"} <= found["roofline"].keys()
    output = found["outputs"]["y_ptr"]
    assert (output["shape"], output["dtype"], output["ok"]) == ([300], "fp32", True)
    assert output["max_abs_err"] < 1e-6 and output["max_rel_err"] < 1e-6


def test_failed_check_is_status_3_and_says_where(workload: str, capsys: Capture) -> None:
    assert main(["run", workload, "--set", "check.y_ptr.reference=x_ptr"]) == 3
    out, err = capsys.readouterr()
    assert "check fail" in out
    assert err.startswith("scale.yaml:9:16: check of `y_ptr` failed: 300 of 300 elements are off; first at [0]")


def test_not_a_number_in_an_output_is_valid_json(workload: str, capsys: Capture) -> None:
    assert main(["run", workload, "--set", "args.factor=.nan", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["y_ptr"]["max_abs_err"] == 0
    set_reference = ["--set", "args.factor=.nan", "--set", "check.y_ptr.reference=x_ptr"]
    assert main(["run", workload, *set_reference, "--json", "-"]) == 3
    assert json.loads(capsys.readouterr().out)["outputs"]["y_ptr"]["max_abs_err"] is None


def test_all_zero_output_fails(workload: str, capsys: Capture) -> None:
    assert main(["run", workload, "--set", "args.factor=0.0"]) == 3
    assert "the output is all zero" in capsys.readouterr().err


def test_timing_only_takes_the_same_time_and_checks_nothing(workload: str, capsys: Capture) -> None:
    main(["run", workload, "--json", "-"])
    full = json.loads(capsys.readouterr().out)
    assert main(["run", workload, "--timing-only", "--json", "-"]) == 0
    timing = json.loads(capsys.readouterr().out)
    assert timing["latency_ns"] == full["latency_ns"]
    assert (timing["check"], timing["outputs"]) == ("skipped", {})


def test_run_writes_the_files_that_are_asked_for(workload: str, capsys: Capture) -> None:
    files = ["--json", "r.json", "--trace", "t.json", "--oplog", "log.bin", "--oplog-text", "log.txt"]
    files += ["--html", "r.html"]
    assert main(["run", workload, *files, "--by-line"]) == 0
    assert "Latency by line" in capsys.readouterr().out
    latency = json.loads(Path("r.json").read_text())["latency_ns"]
    assert json.loads(Path("t.json").read_text())["traceEvents"]
    text = Path("log.txt").read_text()
    assert f"latency {latency:.3f} ns" in text and "scale.py:8:9" in text
    assert f"latency {latency:,.2f} ns" in Path("r.html").read_text()
    first = Path("log.bin").read_bytes()
    main(["run", workload, "--oplog", "log.bin"])
    assert Path("log.bin").read_bytes() == first


def test_a_trace_whose_name_ends_in_gz_is_compressed(workload: str) -> None:
    """The same bytes under any name."""
    assert main(["run", workload, "--trace", "t.json"]) == 0
    assert main(["run", workload, "--trace", "t.json.gz"]) == 0
    assert main(["run", workload, "--trace", "again.json.gz"]) == 0
    assert gzip.decompress(Path("t.json.gz").read_bytes()) == Path("t.json").read_bytes()
    assert Path("again.json.gz").read_bytes() == Path("t.json.gz").read_bytes()


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_the_ending_of_its_name_chooses_the_format_of_the_op_log(workload: str, name: str) -> None:
    """Each holds the same op-log."""
    for file in ("log.bin", name):
        assert main(["run", workload, "--timing-only", "--oplog", file]) == 0
    assert read_oplog(Path(name)).hash() == read_oplog(Path("log.bin")).hash()


def test_a_folder_that_is_not_there_is_an_error_before_the_run(workload: str, capsys: Capture) -> None:
    """Nobody waits for a simulation whose files cannot be written; nothing else is written either."""
    assert main(["run", workload, "--json", "r.json", "--html", "nowhere/r.html"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and not Path("r.json").exists()
    assert "<command line>:1:43: error: cannot write nowhere/r.html: No such file or directory" in err
    assert "hint: give a file in a folder that exists and can be written, or - for standard output" in err


def test_a_name_that_cannot_be_written_is_an_error_after_the_run(workload: str, capsys: Capture) -> None:
    """A folder in the place of the file."""
    Path("taken").mkdir()
    assert main(["run", workload, "--json", "taken"]) == 1
    assert "error: cannot write taken: Is a directory" in capsys.readouterr().err


def test_parquet_without_pyarrow_is_an_error_before_the_run(
    workload: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a simulation whose op-log cannot be written."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["run", workload, "--oplog", "log.parquet", "--json", "r.json"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and not Path("r.json").exists()
    assert "<command line>:1:30: error: log.parquet is Parquet, which needs the library pyarrow [unsupported]" in err
    assert "pip install 'ahbmc[parquet]'" in err


def test_machine_and_overrides_change_the_run(workload: str, capsys: Capture) -> None:
    slow = ["--set", "machine.pe.cpu.fixed_cycles_single=40", "--set", "const.BLOCK=256"]
    main(["run", workload, "--machine", "tiny", *slow, "--json", "-"])
    found = json.loads(capsys.readouterr().out)
    assert found["machine"] == "tiny"
    # Two programs of a load and, as single ops are no cheaper to issue, a composite.
    assert found["commands"] == {"dma_read": 2, "composite": 2, "total": 4}
    assert found["issue_cycles"] > 4 * 40


def test_several_launches_share_a_tensor(workload: str, capsys: Capture) -> None:
    """The second launch reads what the first has written; the check sees the memory at the end."""
    Path("two.yaml").write_text(
        "args: {a: {shape: [64], dtype: fp32, init: {normal: {}}}, b: {shape: [64], dtype: fp32},"
        " c: {shape: [64], dtype: fp32}}\n"
        "const: {BLOCK: 64}\n"
        "check: {c: {reference: a * 6}, b: {reference: a * 2}}\n"
        "launches:\n"
        "  - {kernel: 'scale.py::scale', args: {x_ptr: a, y_ptr: b, n: 64, factor: 2.0}}\n"
        "  - {kernel: 'scale.py::scale', args: {x_ptr: b, y_ptr: c, n: 64, factor: 3.0}}\n"
    )
    assert main(["run", "two.yaml", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["check"] == "pass"
    assert set(found["outputs"]) == {"b", "c"}


@pytest.mark.parametrize(("level", "has", "lacks"), [("tl", "tl.load", "ahbm.dma_read"), ("ahbm", "ahbm.math", "tl.")])
def test_compile_a_workload(workload: str, capsys: Capture, level: str, has: str, lacks: str) -> None:
    assert main(["compile", workload, "--emit", level]) == 0
    out = capsys.readouterr().out
    assert has in out and "ahbm.value = 300 : i32" in out
    assert lacks not in out.replace("!tl.ptr", "").replace("tl.kernel", "")


def test_compile_a_kernel(workload: str, capsys: Capture) -> None:
    flags = ["--arg", "x_ptr=*bf16", "--arg", "y_ptr=*fp32", "--arg", "n=i64", "--arg", "factor=fp32"]
    assert main(["compile", "scale.py::scale", *flags, "--const", "BLOCK=32", "--emit", "tl", "-o", "out.mlir"]) == 0
    assert capsys.readouterr().out == ""
    text = Path("out.mlir").read_text()
    assert "@scale(%x_ptr: !tl.ptr<bf16>, %y_ptr: !tl.ptr<f32>, %n: i64, %factor: f32)" in text


def test_listings(capsys: Capture) -> None:
    assert main(["passes"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{listed}" for name in PASS_NAMES)
    for name in PASS_NAMES:
        assert main(["passes", name]) == 0
        manual = capsys.readouterr().out
        assert "needs:" in manual and "keeps:" in manual and "options:" in manual, name
    assert main(["pipelines"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name}\n" in f"\n{listed}" for name in PIPELINES)
    assert main(["recipes"]) == 0
    assert "softmax_merge         One step of an online softmax" in capsys.readouterr().out
    assert main(["recipes", "softmax_merge"]) == 0
    assert "l = fma(l, corr, l_loc)" in capsys.readouterr().out
    assert main(["machines"]) == 0
    assert "ahbm-2sip" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["passes", "csee"], "did you mean `cse`?"),
        (["passes", "cse", "nosuch"], "`ahbmc passes` says what each of them is"),
        (["pipelines", "nosuch"], "`ahbmc pipelines` says what each of them is"),
        (["recipes", "softmax"], "did you mean `softmax_merge`?"),
        (["recipes", "nosuch"], "`ahbmc recipes` says what each of them is"),
    ],
)
def test_a_name_that_is_not_listed_is_shown(command: list[str], hint: str, capsys: Capture) -> None:
    """With a caret, and nothing of the others is printed."""
    assert main(command) == 1
    said = capsys.readouterr()
    assert not said.out
    caret = f"{' ' * len(' '.join(['ahbmc', *command[:-1]]))} {'^' * len(command[-1])}"
    assert f"    ahbmc {' '.join(command)}\n    {caret}\n" in said.err and f"hint: {hint}" in said.err


@pytest.mark.parametrize("argv", [[], ["run"], ["frobnicate"], ["run", "x.yaml", "--json"], ["run", "x", "--nope"]])
def test_wrong_usage_is_status_2(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    assert "usage: ahbmc" in capsys.readouterr().err


def test_two_outputs_on_standard_output_are_wrong_usage(workload: str, capsys: Capture) -> None:
    assert main(["run", workload, "--json", "-", "--trace", "-"]) == 2
    assert "only one output can be -" in capsys.readouterr().err


def test_help_lists_what_there_is(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in ("run", "compile", "passes", "pipelines", "recipes", "machines"))
    assert "70 internal" in out.replace("\n", " ")


def test_a_fault_of_ours_is_internal_and_no_traceback(
    workload: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault that nobody expected")

    monkeypatch.delenv("AHBMC_DEBUG", raising=False)
    monkeypatch.setattr("ahbmc.driver.run.run_workload", broken)
    assert main(["run", workload]) == 70
    err = capsys.readouterr().err
    assert "ZeroDivisionError: a fault that nobody expected [internal]" in err
    assert "Traceback" not in err


def test_importing_the_command_line_imports_nothing_slow() -> None:
    """What `--help` may not wait for: numpy, xDSL, SimPy, rich, Lark, YAML."""
    code = "import sys, ahbmc.driver.main; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "xdsl", "simpy", "rich", "lark", "yaml", "msgspec"} & set(loaded)


def test_exact_simulation_gives_the_same(workload: str, capsys: Capture) -> None:
    found: list[dict[str, object]] = []
    for how in ("exact", "fast"):
        assert main(["run", workload, "--set", "args.n=3000", "--simulate", how, "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert all(found[0][key] == found[1][key] for key in ("latency_ns", "attribution", "commands", "engines", "bytes"))


def test_copies_that_are_written_differently_fail(workload: str, capsys: Capture) -> None:
    """Two PEs write a half each into their own copy of a replicated tensor."""
    place = ["--set", "args.y_ptr.place={pe: replicate, num_cubes: 1}"]
    assert main(["run", workload, *place, "--set", "map.pes=sip0.cube0.pe0-1"]) == 3
    assert "its copies differ: a replicated tensor must be written alike" in capsys.readouterr().err
    cut = ["--set", "args.y_ptr.place={pe: row_wise, num_cubes: 1}"]
    assert main(["run", workload, *cut, "--set", "map.pes=sip0.cube0.pe0-1"]) == 0


@pytest.mark.parametrize(
    ("output", "status", "said"),
    [(">&-", 0, ""), ("2>&-", 0, ""), (">/dev/full", 1, "error: cannot write the output: no space left on device")],
)
@pytest.mark.parametrize("words", ["main pipelines", "main run --help", "opt --help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_nobody_takes(output: str, status: int, said: str, words: str, unbuffered: str) -> None:
    """A closed output is none; a full one is the user's fault, told once, and Python does not try again at exit."""
    program, *rest = words.split()
    start = f"import sys; from ahbmc.driver.{program} import main; sys.exit(main())"
    command = f'"{sys.executable}" -c "{start}" {" ".join(rest)} {output}'
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=env)
    assert (found.returncode, found.stderr.split(" [")[0]) == (status, said)
