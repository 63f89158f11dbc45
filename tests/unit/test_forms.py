"""`auto` with a launch: the fastest of the forms of a kernel runs, and what is known of it is not tried again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.program import program
from ahbmc.backend_sim.simulate import latency_within, simulate
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError
from ahbmc.dialects.remarks import remarks
from ahbmc.dialects.text import print_module
from ahbmc.driver import forms
from ahbmc.driver.api import compile as compile_text
from ahbmc.driver.compile_cache import forget
from ahbmc.driver.lowering import Request, compile_branches, compile_request
from ahbmc.driver.prepare import prepare
from ahbmc.driver.run import run_workload
from ahbmc.driver.workload import load
from ahbmc.passes.pipelines import PIPELINES

EXAMPLES = Path(__file__).parents[2] / "examples"
# Products of ten lanes in blocks of 128: the cost model takes composites, single ops are faster.
SMALL_K = tuple(
    f"{path}={value}"
    for path, value in {
        "args.M": 100,
        "args.N": 64,
        "args.K": 10,
        "const.BLOCK_M": 16,
        "const.BLOCK_N": 16,
        "const.BLOCK_K": 128,
    }.items()
)
GATHERED = """
import triton
import triton.language as tl


@triton.jit
def rows(table, x, w, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(table + tl.program_id(0))
    x = tl.load(x + row * BLOCK * BLOCK + i[:, None] * BLOCK + i[None, :])
    w = tl.load(w + i[:, None] * BLOCK + i[None, :])
    tl.store(o + tl.program_id(0) * BLOCK * BLOCK + i[:, None] * BLOCK + i[None, :], tl.dot(x, w))
"""
GATHERED_RUN = """
kernel: rows.py::rows
args:
  table: {shape: [4], dtype: i32, init: {arange: {}}}
  x: {shape: [64, 16], dtype: fp16, init: {normal: {seed: 1}}}
  w: {shape: [16, 16], dtype: fp16, init: {normal: {seed: 2}}}
  o: {shape: [64, 16], dtype: fp32}
const: {BLOCK: 16}
grid: [4]
"""


def request(settings: tuple[str, ...] = (), example: str = "matmul.yaml") -> Request:
    """The request of an example under `auto`."""
    [found] = prepare(load(EXAMPLES / example, settings, None), None, "auto").requests
    return found


def test_the_fastest_form_runs() -> None:
    """Whatever the cost model says, `auto` takes no longer than any named pipeline, and says what it took."""
    latencies = {
        name: run_workload(EXAMPLES / "matmul.yaml", overrides=SMALL_K, pipeline=name, timing_only=True)
        for name in PIPELINES
    }
    auto = latencies.pop("auto")
    fastest = min(latencies, key=lambda name: latencies[name].executed.execution.latency_ps)
    assert auto.executed.execution.latency_ps == latencies[fastest].executed.execution.latency_ps
    assert auto.summary()["pipeline"] == "auto"
    [said] = [r for r in auto.executed.remarks if r.subject == "kernel"]
    assert said.outcome == "as primitive" and "as the cost model would have it" in said.reason
    assert forms.settled(request(SMALL_K)).pipeline == "primitive"


def test_options_of_a_pass_are_kept() -> None:
    """Who says how composites are staged gets composites: forms without that pass are not tried."""
    staged = request((*SMALL_K, "options.form-composites.stage=a", "options.form-composites.when=always"))
    assert "ahbm.composite" in print_module(forms.fastest(staged).module)


def test_compile_prints_what_runs() -> None:
    """`compile` of a workload gives the IR of the form that `run` takes; of a kernel alone that of the cost model."""
    workload = EXAMPLES / "matmul.yaml"
    assert compile_text(workload, set=SMALL_K) == compile_text(workload, set=SMALL_K, pipeline="primitive")
    assert "ahbm.composite" in compile_text(workload, pipeline="auto")


def test_equal_launches_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    real = forms.compile_branches

    def counted(request: Request, pipelines: tuple[str, ...]) -> object:
        tried.append(request.kernel.name)
        return real(request, pipelines)

    forget()
    monkeypatch.setattr(forms, "compile_branches", counted)
    first, second = (forms.fastest(request(SMALL_K)) for _ in range(2))
    assert len(tried) == 1 and first.module is second.module and second.seconds == 0
    forms.fastest(request((*SMALL_K, "grid.0=3")))
    assert len(tried) == 2


def test_what_does_not_fit_in_one_form_runs_in_another() -> None:
    """Blocks of 1024 x 1024: as the cost model would have it they do not fit. Where no form fits, the error is that of
    `auto`.
    """
    large = ("args.M=1024", "args.N=1024", "args.K=64", "const.BLOCK_M=1024", "const.BLOCK_N=1024")
    with pytest.raises(AhbmcError, match="scratch"):
        compile_request(request(large))
    [said] = [r for r in remarks(forms.fastest(request(large)).module) if r.subject == "kernel"]
    assert "scratch" in said.reason
    small = request(("machine.pe.tcm.scratch_bytes=4096",), "flash_attention.yaml")
    with pytest.raises(AhbmcError) as of_all:
        forms.fastest(small)
    with pytest.raises(AhbmcError) as alone:
        compile_request(small)
    assert str(of_all.value) == str(alone.value)


def test_timing_that_reads_memory_is_tried_with_contents(tmp_path: Path) -> None:
    """Rows that a table names: each form runs on what the table holds."""
    (tmp_path / "rows.py").write_text(GATHERED)
    (tmp_path / "rows.yaml").write_text(GATHERED_RUN)
    found = {
        name: run_workload(tmp_path / "rows.yaml", pipeline=name, timing_only=True).executed.execution.latency_ps
        for name in PIPELINES
    }
    assert found["auto"] == min(found.values())


def test_branches_are_what_each_pipeline_makes() -> None:
    """Passes that pipelines begin with in common run once, which changes nothing."""
    made = compile_branches(request(), tuple(PIPELINES))
    for name, branch in made.items():
        alone = compile_request(replace(request(), pipeline=name))
        assert not isinstance(branch, Exception)
        assert print_module(branch.module) == print_module(alone.module), name
        assert branch.writes == alone.writes


COUNTED = """
import triton
import triton.language as tl


@triton.jit
def count(n, value):
    tl.store(n, value)


@triton.jit
def product(n, x, w, o, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.load(n)):
        a = tl.load(x + i[:, None] * 1024 + k * B + i[None, :])
        b = tl.load(w + (k * B + i[:, None]) * B + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(o + i[:, None] * B + i[None, :], acc)


@triton.jit
def wait(n):
    while tl.atomic_cas(n, 1, 1) != 1:
        pass
"""
COUNT, TENSORS = (
    "n: {shape: [1], dtype: i32}",
    "x: {shape: [32, 1024], dtype: fp16, init: {normal: {seed: 1}}}, "
    "w: {shape: [1024, 32], dtype: fp16, init: {normal: {seed: 2}}}, o: {shape: [32, 32], dtype: fp32}",
)
PRODUCT = f"args: {{{COUNT}, {TENSORS}}}\n"


def counted(folder: Path, rest: str) -> Path:
    """A workload with the kernels above."""
    (folder / "count.py").write_text(COUNTED)
    (folder / "count.yaml").write_text(rest)
    return folder / "count.yaml"


def test_forms_are_tried_on_what_earlier_launches_leave(tmp_path: Path) -> None:
    """The first launch says how many iterations the second has; with none, single ops would be the fastest."""
    launches = "{kernel: 'count.py::count', args: {value: 32}}, {kernel: 'count.py::product', const: {B: 32}}"
    check = "check: {o: {reference: 'matmul(x, w)', atol: 0.2}}\n"
    workload = counted(tmp_path, f"{PRODUCT}launches: [{launches}]\n{check}")
    found = {name: run_workload(workload, pipeline=name) for name in PIPELINES}
    latencies = {name: outcome.executed.execution.latency_ps for name, outcome in found.items()}
    assert latencies["auto"] == min(latencies.values()) < latencies["primitive"]
    assert all(outcome.summary()["check"] == "pass" for outcome in found.values())


def test_what_depends_on_contents_is_tried_for_each(tmp_path: Path) -> None:
    """Launches that differ in contents alone: what is fastest without iterations is not taken for 32 of them."""
    workload = counted(tmp_path, f"{PRODUCT}kernel: count.py::product\nconst: {{B: 32}}\n")
    for count in (0, 32):
        set_to = (f"args.n.init.full={count}",)
        found = {
            name: run_workload(workload, overrides=set_to, pipeline=name).executed.execution.latency_ps
            for name in PIPELINES
        }
        assert found["auto"] == min(found.values()), count


def test_a_deadlock_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for ever does so in every form: the first one ends the tries, and the run says why."""
    tried: list[int | None] = []
    real = forms.latency_within

    def noted(launch: Launch, limit_ps: int | None) -> int | None:
        tried.append(limit_ps)
        return real(launch, limit_ps)

    monkeypatch.setattr(forms, "latency_within", noted)
    monkeypatch.setattr(program, "_MOST_SPINS", 10)
    monkeypatch.setattr(forms, "command_key", id)  # so that no two forms are alike
    with pytest.raises(AhbmcError, match="spins on an atomic"):
        run_workload(counted(tmp_path, f"args: {{{COUNT}}}\nkernel: count.py::wait\n"))
    assert len(tried) == 1


def test_a_form_is_given_up_as_soon_as_it_takes_longer() -> None:
    """At its own latency a launch is done, a picosecond earlier it is not."""
    asked = request(SMALL_K)
    assert asked.launch is not None
    form, machine = compile_request(asked), load_machine(asked.machine)
    launch = Launch(
        form.function, machine, tuple(asked.launch.values.values()), asked.launch.grid, asked.launch.programs
    )
    latency_ps = simulate([launch], values=False).latency_ps
    assert latency_within(launch, latency_ps) == latency_within(launch, None) == latency_ps
    assert latency_within(launch, latency_ps - 1) is None
    assert latency_within(launch, latency_ps // 2) is None
