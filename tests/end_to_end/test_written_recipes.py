"""Recipes that a kernel writes out with `al.composite`: each choice against numpy, and after every pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_values import assert_close, case_of_text, check_every_pass, random_array, reference_values

HEAD = """\
import triton
import triton.language as tl
from ahbmc import language as al


@triton.jit
def k(x, w, u, y, m_ptr, l_ptr, mask):
    a = tl.load(al.ref(x, (24, 40)))
    b = al.ref(w, (40, 56))
"""
STATE = """\
    m = tl.load(al.ref(m_ptr, (24,)))
    l = tl.load(al.ref(l_ptr, (24,)))
"""
STORED = """\
    tl.store(al.ref(m_ptr, (24,)), m)
    tl.store(al.ref(l_ptr, (24,)), l)
"""


def _tile(record: str, *, beside: str = "") -> str:
    """A product, a recipe on its tiles, and a conversion to f16 on the way out."""
    call = (
        f'al.composite(op="gemm", a=a, b=b, out=al.ref(y, (24, 56)), epilogue=[{{"op": "scale", "by": 0.2}}, {record}])'
    )
    return f"{HEAD}{beside}    {call}\n"


def _scores(given: Mapping[str, Array]) -> Array:
    return given["x"].astype(np.float64) @ given["w"].astype(np.float64) * 0.2


def _gelu(t: Array) -> Array:
    return t * 0.5 * (1 + np.vectorize(erf)(t / np.sqrt(2)))


def _gelu_tanh(t: Array) -> Array:
    return t * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3)))


def _silu(t: Array) -> Array:
    return t / (1 + np.exp(-t))


def _merged(base: float) -> Callable[[Mapping[str, Array]], Mapping[str, Array]]:
    def expected(given: Mapping[str, Array]) -> Mapping[str, Array]:
        s, old = _scores(given), given["m_ptr"].astype(np.float64)
        m = np.maximum(old, s.max(axis=1))
        total = given["l_ptr"] * base ** (old - m) + (base ** (s - m[:, None])).sum(axis=1)
        return {"m_ptr": m, "l_ptr": total}

    return expected


def _norm(x: Array) -> Array:
    """Rows over the root of their mean square."""
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-3)


def _attended(base: float) -> Callable[[Mapping[str, Array]], Mapping[str, Array]]:
    """softmax_merge with x as the scores, where some rows have no key: those stay as they are."""

    def expected(given: Mapping[str, Array]) -> Mapping[str, Array]:
        s = np.where(np.arange(24)[:, None] % 3 == 0, -np.inf, given["x"].astype(np.float64))
        m = np.maximum(given["m_ptr"], s.max(axis=1))
        p = base ** (s - m[:, None])
        corr = base ** (given["m_ptr"] - m)
        o = given["u"].astype(np.float64) * corr[:, None] + p @ given["w"].astype(np.float64)
        return {"m_ptr": m, "l_ptr": given["l_ptr"] * corr + p.sum(axis=1), "y": o}

    return expected


NORM = '{{"op": "rmsnorm_linear", "x": {}, "eps": 1e-3, "share": 1 / 40{}}}'
MERGE = """\
    o = tl.load(al.ref(u, (24, 56))).to(tl.float32)
    s = tl.where(tl.load(al.ref(mask, (24, 1))) > 0.0, a.to(tl.float32), -float("inf"))
    al.composite(op="gemm", b=b, out=o, epilogue=[{{"op": "add", "other": o}}],
                 prologue=[{{"op": "softmax_merge", "s": s, "m": m, "l": l, "O": o, "base": "{}", "guard": "{}"}}])
    tl.store(al.ref(y, (24, 56)), o)
