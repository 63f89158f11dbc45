"""The recipes that there are. Data only; a new fusion is one entry.

`match-recipes` finds where a kernel computes one: it builds the terms that the rows stand for and looks for them in
the kernel. `expand-recipes` replaces the name of a recipe by its rows; the backend never sees a recipe.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from math import inf

from .recipe import Operand, Recipe, Row, Scratch

_SAFE = (("guard", "weights"), ("guard", "all"), ("guard", "carried"))
_ZEROS = (("guard", "zeros"), ("guard", "zeros_before"))

SOFTMAX_MERGE = Recipe(
    name="softmax_merge",
    about="One step of an online softmax: the scores of a block of keys join the running maximum, sum and output.",
    place="before",
    operands=(
        Operand("s", "R", ("M", "N"), "scores"),
        Operand("m", "RW", ("M",), "running maximum"),
        Operand("l", "RW", ("M",), "running sum"),
        Operand("O", "RW", ("M", "D"), "running output"),
        Operand("O2", "RW", ("M", "E"), "other running output", when=("products", ("two",))),
        Operand("keep", "R", ("M", "N"), "which weights count", when=("mask", ("weights",))),
        Operand("scale", "R", (), "factor of the exponents", when=("scale", ("after", "inside"))),
    ),
    primary=Scratch("P", ("M", "N"), element="b"),
    scratch=(
        Scratch("m_loc", ("M",), element="m"),
        Scratch("m_new", ("M",), element="m"),
        Scratch("empty", ("M",), element="i1"),
        Scratch("fresh", ("M",), element="i1"),
        Scratch("safe", ("M",), element="m"),
        Scratch("corr", ("M",), element="m"),
        Scratch("l_loc", ("M",), element="l"),
        Scratch("scaled", ("M", "N"), element="m"),
    ),
    parameters={
        # The exponential of the kernel.
        "base": ("e", "2"),
        # before: s is scaled already; after: exp(s*scale - m), m being the maximum of max(s)*scale;
        # inside: exp((s - m)*scale).
        "scale": ("before", "after", "inside"),
        # Rows without a key have the maximum -inf. weights: the exponent of P takes 0 in its place; all: that of the
        # correction as well; carried: and so does the maximum that goes on. zeros: P and the correction are 0 there;
        # zeros_before: the correction where the maximum before is -inf.
        "guard": ("none", "weights", "all", "carried", "zeros", "zeros_before"),
        # weights: P is 0 where `keep` does not hold, whatever the scores are there.
        "mask": ("none", "weights"),
        # two: another product of P, after this one, is added to O2, as where a head is cut in two.
        "products": ("one", "two"),
    },
    words={
        "base": {"e": {"exp": "exp"}, "2": {"exp": "exp2"}},
        "guard": {
            "none": {"pivot": "m_new", "old": "m_new", "next": "m_new"},
            "weights": {"pivot": "safe", "old": "m_new", "next": "m_new"},
            "all": {"pivot": "safe", "old": "safe", "next": "m_new"},
            "carried": {"pivot": "safe", "old": "safe", "next": "safe"},
            "zeros": {"pivot": "m_new", "old": "m_new", "next": "m_new", "gone": "empty"},
            "zeros_before": {"pivot": "m_new", "old": "m_new", "next": "m_new", "gone": "fresh"},
        },
    },
    rows=(
        Row("reduce_max", ("s",), "m_loc", axis=1),
        Row("mul", ("m_loc", "scale"), "m_loc", when=(("scale", "after"),)),
        Row("max", ("m", "m_loc"), "m_new"),
        Row("cmp_oeq", ("m_new", -inf), "empty", when=(*_SAFE, *_ZEROS)),
        Row("cmp_oeq", ("m", -inf), "fresh", when=(("guard", "zeros_before"),)),
        Row("select", ("empty", 0.0, "m_new"), "safe", when=_SAFE),
        Row("{exp}_diff", ("m", "{old}"), "corr", when=(("scale", "before"), ("scale", "after"))),
        Row("sub", ("m", "{old}"), "corr", when=(("scale", "inside"),)),
        Row("mul", ("corr", "scale"), "corr", when=(("scale", "inside"),)),
        Row("{exp}", ("corr",), "corr", when=(("scale", "inside"),)),
        Row("select", ("{gone}", 0.0, "corr"), "corr", when=_ZEROS),
        Row("{exp}_diff", ("s", "{pivot}"), "P", axis=1, when=(("scale", "before"),)),
        Row("mul", ("s", "scale"), "scaled", when=(("scale", "after"),)),
        Row("{exp}_diff", ("scaled", "{pivot}"), "P", axis=1, when=(("scale", "after"),)),
        Row("sub", ("s", "{pivot}"), "scaled", axis=1, when=(("scale", "inside"),)),
        Row("mul", ("scaled", "scale"), "scaled", when=(("scale", "inside"),)),
        Row("{exp}", ("scaled",), "P", when=(("scale", "inside"),)),
        Row("select", ("empty", 0.0, "P"), "P", axis=1, when=_ZEROS),
        Row("select", ("keep", "P", 0.0), "P", when=(("mask", "weights"),)),
        # The kernel may sum P before it rounds it to the type of b or after. The rows sum it as rounded: that differs
        # by less than the rounding of P itself, and spares a block of P in the wider type and a cast.
        Row("reduce_sum", ("P",), "l_loc", axis=1),
        Row("fma", ("l", "corr", "l_loc"), "l"),
        Row("mul", ("O", "corr"), "O", axis=1),
        Row("mul", ("O2", "corr"), "O2", axis=1, when=(("products", "two"),)),
        Row("copy", ("{next}",), "m"),
    ),
    accumulator="O",
)

LOG_SUM_EXP = Recipe(
    name="log_sum_exp",
    about="One step of an online log-sum-exp: a block of scores joins the running maximum and the running sum.",
    place="after",
    operands=(
        Operand("s", "R", ("M", "N"), "scores"),
        Operand("m", "RW", ("M",), "running maximum"),
        Operand("l", "RW", ("M",), "running sum"),
    ),
    primary=None,
    scratch=(
        Scratch("m_loc", ("M",), element="m"),
        Scratch("m_new", ("M",), element="m"),
        Scratch("corr", ("M",), element="m"),
        Scratch("p", ("M", "N"), element="m"),
        Scratch("l_loc", ("M",), element="l"),
    ),
    parameters={"base": ("e", "2")},
    words={"base": {"e": {"exp": "exp"}, "2": {"exp": "exp2"}}},
    rows=(
        Row("reduce_max", ("s",), "m_loc", axis=1),
        Row("max", ("m", "m_loc"), "m_new"),
        Row("{exp}_diff", ("m", "m_new"), "corr"),
        Row("{exp}_diff", ("s", "m_new"), "p", axis=1),
        Row("reduce_sum", ("p",), "l_loc", axis=1),
        Row("fma", ("l", "corr", "l_loc"), "l"),
        Row("copy", ("m_new",), "m"),
    ),
    tile="s",
)

RMSNORM_LINEAR = Recipe(
    name="rmsnorm_linear",
    about="Rows are divided by the root of their mean square before they are multiplied.",
    place="before",
    operands=(
        Operand("x", "R", ("M", "K"), "rows"),
        Operand("eps", "R", (), "what is added to the mean square"),
        Operand("share", "R", (), "1 / K", when=("mean", ("times",))),
        Operand("count", "R", (), "K", when=("mean", ("over",))),
        Operand("w", "R", ("K",), "weights", when=("weight", ("with",))),
    ),
    primary=Scratch("P", ("M", "K"), element="b"),
    scratch=(Scratch("wide", ("M", "K"), element="f32"), Scratch("r", ("M",), element="f32")),
    parameters={
        # The mean square is the sum times 1 / K, or the sum over K.
        "mean": ("times", "over"),
        "weight": ("without", "with"),
        # A square of narrow floats is taken in f32.
        "x": ("f32", "narrow"),
    },
    rows=(
        Row("mul", ("x", "x"), "wide", when=(("x", "f32"),)),
        Row("copy", ("x",), "wide", when=(("x", "narrow"),)),
        Row("mul", ("wide", "wide"), "wide", when=(("x", "narrow"),)),
        Row("reduce_sum", ("wide",), "r", axis=1),
        Row("mul", ("r", "share"), "r", when=(("mean", "times"),)),
        Row("div", ("r", "count"), "r", when=(("mean", "over"),)),
        Row("add", ("r", "eps"), "r"),
        Row("rsqrt", ("r",), "r"),
        Row("mul", ("x", "r"), "P", axis=1, when=(("weight", "without"),)),
        Row("mul", ("x", "r"), "wide", axis=1, when=(("weight", "with"),)),
        Row("mul", ("wide", "w"), "P", axis=0, when=(("weight", "with"),)),
    ),
)

RMSNORM_STEP = Recipe(
    name="rmsnorm_step",
    about="One step along K of rows that are normalised after their product: squares are summed, weights multiplied.",
    place="before",
    operands=(
        Operand("x", "R", ("M", "K"), "block of the rows"),
        Operand("w", "R", ("K",), "weights"),
        Operand("squares", "RW", ("M", "K"), "running squares", when=("sum", ("lanes",))),
        Operand("total", "RW", ("M",), "running sum of squares", when=("sum", ("rows",))),
    ),
    primary=Scratch("P", ("M", "K"), element="b"),
    scratch=(Scratch("wide", ("M", "K"), element="f32"), Scratch("row", ("M",), element="f32")),
    parameters={
        # Squares are summed lane by lane, or along each row.
        "sum": ("lanes", "rows"),
        # A square of narrow floats is taken in f32.
        "x": ("f32", "narrow"),
    },
    rows=(
        Row("mul", ("x", "x"), "wide", when=(("x", "f32"),)),
        Row("copy", ("x",), "wide", when=(("x", "narrow"),)),
        Row("mul", ("wide", "wide"), "wide", when=(("x", "narrow"),)),
        Row("add", ("squares", "wide"), "squares", when=(("sum", "lanes"),)),
        Row("reduce_sum", ("wide",), "row", axis=1, when=(("sum", "rows"),)),
        Row("add", ("total", "row"), "total", when=(("sum", "rows"),)),
        Row("mul", ("x", "w"), "P", axis=0),
    ),
)

LINEAR_GELU = Recipe(
    name="linear_gelu",
    about="GELU of a product (with its bias, if that was added), exact or by the approximation with a tangent.",
    place="tile",
    operands=(Operand("t", "R", ("M", "N"), "product"),),
    primary=Scratch("y", ("M", "N"), element="t"),
    scratch=(Scratch("u", ("M", "N"), element="f32"),),
    parameters={"form": ("erf", "tanh")},
    rows=(
        Row("mul", ("t", 0.7071067811865476), "u", when=(("form", "erf"),)),
        Row("erf", ("u",), "u", when=(("form", "erf"),)),
        # sqrt(2 / pi) (t + 0.044715 t^3)
        Row("mul", ("t", "t"), "u", when=(("form", "tanh"),)),
        Row("fma", ("u", 0.035677408136300125, 0.7978845608028654), "u", when=(("form", "tanh"),)),
        Row("mul", ("u", "t"), "u", when=(("form", "tanh"),)),
        Row("tanh", ("u",), "u", when=(("form", "tanh"),)),
        Row("fma", ("u", 0.5, 0.5), "u"),
        Row("mul", ("t", "u"), "y"),
    ),
    tile="t",
)

SWIGLU_GATE = Recipe(
    name="swiglu_gate",
    about="A gate g with g / (1 + exp(-g)) times what it lets through; one of both is a product.",
    place="tile",
    operands=(Operand("t", "R", ("M", "N"), "product"), Operand("u", "R", ("M", "N"), "other factor")),
    primary=Scratch("y", ("M", "N"), element="t"),
    scratch=(Scratch("g", ("M", "N"), element="f32"),),
    # Whether the product is the gate or what it lets through.
    parameters={"product": ("gate", "up")},
    words={"product": {"gate": {"gate": "t", "up": "u"}, "up": {"gate": "u", "up": "t"}}},
    rows=(
        Row("neg", ("{gate}",), "g"),
        Row("exp", ("g",), "g"),
        Row("add", ("g", 1.0), "g"),
        Row("div", ("{gate}", "g"), "g"),
        Row("mul", ("g", "{up}"), "y"),
    ),
    tile="t",
)

OWN: dict[str, Recipe] = {}
"""Recipes of one's own, which `--load-recipe` has made known."""

_ALL = (SOFTMAX_MERGE, LOG_SUM_EXP, RMSNORM_LINEAR, RMSNORM_STEP, LINEAR_GELU, SWIGLU_GATE)

RECIPES: Mapping[str, Recipe] = ChainMap(OWN, {recipe.name: recipe for recipe in _ALL})
