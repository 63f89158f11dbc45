"""Recipes: named rows of op specs that a composite may take before its GEMM. Data only; a new fusion is one entry.

`match-recipes` finds where a kernel computes one, `expand-recipes` replaces its name by the rows; the backend never
sees a recipe.

A `tl.composite` with a recipe has its operands in the order of `inputs`: first the recipe's own operands, then the
`b` of the GEMM (its `a` is the recipe's primary output), then the operands that only some parameters need. Its
results are the read-write operands, in order, as they are afterwards; the last of them takes the product, added to
what the rows have made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..dialects.ahbm.math import MATH_KINDS, REDUCTIONS


@dataclass(frozen=True)
class Operand:
    """One operand of a recipe: `R` is read, `RW` read and written. `when` are the parameter values that it is for."""

    name: str
    access: Literal["R", "RW"]
    about: str
    when: tuple[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Scratch:
    """A block that only the rows see, of the shape of operand `like` and the element type of operand `element`."""

    name: str
    like: str
    element: str


@dataclass(frozen=True)
class Row:
    """One MATH op, run once: `out = kind(operands)`.

    `{exp}` in `kind` is the exponential of parameter `base`. `axis` is the axis that a reduction reduces, or the axis
    of the result along which an operand without it repeats. `when` names the parameter values (any of them) that the
    row belongs to.
    """

    kind: str
    operands: tuple[str, ...]
    out: str
    axis: int | None = None
    when: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        along = "" if self.axis is None else f" along axis {self.axis}"
        cases = " or ".join(f"{name} = {value}" for name, value in self.when)
        return f"{self.out} = {self.kind}({', '.join(self.operands)}){along}" + (f"   [{cases}]" if cases else "")


EXPONENTIALS: Mapping[str, str] = {"e": "exp", "2": "exp2"}
"""Parameter `base` -> the exponential of the rows."""


@dataclass(frozen=True)
class Recipe:
    """A recipe: operand contract, primary output (the GEMM's `a`), scratch, parameters with their values, rows."""

    name: str
    about: str
    operands: tuple[Operand, ...]
    primary: Scratch
    scratch: tuple[Scratch, ...]
    parameters: Mapping[str, tuple[str, ...]]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        names = {o.name for o in self.operands} | {s.name for s in self.scratch} | {self.primary.name}
        assert len(names) == len(self.operands) + len(self.scratch) + 1, f"{self.name}: a name stands twice"
        for row in self.rows:
            kinds = {row.kind.format(exp=exp) for exp in EXPONENTIALS.values()}
            assert kinds <= MATH_KINDS, f"{self.name}: {row}"
            assert {*row.operands, row.out} <= names, f"{self.name}: {row}"
            assert row.axis is not None or row.kind not in REDUCTIONS, f"{self.name}: {row}"
            assert all(value in self.parameters[name] for name, value in row.when), f"{self.name}: {row}"
        for params in self.every_choice():
            written = {o.name for o in self.operands}
            for row in self.rows_for(params):
                assert set(row.operands) <= written, f"{self.name}: {row} reads what no row has written"
                written.add(row.out)
            assert self.primary.name in written, f"{self.name}: nothing writes {self.primary.name}"

    def every_choice(self) -> list[dict[str, str]]:
        """Every combination of parameter values."""
        choices: list[dict[str, str]] = [{}]
        for name, values in self.parameters.items():
            choices = [{**choice, name: value} for choice in choices for value in values]
        return choices

    def rows_for(self, params: Mapping[str, str]) -> tuple[Row, ...]:
        """The rows of one choice of parameters, kinds filled in."""
        exp = EXPONENTIALS[params.get("base", "e")]
        return tuple(
            Row(row.kind.format(exp=exp), row.operands, row.out, row.axis)
            for row in self.rows
            if not row.when or any(params[name] == value for name, value in row.when)
        )

    def inputs(self, params: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the operands of a composite with this recipe, in order; `b` is the GEMM's."""
        always = tuple(o.name for o in self.operands if o.when is None)
        some = tuple(o.name for o in self.operands if o.when is not None and params[o.when[0]] in o.when[1])
        return (*always, "b", *some)

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the read-write operands, in order: the results of a composite with this recipe."""
        return tuple(o.name for o in self.operands if o.access == "RW")

    def scratch_for(self, params: Mapping[str, str]) -> tuple[Scratch, ...]:
        """The scratch blocks that the rows of one choice of parameters use, the primary output first."""
        used = {name for row in self.rows_for(params) for name in (*row.operands, row.out)}
        return (self.primary, *(s for s in self.scratch if s.name in used))

    def __str__(self) -> str:
        lines = [self.about, "", "operands:"]
        lines += [f"  {o.name:<6}{o.access:<3} {o.about}" for o in self.operands]
        lines += ["parameters:", *(f"  {name}: {' | '.join(values)}" for name, values in self.parameters.items())]
        lines += ["rows:", *(f"  {row}" for row in self.rows)]
        lines += [f"then the GEMM takes {self.primary.name} as its a, and its product is added to {self.written[-1]}"]
        return "\n".join(lines)


SOFTMAX_MERGE = Recipe(
    name="softmax_merge",
    about="One step of an online softmax: the scores of a block of keys join the running maximum, sum and output.",
    operands=(
        Operand("s", "R", "scores [M, N]"),
        Operand("m", "RW", "running maximum [M]"),
        Operand("l", "RW", "running sum [M]"),
        Operand("O", "RW", "running output [M, D]"),
        Operand("scale", "R", "scalar of the exponents", when=("scale", ("after", "inside"))),
    ),
    primary=Scratch("P", like="s", element="b"),
    scratch=(
        Scratch("m_loc", like="m", element="m"),
        Scratch("m_new", like="m", element="m"),
        Scratch("corr", like="m", element="m"),
        Scratch("l_loc", like="l", element="l"),
        Scratch("scaled", like="s", element="s"),
    ),
    parameters={
        # The exponential of the kernel.
        "base": ("e", "2"),
        # before: s is scaled already; after: exp(s*scale - m), m being the maximum of max(s)*scale;
        # inside: exp((s - m)*scale).
        "scale": ("before", "after", "inside"),
        # Whether the kernel sums P before or after it rounds it to the type of b. The rows sum it as rounded in both
        # cases: that differs by less than the rounding of P itself, and spares a block of P in the wider type and a
        # cast.
        "sum": ("before", "after"),
    },
    rows=(
        Row("reduce_max", ("s",), "m_loc", axis=1),
        Row("mul", ("m_loc", "scale"), "m_loc", when=(("scale", "after"),)),
        Row("max", ("m", "m_loc"), "m_new"),
        Row("{exp}_diff", ("m", "m_new"), "corr", when=(("scale", "before"), ("scale", "after"))),
        Row("sub", ("m", "m_new"), "corr", when=(("scale", "inside"),)),
        Row("mul", ("corr", "scale"), "corr", when=(("scale", "inside"),)),
        Row("{exp}", ("corr",), "corr", when=(("scale", "inside"),)),
        Row("{exp}_diff", ("s", "m_new"), "P", axis=1, when=(("scale", "before"),)),
        Row("mul", ("s", "scale"), "scaled", when=(("scale", "after"),)),
        Row("{exp}_diff", ("scaled", "m_new"), "P", axis=1, when=(("scale", "after"),)),
        Row("sub", ("s", "m_new"), "scaled", axis=1, when=(("scale", "inside"),)),
        Row("mul", ("scaled", "scale"), "scaled", when=(("scale", "inside"),)),
        Row("{exp}", ("scaled",), "P", when=(("scale", "inside"),)),
        Row("reduce_sum", ("P",), "l_loc", axis=1),
        Row("fma", ("l", "corr", "l_loc"), "l"),
        Row("mul", ("O", "corr"), "O", axis=1),
        Row("copy", ("m_new",), "m"),
    ),
)

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (SOFTMAX_MERGE,)}