"""
U = "    beside = tl.load(al.ref(u, (24, 56))).to(tl.float32)\n"
LSE = '{{"op": "log_sum_exp", "m": m, "l": l, "base": "{}"}}'
SCALED = 'al.composite(op="gemm", a=a, b=b, epilogue=[{"op": "scale", "by": 0.2}'

CASES: list[tuple[str, str, Callable[[Mapping[str, Array]], Mapping[str, Array]]]] = [
    ("gelu", _tile('{"op": "linear_gelu"}'), lambda g: {"y": _gelu(_scores(g))}),
    ("gelu by a tangent", _tile('{"op": "linear_gelu", "form": "tanh"}'), lambda g: {"y": _gelu_tanh(_scores(g))}),
    ("gelu of the sum with a bias",
     _tile('{"op": "add", "other": beside}, {"op": "linear_gelu"}', beside=U),
     lambda g: {"y": _gelu(_scores(g) + g["u"])}),
    ("a product as a gate", _tile('{"op": "swiglu_gate", "u": beside}', beside=U),
     lambda g: {"y": _silu(_scores(g)) * g["u"]}),
    ("a product behind a gate", _tile('{"op": "swiglu_gate", "u": beside, "product": "up"}, {"op": "neg"}', beside=U),
     lambda g: {"y": -_silu(g["u"].astype(np.float64)) * _scores(g)}),
    ("log-sum-exp of a product, which nobody wants",
     f"{HEAD}{STATE}    {SCALED}, {LSE.format('e')}])\n{STORED}", _merged(np.e)),
    ("log-sum-exp of a product, which is stored too",
     f"{HEAD}{STATE}    s = {SCALED}, {LSE.format('2')}])\n    tl.store(al.ref(y, (24, 56)), s)\n{STORED}",
     lambda g: {**_merged(2)(g), "y": _scores(g)}),
    ("log-sum-exp of a block",
     f"{HEAD}{STATE}    s = {SCALED}])\n    al.composite(op=\"math\", a=s, epilogue=[{LSE.format('e')}])\n{STORED}",
     _merged(np.e)),
    ("ops at the end, around a recipe",
     f"{HEAD}{STATE}    s = {SCALED}, {{\"op\": \"exp\", \"scope\": \"once\"}}, {{\"op\": \"log\", \"scope\": "
     f"\"once\"}}, {LSE.format('e')}, {{\"op\": \"add\", \"other\": 1.0, \"scope\": \"once\"}}])\n"
     f"    tl.store(al.ref(y, (24, 56)), s)\n{STORED}",
     lambda g: {**_merged(np.e)(g), "y": _scores(g) + 1}),
    ("rows that are normalised",
     f"{HEAD}    al.composite(op=\"gemm\", b=b, out=al.ref(y, (24, 56)), prologue=[{NORM.format('a', '')}])\n",
     lambda g: {"y": _norm(g["x"]) @ g["w"]}),
    ("wide rows that are normalised and weighted, with what follows",
     f"{HEAD}    rows, weights = a.to(tl.float32), tl.load(al.ref(u, (40,))).to(tl.float32)\n"
     "    y = al.ref(y, (24, 56))\n    al.composite(op=\"gemm\", b=b, out=y, epilogue=[{\"op\": \"relu\"}], prologue=["
     + NORM.format("rows", ', "w": weights, "weight": "with"') + "])\n",
     lambda g: {"y": np.maximum((_norm(g["x"]) * g["u"].ravel()[:40]) @ g["w"].astype(np.float64), 0)}),
    *((f"a step of attention in base {base} with guard {guard}",
       f"{HEAD}{STATE}{MERGE.format(base, guard)}{STORED}", _attended(value))
      for base, value in (("e", np.e), ("2", 2.0)) for guard in ("weights", "all", "none")),
    ("gelu of a block",
     f"{HEAD}    s = {SCALED}])\n    al.composite(op=\"math\", a=s, out=s, epilogue=[{{\"op\": \"linear_gelu\"}}])\n"
     "    tl.store(al.ref(y, (24, 56)), s)\n", lambda g: {"y": _gelu(_scores(g))}),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "text", "expected"), CASES, ids=[c[0] for c in CASES])
def test_values(shows: str, text: str, expected: Callable[[Mapping[str, Array]], Mapping[str, Any]]) -> None:
    """Of the kernel as written, by numpy; and under the pipeline that does most."""
    shapes = {"x": [24, 40], "w": [40, 56], "u": [24, 56], "y": [24, 56]}
    given = {n: random_array(shape, "fp16", 3 + i) for i, (n, shape) in enumerate(shapes.items())}
    given |= {"m_ptr": random_array([24], "fp32", 8), "l_ptr": np.abs(random_array([24], "fp32", 9)) + np.float32(1)}
    given["mask"] = (np.arange(24) % 3).astype(np.float32)
    case = case_of_text(text, "k", given)
    wanted = {n: np.asarray(v).astype(given[n].dtype) for n, v in expected(given).items()}
    assert_close(reference_values(case), wanted, "by numpy")
    check_every_pass(case, "auto")
