"""Commands that a kernel places by hand are those that are issued: how many, what they cost, what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.driver.run import run_workload
from support_values import Case, assert_close, case_of_workload, check_every_pass, reference_values

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def summary(name: str, pipeline: str | None, *settings: str) -> Mapping[str, Any]:
    """What a run of an example for its time alone reports."""
    return run_workload(EXAMPLES / f"{name}.yaml", pipeline=pipeline, overrides=settings, timing_only=True).summary()


def issued(name: str, pipeline: str | None, *settings: str) -> tuple[int, int]:
    """(commands, issue cycles) of an example."""
    found = summary(name, pipeline, *settings)
    return found["commands"]["total"], found["issue_cycles"]


# What a command costs besides its bytes where all cost the same, as published; by default a single op costs 8 cycles.
FIXED_40 = "machine.pe.cpu.fixed_cycles_single=40"


@pytest.mark.parametrize("pipeline", [None, "primitive", "composite", "fused", "pipelined", "auto"])
def test_a_tile_in_two_composites_is_issued_as_it_is_written(pipeline: str | None) -> None:
    """load, composite, composite, wait: under every pipeline. Four tiles have eight composites."""
    assert issued("decode_tile_fused", pipeline) == (4, 120)
    assert issued("decode_tile_fused", pipeline, FIXED_40) == (4, 184)
    assert issued("decode_tile_fused", pipeline, "args.S=4*TILE") == (10, 9 + 4 * (43 + 60) + 8)


def test_a_tile_of_single_op_commands() -> None:
    assert issued("decode_tile_primitive", None) == (23, 224)
    assert issued("decode_tile_primitive", None, FIXED_40) == (23, 960)


@pytest.mark.parametrize(("per_byte", "ratio"), [("1/4", 4.20), ("1/16", 5.22), ("1/32", 5.45)])
def test_few_commands_pay_the_more_the_less_a_byte_costs(per_byte: str, ratio: float) -> None:
    """Issue cycles of the two forms, by cycles per byte, as published: the gain is in the number of commands."""
    settings = (FIXED_40, f"machine.pe.cpu.cycles_per_byte={per_byte}")
    primitive, fused = (issued(f"decode_tile_{form}", None, *settings)[1] for form in ("primitive", "fused"))
    assert round(primitive / fused, 2) == ratio


@pytest.mark.parametrize(("form", "pipeline"), [("primitive", "primitive"), ("fused", "fused")])
def test_the_plain_kernel_needs_no_more(form: str, pipeline: str) -> None:
    """It stores m, l and O besides, by commands of 9 cycles, which the written forms leave in TCM."""
    commands, cycles = issued("decode_tile", pipeline)
    written = issued(f"decode_tile_{form}", None)
    assert commands - 3 <= written[0] and cycles - 3 * 9 <= written[1]


def test_a_tile_more_of_the_plain_kernel_needs_no_more() -> None:
    for form, pipeline in (("primitive", "primitive"), ("fused", "fused")):
        one, two = (issued("decode_tile", pipeline, f"args.S={n}*TILE") for n in (1, 2))
        written = issued(f"decode_tile_{form}", None)
        assert two[0] - one[0] <= written[0] and two[1] - one[1] <= written[1]


def attended(given: Mapping[str, Any]) -> dict[str, Any]:
    """m, l and O of all keys at once, in float64."""
    q, k, v = (np.asarray(given[name], np.float64) for name in ("q_ptr", "k_ptr", "v_ptr"))
    s = q @ k.T
    m = s.max(axis=1)
    p = np.exp(s - m[:, None])
    found = {"m_ptr": m, "l_ptr": p.sum(axis=1), "o_ptr": p @ v}
    return {name: value.astype(np.float32) for name, value in found.items()}


def tiles(form: str) -> Case:
    """Three tiles, with scores of moderate size, so that the maximum does not settle everything."""
    sizes = ("const.STORE=true", "const.TILE=40", "const.G=5", "const.HEAD_DIM=70", "args.S=3*TILE")
    case = case_of_workload(EXAMPLES / f"decode_tile_{form}.yaml", sizes)
    for argument in ("q_ptr", "k_ptr"):
        case.arguments[argument][...] *= np.float32(0.3)
    return case


@pytest.mark.parametrize(
    ("form", "pipeline"),
    [("primitive", "primitive"), ("primitive", "auto"), ("fused", "primitive"), ("fused", "fused"), ("fused", "auto")],
)
def test_values_of_tiles(form: str, pipeline: str) -> None:
    """m, l and O by numpy, and the same after every pass."""
    case = tiles(form)
    assert_close(reference_values(case), attended(case.arguments), "by numpy")
    check_every_pass(case, pipeline)


# A plain kernel, the pipeline that is to find its composites, and the kernel that writes them out.
FORMS = [
    ("gemm_load_ref", "composite", "gemm_load_ref_written"),
    ("gemm_ref_ref", "composite", "gemm_ref_ref_written"),
    ("flash_decode", "composite", "flash_decode_written_composites"),
    ("flash_decode", "fused", "flash_decode_written_fused"),
    ("flash_decode", "pipelined", "flash_decode_written_ahead"),
]


@pytest.mark.parametrize(("plain", "pipeline", "written"), FORMS)
def test_what_passes_find_is_as_fast_as_what_is_written(plain: str, pipeline: str, written: str) -> None:
    """Within 2% of the written form, under its own pipeline or the default one, whichever is faster for it."""
    best = min(summary(written, own)["latency_ns"] for own in (None, "auto"))
    assert summary(plain, pipeline)["latency_ns"] <= 1.02 * best


@pytest.mark.parametrize("form", ["composites", "fused", "ahead"])
def test_values_of_written_composites(form: str) -> None:
    """Attention by numpy, and the same after every pass. Three steps over the keys."""
    sizes = ("const.G=5", "const.HEAD_DIM=40", "const.BLOCK_N=48", "args.S=144")
    case = case_of_workload(EXAMPLES / f"flash_decode_written_{form}.yaml", sizes)
    given = case.arguments
    found = attended({**given, "q_ptr": np.asarray(given["q_ptr"], np.float64) * given["sm_scale"]})
    wanted = (found["o_ptr"] / found["l_ptr"][:, None]).astype(np.float16)
    assert_close(reference_values(case), {"o_ptr": wanted}, "by numpy")
    check_every_pass(case, "auto")


def test_too_large_a_composite_names_its_ops(tmp_path: Path) -> None:
    """Nothing is split silently: the error has every kind of op with its bytes, the bound and the gap."""
    ops = ", ".join(['{"op": "exp"}'] * 80 + ['{"op": "add", "other": 1.0}'] * 20)
    text = f"""\
