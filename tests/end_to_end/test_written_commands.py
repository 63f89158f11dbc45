"""Commands that a kernel places by hand are those that are issued: how many, what they cost, what they compute."""

from __future__ import annotations

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


def test_a_tile_of_single_op_commands() -> None:
    """23 commands; 40 cycles for every one is what the published 960 was found with."""
    assert issued("decode_tile_primitive", None) == (23, 224)
    assert issued("decode_tile_primitive", None, "machine.pe.cpu.fixed_cycles_single=40") == (23, 960)


def merged(given: dict[str, Any]) -> dict[str, Any]:
    """The running state once the softmax of the tile has joined it, in float64."""
    wide = {name: np.asarray(value, np.float64) for name, value in given.items()}
    s = wide["q_ptr"] @ wide["k_ptr"].T
    m = np.maximum(wide["m_ptr"], s.max(axis=1))
    p, of_state = np.exp(s - m[:, None]), np.exp(wide["m_ptr"] - m)
    total = wide["l_ptr"] * of_state + p.sum(axis=1)
    o = wide["o_ptr"] * of_state[:, None] + p @ wide["v_ptr"]
    return {name: value.astype(np.float32) for name, value in (("m_ptr", m), ("l_ptr", total), ("o_ptr", o))}


def tile(name: str) -> Case:
    case = case_of_workload(EXAMPLES / f"{name}.yaml", ("const.STATE_IN_HBM=true", "const.TILE=40", "const.G=5"))
    # Scores of moderate size, so that the maximum does not settle everything.
    for argument in ("q_ptr", "k_ptr"):
        case.arguments[argument][...] *= np.float32(0.3)
    return case


@pytest.mark.parametrize("pipeline", ["primitive", "auto"])
def test_values_of_a_tile_of_single_op_commands(pipeline: str) -> None:
    case = tile("decode_tile_primitive")
    assert_close(reference_values(case), merged(dict(case.arguments)), "by numpy")
    check_every_pass(case, pipeline)
