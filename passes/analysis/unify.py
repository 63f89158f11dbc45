"""Unification of terms: what the variables of a pattern must stand for, so that the pattern is a given term.

Sums, products and maxima match in any order. What a pattern knows already is built and taken out first, then what has
a shape of its own is tried on every operand and on the number among them, and what is left over is the last variable.
Solutions come one after the other, since an operand may have been the wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .terms import UNITS, Ref, Terms

Bindings = Mapping[str, Ref]
"""Variable -> what it stands for, its axes being the variable's own."""

_REDUCED = 1 << 16
"""The place of the axis that a reduction reduces, in both terms."""


def substitute(terms: Terms, pattern: Ref, bound: Bindings) -> Ref:
    """The pattern with what its variables stand for; those that are not bound stay."""
    node = terms.node(pattern)
    if not terms.is_open(pattern):
        return pattern
    if node.kind == "variable":
        found = bound.get(str(node.detail))
        return pattern if found is None else found.on(pattern.axes)
    if isinstance(node.detail, int):
        (inner,) = node.operands
        places = [*range(len(pattern.axes) + 1)]
        made = terms.reduce(node.kind, substitute(terms, inner.on(places), bound), node.detail)
        return made.on(pattern.axes)
    return terms.apply(node.kind, [substitute(terms, r.on(pattern.axes), bound) for r in node.operands])


def unify(terms: Terms, pattern: Ref, actual: Ref, bound: Bindings) -> Iterator[Bindings]:
    """Every way to bind variables so that `pattern` is `actual`, both being seen by one user."""
    pattern = substitute(terms, pattern, bound)
    node, other = terms.node(pattern), terms.node(actual)
    if not terms.is_open(pattern):
        if pattern == actual:
            yield bound
    elif node.kind == "variable":
        if set(actual.axes) <= set(pattern.axes):
            local = Ref(actual.term, tuple(pattern.axes.index(a) for a in actual.axes))
            yield {**bound, str(node.detail): local}
    elif node.kind in ("add", "mul", "max", "max_nan"):
        yield from _unify_flat(terms, node.kind, pattern, actual, bound)
    elif node.kind == "reciprocal" and (number := terms.number(actual)):
        yield from unify(terms, _inner(terms, pattern)[0], terms.constant(1 / number), bound)
    elif node.kind == other.kind and len(node.operands) == len(other.operands):
        pairs = list(zip(_inner(terms, pattern), _inner(terms, actual), strict=True))
        yield from _unify_all(terms, pairs, bound)


def _inner(terms: Terms, ref: Ref) -> list[Ref]:
    """The operands of a term in the space of its user; the axis of a reduction lies at a place of its own."""
    node = terms.node(ref)
    places = list(ref.axes)
    if isinstance(node.detail, int):
        places.insert(node.detail, _REDUCED)
    return [r.on(places) for r in node.operands]


def _unify_all(terms: Terms, pairs: Sequence[tuple[Ref, Ref]], bound: Bindings) -> Iterator[Bindings]:
    if not pairs:
        yield bound
        return
    for found in unify(terms, *pairs[0], bound):
        yield from _unify_all(terms, pairs[1:], found)


def _unify_flat(terms: Terms, kind: str, pattern: Ref, actual: Ref, bound: Bindings) -> Iterator[Bindings]:
    left, number = _split(terms, kind, actual)
    wanted, own = _split(terms, kind, pattern)
    if kind == "mul" and terms.node(actual).kind == "add":
        yield from _unify_multiplied_out(terms, wanted, own, actual, bound)
        if not any(terms.node(r).kind == "variable" for r in wanted):
            return
    yield from _take(terms, kind, wanted, left, _without(kind, number, own), bound)


def _split(terms: Terms, kind: str, ref: Ref) -> tuple[list[Ref], float]:
    """The operands of a flattened term, and the number among them."""
    unit = UNITS.get(kind)
    if unit is None:
        return terms.operands(ref, kind), 0.0
    operands = terms.operands(ref, kind)
    numbers = [n for r in operands if (n := terms.number(r)) is not None]
    return [r for r in operands if terms.number(r) is None], numbers[0] if numbers else unit


