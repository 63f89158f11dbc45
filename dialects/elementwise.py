"""The table of element-wise functions: one row says everything that any level needs to know about one of them.

The frontend finds a row by its Triton name, `lower-to-commands` and the reference values by the IR op, the cost model
and the device by the kind that a MATH command carries. A new function is one row here and one test. Compare, select,
cast and reduce are ops of their own and not rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Domain = Literal["float", "int", "sint", "uint"]


@dataclass(frozen=True)
class Elementwise:
    """One function: command-level `kind`, IR op, operands, domain, and how numpy computes it.

    `domain` is what the operands are: "float", "int" (sign does not matter), "sint", "uint". `evaluate` is a dotted
    path that the values level resolves when it first meets the row; a function of module `math` is applied element by
    element. `passes` is the number of passes of the MATH engine over the elements. `tl` lists the names under which a
    kernel calls it; operators have none. `libdevice` lists its names in that module, where they differ.
    """

    kind: str
    op: str
    arity: int
    domain: Domain
    evaluate: str
    passes: int = 1
    tl: tuple[str, ...] = ()
    libdevice: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert 1 <= self.arity <= 3, self.kind
        assert self.op.startswith(("arith.", "math.", "tl.")), self.op
        assert self.evaluate.count(".") >= 1, self.evaluate


def _libdevice(name: str, arity: int, evaluate: str, *more: str, op: str | None = None) -> Elementwise:
    """A function that is in libdevice alone."""
    return Elementwise(name, op or f"math.{name}", arity, "float", evaluate, libdevice=(name, *more))


def _unary(
    name: str, evaluate: str | None = None, *tl: str, op: str | None = None, domain: Domain = "float"
) -> Elementwise:
    return Elementwise(name, op or f"math.{name}", 1, domain, evaluate or f"numpy.{name}", tl=tl or (name,))


# The functions of `ieee` are ours, in backend_sim/numerics: numpy has none of that rounding or NaN rule.
ELEMENTWISE: tuple[Elementwise, ...] = (
    # Operators on floats.
    Elementwise("add", "arith.addf", 2, "float", "numpy.add"),
    Elementwise("sub", "arith.subf", 2, "float", "numpy.subtract"),
    Elementwise("mul", "arith.mulf", 2, "float", "numpy.multiply"),
    Elementwise("div", "arith.divf", 2, "float", "numpy.divide", tl=("fdiv", "div_rn")),
    Elementwise("rem", "tl.remf", 2, "float", "numpy.fmod"),
    Elementwise("neg", "arith.negf", 1, "float", "numpy.negative"),
    # Triton's maximum and minimum drop a NaN unless they are told to propagate it.
    Elementwise("max", "arith.maxnumf", 2, "float", "numpy.fmax", tl=("maximum", "max")),
    Elementwise("min", "arith.minnumf", 2, "float", "numpy.fmin", tl=("minimum", "min")),
    Elementwise("max_nan", "arith.maximumf", 2, "float", "numpy.maximum"),
    Elementwise("min_nan", "arith.minimumf", 2, "float", "numpy.minimum"),
    # Operators on integers; the sign is in the op.
    Elementwise("addi", "arith.addi", 2, "int", "numpy.add"),
    Elementwise("subi", "arith.subi", 2, "int", "numpy.subtract"),
    Elementwise("muli", "arith.muli", 2, "int", "numpy.multiply"),
    Elementwise("divsi", "arith.divsi", 2, "sint", "ieee.divide_truncating"),
    Elementwise("divui", "arith.divui", 2, "uint", "ieee.divide_unsigned"),
    Elementwise("remsi", "arith.remsi", 2, "sint", "ieee.remainder_truncating"),
    Elementwise("remui", "arith.remui", 2, "uint", "ieee.remainder_unsigned"),
    Elementwise("maxsi", "arith.maxsi", 2, "sint", "numpy.maximum", tl=("maximum", "max")),
    Elementwise("minsi", "arith.minsi", 2, "sint", "numpy.minimum", tl=("minimum", "min")),
    Elementwise("maxui", "arith.maxui", 2, "uint", "ieee.maximum_unsigned", tl=("maximum", "max")),
    Elementwise("minui", "arith.minui", 2, "uint", "ieee.minimum_unsigned", tl=("minimum", "min")),
    Elementwise("and", "arith.andi", 2, "int", "numpy.bitwise_and"),
    Elementwise("or", "arith.ori", 2, "int", "numpy.bitwise_or"),
    Elementwise("xor", "arith.xori", 2, "int", "numpy.bitwise_xor"),
    Elementwise("shl", "arith.shli", 2, "int", "ieee.shift_left"),
    Elementwise("shrsi", "arith.shrsi", 2, "sint", "ieee.shift_right"),
    Elementwise("shrui", "arith.shrui", 2, "uint", "ieee.shift_right_unsigned"),
    Elementwise("umulhi", "tl.umulhi", 2, "int", "ieee.multiply_high", tl=("umulhi",)),
    # Functions.
    _unary("abs", "numpy.abs", op="math.absf"),
    Elementwise("absi", "math.absi", 1, "sint", "numpy.abs", tl=("abs",)),
    _unary("exp"),
    _unary("exp2"),
    _unary("log"),
    _unary("log2"),
    _unary("sqrt", "numpy.sqrt", "sqrt", "sqrt_rn"),
    _unary("rsqrt", "ieee.rsqrt"),
    _unary("sin"),
    _unary("cos"),
    _unary("erf", "math.erf"),
    _unary("floor"),
    _unary("ceil"),
    Elementwise("fma", "math.fma", 3, "float", "ieee.fma", tl=("fma",)),
    _libdevice("tanh", 1, "numpy.tanh", "fast_tanhf", "fast_tanh"),
    _libdevice("tan", 1, "numpy.tan", "fast_tanf"),
    _libdevice("asin", 1, "numpy.arcsin"),
    _libdevice("acos", 1, "numpy.arccos"),
    _libdevice("atan", 1, "numpy.arctan"),
    _libdevice("atan2", 2, "numpy.arctan2"),
    _libdevice("sinh", 1, "numpy.sinh"),
    _libdevice("cosh", 1, "numpy.cosh"),
    _libdevice("asinh", 1, "numpy.arcsinh"),
    _libdevice("acosh", 1, "numpy.arccosh"),
    _libdevice("atanh", 1, "numpy.arctanh"),
    _libdevice("expm1", 1, "numpy.expm1"),
    _libdevice("log1p", 1, "numpy.log1p"),
    _libdevice("log10", 1, "numpy.log10", "fast_log10f"),
    _libdevice("cbrt", 1, "numpy.cbrt"),
    _libdevice("trunc", 1, "numpy.trunc"),
    _libdevice("round", 1, "ieee.round_half_away"),
    _libdevice("rint", 1, "numpy.rint", "nearbyint", op="math.roundeven"),
    _libdevice("copysign", 2, "numpy.copysign"),
    _libdevice("pow", 2, "numpy.power", "fast_powf", op="math.powf"),
)

BY_OP: dict[str, Elementwise] = {row.op: row for row in ELEMENTWISE}
BY_KIND: dict[str, Elementwise] = {row.kind: row for row in ELEMENTWISE}
BY_TL: dict[str, tuple[Elementwise, ...]] = {
    name: tuple(row for row in ELEMENTWISE if name in row.tl)
    for name in dict.fromkeys(n for r in ELEMENTWISE for n in r.tl)
}

assert len(BY_OP) == len(BY_KIND) == len(ELEMENTWISE), "two rows share a kind or an op"
