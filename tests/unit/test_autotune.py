"""Decorators as data: configurations of an autotuner, heuristics, and runs that take the best or the first of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ahbmc
import numpy as np
import pytest
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.driver.main import main
from ahbmc.driver.run import run_workload
from ahbmc.frontend.host import configurations, heuristics
from ahbmc.frontend.module import Module, module_of
from ahbmc.frontend.values import HostValue

KERNEL = """
import os
import triton
import triton.language as tl

SIZES = [64, 128] + [256]


def large(least, more={{}}):
    return [triton.Config({{"BLOCK": b, **more}}, num_warps=w) for b in SIZES if b > least for w in (4, 8)]


{decorators}
@triton.jit
def k(x, y, o, n, BLOCK: tl.constexpr, EVEN: tl.constexpr = False):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i) if EVEN else tl.load(x + i, mask=i < n)
    tl.store(o + i, a * 2, mask=i < n)
"""
TUNED = '@triton.autotune(configs=large(0), key=["n"])'
WORKLOAD = """
kernel: k.py::k
args:
  x: {shape: [n], dtype: fp32, init: {normal: {seed: 1}}}
  y: null
  o: {shape: [n], dtype: fp32}
  n: 1000
grid: ["cdiv(n, BLOCK)"]
check: {o: {reference: x + x}}
"""


def module(decorators: str) -> Module:
    return module_of(KERNEL.format(decorators=decorators), "k.py")


def _grid(meta: Mapping[str, Any]) -> tuple[int]:
    return (-(-meta["n"] // meta["BLOCK"]),)


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "k.py").write_text(KERNEL.format(decorators=TUNED))
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    return tmp_path / "w.yaml"


@pytest.mark.parametrize(
    ("configs", "blocks"),
    [
        ("[triton.Config({'BLOCK': 32}), triton.Config(kwargs={'BLOCK': 16}, num_stages=3)]", [32, 16]),
        ("large(64)", [128, 256]),
        ("large(least=SIZES[1], more={'EVEN': False})", [256]),
        ("[triton.Config(dict_, num_warps=4) for dict_ in ({'BLOCK': 2 * s} for s in range(1, 3))]", [2, 4]),
        ("large(64) if SIZES[0] > 64 else large(128)", [256]),
    ],
)
def test_configurations_are_read(configs: str, blocks: Sequence[int]) -> None:
    """Written out, by comprehensions and by functions of the file; those that differ in warps alone are one."""
    found = configurations(module(f"@triton.autotune(configs={configs}, key=['n'])"), "k")
    assert [each["BLOCK"] for each in found] == blocks


def test_an_autotuner_by_another_name_is_one() -> None:
    assert len(configurations(module("@my.triton_autotune(large(0), key=['n'])"), "k")) == 3
    assert configurations(module("@triton.other(large(0))"), "k") == ()


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        ("[triton.Config({'BLOCK': int(os.environ['B'])})]", "os"),
        ("unknown()", "undefined name 'unknown'"),
        ("[{'BLOCK': 3}]", "a configuration of `k` is a value of the host"),
        ("[triton.Config(3)]", "a dictionary is needed, not the number 3"),
        ("[a for a in range(1000) for b in range(1000)]", "a comprehension of more than 65536 elements"),
        ("(lambda f: f(f))(lambda f: f(f))", "never end"),
    ],
)
def test_configurations_that_are_no_data_are_refused_at_their_place(configs: str, found: str) -> None:
    with pytest.raises(AhbmcError) as caught:
        configurations(module(f"@triton.autotune(configs={configs}, key=['n'])"), "k")
    fault = caught.value.faults[0]
    assert found in fault.message
    assert fault.place is not None
    assert fault.hint


def test_heuristics_are_computed_of_the_arguments() -> None:
    """Of numbers, of whether a tensor is there, and of what an earlier one has computed."""
    text = (
        "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0 and args['y'] is None})\n"
        "@triton.heuristics(values={'BOTH': lambda a: a['EVEN'] and a['x'] is not None})"
    )
    known = {"x": HostValue("x"), "y": None, "n": 128, "BLOCK": 64}
    assert heuristics(module(text), "k", known) == {"EVEN": True, "BOTH": True}


def test_heuristics_that_look_into_tensors_are_refused() -> None:
    text = "@triton.heuristics({'EVEN': lambda args: args['x'].data_ptr() % 2 == 0})"
    with pytest.raises(AhbmcError, match="the heuristics of `k` cannot be read") as caught:
        heuristics(module(text), "k", {"x": HostValue("x")})
    assert caught.value.faults[0].category is Category.UNSUPPORTED


def test_the_best_configuration_is_run(workload: Path, tmp_path: Path) -> None:
    """Every one is in the table with its latency; the run is that of the best, which has fewest programs here."""
    assert main(["run", str(workload), "--autotune", "--json", str(tmp_path / "o.json")]) == 0
    result: dict[str, Any] = json.loads((tmp_path / "o.json").read_text())
    tried = result["autotune"]
    assert [each["config"] for each in tried] == [{"BLOCK": 64}, {"BLOCK": 128}, {"BLOCK": 256}]
    assert [each["best"] for each in tried] == [False, False, True]
    assert tried[2]["latency_ns"] == result["latency_ns"] == min(each["latency_ns"] for each in tried)
    assert result["check"] == "pass"


def test_without_constants_the_first_configuration_is_taken(workload: Path, tmp_path: Path) -> None:
    """By workloads, by the command line, and by a call from Python; what is given goes over it."""
    first = run_workload(workload).executed
    assert first.bound[0].constants["BLOCK"] == 64
    assert first.bound[0].grid == (16, 1, 1)
    assert run_workload(workload, overrides=("const.BLOCK=32",)).executed.bound[0].constants["BLOCK"] == 32
    kernel = f"{tmp_path}/k.py::k"
    types = [f"--arg={text}" for text in ("x=*fp32", "y=*fp32", "o=*fp32", "n=i32")]
    assert main(["compile", kernel, *types, "-o", str(tmp_path / "ir.mlir")]) == 0
    assert "64xf32" in (tmp_path / "ir.mlir").read_text()
    x, out = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
    ahbmc.load(tmp_path / "k.py").k[_grid](x, None, out, 200)
    assert (out == 2 * x).all()


def test_what_a_workload_says_is_not_tuned(workload: Path) -> None:
    result = ahbmc.run(workload, set={"const.BLOCK": 128}, autotune=True)
    assert [each["config"] for each in result.summary()["autotune"]] == [{}]


def test_a_configuration_that_does_not_run_says_why(workload: Path) -> None:
    """The others are tried all the same."""
    text = KERNEL.format(decorators=TUNED).replace("[64, 128]", "[3, 128]")
    (workload.parent / "k.py").write_text(text)
    outcome = run_workload(workload, tune=True)
    assert [each["best"] for each in outcome.run.autotune] == [False, False, True]
    assert outcome.run.autotune[0]["latency_ns"] is None
    assert "power of" in outcome.run.autotune[0]["error"]


def test_missing_constants_say_why_the_decorators_do_not_give_them(workload: Path) -> None:
    text = KERNEL.format(decorators='@triton.autotune(configs=os.environ["C"], key=[])')
    (workload.parent / "k.py").write_text(text)
    with pytest.raises(AhbmcError, match="kernel `k` needs `BLOCK`") as caught:
        run_workload(workload)
    assert any("cannot be read" in note for note in caught.value.faults[0].notes)


def test_tuning_without_an_autotuner_is_an_error(workload: Path) -> None:
    (workload.parent / "k.py").write_text(KERNEL.format(decorators=""))
    with pytest.raises(AhbmcError, match="no kernel of this workload has an autotuner: k"):
        run_workload(workload, overrides=("const.BLOCK=64",), tune=True)
