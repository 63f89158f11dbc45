"""Commands that a kernel places by hand are those that are issued: how many, what they cost, what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.driver.run import run_workload
from support_values import Case, assert_close, case_of_workload, check_every_pass, reference_values

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def issued(name: str, pipeline: str | None, *settings: str) -> tuple[int, int]:
    """(commands, issue cycles) of an example."""
    found = run_workload(EXAMPLES / f"{name}.yaml", pipeline=pipeline, overrides=settings, timing_only=True).summary()
    return found["commands"]["total"], found["issue_cycles"]


# What a command costs besides its bytes where all cost the same, as published; by default a single op costs 8 cycles.
FIXED_40 = "machine.pe.cpu.fixed_cycles_single=40"


@pytest.mark.parametrize("pipeline", [None, "primitive", "composite", "fused", "pipelined", "auto"])
def test_a_tile_in_two_composites_is_issued_as_it_is_written(pipeline: str | None) -> None:
    """load, composite, composite, wait: under every pipeline."""
    assert issued("decode_tile_fused", pipeline) == (4, 120)
    assert issued("decode_tile_fused", pipeline, FIXED_40) == (4, 184)


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
