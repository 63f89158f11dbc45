"""The online softmax in many spellings: all that compute it match, and none that differs in one op does."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support_mutants import matching_mutants
from support_tl_passes import BEFORE_RECIPES, TL_PASSES, Passed, random, through_passes

KEYS, WIDTH = 50, 32
STEP: Mapping[str, str] = {
    "scaled": "qk = qk * c",
    "mask": "qk = tl.where(inside[None, :], qk, -float('inf'))",
    "maximum": "new = tl.maximum(m, tl.max(qk, 1))",
    "p": "p = tl.exp2(qk - new[:, None])",
    "alpha": "alpha = tl.exp2(m - new)",
    "sum": "l = l * alpha + tl.sum(p, 1)",
    "rescale": "acc = acc * alpha[:, None]",
    "dot": "acc = tl.dot(p.to(tl.float16), v, acc)",
    "carry": "m = new",
}
OTHER = """\
w = tl.load(k_ptr + (start + on)[:, None] * D + od[None, :], mask=inside[:, None], other=0.0)
acc = tl.dot(p.to(tl.float16), v, acc)
"""
FRAME: Mapping[str, str] = {
    "first m": "m = tl.full([BM], -float('inf'), tl.float32)",
    "first l": "l = tl.zeros([BM], tl.float32)",
    "second": "",
    "end": "acc = acc / l[:, None]",
}
BODY = """\
om = tl.program_id(0) * BM + tl.arange(0, BM)
on = tl.arange(0, BN)
od = tl.arange(0, D)
q = tl.load(q_ptr + om[:, None] * D + od[None, :], mask=om[:, None] < n, other=0.0)
{first m}
{first l}
acc = tl.zeros([BM, D], tl.float32)
{second}
c = scale * 1.44269504
for start in range(0, n, BN):
    inside = start + on < n
    k = tl.load(k_ptr + (start + on)[None, :] * D + od[:, None], mask=inside[None, :], other=0.0)
    v = tl.load(v_ptr + (start + on)[:, None] * D + od[None, :], mask=inside[:, None], other=0.0)
    qk = tl.dot(q, k)
{step}
{end}
tl.store(o_ptr + om[:, None] * D + od[None, :], acc, mask=om[:, None] < n)
"""


def attention(
    changes: Mapping[str, str],
    order: tuple[str, ...] = tuple(STEP),
    rows: int = 32,
    body: str = BODY,
    passes: str = TL_PASSES,
) -> Passed:
    """The kernel with some lines of its step or frame replaced (empty: left out) and set in another order."""
    lines = {**STEP, **FRAME, **changes}
    step = "\n".join(lines[key] for key in order if lines[key])
    arguments: dict[str, tuple[str, Any]] = {
        "q_ptr": ("*fp16", random(KEYS, WIDTH, seed=1, dtype="float16")),
        "k_ptr": ("*fp16", random(KEYS, WIDTH, seed=2, dtype="float16")),
        "v_ptr": ("*fp16", random(KEYS, WIDTH, seed=3, dtype="float16")),
        "o_ptr": ("*fp32", np.zeros((KEYS, WIDTH), np.float32)),
        "x_ptr": ("*fp32", np.zeros((64, 64), np.float32)),
        "scale": ("fp32", 0.2),
        "n": ("i32", KEYS),
    }
    header = f"{', '.join(arguments)}, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr"
    body = body.format(step=textwrap.indent(step, "    "), **{key: lines[key] for key in FRAME})
    return through_passes(header, body, arguments, {"BM": rows, "BN": 16, "D": WIDTH}, (-(-KEYS // rows),), passes)


COLUMN_M = {"first m": "m = tl.full([BM, 1], -float('inf'), tl.float32)"}
COLUMN_L = {"first l": "l = tl.zeros([BM, 1], tl.float32)", "end": "acc = acc / l"}
COLUMNS = {
    **COLUMN_M,
    "maximum": "new = tl.maximum(m, tl.max(qk, 1, keep_dims=True))",
    "p": "p = tl.exp2(qk - new)",
    "rescale": "acc = acc * alpha",
}
SECOND = {"second": "acc2 = tl.zeros([BM, D], tl.float32)", "end": "acc = (acc - acc2) / l[:, None]"}
UNSCALED = {"scaled": "", "mask": ""}
HALF = "p = tl.exp2(qk - new[:, None]).to(tl.float16)"
TWO = "two outputs"
ZEROS = "weights and correction 0 where there is no key"
MASKED = "weights masked"
CAUSAL = "inside[None, :] & (om[:, None] >= (start + on)[None, :])"
COLUMN = "maximum and sum with an axis of one lane"
ACCEPTED: Mapping[str, tuple[Mapping[str, str], str]] = {
    "as it is": ({}, 'base = "2", scale = "before"'),
    "operands of the maximum exchanged": ({"maximum": "new = tl.maximum(tl.max(qk, 1), m)"}, 'scale = "before"'),
    "sums and products exchanged": (
        {"sum": "l = tl.sum(p, 1) + alpha * l", "rescale": "acc = alpha[:, None] * acc"},
        'base = "2"',
    ),
    "base e": ({"p": "p = tl.exp(qk - new[:, None])", "alpha": "alpha = tl.exp(m - new)"}, 'base = "e"'),
    "scaled after the maximum": (
        {**UNSCALED, "maximum": "new = tl.maximum(m, tl.max(qk, 1) * c)", "p": "p = tl.exp2(qk * c - new[:, None])"},
        'scale = "after"',
    ),
    "scaled inside of the exponent": (
        {**UNSCALED, "p": "p = tl.exp2((qk - new[:, None]) * c)", "alpha": "alpha = tl.exp2((m - new) * c)"},
        'scale = "inside"',
    ),
    "scaled inside of the exponent by a number": (
        {
            "mask": "qk += tl.where(inside[None, :], 0, -1.0e6)",
            "p": "p = tl.exp2((qk - new[:, None]) * 1.44269504)",
            "alpha": "alpha = tl.exp2((m - new) * 1.44269504)",
        },
        'scale = "inside"',
    ),
    "summed after the cast": (
        {"p": HALF, "sum": "l = l * alpha + tl.sum(p.to(tl.float32), 1)", "dot": "acc = tl.dot(p, v, acc)"},
        'base = "2"',
    ),
    "acc +=": ({"dot": "acc += tl.dot(p.to(tl.float16), v)"}, 'base = "2"'),
    "rescaled where it is added": (
        {"rescale": "", "dot": "acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), v)"},
        'base = "2"',
    ),
    "mask added": ({"mask": "qk += tl.where(inside[None, :], 0, -1.0e6)"}, 'scale = "before"'),
    "causal as well": (
        {"mask": "qk = tl.where(inside[None, :] & (om[:, None] >= (start + on)[None, :]), qk, -float('inf'))"},
        'scale = "before"',
    ),
    "exponential written twice": ({"rescale": "acc = acc * tl.exp2(m - new)[:, None]"}, 'base = "2"'),
    "difference in a line of its own": ({"p": "qk -= new[:, None]\np = tl.exp2(qk)"}, 'base = "2"'),
    "guarded against rows without a key": (
        {
            "maximum": "new = tl.maximum(m, tl.max(qk, 1))\nsafe = tl.where(new == -float('inf'), 0, new)",
            "alpha": "alpha = tl.exp2(m - safe)",
            "p": "p = tl.exp2(qk - safe[:, None])",
        },
        'guard = "all"',
    ),
    "guarded by a comparison the other way round": (
        {"p": "safe = tl.where(-float('inf') < new, new, 0.0)\np = tl.exp2(qk - safe[:, None])"},
        'guard = "weights"',
    ),
    "guarded by a denied comparison": (
        {"p": "safe = tl.where(~(new == -float('inf')), new, 0.0)\np = tl.exp2(qk - safe[:, None])"},
        'guard = "weights"',
    ),
    "weights alone guarded": (
        {"p": "safe = tl.where(new != -float('inf'), new, 0.0)\np = tl.exp2(qk - safe[:, None])"},
        'guard = "weights"',
    ),
    ZEROS: (
        {
            "alpha": "none = new == -float('inf')\nalpha = tl.where(none, 0, tl.exp2(m - new))",
            "p": "p = tl.where((new == -float('inf'))[:, None], 0, tl.exp2(qk - new[:, None]))",
        },
        'guard = "zeros"',
    ),
    "correction 0 where there was no key before": (
        {
            "alpha": "alpha = tl.exp2(m - new)\nalpha = tl.where(float('-inf') == m, 0.0, alpha)",
            "p": "p = tl.exp2(qk - new[:, None])\np = tl.where(new[:, None] > float('-inf'), p, 0.0)",
        },
        'guard = "zeros_before"',
    ),
    "the guarded maximum goes on": (
        {"maximum": "new = tl.maximum(m, tl.max(qk, 1))\nnew = tl.where(new > float('-inf'), new, 0.0)"},
        'guard = "carried"',
    ),
    MASKED: (
        {"p": "p = tl.exp2(qk - new[:, None])\np = tl.where(inside[None, :], p, 0.0)"},
        'guard = "none", mask = "weights"',
    ),
    "weights masked, scaled inside": (
        {
            "scaled": "",
            "mask": f"keep = {CAUSAL}\nqk = tl.where(keep, qk, -1.0e20)",
            "p": "p = tl.where(keep, tl.exp2((qk - new[:, None]) * c), 0.0)",
            "alpha": "alpha = tl.exp2((m - new) * c)",
        },
        'scale = "inside", guard = "none", mask = "weights"',
    ),
    "a correction with nothing added": (
        {"sum": "", "rescale": "acc = acc * (l * 0 + alpha)[:, None]\nl = l * alpha + tl.sum(p, 1)"},
        'base = "2"',
    ),
    "mask loaded": (
        {"mask": "qk += tl.load(x_ptr + om[:, None] * 64 + (start + on)[None, :], mask=inside[None, :], other=-1e6)"},
        'scale = "before"',
    ),
    "base 2 by a factor of the scores": (
        {
            "scaled": "qk = qk * scale",
            "p": "p = tl.exp2((qk - new[:, None]) * 1.44269504)",
            "alpha": "alpha = tl.exp2((m - new) * 1.44269504)",
        },
        'scale = "inside"',
    ),
    "factors of the scale apart": (
        {**UNSCALED, "maximum": "new = tl.maximum(m, tl.max(qk, 1) * c)", "p": "p = tl.exp2(qk * c - new[:, None])"},
        'scale = "after"',
    ),
    COLUMN: (
        {**COLUMNS, **COLUMN_L, "sum": "l = l * alpha + tl.sum(p, 1, keep_dims=True)"},
        'base = "2"',
    ),
    "the maximum alone with an axis of one lane": (
        {**COLUMNS, "sum": "l = l * tl.reshape(alpha, (BM,)) + tl.sum(p, 1)"},
        'base = "2"',
    ),
    "the axis of one lane summed away": ({**COLUMNS, "sum": "l = l * tl.sum(alpha, 1) + tl.sum(p, 1)"}, 'base = "2"'),
    "the sum alone with an axis of one lane": (
        {**COLUMN_L, "sum": "l = l * alpha[:, None] + tl.sum(p, 1)[:, None]"},
        'base = "2"',
    ),
    "an axis of one lane, scaled inside": (
        {
            **UNSCALED,
            **COLUMNS,
            **COLUMN_L,
            "p": "p = tl.exp2((qk - new) * c)",
            "alpha": "alpha = tl.exp2((m - new) * c)",
            "sum": "l = l * alpha + tl.sum(p, 1, keep_dims=True)",
        },
        'scale = "inside"',
    ),
    "an axis of one lane, guarded": (
        {
            **COLUMNS,
            **COLUMN_L,
            "p": "safe = tl.where(new == -float('inf'), 0, new)\np = tl.exp2(qk - safe)",
            "alpha": "alpha = tl.exp2(m - safe)",
            "sum": "l = l * alpha + tl.sum(p, 1, keep_dims=True)",
        },
        'guard = "all"',
    ),
    TWO: (
        {**SECOND, "dot": f"acc2 = acc2 * alpha[:, None]\n{OTHER}acc2 = tl.dot(p.to(tl.float16), w, acc2)"},
        'products = "two"',
    ),
    "two outputs, rescaled where they are added to": (
        {
            **SECOND,
            "rescale": "",
            "dot": f"acc = acc * alpha[:, None]\n{OTHER}acc2 = acc2 * alpha[:, None] + tl.dot(p.to(tl.float16), w)",
        },
        'products = "two"',
    ),
    "the weights stored as rounded": (
        {"p": HALF, "carry": "tl.store(x_ptr + om[:, None] * 64 + on[None, :], p)\nm = new"},
        'products = "one"',
    ),
    "fused multiply and add": ({"sum": "l = tl.fma(l, alpha, tl.sum(p, 1))"}, 'base = "2"'),
}


@pytest.mark.parametrize(("changes", "params"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_spelling_of_the_online_softmax_matches(changes: Mapping[str, str], params: str) -> None:
    passed = attention(changes)
    assert passed.notes("match-recipes") == [("matched", "softmax_merge")]
    assert params in passed.params
    assert passed.difference == 0
    # Whether V streams is for `form-composites` to say: it is loaded as Q and K are (and a mask, or the values of a
    # second product).
    assert passed.text.count("tl.load_region") == 3 + ("load" in changes.get("mask", "")) + ("second" in changes)


CHOICES = (
    "as it is",
    "base e",
    "scaled after the maximum",
    "scaled inside of the exponent",
    "weights alone guarded",
    "guarded against rows without a key",
    COLUMN,
    "the maximum alone with an axis of one lane",
    "the sum alone with an axis of one lane",
    "an axis of one lane, scaled inside",
    "an axis of one lane, guarded",
    TWO,
    "the weights stored as rounded",
    ZEROS,
    "correction 0 where there was no key before",
    "the guarded maximum goes on",
    MASKED,
    "weights masked, scaled inside",
)


@pytest.mark.parametrize("name", CHOICES)
def test_the_commands_of_each_choice_give_the_values(name: str) -> None:
    assert attention(ACCEPTED[name][0]).difference_of_commands() < 2e-3


def test_statements_in_another_order_match() -> None:
    passed = attention({}, ("scaled", "mask", "maximum", "alpha", "rescale", "p", "dot", "sum", "carry"))
    assert passed.notes("match-recipes") == [("matched", "softmax_merge")]
    assert passed.difference == 0


NO_SUM = "the running sum is not l = fma(l, corr, l_loc)"
NO_OUTPUT = "the running output is not O = mul(O, corr) along axis 1"
NO_STEP = "the {} that it begins with is not the one of the step before as it is"
NO_WEIGHTS = "what the product takes is not P = "
REFUSED: Mapping[str, tuple[Mapping[str, str], str]] = {
    "correction upside down": ({"alpha": "alpha = tl.exp2(new - m)"}, NO_OUTPUT),
    "two bases": ({"alpha": "alpha = tl.exp(m - new)"}, NO_OUTPUT),
    "output not rescaled": ({"rescale": ""}, NO_OUTPUT),
    "sum not rescaled": ({"sum": "l = l + tl.sum(p, 1)"}, NO_SUM),
    "one more in the sum": (
        {"sum": "l = l * alpha + tl.sum(p, 1) + 1"},
        "the loop does not carry on the new l as it is",
    ),
    "minimum of old and new": ({"maximum": "new = tl.minimum(m, tl.max(qk, 1))"}, NO_WEIGHTS),
    "minimum of the rows": ({"maximum": "new = tl.maximum(m, tl.min(qk, 1))"}, NO_WEIGHTS),
    "maximum of other scores": ({"maximum": "new = tl.maximum(m, tl.max(qk * 2, 1))"}, NO_WEIGHTS),
    "twice the sum": ({"sum": "l = l * alpha + tl.sum(p + p, 1)"}, NO_SUM),
    "maximum for sum": ({"sum": "l = l * alpha + tl.max(p, 1)"}, NO_SUM),
    "guarded by another number": (
        {"p": "safe = tl.where(new == -float('inf'), 1, new)\np = tl.exp2(qk - safe[:, None])"},
        NO_WEIGHTS,
    ),
    "weights 1 where there is no key": (
        {
            **ACCEPTED[ZEROS][0],
            "p": "p = tl.where((new == -float('inf'))[:, None], 1, tl.exp2(qk - new[:, None]))",
        },
        NO_WEIGHTS,
    ),
    "weights 0 where there was no key before": (
        {**ACCEPTED[ZEROS][0], "p": "p = tl.where((m == -float('inf'))[:, None], 0, tl.exp2(qk - new[:, None]))"},
        NO_WEIGHTS,
    ),
    "weights 0 where the mask holds": (
        {"p": "p = tl.exp2(qk - new[:, None])\np = tl.where(inside[None, :], 0.0, p)"},
        NO_WEIGHTS,
    ),
    "a scale of two factors": (
        {
            **UNSCALED,
            "p": "p = tl.exp2((qk - new[:, None]) * scale * 1.44269504)",
            "alpha": "alpha = tl.exp2((m - new) * scale * 1.44269504)",
        },
        "factor of the exponents (scalar) is no value of its own (multiply its factors into one first)",
    ),
    "weights of two masks": (
        {"p": "p = tl.where(inside[None, :], tl.exp2(qk - new[:, None]), tl.exp2(qk))"},
        NO_WEIGHTS,
    ),
    "guarded where the maximum is 0": (
        {"p": "safe = tl.where(new == 0, 0, new)\np = tl.exp2(qk - safe[:, None])"},
        NO_WEIGHTS,
    ),
    "the correction alone guarded": (
        {"alpha": "safe = tl.where(new == -float('inf'), 0, new)\nalpha = tl.exp2(m - safe)"},
        NO_OUTPUT,
    ),
    "twice the weights": (
        {"dot": "acc = tl.dot((p * 2).to(tl.float16), v, acc)"},
        NO_WEIGHTS,
    ),
    "weights stored": ({"carry": "tl.store(x_ptr + om[:, None] * 64 + on[None, :], p)\nm = new"}, "'p' is also read"),
    "correction stored": ({"carry": "tl.store(x_ptr + om, alpha)\nm = new"}, "'alpha' is also read"),
    "an axis of one lane: sum not rescaled": (
        {**COLUMNS, **COLUMN_L, "sum": "l = l + tl.sum(p, 1, keep_dims=True)"},
        NO_SUM,
    ),
    "an axis of one lane: the maximum stays": (
        {**COLUMNS, **COLUMN_L, "sum": "l = l * alpha + tl.sum(p, 1, keep_dims=True)", "carry": ""},
        NO_STEP.format("m"),
    ),
    "the maximum stays": ({"carry": ""}, NO_STEP.format("m")),
    "half of the sum before": ({"sum": "l = 0.5 * l * alpha + tl.sum(p, 1)"}, NO_STEP.format("l")),
    "half of the output before": ({"rescale": "acc = acc * 0.5 * alpha[:, None]"}, NO_STEP.format("O")),
    "one of two outputs rescaled by something else": (
        {**SECOND, "dot": f"acc2 = acc2 * (alpha * alpha)[:, None]\n{OTHER}acc2 = tl.dot(p.to(tl.float16), w, acc2)"},
        "also read by",
    ),
    "one of two outputs scaled afterwards": (
        {**SECOND, "dot": f"acc2 = acc2 * alpha[:, None]\n{OTHER}acc2 = 0.5 * tl.dot(p.to(tl.float16), w, acc2)"},
        "the loop does not carry on the new O2 as it is",
    ),
    "half of one of two outputs before": (
        {**SECOND, "dot": f"acc2 = 0.5 * acc2 * alpha[:, None]\n{OTHER}acc2 = tl.dot(p.to(tl.float16), w, acc2)"},
        NO_STEP.format("O2"),
    ),
    "output scaled afterwards": (
        {"dot": "acc = tl.dot(p.to(tl.float16), v, acc) * 0.5"},
        "the loop does not carry on the new O as it is",
    ),
    "two products into one output": (
        {"dot": "w = p.to(tl.float16)\nacc = tl.dot(w, v, acc)\nacc = tl.dot(w, v, acc)"},
        "the loop does not carry on the new O as it is",
    ),
    "normalised in every step": (
        {
            "maximum": "here = tl.max(qk, 1)\nnew = tl.maximum(m, here)",
            "p": "p = tl.exp2(qk - here[:, None])",
            "alpha": "alpha = tl.exp2(m - new)\nbeta = tl.exp2(here - new)",
            "sum": "l_new = l * alpha + beta * tl.sum(p, 1)\np = p * (beta / l_new)[:, None]",
            "rescale": "acc = acc * (l / l_new * alpha)[:, None]",
            "carry": "m = new\nl = l_new",
        },
        NO_WEIGHTS,
    ),
    "logarithm of the sum carried": (
        {"sum": "l = new + tl.log2(tl.exp2(l - new) + tl.sum(p, 1))"},
        NO_SUM,
    ),
}


@pytest.mark.parametrize(("changes", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_step_that_differs_in_one_place_does_not_match(changes: Mapping[str, str], reason: str) -> None:
    passed = attention(changes)
    notes = passed.notes("match-recipes")
    assert notes[0][0] == "refused"
    assert reason in notes[0][1]
    assert "tl.composite" not in passed.text
    assert passed.difference == 0


MUTATED = (
    "as it is",
    "scaled after the maximum",
    "scaled inside of the exponent",
    "guarded against rows without a key",
    ZEROS,
    MASKED,
    COLUMN,
    TWO,
)


@pytest.mark.parametrize("name", MUTATED)
def test_no_step_with_one_op_changed_matches(name: str) -> None:
    """Where all blocks are square, so that shapes tell no axis. What is left: a == b the other way round."""
    changes, _ = ACCEPTED[name]
    count, found = matching_mutants(attention(changes, rows=16, passes=BEFORE_RECIPES).module)
    assert count > 40
    compares = any(word in line for line in changes.values() for word in ("== ", "!= "))
    assert found == ["tl.cmp: operands exchanged"] * compares


FIRST = """\
k = tl.load(k_ptr + on[None, :] * D + od[:, None])
v = tl.load(v_ptr + on[:, None] * D + od[None, :])
qk = tl.dot(q, k) * c
m = tl.max(qk, 1)
p = tl.exp2(qk - m[:, None])
l = tl.sum(p, 1)
acc = tl.dot(p.to(tl.float16), v)
for start in range(BN, n, BN):
"""


def test_steps_after_a_first_tile_apart_match() -> None:
    head, _, rest = BODY.partition("for start in range(0, n, BN):\n")
    kept = "\n".join(line for line in head.splitlines() if not line.startswith(("{first", "acc =", "{second")))
    passed = attention({}, body=f"{kept}\n{FIRST}{rest}")
    # The first tile merges nothing; its product is told so.
    assert passed.notes("match-recipes")[-1] == ("matched", "softmax_merge")
    assert passed.difference == 0


def test_the_steps_of_an_unrolled_loop_match_one_by_one() -> None:
    passed = attention({}, body=BODY.replace("range(0, n, BN)", "tl.static_range(0, 50, BN)"))
    assert passed.text.count("tl.recipe") == 4
    assert passed.difference == 0


@pytest.mark.parametrize("name", ["as it is", COLUMN])
def test_the_commands_of_unrolled_steps_give_the_values(name: str) -> None:
    """What follows the last step takes its sum."""
    passed = attention(ACCEPTED[name][0], body=BODY.replace("range(0, n, BN)", "tl.static_range(0, 50, BN)"))
    assert passed.text.count("tl.recipe") == 4
    assert passed.difference_of_commands() < 2e-3


def test_a_maximum_along_the_other_axis_does_not_match() -> None:
    # Square blocks of scores, so that the shapes do not give it away.
    passed = attention({"maximum": "new = tl.maximum(m, tl.max(qk, 0))"}, rows=16)
    (outcome, reason), *others = passed.notes("match-recipes")
    assert outcome == "refused"
    assert not others
    assert NO_WEIGHTS in reason
