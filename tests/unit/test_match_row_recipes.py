"""Recipes beside `softmax_merge`: spellings that match, with the values of the commands, and kernels that differ in one
op, which do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ahbmc.passes.recipe import Operand, Recipe, Row, Scratch
from ahbmc.passes.recipes import OWN
from support_mutants import matching_mutants
from support_tl_passes import BEFORE_RECIPES, TL_PASSES, Passed, random, through_passes

M, K, N = 32, 64, 32


@dataclass(frozen=True)
class Kernel:
    """A kernel as lines by name, in order; `params` are those that it matches with."""

    lines: Mapping[str, str]
    params: str

    def passed(self, changes: Mapping[str, str], passes: str = TL_PASSES) -> Passed:
        """It with some lines replaced, through the passes."""
        arguments: dict[str, tuple[str, Any]] = {
            "x": ("*fp16", random(M, K, seed=1, dtype="float16")),
            "w": ("*fp16", random(K, N, seed=2, dtype="float16") * np.float16(0.2)),
            "z": ("*fp32", random(M, N, seed=3)),
            "g": ("*fp32", random(K, seed=4)),
            "y": ("*fp32", np.zeros((M, N), np.float32)),
            "r": ("*fp32", np.zeros((M,), np.float32)),
            "n": ("i32", K),
            "c": ("fp32", 1 / K),
        }
        body = "\n".join({**self.lines, **changes}.values())
        header = f"{', '.join(arguments)}, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr"
        return through_passes(header, body, arguments, {"M": M, "K": K, "N": N}, (1,), passes)


LOADS = """\
om, ok, on = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
a = tl.load(x + om[:, None] * K + ok[None, :])
b = tl.load(w + ok[:, None] * N + on[None, :])
zs = tl.load(z + om[:, None] * N + on[None, :])"""
STORE = "tl.store(y + om[:, None] * N + on[None, :], out)"
TILE = {"loads": LOADS, "dot": "t = tl.dot(a, b)", "then": ""}
NORM = {
    "loads": LOADS,
    "weight": "g1 = tl.load(g + ok)",
    "wide": "v = a.to(tl.float32)",
    "square": "square = v * v",
    "mean": "mean = tl.sum(square, 1) / K",
    "root": "root = tl.rsqrt(mean + 1e-6)",
    "normed": "p = v * root[:, None]",
    "out": "out = tl.dot(p.to(tl.float16), b)",
    "store": STORE,
}
STEP = {
    "start": """\
om, on = tl.arange(0, M), tl.arange(0, N)
sums = tl.zeros([M, 16], tl.float32)
out = tl.zeros([M, N], tl.float32)
for k in range(0, n, 16):
    ok = k + tl.arange(0, 16)
    a = tl.load(x + om[:, None] * K + ok[None, :])
    b = tl.load(w + ok[:, None] * N + on[None, :])
    g1 = tl.load(g + ok)""",
    "square": "    sums += a.to(tl.float32) * a.to(tl.float32)",
    "weight": "    p = a * g1[None, :]",
    "dot": "    out = tl.dot(p.to(tl.float16), b, out)",
    "end": "out = out * tl.rsqrt(tl.sum(sums, 1) / K)[:, None]",
    "store": STORE,
}
LSE = {
    "start": """\
