"""Polynomials over scalar values of the IR: what offsets, strides and bounds are made of.

A `Poly` is a sum of integer multiples of monomials; a monomial is a sorted tuple of symbol numbers. A symbol is a
scalar SSA value, or a quotient or the positive part of polynomials for which no SSA value exists (`Symbols` numbers
them in the order of first use, so that everything that is printed from them is deterministic). Integers are taken not
to wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.ir import SSAValue

Monomial: TypeAlias = tuple[int, ...]


class Poly:
    """An immutable polynomial with integer coefficients; equal polynomials are equal and hash alike."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms: dict[Monomial, int] = {m: c for m, c in terms.items() if c}
        self._hash: int | None = None

    @staticmethod
    def of(value: int) -> Poly:
        return Poly({(): value})

    @staticmethod
    def symbol(number: int) -> Poly:
        return Poly({(number,): 1})

    def __add__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for monomial, c in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        terms: dict[Monomial, int] = {}
        for a, ca in self.terms.items():
            for b, cb in other.terms.items():
                monomial = tuple(sorted(a + b))
                terms[monomial] = terms.get(monomial, 0) + ca * cb
        return Poly(terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(sorted(self.terms.items())))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return " + ".join(f"{c}*{list(m)}" if m else str(c) for m, c in sorted(self.terms.items())) or "0"

    @property
    def constant(self) -> int | None:
        """The value, if it is known; else None."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    def symbols(self) -> Iterator[int]:
        for monomial in self.terms:
            yield from monomial

    def split(self, number: int) -> tuple[Poly, Poly] | None:
        """(rest, factor) with self = rest + factor * symbol, both without it; None where the symbol occurs squared."""
        rest: dict[Monomial, int] = {}
        factor: dict[Monomial, int] = {}
        for monomial, c in self.terms.items():
            count = monomial.count(number)
            if count > 1:
                return None
            if count:
                factor[tuple(n for n in monomial if n != number)] = c
            else:
                rest[monomial] = c
        return Poly(rest), Poly(factor)


ZERO = Poly({})
ONE = Poly.of(1)


@dataclass(frozen=True)
class Quotient:
    """A division that no SSA value holds: "div" and "rem" truncate as Triton's `//` and `%` do, "floor" rounds down."""

    kind: Literal["div", "rem", "floor"]
    dividend: Poly
    divisor: Poly


@dataclass(frozen=True)
class Positive:
    """A polynomial where it is above 0, else 0: the trip count of a loop that runs from 0 up to it."""

    of: Poly


@dataclass(frozen=True)
class Chosen:
    """One polynomial where a truth value of the IR holds, else the other."""

    condition: SSAValue
    yes: Poly
    no: Poly


Meaning: TypeAlias = "SSAValue | Chosen | Positive | Quotient"
"""What a symbol stands for."""


@dataclass
class Symbols:
    """The numbering of symbols of one analysis."""

    meanings: list[Meaning] = field(default_factory=list[Meaning])
    numbers: dict[Meaning, int] = field(default_factory=dict[Meaning, int])

    def number(self, meaning: Meaning) -> int:
        if meaning not in self.numbers:
            self.numbers[meaning] = len(self.meanings)
            self.meanings.append(meaning)
        return self.numbers[meaning]

    def poly(self, meaning: Meaning) -> Poly:
        """The polynomial that is this one symbol."""
        return Poly.symbol(self.number(meaning))

    def quotient(self, kind: Literal["div", "rem", "floor"], a: Poly, b: Poly) -> Poly:
        """a divided by b, worked out where both are known."""
        x, y = a.constant, b.constant
        if x is not None and y:
            floor = x // y
            toward_zero = floor if floor >= 0 or floor * y == x else floor + 1
            return Poly.of({"div": toward_zero, "rem": x - toward_zero * y, "floor": floor}[kind])
        if y == 1:
            return ZERO if kind == "rem" else a
        return self.poly(Quotient(kind, a, b))

    def leaves(self, poly: Poly) -> Iterator[SSAValue]:
        """The values that `poly` is made of, those inside quotients and the like too."""
        todo = list(poly.symbols())
        while todo:
            meaning = self.meanings[todo.pop()]
            if isinstance(meaning, Quotient):
                todo += [*meaning.dividend.symbols(), *meaning.divisor.symbols()]
            elif isinstance(meaning, Chosen):
                todo += [*meaning.yes.symbols(), *meaning.no.symbols()]
                yield meaning.condition
            elif isinstance(meaning, Positive):
                todo += meaning.of.symbols()
            else:
                yield meaning
