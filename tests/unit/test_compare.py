"""`ahbmc compare`: figures that differ between two results, and conditions that make it a gate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ahbmc.driver.main import main

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "flash_attention.yaml")
Capture = pytest.CaptureFixture[str]
RESULT: Mapping[str, Any] = {
    "schema": 1,
    "kernel": "k.py::k",
    "machine": "ahbm-2sip",
    "pipeline": "auto",
    "latency_ns": 1000.0,
    "check": "pass",
    "commands": {"gemm": 2, "total": 2},
    "issue_cycles": 20,
    "bytes": {"hbm_read": 4096, "noc": 0},
    "engines": {"gemm": {"busy_ns": 500.0, "utilization": 0.5, "servers": 1, "min": 0.5}},
    "attribution": {"issue": 400.0, "gemm": 600.0},
    "scratch_peak": 640,
    "roofline": {"bound": "gemm", "floor_ns": 500.0, "floors_ns": {"gemm": 500.0, "hbm": 2.0, "issue": 20.0}},
    "outputs": {"c": {"shape": [3], "ok": True, "max_abs_err": None}},
    "wall_s": {"compile": 0.5},
    "events": 7,
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changed = {
        **RESULT,
        "latency_ns": 1020.0,
        "commands": {"composite": 1, "total": 1},
        "bytes": {"hbm_read": 4096, "noc": 64},
        "attribution": {"issue": 420.0, "gemm": 600.0},
        "wall_s": {"compile": 0.75},
        "roofline": {**RESULT["roofline"], "bound": "issue"},
        "scratch_peak": 512,
        "outputs": {"c": {"ok": False, "reason": "32 of 32 elements are off; first at [0]: nan, expected 0.47"}},
        "ideal": {"issue,noc": 600.0},
    }
    (tmp_path / "a.json").write_text(json.dumps(RESULT))
    (tmp_path / "b.json").write_text(json.dumps(changed))


@pytest.mark.usefixtures("files")
def test_figures_that_differ_are_listed(capsys: Capture) -> None:
    """Those that are equal are not, nor how long ahbmc took; a kind of command that was not issued is 0."""
    assert main(["compare", "a.json", "b.json"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["latency_ns", "1,000.000", "1,020.000", "+2.00%"] in lines
    assert ["commands.gemm", "2", "0", "-100.00%"] in lines
    assert ["commands.composite", "0", "1", "0", "->", "1"] in lines
    assert ["roofline.bound", "gemm", "issue", "gemm", "->", "issue"] in lines
    assert ["outputs.c.ok", "true", "false", "true", "->", "false"] in lines
    (reason,) = (line for line in lines if line[:1] == ["outputs.c.reason"])
    assert " ".join(reason[1:]) == "- 32 of 32 elements ar ... - -> 32 of 32 elements ar ..."
    assert ["scratch_peak", "640", "512", "-20.00%"] in lines
    assert ["ideal.issue,noc", "-", "600.000", "-", "->", "600.000"] in lines
    figures = {line[0] for line in lines if line}
    assert not figures & {"issue_cycles", "attribution.gemm", "wall_s.compile", "engines.gemm.min", "check"}
    assert main(["compare", "a.json", "b.json", "--all"]) == 0
    assert "attribution.gemm" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_equal_results_say_so(capsys: Capture) -> None:
    assert main(["compare", "a.json", "a.json", "--fail-if", "latency_ns>+0%", "--fail-if", "latency_ns!=1000"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("no figure differs\n") and not err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("latency_ns>+2%", False),  # exactly 2% is not more
        ("latency_ns>=+2%", True),
        ("latency_ns > +1.9%", True),
        ("latency_ns>+19", True),
        ("latency_ns>+20", False),
        ("latency_ns<-1%", False),
        ("commands.total<-40%", True),
        ("latency_ns>1010", True),
        ("latency_ns<1e3", False),
        ("bytes.noc>+50%", True),  # of nothing, everything is more
        ("bytes.hbm_read!=+0", False),
        ("commands.composite>+0", True),
        ("wall_s.compile>+40%", True),
        ("check!=pass", False),
        ("roofline.bound==issue", True),
        ("commands.copy>+0", False),  # neither issued one
        ("outputs.c.ok!=true", True),
    ],
)
def test_a_condition_that_holds_is_status_3(condition: str, holds: bool, capsys: Capture) -> None:
    assert main(["compare", "a.json", "b.json", "--fail-if", condition]) == (3 if holds else 0)
    err = capsys.readouterr().err
    assert (f"fails: {condition} (" in err) == holds


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("latency_ns", "`latency_ns` is no condition"),
        ("latency_ns>>2", "is no condition"),
        ("latency_ns>2%", "needs a sign: percentages are changes"),
        ("latency_ns>much", "`much` of the condition `latency_ns>much` is no amount"),
        ("check>+2%", "`check` is pass, no number"),
        ("latency>+2%", "hint: did you mean `latency_ns`?"),
        ("check!=passed", "`check` is never `passed`"),
        ("roofline.bound==dma", "hint: it may be gemm, hbm, issue"),
        ("roofline.bound==pe_cpu", "`roofline.bound` is never `pe_cpu`"),
        ("outputs.c.ok==True", "hint: did you mean `true`?"),
        ("latency_ns!=fast", "`latency_ns` is 1000.0, no word"),
        ("outputs.c.max_abs_err>1e-3", "`outputs.c.max_abs_err` is null, no number"),
        ("commands.gem>0", "hint: did you mean `commands.gemm`?"),
    ],
)
def test_a_condition_that_cannot_be_read(condition: str, said: str, capsys: Capture) -> None:
    """Shown on the command line, with what may be written."""
    assert main(["compare", "a.json", "b.json", "--fail-if", condition]) == 1
    err = capsys.readouterr().err
    assert err.startswith("<command line>:1:") and said in err and "hint: " in err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "c.json:1:2: error: not the JSON of a result"),
        ("[]", "c.json is no result of a run"),
        ('{"latency_ns": 1}', "c.json is no result of a run"),
        (json.dumps({**RESULT, "schema": 0}), "c.json has schema 0; this ahbmc writes and reads 1"),
    ],
)
def test_a_file_that_is_no_result(text: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c.json").write_text(text)
    assert main(["compare", "a.json", "c.json"]) == 1
    assert said in capsys.readouterr().err
    assert main(["compare", "a.json", "nowhere.json"]) == 1
    assert "there is no result nowhere.json" in capsys.readouterr().err


def test_results_of_runs(tmp_path: Path, capsys: Capture) -> None:
    """What `run --json` writes of two pipelines."""
    files = [str(tmp_path / f"{pipeline}.json") for pipeline in ("composite", "primitive")]
    for file in files:
        pipeline = Path(file).stem
        assert main(["run", EXAMPLE, "--set", "args.S=128", "--pipeline", pipeline, "--json", file]) == 0
    assert main(["compare", *files, "--fail-if", "commands.composite<+0", "--fail-if", "latency_ns>+0"]) == 3
    out, err = capsys.readouterr()
    assert "pipeline composite -> primitive\n" in out and "attribution.issue" in out
    assert "fails: commands.composite<+0 (-100.00%)" in err and "latency_ns" not in err