om = tl.arange(0, M)
m = tl.full([M], -float("inf"), tl.float32)
l = tl.zeros([M], tl.float32)
for k in range(0, n, 16):
    s = tl.load(x + om[:, None] * K + (k + tl.arange(0, 16))[None, :]).to(tl.float32)""",
    "maximum": "    new = tl.maximum(m, tl.max(s, 1))",
    "terms": "    p = tl.exp(s - new[:, None])",
    "scale": "    old = l * tl.exp(m - new)",
    "sum": "    l = old + tl.sum(p, 1)",
    "carry": "    m = new",
    "store": "tl.store(r + om, m + tl.log(l))",
}
GELU = Kernel({**TILE, "gelu": "out = t * 0.5 * (1 + tl.erf(t / 1.4142135623730951))", "store": STORE}, 'form = "erf"')
TANH = Kernel(
    {
        **TILE,
        "inner": "u = 0.7978845608 * (t + 0.044715 * t * t * t)",
        "tanh": "f = 2 * tl.sigmoid(2 * u) - 1",
        "gelu": "out = 0.5 * t * (1 + f)",
        "store": STORE,
    },
    'form = "tanh"',
)
GATE = Kernel({**TILE, "gate": "f = t * tl.sigmoid(t)", "out": "out = f * zs", "store": STORE}, 'product = "gate"')
RMS = Kernel(NORM, 'mean = "times", weight = "without", x = "narrow"')
SQUARES = Kernel(STEP, 'sum = "lanes", x = "narrow"')
SUMS = Kernel(LSE, 'base = "e"')
HALF = {"wide": "v = a", "square": "square = v.to(tl.float32) * v.to(tl.float32)"}
WIDE = {"wide": "v = tl.load(z + om[:, None] * N + (ok % N)[None, :])"}

ACCEPTED: Mapping[str, tuple[Kernel, Mapping[str, str], str]] = {
    "linear_gelu: by erf": (GELU, {}, GELU.params),
    "linear_gelu: with a bias and rounded": (
        GELU,
        {"then": "t = (t + tl.load(r + on)[None, :]).to(tl.float16)"},
        GELU.params,
    ),
    "linear_gelu: half in front": (GELU, {"gelu": "h = 0.5 * t\nout = h * tl.erf(0.70710678 * t) + h"}, GELU.params),
    "linear_gelu: by sigmoid": (TANH, {}, TANH.params),
    "linear_gelu: t outside": (TANH, {"inner": "u = t * 0.7978845608 * (1 + 0.044715 * t * t)"}, TANH.params),
    "linear_gelu: by exponentials": (TANH, {"tanh": "e = tl.exp(2 * u)\nf = (e - 1) / (e + 1)"}, TANH.params),
    "linear_gelu: by one exponential": (TANH, {"tanh": "f = 1 - 2 / (tl.exp(2 * u) + 1)"}, TANH.params),
    "linear_gelu: sigmoid alone": (
        TANH,
        {"tanh": "", "gelu": "out = t * tl.sigmoid(1.5957691216 * (t + 0.044715 * t * t * t))"},
        TANH.params,
    ),
    "swiglu_gate: the product is the gate": (GATE, {}, GATE.params),
    "swiglu_gate: by a quotient": (GATE, {"gate": "f = t / (1 + tl.exp(-t))"}, GATE.params),
    "swiglu_gate: the product is let through": (
        GATE,
        {"gate": "f = zs / (1 + tl.exp(-zs))", "out": "out = t * f"},
        'product = "up"',
    ),
    "rmsnorm_linear: narrow rows": (RMS, {}, RMS.params),
    "rmsnorm_linear: 1 / sqrt": (RMS, {"root": "root = 1 / tl.sqrt(mean + 1e-6)"}, RMS.params),
    "rmsnorm_linear: quotient by the root": (RMS, {"normed": "p = v / tl.sqrt(mean + 1e-6)[:, None]"}, RMS.params),
    "rmsnorm_linear: wide rows, a factor": (
        RMS,
        {**WIDE, "mean": "mean = tl.sum(square, 1) * c"},
        'mean = "times", weight = "without", x = "f32"',
    ),
    "rmsnorm_linear: over a number of PE_CPU": (
        RMS,
        {"mean": "mean = tl.sum(square, 1) / n.to(tl.float32)"},
        'mean = "over", weight = "without", x = "narrow"',
    ),
    "rmsnorm_linear: weights": (
        RMS,
        {"normed": "p = v * root[:, None] * g1[None, :]"},
        'weight = "with", x = "narrow"',
    ),
    "rmsnorm_linear: weights behind the cast": (
        RMS,
        {**HALF, "normed": "p = (v * root[:, None]).to(tl.float16) * g1[None, :]"},
        'weight = "with"',
    ),
    "rmsnorm_linear: wide rows with weights, over": (
        RMS,
        {
            **WIDE,
            "mean": "mean = tl.sum(square, 1) / n.to(tl.float32)",
            "normed": "p = g1[None, :] * v * root[:, None]",
        },
        'mean = "over", weight = "with", x = "f32"',
    ),
    "rmsnorm_step: lanes": (SQUARES, {}, SQUARES.params),
    "rmsnorm_step: weights with an axis of one lane": (
        SQUARES,
        {"weight": "    p = a * tl.load(g + ok[None, :])"},
        SQUARES.params,
    ),
    "rmsnorm_step: rows": (
        SQUARES,
        {
            "start": STEP["start"].replace("[M, 16]", "[M]"),
            "square": "    v = a.to(tl.float32)\n    sums += tl.sum(v * v, 1)",
            "end": "out = out * tl.rsqrt(sums / K)[:, None]",
        },
        'sum = "rows", x = "narrow"',
    ),
    "log_sum_exp: base e": (SUMS, {}, SUMS.params),
    "log_sum_exp: base 2, exchanged": (
        SUMS,
        {
            "maximum": "    new = tl.maximum(tl.max(s, 1), m)",
            "terms": "    p = tl.exp2(s - new[:, None])",
            "scale": "    old = tl.exp2(m - new) * l",
            "sum": "    l = tl.sum(p, 1) + old",
            "store": "tl.store(r + om, m + tl.log2(l))",
        },
        'base = "2"',
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_spelling_matches_and_its_commands_give_its_values(name: str) -> None:
    kernel, changes, params = ACCEPTED[name]
    passed = kernel.passed(changes)
    assert passed.notes("match-recipes") == [("matched", name.partition(":")[0])]
    assert params in passed.params
    assert passed.difference == 0
    assert passed.difference_of_commands() < 5e-3


REFUSED: Mapping[str, tuple[Kernel, Mapping[str, str]]] = {
    "gelu: another factor inside": (GELU, {"gelu": "out = t * 0.5 * (1 + tl.erf(t * 0.7))"}),
    "gelu: a third": (GELU, {"gelu": "out = t * 0.3 * (1 + tl.erf(t / 1.4142135623730951))"}),
    "gelu: minus": (GELU, {"gelu": "out = t * 0.5 * (1 - tl.erf(t / 1.4142135623730951))"}),
    "gelu: 2 for 1": (GELU, {"gelu": "out = t * 0.5 * (2 + tl.erf(t / 1.4142135623730951))"}),
    "gelu: of another block": (GELU, {"gelu": "out = t * 0.5 * (1 + tl.erf(zs / 1.4142135623730951))"}),
    "gelu: times another block": (GELU, {"gelu": "out = zs * 0.5 * (1 + tl.erf(t / 1.4142135623730951))"}),
    "gelu: the error function is stored": (
        GELU,
        {
            "gelu": "e = tl.erf(t / 1.4142135623730951)\nout = t * 0.5 * (1 + e)",
            "store": STORE + "\ntl.store(z + om[:, None] * N + on[None, :], e)",
        },
    ),
    "tangent: another coefficient": (TANH, {"inner": "u = 0.7978845608 * (t + 0.044 * t * t * t)"}),
    "tangent: a square for the cube": (TANH, {"inner": "u = 0.7978845608 * (t + 0.044715 * t * t)"}),
    "tangent: sigmoid of u": (TANH, {"tanh": "f = 2 * tl.sigmoid(u) - 1"}),
    "tangent: sign": (TANH, {"gelu": "out = 0.5 * t * (1 - f)"}),
    "tangent: the quick form": (TANH, {"tanh": "", "gelu": "out = t * tl.sigmoid(1.702 * t)"}),
    "tangent: exponentials the other way": (TANH, {"tanh": "e = tl.exp(2 * u)\nf = (e + 1) / (e - 1)"}),
    "gate: sign": (GATE, {"gate": "f = t * tl.sigmoid(-t)"}),
    "gate: of twice the value": (GATE, {"gate": "f = t * tl.sigmoid(2 * t)"}),
    "gate: added": (GATE, {"out": "out = f + zs"}),
    "gate: 2 for 1": (GATE, {"gate": "f = t / (2 + tl.exp(-t))"}),
    "gate: base 2": (GATE, {"gate": "f = t / (1 + tl.exp2(-t))"}),
    "gate: twice": (GATE, {"gate": "f = t * t * tl.sigmoid(t)"}),
    "gate: half of it, and no other factor": (GATE, {"gate": "f = 0.5 * t * tl.sigmoid(t)", "out": "out = f"}),
    "gate: a number for the other factor": (GATE, {"out": "out = f * c"}),
    "gate: stored too": (GATE, {"gate": "f = t * tl.sigmoid(t)\ntl.store(z + om[:, None] * N + on[None, :], f)"}),
    "step: half of the squares before": (
        SQUARES,
        {"square": "    sums = 0.5 * sums + a.to(tl.float32) * a.to(tl.float32)"},
    ),
    "step: half of the sum before": (
        SQUARES,
        {
            "start": STEP["start"].replace("[M, 16]", "[M]"),
            "square": "    v = a.to(tl.float32)\n    sums = 0.5 * sums + tl.sum(v * v, 1)",
            "end": "out = out * tl.rsqrt(sums / K)[:, None]",
        },
    ),
    "step: half of the product before": (SQUARES, {"dot": "    out = tl.dot(p.to(tl.float16), b, 0.5 * out)"}),
    "sums: half of the sum before": (SUMS, {"scale": "    old = 0.5 * l * tl.exp(m - new)"}),
    "norm: the sum of the values": (RMS, {"square": "square = v"}),
    "norm: a cube": (RMS, {"square": "square = v * v * v"}),
    "norm: squares of others": (RMS, {"square": "square = v * tl.load(w + om[:, None] * K + ok[None, :])"}),
    "norm: the maximum": (RMS, {"mean": "mean = tl.max(square, 1) / K"}),
    "norm: no root": (RMS, {"root": "root = 1 / (mean + 1e-6)"}),
    "norm: times the root": (RMS, {"root": "root = tl.sqrt(mean + 1e-6)"}),
    "norm: with a shift": (RMS, {"normed": "p = v * root[:, None] + 1"}),
    "norm: the root is stored": (RMS, {"root": "root = tl.rsqrt(mean + 1e-6)\ntl.store(r + om, root)"}),
    "step: squares of the weighted": (SQUARES, {"square": "    v = a * g1[None, :]\n    sums += v * v"}),
    "step: the values summed": (SQUARES, {"square": "    sums += a.to(tl.float32)"}),
    "step: squares taken off": (SQUARES, {"square": "    v = a.to(tl.float32)\n    sums -= v * v"}),
    "step: twice": (SQUARES, {"square": "    v = a.to(tl.float32)\n    sums += 2 * v * v"}),
    "step: weights added": (SQUARES, {"weight": "    p = a + g1[None, :]"}),
    "step: other weights on rows": (SQUARES, {"weight": "    p = a * tl.load(g + om)[:, None]"}),
    "sums: the minimum": (SUMS, {"maximum": "    new = tl.minimum(m, tl.max(s, 1))"}),
    "sums: of the values": (SUMS, {"sum": "    l = old + tl.sum(s, 1)"}),
    "sums: not rescaled": (SUMS, {"scale": "    old = l"}),
    "sums: rescaled upside down": (SUMS, {"scale": "    old = l * tl.exp(new - m)"}),
    "sums: two bases": (SUMS, {"scale": "    old = l * tl.exp2(m - new)"}),
    "sums: one more": (SUMS, {"sum": "    l = old + tl.sum(p, 1) + 1"}),
    "sums: the old maximum": (SUMS, {"terms": "    p = tl.exp(s - m[:, None])"}),
    "sums: terms are stored": (
        SUMS,
        {"terms": "    p = tl.exp(s - new[:, None])\n    tl.store(y + om[:, None] * N + tl.arange(0, 16)[None, :], p)"},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_kernel_that_differs_in_one_place_does_not_match(name: str) -> None:
    kernel, changes = REFUSED[name]
    passed = kernel.passed(changes)
    assert "matched" not in [outcome for outcome, _ in passed.notes("match-recipes")]
    assert "tl.recipe" not in passed.text
    assert passed.difference == 0


# What still matches: a number that is an operand is another number, and what a tile becomes is halved afterwards.
OTHER_NUMBERS = {
    "tl.reduce: halved",
    "arith.constant: another number",
    "arith.divf: halved",
    "arith.addf: halved",
}
HALVED = {"arith.mulf: halved"}
MUTANTS: Mapping[str, set[str]] = {
    "linear_gelu: by erf": HALVED,
    "linear_gelu: by sigmoid": HALVED,
    "linear_gelu: by exponentials": HALVED,
    "swiglu_gate: the product is the gate": HALVED,
    "swiglu_gate: the product is let through": HALVED,
    "rmsnorm_linear: narrow rows": OTHER_NUMBERS,
    "rmsnorm_linear: 1 / sqrt": OTHER_NUMBERS,
    "rmsnorm_linear: wide rows with weights, over": {"arith.constant: another number"},
    "rmsnorm_step: lanes": set(),
    "rmsnorm_step: rows": set(),
    "log_sum_exp: base e": set(),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_kernel_with_one_op_changed_matches(name: str) -> None:
    kernel, changes, _ = ACCEPTED[name]
    count, found = matching_mutants(kernel.passed(changes, BEFORE_RECIPES).module)
    assert count > 15
    assert set(found) == MUTANTS[name]
    assert len(found) <= 5


LEAKY = Recipe(
    name="leaky",
    about="A leaky ReLU of a product, and a residual.",
    place="tile",
    tile="t",
    operands=(Operand("t", "R", ("M", "N"), "product"), Operand("r", "R", ("M", "N"), "residual")),
    primary=Scratch("y", ("M", "N"), element="t"),
    scratch=(Scratch("low", ("M", "N"), element="t"),),
    rows=(Row("mul", ("t", 0.01), "low"), Row("max", ("t", "low"), "low"), Row("add", ("low", "r"), "y")),
)


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ("tl.maximum(t, t * 0.01) + zs", ("matched", "leaky")),
        ("zs + tl.maximum(0.01 * t, t)", ("matched", "leaky")),
        (
            "tl.minimum(t, t * 0.01) + zs",
            ("refused", "leaky: what becomes of the product is not y = add(low, r): there is no low = max(t, low)"),
        ),
        ("tl.maximum(t, t * 0.01) - zs", ("refused", "leaky: the residual [M, N] is no value of its own")),
    ],
)
def test_a_recipe_of_ones_own_may_be_arithmetic_alone(
    out: str, found: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but its rows tells it from other kernels; where it is not, a remark says so."""
    monkeypatch.setitem(OWN, LEAKY.name, LEAKY)
    passed = Kernel({**TILE, "out": f"out = {out}", "store": STORE}, "").passed({})
    assert passed.notes("match-recipes") == [found]
    assert passed.difference == 0
    assert passed.difference_of_commands() < 5e-3