def _without(kind: str, number: float, own: float) -> float:
    if kind == "mul":
        return number / own if own else number
    return number - own if kind == "add" else number


def _join(terms: Terms, kind: str, operands: Sequence[Ref], number: float) -> Ref:
    more = [terms.constant(number)] if kind in UNITS and (number != UNITS[kind] or not operands) else []
    return terms.apply(kind, [*operands, *more]) if len(operands) + len(more) > 1 else [*operands, *more][0]


def _take(
    terms: Terms, kind: str, wanted: Sequence[Ref], left: Sequence[Ref], number: float, bound: Bindings
) -> Iterator[Bindings]:
    """Match each operand of the pattern with some of those that are left."""
    wanted = [substitute(terms, r, bound) for r in wanted]
    for each in wanted:
        if not terms.is_open(each):
            rest = list(left)
            known, own = _split(terms, kind, each)
            for one in known:
                if one not in rest:
                    return
                rest.remove(one)
            more = list(wanted)
            more.remove(each)
            yield from _take(terms, kind, more, rest, _without(kind, number, own), bound)
            return
    for each in wanted:
        if terms.node(each).kind != "variable":
            more = list(wanted)
            more.remove(each)
            for n, one in enumerate(left):
                for found in unify(terms, each, one, bound):
                    yield from _take(terms, kind, more, [*left[:n], *left[n + 1 :]], number, found)
            unit = UNITS.get(kind)
            if unit is not None and number != unit and not each.axes:
                for found in unify(terms, each, terms.constant(number), bound):
                    yield from _take(terms, kind, more, left, unit, found)
            return
    yield from _take_rest(terms, kind, sorted(wanted, key=lambda r: len(r.axes)), left, number, bound)


def _take_rest(
    terms: Terms, kind: str, variables: Sequence[Ref], left: Sequence[Ref], number: float, bound: Bindings
) -> Iterator[Bindings]:
    """Share out what is left among variables: each takes what varies along its axes alone, the last all the rest."""
    unit = UNITS.get(kind, 0.0)
    is_unit = terms.constant(number) == terms.constant(unit)
    if not variables:
        if not left and is_unit:
            yield bound
        return
    first, *others = variables
    if others and all(each == first for each in others):
        yield from _take_power(terms, kind, first, len(variables), left, bound) if is_unit else ()
        return
    own = [r for r in left if set(r.axes) <= set(first.axes)] if others else list(left)
    if not own and (is_unit or (others and first.axes)):
        return
    with_number = not others or not first.axes
    value = _join(terms, kind, own, number if with_number else unit)
    for found in unify(terms, first, value, bound):
        yield from _take_rest(
            terms, kind, others, [r for r in left if r not in own], unit if with_number else number, found
        )


def _take_power(
    terms: Terms, kind: str, variable: Ref, times: int, left: Sequence[Ref], bound: Bindings
) -> Iterator[Bindings]:
    """One variable several times: each time it is the same part of what is left."""
    counts = Counter(left)
    if left and all(n % times == 0 for n in counts.values()):
        part = [r for r, n in counts.items() for _ in range(n // times)]
        yield from unify(terms, variable, _join(terms, kind, part, UNITS.get(kind, 0.0)), bound)


def _unify_multiplied_out(
    terms: Terms, wanted: Sequence[Ref], own: float, actual: Ref, bound: Bindings
) -> Iterator[Bindings]:
    """A factor and a sum, where the kernel's factor is a number and has been multiplied out."""
    sums = [r for r in wanted if terms.node(r).kind == "add"]
    factors = [r for r in wanted if r not in sums]
    if len(sums) != 1 or len(factors) != 1 or factors[0].axes:
        return
    numbers = [terms.number(x) or 1.0 for r in terms.operands(actual, "add") for x in terms.operands(r, "mul")]
    for number in dict.fromkeys(n for n in numbers if abs(n) != 1):
        for found in unify(terms, factors[0], terms.constant(abs(number) / own), bound):
            yield from unify(terms, sums[0], terms.mul(terms.constant(1 / abs(number)), actual), found)