import triton
from ahbmc import language as al


@triton.jit
def k(x_ptr, y_ptr):
    a = al.ref(x_ptr, (64, 64))
    al.composite(op="gemm", a=a, b=a, out=al.ref(y_ptr, (64, 64)), epilogue=[{ops}])
"""
    (tmp_path / "k.py").write_text(text, encoding="utf-8")
    arguments = "{x_ptr: {shape: [64, 64], dtype: fp16}, y_ptr: {shape: [64, 64], dtype: fp16}}"
    (tmp_path / "k.yaml").write_text(f"kernel: k.py::k\nargs: {arguments}\ngrid: [1]\n", encoding="utf-8")
    with pytest.raises(AhbmcError) as caught:
        run_workload(tmp_path / "k.yaml")
    (fault,) = caught.value.faults
    assert fault.category is Category.DOES_NOT_FIT and fault.place is not None and fault.place.line == 8
    assert fault.message.startswith("a composite of 101 ops has ") and "a command has 1024 at most" in fault.message
    assert [note.split(":")[0] for note in fault.notes[:3]] == ["gemm", "exp", "add"]


IN_PLACE = """\
import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def written(x, w, y, N: tl.constexpr, AT: tl.constexpr):
    out = al.ref(y + AT, (N, N), (2 * N, 1))
    al.composite(op="gemm", a=al.ref(x, (N, N), (2 * N, 1)), b=al.ref(w, (N, N)), out=out)


@triton.jit
def found(x, w, y, N: tl.constexpr, AT: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i[:, None] * (2 * N) + i[None, :])
    c = tl.dot(a, tl.load(w + i[:, None] * N + i[None, :]))
    tl.store(x + AT + i[:, None] * (2 * N) + i[None, :], c.to(tl.float16))
"""


def in_place(folder: Path, kernel: str, at: int) -> Path:
    (folder / "k.py").write_text(IN_PLACE)
    file = folder / "w.yaml"
    file.write_text(
        f"""\
kernel: k.py::{kernel}
args:
  t: {{shape: [64, 128], dtype: fp16, init: {{normal: {{seed: 1}}}}}}
  w: {{shape: [64, 64], dtype: fp16, init: {{normal: {{seed: 2}}}}}}
launches: [{{kernel: "k.py::{kernel}", args: {{x: t, y: t}}, const: {{N: 64, AT: {at}}}}}]
""".partition("\n")[2]
    )
    return file


@pytest.mark.parametrize("timing_only", [False, True])
def test_a_composite_does_not_write_what_it_streams(timing_only: bool, tmp_path: Path) -> None:
    """Columns beside each other do not meet, though their bounds do; one column that both have is told."""
    assert run_workload(in_place(tmp_path, "written", 64), timing_only=timing_only).summary()["commands"]["total"] == 1
    with pytest.raises(AhbmcError, match="writes 128 bytes of what it streams as `a`") as caught:
        run_workload(in_place(tmp_path, "written", 63), timing_only=timing_only)
    (fault,) = caught.value.faults
    assert fault.place is not None and fault.place.line == 9 and fault.hint is not None


@pytest.mark.parametrize("stage", ["none", "a", "b"])
@pytest.mark.parametrize("at", [0, 64])
def test_a_store_into_what_is_streamed_stays_outside(at: int, stage: str, tmp_path: Path) -> None:
    file = in_place(tmp_path, "found", at)
    settings = (f"options.form-composites.stage={stage}",)
    outcome = run_workload(file, pipeline="composite", overrides=settings)
    wanted = run_workload(file, pipeline="primitive").executed.written().values()
    for one, other in zip(outcome.executed.written().values(), wanted, strict=True):
        assert_close({"t": one}, {"t": other}, stage)
    assert outcome.summary()["commands"].get("dma_write", 0) == (stage != "a")
