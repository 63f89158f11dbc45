"""GEMMs that share an operand: where that is cheaper, they are done piece by piece along K together, and the pieces of
what they share are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ...backend_sim.target.cost import GemmFacts, pieces_gemm_ps
from ...backend_sim.target.machine import Machine
from ...dialects import tl
from ...dialects.region import RegionType
from .gemm_choice import Choice, beside_ps, cases_of, choose, mean_ps, overlaps_in_loop, pieces_of


def groups_of(products: Sequence[tl.DotOp | tl.GemmOp]) -> list[list[tl.DotOp | tl.GemmOp]]:
    """The products in order, neighbours that may be done together as one group."""
    groups: list[list[tl.DotOp | tl.GemmOp]] = []
    taken: set[Operation] = set()
    for product in products:
        if product not in taken:
            group: list[tl.DotOp | tl.GemmOp] = [product, *_partners(product)]
            taken.update(group)
            groups.append(group)
    return groups


def _partners(first: tl.DotOp | tl.GemmOp) -> list[tl.GemmOp]:
    """The GEMMs behind `first` that share its `a`, or else its `b`, with nothing between them that uses a result or
    writes memory.
    """
    if not _is_plain(first):
        return []
    group: list[tl.GemmOp] = []
    results = {first.result}
    at = first.next_op
    while at is not None and _only_reads(at) and not results.intersection(at.operands):
        same = [first, *group]
        if isinstance(at, tl.GemmOp) and _is_plain(at) and (_all_share(same, at, "a") or _all_share(same, at, "b")):
            group.append(at)
            results.add(at.result)
        at = at.next_op
    return group


def _only_reads(op: Operation) -> bool:
    return is_side_effect_free(op) or isinstance(op, tl.GemmOp | tl.LoadRegionOp)


def _is_plain(product: tl.DotOp | tl.GemmOp) -> bool:
    """A GEMM of two regions, without ops on their tiles."""
    regions = isinstance(product.a.type, RegionType) and isinstance(product.b.type, RegionType)
    return isinstance(product, tl.GemmOp) and product.tiles is None and regions


def _all_share(group: Sequence[tl.DotOp | tl.GemmOp], other: tl.GemmOp, name: str) -> bool:
    return all(getattr(each, name) is getattr(other, name) for each in group)


def choose_together(group: Sequence[tl.GemmOp], machine: Machine, *, weigh_single: bool) -> Choice | None:
    """Pieces of all operands of a group, if that is cheaper than the best for each GEMM by itself."""
    alone = [choose(gemm, machine, None, weigh_single=weigh_single, ahead=True) for gemm in group]
    if not all(each.ps for each in alone):
        return None
    shared, name = ("a", "b") if group[0].a is group[1].a else ("b", "a")
    cases, in_loop = cases_of(group[0], machine), all(map(overlaps_in_loop, group))
    joined = [(_joined(facts, len(group), name), count) for facts, count in cases]
    found = [
        replace(
            each, ps=mean_ps(joined, lambda facts, c=each: pieces_gemm_ps(machine, facts, c.chunk, in_loop=in_loop))
        )
        for each in pieces_of(group[-1], machine, shared=len(group) - 1)
    ]
    best = min(found, key=lambda each: each.ps, default=None)
    apart = sum(each.ps for each in alone)
    if all(shared in each.staged and not each.pieces for each in alone):
        # What all of them stage as a whole is read once even so, and then PE_CPU waits for nothing more.
        apart = alone[0].ps + (len(group) - 1) * mean_ps(cases, lambda facts: beside_ps(machine, _there(facts, shared)))
    if best is None or best.ps >= apart:
        return None
    reason = f"{len(group)} products share {shared}, {best.chunk} lanes of K at a time: about {best.ps // 1000:,} ns"
    return replace(best, reason=f"{reason} (apart {apart // 1000:,})")


def _there(facts: GemmFacts, shared: str) -> GemmFacts:
    """A product whose shared operand an earlier one has staged."""
    return replace(facts, a_in_tcm=True) if shared == "a" else replace(facts, b_in_tcm=True)


def _joined(facts: GemmFacts, count: int, name: str) -> GemmFacts:
    """`count` products that share an operand, as one whose other operand `name` is as many times as wide."""
    block_m, block_k, block_n = facts.block
    if name == "b":
        return replace(facts, n=count * facts.n, block=(block_m, block_k, count * block_n))
    return replace(facts, m=count * facts.m, block=(count * block_m, block_k, block_n))
