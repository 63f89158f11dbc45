"""A user's interrupt (SIGINT) ends a run cleanly, with what was measured so far."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ahbmc.backend_sim.engine.records import Log
from ahbmc.driver.run import run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"
LAUNCHES = f"""\
args:
  a_ptr: {{shape: [4096], dtype: fp32, init: {{normal: {{seed: 1}}}}}}
  b_ptr: {{shape: [4096], dtype: fp32, init: {{normal: {{seed: 2}}}}}}
  c_ptr: {{shape: [4096], dtype: fp32}}
  n_elements: 4096
const: {{BLOCK_SIZE: 512}}
pipeline: pipelined
options: {{overlap-programs: {{programs: 2}}}}
grid: [8]
check: {{c_ptr: {{reference: a_ptr + b_ptr}}}}
launches:
- kernel: {EXAMPLES}/vector_add.py::vector_add_kernel
- kernel: {EXAMPLES}/vector_add.py::vector_add_kernel
- kernel: {EXAMPLES}/vector_add.py::vector_add_kernel
"""
# Runs the command line with its arguments; the process gets SIGINT at call AT (counted from 0) of a method of Log.
SCRIPT = """\
import os, signal, sys
from ahbmc.backend_sim.engine.records import Log
from ahbmc.driver.main import main
name, at = sys.argv.pop(1), int(sys.argv.pop(1))
method = getattr(Log, name)
def called(self, *row):
    global at
    at -= 1
    if at == -1:
        os.kill(os.getpid(), signal.SIGINT)
    return method(self, *row)
setattr(Log, name, called)
sys.exit(main(sys.argv[1:]))
"""
# The same when the workload is prepared.
AT_START = """\
import os, signal, sys
from ahbmc.driver import main, run
run.prepare = lambda *_: os.kill(os.getpid(), signal.SIGINT)
sys.exit(main.main(sys.argv[1:]))
"""


def interrupted(folder: Path, method: str, at: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`ahbmc run` of three launches of 8 programs, interrupted at a call of a method of Log."""
    (folder / "three.yaml").write_text(LAUNCHES)
    command = [sys.executable, "-c", SCRIPT, method, str(at), "run", "three.yaml", "--simulate", "exact", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_launches_that_ended_are_reported(tmp_path: Path) -> None:
    """The second of three launches is interrupted when four of its programs, two by two, have ended: status 130, no
    traceback; the report, the JSON object and the op-log have what had ended."""
    done = interrupted(tmp_path, "program", 6, "--json", "r.json", "--oplog", "log.jsonl", "--trace", "t.json")
    said = "interrupted in launch 2 of 3 (vector_add_kernel), of which 4 of 8 programs had ended"
    assert done.returncode == 130
    assert done.stderr.startswith(f"ahbmc run: {said}") and len(done.stderr.splitlines()) == 1
    assert said in " ".join(done.stdout.split()) and "Launches" in done.stdout and "check skipped" in done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["interrupted"].startswith(said)
    assert (found["check"], found["outputs"]) == ("skipped", {})
    whole = run_workload(tmp_path / "three.yaml", timing_only=True, exact=True).summary()
    assert [launch["kernel"] for launch in found["launches"]] == ["vector_add_kernel"] * 2
    assert found["launches"][0] == whole["launches"][0]
    assert 0 < found["launches"][1]["latency_ns"] < whole["launches"][1]["latency_ns"]
    assert sum(found["attribution"].values()) == pytest.approx(found["latency_ns"])
    assert found["commands"]["total"] * 24 == whole["commands"]["total"] * 12
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert sum(row.get("table") == "programs" for row in rows) == 6
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_an_interrupt_before_a_program_ended_says_so(tmp_path: Path) -> None:
    """One line, no report and no files of nothing."""
    done = interrupted(tmp_path, "records_of", 0, "--oplog", "log.jsonl")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith(
        "ahbmc run: interrupted in launch 1 of 3 (vector_add_kernel), of which 0 of 8 programs had ended"
    )
    assert not (tmp_path / "log.jsonl").exists()


def test_an_interrupt_while_it_starts(tmp_path: Path) -> None:
    """Status 130 and one line."""
    (tmp_path / "three.yaml").write_text(LAUNCHES)
    command = [sys.executable, "-c", AT_START, "run", "three.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ahbmc: interrupted\n")


def test_python_callers_get_the_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook an interrupt is an interrupt: nothing partial is returned as if it were whole."""
    (tmp_path / "three.yaml").write_text(LAUNCHES)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Log, "program", stop)
    with pytest.raises(KeyboardInterrupt):
        run_workload(tmp_path / "three.yaml", timing_only=True)
