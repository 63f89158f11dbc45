"""What must hold between the rows of a probe on any machine; each says which rows break it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from ...target.topology import Edge
from .ends import Pair
from .rows import Row

_NUMBER = re.compile(r"^sip\d+|(?<=\.cube)\d+|(?<=\.io_ucie)\d+")

Finding = tuple[bool, str]  # whether it holds, and the rows and figures that say so


@dataclass(frozen=True)
class Invariant:
    """One invariant with how many rows or pairs of rows were compared, and a line for each that breaks it."""

    name: str
    compared: int
    broken: tuple[str, ...]


def invariants(rows: Sequence[Row]) -> tuple[Invariant, ...]:
    """Every invariant over `rows`; a row that is there twice counts once."""
    once = list({(row.pair.path, row.pair.source, row.pair.target, row.size): row for row in rows}.values())
    found: list[Invariant] = []
    for name, findings in _INVARIANTS.items():
        results = list(findings(once))
        found.append(Invariant(name, len(results), tuple(text for holds, text in results if not holds)))
    return tuple(found)


def _with_hops(rows: Sequence[Row]) -> Iterator[Finding]:
    """Pairs of which the ways with more hops take all links of the other's, there and back, and more.

    They are alike in path, size, near end, slice or PE at the far end, and links between SIPs. Ways of other kinds say
    nothing: through other ports a cube further off can be reached sooner.
    """

    def alike(row: Row) -> object:
        near, far = row.pair.source, row.pair.target
        if row.pair.path == "d2h":
            near, far = far, near
        return row.pair.path, row.size, near, far.kind, far.index, row.inter_sip_links

    runs_over: dict[tuple[Pair, Pair], bool] = {}  # ways are the same at every size
    for group in _groups(rows, alike):
        for less, more in combinations(sorted(group, key=lambda row: row.hops), 2):
            pairs = less.pair, more.pair
            if pairs not in runs_over:
                runs_over[pairs] = less.hops < more.hops and _runs_over(less, more)
            if runs_over[pairs]:
                yield _rising(less, more, less.hops, more.hops, "hops")


def _runs_over(less: Row, more: Row) -> bool:
    """Whether the ways of `more` take links like all those of `less`, in their order. All cubes are alike."""
    for way, longer in ((less.way, more.way), (less.back, more.back)):
        links = (_link(edge) for edge in longer)
        if not all(_link(edge) in links for edge in way):
            return False
    return True


def _link(edge: Edge) -> tuple[str, str]:
    """A link by where it lies in its cube or IO chiplet, whichever that is."""
    return _NUMBER.sub("", edge.source), _NUMBER.sub("", edge.target)


def _with_bytes(rows: Sequence[Row]) -> Iterator[Finding]:
    def alike(row: Row) -> object:
        return row.pair.path, row.pair.source, row.pair.target

    for group in _groups(rows, alike):
        for less, more in pairwise(sorted(group, key=lambda row: row.size)):
            yield _rising(less, more, less.size, more.size, "bytes")


def _groups(rows: Sequence[Row], alike: Callable[[Row], object]) -> Iterable[list[Row]]:
    """Rows that are alike."""
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(alike(row), []).append(row)
    return groups.values()


def _rising(less: Row, more: Row, few: int, many: int, unit: str) -> Finding:
    """Whether the latency of `more` is no less."""
    a, b = (f"{_named(row)} at {n:,} {unit} takes {_ns(row.latency_ps)}" for row, n in ((less, few), (more, many)))
    return less.latency_ps <= more.latency_ps, f"{a}, {b}"


def _to_and_from_the_host(rows: Sequence[Row]) -> Iterator[Finding]:
    to = {(row.pair.source, row.pair.target, row.size): row for row in rows if row.pair.path == "h2d"}
    for row in rows:
        there = to.get((row.pair.target, row.pair.source, row.size)) if row.pair.path == "d2h" else None
        if there is not None:
            text = f"{_named(row)} takes {_ns(row.latency_ps)}, {_named(there)} {_ns(there.latency_ps)}"
            yield row.latency_ps >= there.latency_ps, text


def _utilization(rows: Sequence[Row]) -> Iterator[Finding]:
    for row in rows:
        text = f"{_named(row)} reaches {float(row.utilization):.2%} of {float(row.slowest):g} GB/s"
        yield row.size * 1000 <= (row.latency_ps + row.rounding_ps) * row.slowest, text


def _floor(rows: Sequence[Row]) -> Iterator[Finding]:
    for row in rows:
        text = f"{_named(row)} takes {_ns(row.latency_ps)}, at least {_ns(row.floor_ps)}"
        yield row.latency_ps + row.rounding_ps >= row.floor_ps, text


_INVARIANTS: dict[str, Callable[[Sequence[Row]], Iterable[Finding]]] = {
    "latency never falls with hops": _with_hops,
    "latency never falls with bytes": _with_bytes,
    "device to host takes no less than host to device": _to_and_from_the_host,
    "nothing reaches over 100% of its bottleneck": _utilization,
    "nothing is faster than its drain, nor than overhead and wire of its way": _floor,
}


def _named(row: Row) -> str:
    return f"{row.pair.path} {row.pair.source} to {row.pair.target}, {row.size:,} B"


def _ns(ps: int) -> str:
    return f"{ps / 1000:,.2f} ns"
