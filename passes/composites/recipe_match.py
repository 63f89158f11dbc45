"""Where a kernel computes what the rows of a recipe do: the terms of the rows, with variables for what the recipe
takes, are unified with those of the kernel's values.

There is no code per recipe: the rows say what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Block, SSAValue

from ...dialects.ahbm.math import REDUCTIONS
from ...dialects.shapes import element_bytes, is_float, shape_of
from ..analysis.terms import Ref, Terms
from ..analysis.unify import Bindings, unify
from ..commands.math_kinds import is_lane_by_lane, math_kind
from ..recipe import Recipe, Row
from .recipe_rows import block_shape

F32_BYTES = 4

TELLING = {"exp2", "erf", "select"}
"""Kinds of rows that a kernel has no other way to write: without them a choice of parameters needs no attempt."""


class Refused(Exception):
    """Why a recipe does not apply; becomes a remark."""


class NotFound(Refused):
    """No choice of parameters is what the kernel computes; the text is how far the best attempt came."""

    def __init__(self, attempt: _Attempt):
        super().__init__()
        self._attempt = attempt

    def __str__(self) -> str:
        return self._attempt.reason_at_length()


@dataclass(frozen=True)
class Match:
    """The parameters, the value of every operand by name, and of every result: written operands, primary output."""

    recipe: Recipe
    params: dict[str, str]
    inputs: dict[str, SSAValue]
    results: tuple[SSAValue, ...]


def matches(
    recipe: Recipe, block: Block, terms: Terms, anchors: Mapping[str, Sequence[SSAValue]], known: Mapping[str, SSAValue]
) -> Iterator[Match]:
    """The matches, one at most for each choice of parameters, whose outputs named in `anchors` are among the values
    given there, and whose operands in `known` are those. Outputs without an anchor are looked for in `block`. Raises
    `Refused` with how far the best attempt came if there is none.
    """
    attempt, found = _Attempt(recipe, block, terms, anchors, known), False
    for params in recipe.every_choice():
        match = attempt.match(params)
        if match is not None:
            found = True
            yield match
    if not found:
        raise NotFound(attempt)


def terms_of_rows(terms: Terms, recipe: Recipe, params: Mapping[str, str], known: Mapping[str, Ref]) -> dict[str, Ref]:
    """What every name of a recipe stands for behind its rows; operands that are not known are variables."""
    axes = recipe.axes
    made = {name: known.get(name) or terms.variable(name, len(axes[name])) for name in recipe.inputs(params)}
    for row in recipe.rows_for(params):
        made[row.out] = _term_of_row(terms, row, made, axes)
    return made


def _term_of_row(terms: Terms, row: Row, made: Mapping[str, Ref], axes: Mapping[str, tuple[str, ...]]) -> Ref:
    """The term of what a row makes of what the names stand for so far."""
    if row.kind in REDUCTIONS:
        assert row.axis is not None
        return terms.reduce(row.kind, made[row.read[0]], row.axis)
    rank = len(axes[row.out])
    operands = [
        made[o].on(_places(row, len(axes[o]), rank)) if isinstance(o, str) else terms.constant(o) for o in row.operands
    ]
    return terms.apply(row.kind, operands)


def _places(row: Row, rank: int, of: int) -> list[int]:
    """The axes of the result on which those of an operand lie."""
    return [a for a in range(of) if a != row.axis or rank == of][:rank]


def _rows_for(name: str, rows: Sequence[Row]) -> list[Row]:
    """The rows that make what `name` is behind them all."""
    wanted, found = {name}, list[Row]()
    for row in reversed(rows):
        if row.out in wanted:
            found.insert(0, row)
            wanted = wanted - {row.out} | set(row.read)
    return found


class _Attempt:
    """One attempt to find a recipe; the furthest that any choice of parameters came is the reason of a refusal."""

    def __init__(
        self,
        recipe: Recipe,
        block: Block,
        terms: Terms,
        anchors: Mapping[str, Sequence[SSAValue]],
        known: Mapping[str, SSAValue],
    ):
        self.recipe, self.block, self.terms, self.anchors, self.known = recipe, block, terms, anchors, known
        self.reason = ""
        self._reached = -2
        self._first: dict[tuple[str, Ref], list[tuple[SSAValue, Bindings]]] = {}
        self._kinds = {math_kind(op) for op in block.ops if is_lane_by_lane(op)}

    def match(self, params: dict[str, str]) -> Match | None:
        recipe, terms = self.recipe, self.terms
        missing = {row.kind.removesuffix("_diff") for row in recipe.rows_for(params)} & TELLING - self._kinds
        if missing:
            self._note(-1, f"there is no {', '.join(sorted(missing))}")
            return None
        made = terms_of_rows(terms, recipe, params, self._known_terms())
        outputs, goals = recipe.outputs(params), self._goals(params)
        for values, bound in self._solve(goals, made, params, {}, {}):
            try:
                return self._match(params, bound, [values[name] for name in outputs])
            except Refused as refusal:
                self._note(len(goals), str(refusal))
        return None

    def _goals(self, params: Mapping[str, str]) -> list[str]:
        """The outputs whose values are known first; of the others the last, which is made of the most."""
        outputs = self.recipe.outputs(params)
        return sorted(outputs, key=lambda name: (name not in self.anchors, -outputs.index(name)))

    def _known_terms(self) -> dict[str, Ref]:
        return {name: self.terms.of(value) for name, value in self.known.items()}

    def reason_at_length(self) -> str:
        """The reason, and if no output was found at all the first row that nothing in the block computes."""
        row = self._missing_row() if self._reached == 0 else None
        return self.reason if row is None or self.reason.endswith(f" {row}") else f"{self.reason}: there is no {row}"

    def _missing_row(self) -> Row | None:
        """Of the rows that make what is looked for first, the first that no value is, for the choice of parameters that
        lacks the fewest; None if each row of some choice is one by itself.
        """
        least, missing = len(self.recipe.rows) + 1, None
        for params in self.recipe.every_choice():
            rows = _rows_for(self._goals(params)[0], self.recipe.rows_for(params))
            there = self._rows_there(params, rows)
            if there == len(rows):
                return None
            if len(rows) - there < least:
                least, missing = len(rows) - there, rows[there]
        return missing

    def _rows_there(self, params: Mapping[str, str], rows: Sequence[Row]) -> int:
        """How many rows, from the first, are values of the block."""
        axes = self.recipe.axes
        made = self._known_terms()
        made |= {n: self.terms.variable(n, len(axes[n])) for n in self.recipe.inputs(params) if n not in made}
        for number, row in enumerate(rows):
            made[row.out] = _term_of_row(self.terms, row, made, axes)
            if not row.kind.startswith("cmp_") and not self._first_ways(row.out, made[row.out]):
                return number
        return len(rows)

    def _note(self, reached: int, reason: str) -> None:
        if reached > self._reached:
            self._reached, self.reason = reached, reason

    def _solve(
        self,
        goals: Sequence[str],
        made: Mapping[str, Ref],
        params: Mapping[str, str],
        bound: Bindings,
        taken: Mapping[str, SSAValue],
    ) -> Iterator[tuple[Mapping[str, SSAValue], Bindings]]:
        """Values of the outputs `goals` beside those `taken`, each its own, and what the operands are then."""
        if not goals:
            yield taken, bound
            return
        name, *others = goals
        self._note(len(taken), f"{self._what(name)} is not {self._row(name, params)}")
        ways = self._ways(name, made[name], bound) if taken else self._first_ways(name, made[name])
        for value, found in ways:
            if value not in taken.values():
                yield from self._solve(others, made, params, found, {**taken, name: value})

    def _ways(self, name: str, pattern: Ref, bound: Bindings) -> Iterator[tuple[SSAValue, Bindings]]:
        """The values that an output can be, and what the operands are then."""
        for value in self.anchors.get(name) or self._candidates(name):
            for found in unify(self.terms, pattern, self._term(name, value), bound):
                yield value, found

    def _first_ways(self, name: str, pattern: Ref) -> list[tuple[SSAValue, Bindings]]:
        """The same where nothing is bound yet, which choices that differ later on have in common."""
        if (name, pattern) not in self._first:
            self._first[name, pattern] = list(self._ways(name, pattern, {}))
        return self._first[name, pattern]

    def _row(self, name: str, params: Mapping[str, str]) -> Row:
        """The row that makes an output."""
        return next(row for row in reversed(self.recipe.rows_for(params)) if row.out == name)

    def _what(self, name: str) -> str:
        if name not in self.recipe.primaries:
            return f"the {self.recipe.operand(name).about}"
        return "what the product takes" if self.recipe.place == "before" else "what becomes of the product"

    def _candidates(self, name: str) -> list[SSAValue]:
        """The values that may be an output, by rank."""
        rank = len(self.recipe.axes[name])
        made = [r for op in self.block.ops for r in op.results if is_float(r.type)]
        return [r for r in made if len(block_shape(r.type, rank)) == rank]

    def _term(self, name: str, value: SSAValue) -> Ref:
        """The term of a value that may be an output, its axes being the output's."""
        ref, shape = self.terms.of(value), shape_of(value.type)
        if len(shape) == len(self.recipe.axes[name]):
            return ref
        one = shape.index(1)
        return Ref(ref.term, tuple(a - (a > one) for a in ref.axes))

    def _match(self, params: dict[str, str], bound: Bindings, results: Sequence[SSAValue]) -> Match:
        outputs = dict(zip(self.recipe.outputs(params), results, strict=True))
        sizes: dict[str, int] = {}
        for name, value in (*self.known.items(), *outputs.items()):
            self._take_sizes(name, value, sizes)
        inputs = {
            name: self.known[name] if name in self.known else self._value(name, bound[name], sizes)
            for name in self.recipe.inputs(params)
        }
        if len(set(inputs.values())) != len(inputs):
            raise Refused("one value is two of its operands")
        for name, value in inputs.items():
            self._take_sizes(name, value, sizes)
        self._check_types(params, inputs, outputs)
        return Match(self.recipe, params, inputs, tuple(results))

    def _value(self, name: str, ref: Ref, sizes: Mapping[str, int]) -> SSAValue:
        """The value of an operand. A number that the kernel writes has none; `wrap` puts its op into place."""
        operand = self.recipe.operand(name)
        found = self._held(ref, len(operand.axes))
        if operand.access == "R" and operand.axes and not ref.axes and any(sizes.get(a) != 1 for a in operand.axes):
            raise Refused(f"the {operand} is one number in every lane")
        if found:
            # A term may be values of several shapes, as a constant is.
            return next((v for v in found if self._fits(name, v, sizes)), found[0])
        number = self.terms.number(ref)
        if number is None or operand.axes:
            advice = " (multiply its factors into one first)" if not operand.axes else ""
            raise Refused(f"the {operand} is no value of its own{advice}")
        return arith.ConstantOp(FloatAttr(number, f32)).result

    def _held(self, ref: Ref, rank: int) -> list[SSAValue]:
        """The values of this rank that are a term; then blocks of one rank more that have an axis of one lane."""
        places = [[a + (a >= one) for a in range(rank)] for one in reversed(range(rank + 1))] if rank else []
        wider = [v for each in places for v in self.terms.values(ref.on(each), rank + 1)]
        return [*self.terms.values(ref, rank), *(v for v in wider if len(block_shape(v.type, rank)) == rank)]

    def _fits(self, name: str, value: SSAValue, sizes: Mapping[str, int]) -> bool:
        axes = self.recipe.axes[name]
        shape = block_shape(value.type, len(axes))
        return len(axes) == len(shape) and all(sizes.get(a, n) == n for a, n in zip(axes, shape, strict=True))

    def _take_sizes(self, name: str, value: SSAValue, sizes: dict[str, int]) -> None:
        """Add the sizes of the axes of a block; raises `Refused` where they are others already."""
        axes = self.recipe.axes[name]
        if not self._fits(name, value, sizes):
            raise Refused(f"{name} is {value.type}, not a block of [{', '.join(axes)}]")
        sizes.update(zip(axes, block_shape(value.type, len(axes)), strict=True))

    def _check_types(
        self, params: Mapping[str, str], inputs: Mapping[str, SSAValue], outputs: Mapping[str, SSAValue]
    ) -> None:
        for name in inputs:
            if name in params and (params[name] == "narrow") != (element_bytes(inputs[name].type) < F32_BYTES):
                raise Refused(f"{name} is {inputs[name].type}")
        for name in self.recipe.written(params):
            if outputs[name].type != inputs[name].type:
                raise Refused(f"the {self.recipe.operand(name).about} changes its type")
