"""What a recipe is: named rows of op specs that a composite may hold beside its GEMM. The table is in `recipes.py`.

A `tl.recipe` has its operands in the order of `inputs`. Its results are the read-write operands, in order, as they are
afterwards, and then the primary output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute

from ..dialects.ahbm.math import MATH_KINDS, REDUCTIONS, arity_of

Place = Literal["before", "tile", "after"]

ELEMENTS: Mapping[str, Attribute] = {"f32": f32, "i1": i1}
"""Element types that scratch names itself."""


class WrongRecipe(Exception):
    """What is wrong with the data of a recipe."""


@dataclass(frozen=True)
class Operand:
    """One operand of a recipe: `R` is read, `RW` read and written. `axes` names its axes; none is a scalar. `when` are
    the parameter values that it is for.
    """

    name: str
    access: Literal["R", "RW"]
    axes: tuple[str, ...]
    about: str
    when: tuple[str, tuple[str, ...]] | None = None

    def __str__(self) -> str:
        return f"{self.about} [{', '.join(self.axes)}]" if self.axes else f"{self.about} (scalar)"


@dataclass(frozen=True)
class Scratch:
    """A block that only the rows see. `element` is an element type, or the operand that has the same."""

    name: str
    axes: tuple[str, ...]
    element: str


@dataclass(frozen=True)
class Row:
    """One MATH op: `out = kind(operands)`. An operand is a name or a number.

    A word in braces, in `kind` or among the operands, is what `words` of the recipe has for it. `axis` is the axis that
    a reduction reduces, or the axis of the result along which an operand without it repeats. `when` names the parameter
    values (any of them) that the row belongs to.
    """

    kind: str
    operands: tuple[str | float, ...]
    out: str
    axis: int | None = None
    when: tuple[tuple[str, str], ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """The operands that are blocks or scalars with a name."""
        return tuple(o for o in self.operands if isinstance(o, str))

    def with_words(self, words: Mapping[str, str]) -> Row:
        """The row for one choice of parameters."""
        operands = tuple(o.format(**words) if isinstance(o, str) else o for o in self.operands)
        return Row(self.kind.format(**words), operands, self.out, self.axis)

    def __str__(self) -> str:
        along = "" if self.axis is None else f" along axis {self.axis}"
        cases = " or ".join(f"{name} = {value}" for name, value in self.when)
        operands = ", ".join(map(str, self.operands))
        return f"{self.out} = {self.kind}({operands}){along}" + (f"   [{cases}]" if cases else "")


Words = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Parameter -> value -> word in braces -> what it stands for."""

PLACES: Mapping[Place, str] = {
    "before": "once, before the GEMM, which takes {primary} as its a",
    "tile": "on each output tile {tile}, which becomes {primary}",
    "after": "once, after the GEMM that makes {tile}, or without one",
}