NO_ROWS = "what the product takes is not P = mul(c, mean) along axis 1"
CENTRED = Recipe(
    name="centred",
    about="Rows are centred, then divided by the root of their mean square.",
    place="before",
    operands=(
        Operand("x", "R", ("M", "K"), "rows"),
        Operand("eps", "R", (), "what is added"),
        Operand("share", "R", (), "1 / K"),
    ),
    primary=Scratch("P", ("M", "K"), element="b"),
    scratch=(
        Scratch("mean", ("M",), element="f32"),
        Scratch("c", ("M", "K"), element="f32"),
        Scratch("square", ("M", "K"), element="f32"),
    ),
    rows=(
        Row("reduce_sum", ("x",), "mean", axis=1),
        Row("mul", ("mean", "share"), "mean"),
        Row("sub", ("x", "mean"), "c", axis=1),
        Row("mul", ("c", "c"), "square"),
        Row("reduce_sum", ("square",), "mean", axis=1),
        Row("mul", ("mean", "share"), "mean"),
        Row("add", ("mean", "eps"), "mean"),
        Row("rsqrt", ("mean",), "mean"),
        Row("mul", ("c", "mean"), "P", axis=1),
    ),
)


@pytest.mark.parametrize(
    ("square", "found"),
    [
        ("square = v * v", [("matched", "centred")]),
        ("square = wide * wide", [("refused", f"centred: {NO_ROWS}: there is no square = mul(c, c)")]),
    ],
)
def test_a_recipe_of_ones_own_comes_first(
    square: str, found: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it ends with is `rmsnorm_linear`, which would take that alone. How far its root is does not matter."""
    monkeypatch.setitem(OWN, CENTRED.name, CENTRED)
    wide = "wide = tl.load(z + om[:, None] * N + (ok % N)[None, :])\nv = wide - (tl.sum(wide, 1) / K)[:, None]"
    passed = RMS.passed({"wide": wide, "square": square})
    assert [note for note in passed.notes("match-recipes") if "centred" in note[1]] == found
    assert passed.difference == 0
    assert passed.difference_of_commands() < 5e-3


SOFTCAP = Recipe(
    name="softcap",
    about="Scores that are held below a cap by a tangent.",
    place="tile",
    tile="t",
    operands=(Operand("t", "R", ("M", "N"), "scores"), Operand("cap", "R", (), "cap")),
    primary=Scratch("y", ("M", "N"), element="t"),
    scratch=(Scratch("u", ("M", "N"), element="t"),),
    rows=(Row("div", ("t", "cap"), "u"), Row("tanh", ("u",), "u"), Row("mul", ("u", "cap"), "y")),
)


@pytest.mark.parametrize(
    ("out", "outcome"),
    [
        ("(2 * tl.sigmoid(2 * (t / c)) - 1) * c", "matched"),
        ("20.0 * (2 * tl.sigmoid(t / 10.0) - 1)", "matched"),
        ("40.0 * tl.sigmoid(0.1 * t) - 20.0", "matched"),
        ("40.0 * tl.sigmoid(0.1 * t) - 10.0", "refused"),
        ("20.0 * (2 * tl.sigmoid(t / 20.0) - 1)", "refused"),
        ("c * (2 * tl.sigmoid(t / 10.0) - 1)", "refused"),
    ],
)
def test_a_scalar_of_a_recipe_may_be_a_number_that_the_kernel_writes(
    out: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same number wherever the rows have it, also where the kernel has worked out a part with it."""
    monkeypatch.setitem(OWN, SOFTCAP.name, SOFTCAP)
    passed = Kernel({**TILE, "out": f"out = {out}", "store": STORE}, "").passed({})
    assert [note for note, reason in passed.notes("match-recipes") if "softcap" in reason] == [outcome]
    assert passed.difference == 0
    assert passed.difference_of_commands() < 5e-3