@dataclass(frozen=True)
class Recipe:
    """A recipe: where its rows stand, operand contract, primary output, scratch, parameters with their values, rows.

    `place` says which rows they are: `before` run once before the GEMM, whose `a` is the primary output; `tile` run on
    each output tile; `after` run once at the end. `tile` names the operand that the GEMM makes, for the last two.
    `accumulator` names the read-write operand that the product is added to, if there is one. A parameter that has the
    name of an operand says whether that is a block of f32 or narrower.
    """

    name: str
    about: str
    place: Place
    operands: tuple[Operand, ...]
    primary: Scratch | None
    scratch: tuple[Scratch, ...]
    rows: tuple[Row, ...]
    tile: str | None = None
    accumulator: str | None = None
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    words: Words = field(default_factory=dict[str, Mapping[str, Mapping[str, str]]])

    def __post_init__(self) -> None:
        self._check_names()
        for row in self.rows:
            self._check_cases(row)
        for params in self.every_choice():
            self._check_flow(params)

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            raise WrongRecipe(f"recipe '{self.name}': {message}")

    def _check_names(self) -> None:
        # A file of the user's own may hold anything.
        said = str(self.name).isidentifier() and str(self.about) == self.about
        self._require(said, "the name must be one word, `about` a text")
        self._require(self.name not in MATH_KINDS, "a MATH op has this name")
        self._require(all(self.parameters.values()), "a parameter has no values")
        for each in self.operands:
            self._require(each.access in ("R", "RW"), f"access of '{each.name}' is '{each.access}'; allowed: R, RW")
        names = [*(o.name for o in self.operands), *(s.name for s in self.scratch), *self.primaries]
        twice = sorted({name for name in names if names.count(name) > 1})
        self._require(not twice, f"{', '.join(twice)} stands twice among operands, primary and scratch")
        inputs = {o.name for o in self.operands}
        known = {*ELEMENTS, *inputs, *self.primaries, "b"}
        for each in (*self.scratch, *((self.primary,) if self.primary else ())):
            message = f"element of '{each.name}' is '{each.element}'; allowed: {', '.join(sorted(known))}"
            self._require(each.element in known - {each.name}, message)
        writable = {o.name for o in self.operands if o.access == "RW"}
        self._require(
            self.accumulator is None or self.accumulator in writable,
            f"the accumulator '{self.accumulator}' is no operand with RW; those are: {', '.join(sorted(writable))}",
        )
        self._require(self.place in PLACES, f"there is no place '{self.place}'; places: {', '.join(PLACES)}")
        if self.place == "before":
            self._require(self.tile is None, "rows before the GEMM have no tile; leave `tile` out")
        else:
            message = f"the rows run at '{self.place}': `tile` must name the operand that the GEMM makes"
            self._require(self.tile in inputs, f"{message}, one of {', '.join(sorted(inputs))}")
        self._require(
            self.place == "after" or self.primary is not None, f"rows at '{self.place}' need a primary output"
        )

    def _check_cases(self, row: Row) -> None:
        for name, value in row.when:
            values = self.parameters.get(name, ())
            said = f"{name} is {' | '.join(values)}" if values else f"parameters: {', '.join(self.parameters)}"
            self._require(value in values, f"row `{row}` is for {name} = {value}; {said}")

    def _check_axes(self, row: Row) -> None:
        """The axes of a row's operands are those of its result, all but the one that it names, or none."""
        out = self.axes[row.out]
        for name in row.read:
            axes = self.axes[name]
            wide, narrow = (axes, out) if row.kind in REDUCTIONS else (out, axes)
            if row.kind not in REDUCTIONS and axes in ((), out):
                continue
            self._require(
                row.axis is not None and wide[: row.axis] + wide[row.axis + 1 :] == narrow,
                f"row `{row}`: {name} is [{', '.join(axes)}], {row.out} is [{', '.join(out)}];"
                " `axis` must be the one axis that only one of them has",
            )

    def _check_flow(self, params: Mapping[str, str]) -> None:
        rows = self._rows_or_wrong(params)
        written = set(self.inputs(params))
        for row in rows:
            self._require(row.kind in MATH_KINDS, f"row `{row}`: there is no MATH op '{row.kind}'")
            wanted = arity_of(row.kind)
            self._require(len(row.operands) == wanted, f"row `{row}`: {row.kind} takes {wanted} operands")
            unknown = sorted({*row.read, row.out} - set(self.axes))
            self._require(not unknown, f"row `{row}`: {', '.join(unknown)} is no operand, primary or scratch")
            self._check_axes(row)
            early = sorted(set(row.read) - written)
            self._require(not early, f"row `{row}` reads {', '.join(early)}, which no row before it has written")
            written.add(row.out)
        outs = {row.out for row in rows}
        idle = sorted(
            set(self.inputs(params)) - outs - {name for row in rows for name in row.read} - {self.accumulator}
        )
        cases = ", ".join(f"{name} = {value}" for name, value in params.items())
        hint = f" under {cases}; `when` of an Operand says what it is for" if cases else ""
        self._require(not idle, f"no row reads operand {', '.join(idle)}{hint}")
        missing = sorted(set(self.outputs(params)) - outs)
        self._require(not missing, f"no row writes {', '.join(missing)}")
        read_only = sorted(outs - {*self.outputs(params), *(s.name for s in self.scratch)})
        self._require(not read_only, f"a row writes {', '.join(read_only)}, an operand that is only read (R)")
        if self.place == "tile":
            # The tile becomes the primary output in place: behind that row nobody can see either of them.
            last = [n for n, r in enumerate(rows) if r.out in self.primaries] == [len(rows) - 1]
            self._require(last, f"on tiles the last row, and no other, writes {''.join(self.primaries)}")

    def _rows_or_wrong(self, params: Mapping[str, str]) -> tuple[Row, ...]:
        try:
            return self.rows_for(params)
        except KeyError as error:
            raise WrongRecipe(f"recipe '{self.name}': `words` has nothing for {{{error.args[0]}}}") from None

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of everything that has a name."""
        named = (*self.operands, *self.scratch, *((self.primary,) if self.primary else ()))
        return {each.name: each.axes for each in named}

    def every_choice(self) -> list[dict[str, str]]:
        """Every combination of parameter values."""
        choices: list[dict[str, str]] = [{}]
        for name, values in self.parameters.items():
            choices = [{**choice, name: value} for choice in choices for value in values]
        return choices

    def complete(self, params: Mapping[str, str]) -> dict[str, str]:
        """The parameters, those that are not given having their first value."""
        return {name: params.get(name, values[0]) for name, values in self.parameters.items()}

    def rows_for(self, params: Mapping[str, str]) -> tuple[Row, ...]:
        """The rows of one choice of parameters, kinds filled in."""
        params = self.complete(params)
        words = {w: name for p, v in params.items() for w, name in self.words.get(p, {}).get(v, {}).items()}
        return tuple(
            row.with_words(words)
            for row in self.rows
            if not row.when or any(params[name] == value for name, value in row.when)
        )

    def inputs(self, params: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the operands for one choice of parameters, in order."""
        params = self.complete(params)
        return tuple(o.name for o in self.operands if o.when is None or params[o.when[0]] in o.when[1])

    def operand(self, name: str) -> Operand:
        return next(o for o in self.operands if o.name == name)

    def written(self, params: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the read-write operands for one choice of parameters, in order."""
        return tuple(name for name in self.inputs(params) if self.operand(name).access == "RW")

    def outputs(self, params: Mapping[str, str]) -> tuple[str, ...]:
        """Names of what a `tl.recipe` gives: what it has written, then the primary output."""
        return (*self.written(params), *self.primaries)

    @property
    def primaries(self) -> tuple[str, ...]:
        """The name of the primary output, if there is one."""
        return () if self.primary is None else (self.primary.name,)

    def scratch_for(self, params: Mapping[str, str]) -> tuple[Scratch, ...]:
        """The scratch blocks that the rows of one choice of parameters use, without the primary output."""
        used = {name for row in self.rows_for(params) for name in (*row.read, row.out)}
        return tuple(s for s in self.scratch if s.name in used)

    def __str__(self) -> str:
        where = PLACES[self.place].format(primary="".join(self.primaries), tile=self.tile)
        lines = [self.about, "", f"runs {where}", "operands:"]
        wide = max(len(o.name) for o in self.operands)
        lines += [f"  {o.name:<{wide}} {o.access:<3} {o}" for o in self.operands]
        if self.parameters:
            lines += ["parameters:", *(f"  {name}: {' | '.join(values)}" for name, values in self.parameters.items())]
        for name, cases in self.words.items():
            lines += [f"  {name} = {value}: {_said(words)}" for value, words in cases.items()]
        lines += ["rows:", *(f"  {row}" for row in self.rows)]
        if self.accumulator is not None:
            lines += [f"then the product is added to {self.accumulator}"]
        return "\n".join(lines)


def _said(words: Mapping[str, str]) -> str:
    return ", ".join(f"{{{word}}} is {name}" for word, name in words.items())
