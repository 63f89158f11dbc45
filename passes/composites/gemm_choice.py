"""How one product is to be carried out: as single ops or as a composite, and which of its operands wait in TCM.

The choice is by cost (`backend_sim/target/cost.py`) where the user leaves it open; what does not fit or is not known
is refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...backend_sim.target.cost import (
    GemmFacts,
    composite_gemm_ps,
    dma_read_ps,
    pieces_gemm_ps,
    single_gemm_ps,
    single_math_ps,
)
from ...backend_sim.target.machine import Machine
from ...dialects import tl
from ...dialects.programs import kernel_of, programs_per_pe
from ...dialects.region import RegionOp, RegionType, operand_element
from ...dialects.shapes import element_bytes, element_of, is_float, shape_of
from ..analysis.affine import constant_of
from ..analysis.bounds import argument_fact, bounds_of
from ..commands.math_kinds import is_lane_by_lane
from ..raise_regions import uniform_number
from ..recipes import RECIPES
from .operand_loads import streamable
from .scratch_estimate import live_bytes
from .tile_ops import TileOps, ops_of, ops_on

Stage: TypeAlias = Literal["a", "b", "none"]

BLOCKS_AHEAD = 3
"""How many blocks of an operand are in the scratch: the one that is used and two on their way."""

SHARERS = "ahbm.sharers"
"""The attribute of a pointer argument that says how many PEs share each slice of the tensor. Not there: one."""

BLOCK_K = "block_k"
"""Attribute of a raised GEMM: the K block of the kernel's own loop."""


@dataclass(frozen=True)
class Choice:
    """`staged`: the operands that lie in TCM; `chunk`: the K lanes of a staged region that are read at once, piece by
    piece where they are not all of K; `at_once`: the operands whose ops are done to the whole staged block and not to
    its tiles.

    `refused` says why an operand that the user wants staged is not; `reason` goes into the remark; `ps` is the
    estimate, where there is one.
    """

    staged: tuple[str, ...] = ()
    at_once: tuple[str, ...] = ()
    chunk: int = 0
    pieces: bool = False
    single: bool = False
    reason: str = ""
    refused: str = ""
    ps: int = 0

    def with_staged(self, more: Sequence[str], reads: Mapping[str, int]) -> Choice:
        """The same with the operands `more` staged too, each as one block; `reads` are `reads_of` the product."""
        staged = tuple(n for n in "ab" if n in self.staged or n in more)
        return replace(self, staged=staged, reason=_reason(staged, self.at_once, reads))


def choose(
    product: tl.DotOp | tl.GemmOp, machine: Machine, wanted: Stage | None, *, weigh_single: bool, ahead: bool = False
) -> Choice:
    """The choice for one product. `wanted` is the user's, None leaves it to the cost model. `ahead`: what a loop loads
    is read while the iteration before runs.
    """
    if isinstance(product, tl.DotOp):
        choice = _choose_dot(product, machine, wanted)
    else:
        choice = _choose_gemm(product, machine, wanted, ahead)
    if weigh_single:
        cases, in_loop = cases_of(product, machine), is_in_loop(product) or _has_neighbour(product)
        # Programs that overlap are to each other as the iterations of a loop.
        in_loop = in_loop or (ahead and programs_per_pe(kernel_of(product)) >= BLOCKS_AHEAD)
        early = ahead and in_loop and isinstance(product, tl.DotOp)
        # In a loop what is staged may be loaded early, and PE_CPU waits for it no longer than for a stream.
        overlaps = early or (in_loop and _adds_to_nothing(product))
        ways = [choice, replace(choice, staged=choice.at_once)] if overlaps else [choice]
        states = [cases, [(replace(f, a_in_tcm=True, b_in_tcm=True), n) for f, n in cases]] if early else [cases]
        composite = min(
            mean_ps(state, lambda facts, way=way: _choice_ps(way, facts, product, machine, in_loop=in_loop))
            for way in ways
            for state in states
        )
        single = mean_ps(cases, lambda facts: single_gemm_ps(machine, facts, loaded=early))
        if single < composite:
            reason = f"single ops take about {single // 1000} ns, a composite {composite // 1000}"
            return Choice(single=True, reason=reason, ps=single)
    if choice.reason:
        return choice
    return replace(choice, reason=_reason(choice.staged, choice.at_once, reads_of(product, machine)))


def _reason(staged: Sequence[str], at_once: Sequence[str], reads: Mapping[str, int]) -> str:
    ops = {n: ", its ops done to all of it at once" if n in at_once else "" for n in "ab"}
    streams = {n: f"streamed{f' {reads[n]} times' if reads[n] > 1 else ''}" for n in "ab"}
    return ", ".join(f"{n} {'staged' if n in staged else streams[n]}{ops[n]}" for n in "ab")


def reads_of(product: tl.DotOp | tl.GemmOp, machine: Machine) -> dict[str, int]:
    """How often a composite reads each operand that it streams: once for every tile of the result along the other."""
    (tile_m, _, tile_n), cases = machine.pe.gemm.tile, [facts for facts, _ in cases_of(product, machine)]
    return {"a": max(-(-f.n // tile_n) for f in cases), "b": max(-(-f.m // tile_m) for f in cases)}


def _choice_ps(
    choice: Choice, facts: GemmFacts, product: tl.DotOp | tl.GemmOp, machine: Machine, *, in_loop: bool = False
) -> int:
    """What a composite by this choice takes, with the ops that are done before it to whole blocks."""
    if choice.pieces and len(choice.staged) == 2:
        return pieces_gemm_ps(machine, facts, choice.chunk, in_loop=in_loop)
    before = 0
    for name in choice.at_once:
        m, k, n = facts.block if isinstance(product, tl.DotOp) else (facts.m, facts.k, facts.n)
        lanes, (a_bytes, b_bytes) = k * (m if name == "a" else n), facts.widths
        count, width, known = (
            (facts.a_ops, a_bytes, facts.a_in_tcm) if name == "a" else (facts.b_ops, b_bytes, facts.b_in_tcm)
        )
        before += count * single_math_ps(machine, lanes) + (0 if known else dma_read_ps(machine, lanes * width))
        facts = (
            replace(facts, a_ops=0, a_bytes=0, a_in_tcm=True)
            if name == "a"
            else replace(facts, b_ops=0, b_bytes=0, b_in_tcm=True)
        )
    facts = _staging(facts, choice.staged)
    return before + (_composite_ps(machine, facts, in_loop) if in_loop else composite_gemm_ps(machine, facts))


def _composite_ps(machine: Machine, facts: GemmFacts, in_loop: bool) -> int:
    """What a composite adds to the time of the kernel.

    PE_CPU does not wait for it, so in a loop it overlaps with its neighbours: it costs what it takes behind another,
    and its issue at least. What it stages PE_CPU does wait for.
    """
    if not in_loop or facts.staged != "none":
        return composite_gemm_ps(machine, facts)
    return max(beside_ps(machine, facts), composite_gemm_ps(machine, replace(facts, m=0)))


def beside_ps(machine: Machine, facts: GemmFacts) -> int:
    """What one more such composite takes behind another one: what the same rows again would cost in one composite."""
    tile_m = machine.pe.gemm.tile[0]
    both = replace(facts, m=-(-facts.m // tile_m) * tile_m + facts.m)
    return composite_gemm_ps(machine, both) - composite_gemm_ps(machine, facts)


def is_in_loop(op: Operation) -> bool:
    """Whether a loop repeats `op`."""
    at = op.parent_op()
    while at is not None and not (isinstance(at, scf.ForOp) and most_iterations(at) != 1):
        at = at.parent_op()
    return at is not None


def most_iterations(loop: scf.ForOp) -> int | None:
    """How many iterations a loop from 0 by 1 has at most, if that is known."""
    return bounds_of(loop.ub).high


def _has_neighbour(product: Operation) -> bool:
    """Whether the block has another product that neither waits for this one nor this one for it: they overlap as the
    iterations of a loop do.
    """
    before, after = _reached(product, backwards=True), _reached(product, backwards=False)
    assert product.parent is not None
    for op in product.parent.ops:
        holds_product = isinstance(op, tl.DotOp | tl.GemmOp) or (
            isinstance(op, tl.CompositeOp) and op.product is not None
        )
        if holds_product and op is not product and op not in before and op not in after:
            return True
    return False


def _reached(op: Operation, *, backwards: bool) -> set[Operation]:
    """The ops that `op` takes values from, directly or not, or those that take values from it."""
    found, todo = set[Operation](), [op]
    while todo:
        at = todo.pop()
        if backwards:
            near = [v.owner for v in at.operands if isinstance(v.owner, Operation)]
        else:
            near = [use.operation for result in at.results for use in result.uses]
        todo += [each for each in near if each not in found]
        found.update(near)
    return found


def overlaps_in_loop(gemm: tl.GemmOp) -> bool:
    """Whether a GEMM is repeated by a loop and adds to nothing that an earlier one makes."""
    return is_in_loop(gemm) and _adds_to_nothing(gemm)


def _adds_to_nothing(product: tl.DotOp | tl.GemmOp) -> bool:
    number = uniform_number(product.acc) if product.acc is not None else None
    return product.acc is None or (number is not None and number.value.data == 0)


def _choose_dot(dot: tl.DotOp, machine: Machine, wanted: Stage | None) -> Choice:
    """An operand of a dot has a block's size; staging it means to leave its load alone."""
    ops = ops_of(dot)
    forced = [n for n in "ab" if streamable(dot, ops[n].source) is not None]
    if wanted is not None:
        return Choice(tuple(n for n in "ab" if n in forced or n == wanted))
    cases = cases_of(dot, machine)
    with_ops = [n for n in "ab" if ops[n].ops]
    # Streaming stands first and wins a tie: it overlaps with what is issued before. So do ops on tiles.
    options = [
        Choice(tuple(n for n in "ab" if n in forced or n in more or n in at_once), at_once)
        for at_once in dict.fromkeys(tuple(n for n in with_ops if n in some) for some in ("", "a", "b", "ab"))
        for more in ("", "a", "b")
    ]
    return min(
        dict.fromkeys(options),
        key=lambda each: mean_ps(cases, lambda facts: _choice_ps(each, facts, dot, machine)),
    )


def _choose_gemm(gemm: tl.GemmOp, machine: Machine, wanted: Stage | None, ahead: bool) -> Choice:
    forced = tuple(n for n, v in (("a", gemm.a), ("b", gemm.b)) if not isinstance(v.type, RegionType))
    if wanted == "none" or forced:
        return Choice(forced)
    if wanted is not None:
        staged = _staged(gemm, wanted, machine)
        return staged if isinstance(staged, Choice) else Choice(refused=f"{wanted} is streamed: {staged}")
    if not k_bound(gemm):
        return Choice()
    found = [Choice(), *(c for n in ("a", "b") if isinstance(c := _staged(gemm, n, machine), Choice) and not c.pieces)]
    if (tiles := gemm.tiles) is not None:
        found += [replace(c, at_once=c.staged) for c in found if any(ops_on(tiles, n) for n in c.staged)]
    elif ahead:
        found += pieces_of(gemm, machine)
    cases, overlaps = cases_of(gemm, machine), overlaps_in_loop(gemm)

    def cost(each: Choice) -> int:
        # PE_CPU waits for an operand that is staged as a whole, in a loop as well.
        repeated = overlaps and each.pieces
        return mean_ps(cases, lambda facts: _choice_ps(each, facts, gemm, machine, in_loop=repeated))

    return _cheapest(found, [cost(each) for each in found], reads_of(gemm, machine))


def _cheapest(found: Sequence[Choice], costs: Sequence[int], reads: Mapping[str, int]) -> Choice:
    """The first of the cheapest, with what the others would cost as the reason; of pieces the best are named."""
    best: dict[str, tuple[int, Choice]] = {}
    for cost, each in zip(costs, found, strict=True):
        what = "both in pieces" if each.pieces else f"{' and '.join(each.staged) or 'none'} staged"
        if what not in best or cost < best[what][0]:
            best[what] = cost, each
    least, (cost, choice) = min(best.items(), key=lambda item: item[1][0])
    others = ", ".join(f"{what} {ps // 1000:,}" for what, (ps, _) in best.items() if what != least)
    pieces = f", {choice.chunk} lanes of K at a time" if choice.pieces else ""
    how = _reason(choice.staged, choice.at_once, reads) + pieces
    reason = f"{how}: about {cost // 1000:,} ns{f' ({others})' if others else ''}"
    return replace(choice, reason=reason, ps=cost)


def pieces_of(gemm: tl.GemmOp, machine: Machine, shared: int = 0) -> list[Choice]:
    """Pieces of both operands in TCM, in all sizes that fit beside what lives; also those of `shared` more products
    like this one, of which one operand is shared.
    """
    k, tile_k = k_bound(gemm) or 0, machine.pe.gemm.tile[1]
    rows, columns = shape_of(gemm.result.type)
    a_width, b_width = (element_bytes(operand_element(v.type)) for v in (gemm.a, gemm.b))
    lane_bytes = rows * a_width + columns * b_width + shared * max(rows * a_width, columns * b_width)
    room = machine.pe.tcm.scratch_bytes - live_bytes(kernel_of(gemm), gemm)
    chunks = [tile_k << n for n in range(max(k // tile_k, 1).bit_length())]
    return [Choice(("a", "b"), chunk=c, pieces=True) for c in chunks if c < k and BLOCKS_AHEAD * c * lane_bytes <= room]


def _staged(gemm: tl.GemmOp, name: Literal["a", "b"], machine: Machine) -> Choice | str:
    """Staging of one operand over the whole of K, in pieces if it does not fit; or why it cannot be."""
    k = k_bound(gemm)
    if k is None:
        return "the size of K is not known when the kernel is compiled"
    rows, columns = shape_of(gemm.result.type)
    lanes = rows if name == "a" else columns
    lane_bytes = lanes * element_bytes(operand_element((gemm.a if name == "a" else gemm.b).type))
    tile_k = machine.pe.gemm.tile[1]
    room = machine.pe.tcm.scratch_bytes - live_bytes(kernel_of(gemm), gemm)
    if k * lane_bytes <= room:
        return Choice((name,), chunk=k)
    chunk = room // lane_bytes // tile_k * tile_k
    if chunk <= 0:
        return f"one tile of K takes {tile_k * lane_bytes} bytes, {max(room, 0)} of the scratch are free"
    return Choice((name,), chunk=chunk, pieces=True)


def k_bound(gemm: tl.GemmOp) -> int | None:
    """The most lanes that K can have in this launch."""
    highs = [
        bounds_of(region.sizes[axis]).high
        for value, axis in ((gemm.a, 1), (gemm.b, 0))
        if isinstance(region := value.owner, RegionOp)
    ]
    known = [high for high in highs if high is not None]
    return max(min(known), 1) if known else None


Cases: TypeAlias = list[tuple[GemmFacts, int]]
"""The products of the programs of a launch: of whole blocks and of blocks at edges, each with how many there are."""


def mean_ps(cases: Cases, cost: Callable[[GemmFacts], int]) -> int:
    return sum(cost(facts) * count for facts, count in cases) // sum(count for _, count in cases)


def cases_of(product: tl.DotOp | tl.GemmOp, machine: Machine) -> Cases:
    """What the cost model wants to know about a product whose operands are all streamed that can be."""
    facts, (rows, columns), ops = _facts(product, machine), shape_of(product.result.type)[-2:], ops_of(product)
    return [
        (replace(facts, m=m, n=n), a_count * b_count)
        for m, a_count in _extents(ops["a"].source, 0, rows)
        for n, b_count in _extents(ops["b"].source, 1, columns)
    ]


def _facts(product: tl.DotOp | tl.GemmOp, machine: Machine) -> GemmFacts:
    """The facts of a program whose block is all valid."""
    rows, columns = shape_of(product.result.type)
    tile_k = machine.pe.gemm.tile[1]
    ops = ops_of(product)
    if isinstance(product, tl.DotOp):
        k = block_k = shape_of(product.a.type)[1]
        in_tcm = tuple(streamable(product, v.source) is not None for v in ops.values())
    else:
        most = k_bound(product) or 0
        k = min(_valid(product.a, 1, most), _valid(product.b, 0, most))
        block_k = own_block_k(product, tile_k)
        in_tcm = tuple(not isinstance(v.type, RegionType) for v in (product.a, product.b))
    epilogue, stored = _epilogue(product)
    return GemmFacts(
        m=rows,
        k=k,
        n=columns,
        block=(rows, block_k, columns),
        element=str(factor_element(product)),
        # Sums of integers are as wide as those of f32, which is the name that the cost model knows.
        out_element=str(element_of(product.result.type)) if is_float(product.result.type) else "f32",
        a_in_tcm=in_tcm[0],
        b_in_tcm=in_tcm[1],
        out_in_hbm=stored,
        epilogue=epilogue,
        a_ops=_op_count(product, ops, "a"),
        b_ops=_op_count(product, ops, "b"),
        a_bytes=_width(ops["a"]),
        b_bytes=_width(ops["b"]),
        sharers=max(sharers_of(each.source) for each in ops.values()),
    )


def factor_element(product: tl.DotOp | tl.GemmOp) -> Attribute:
    """Element type of what is multiplied."""
    return operand_element((product.factors[0] if isinstance(product, tl.GemmOp) else product.a).type)


def _op_count(product: tl.DotOp | tl.GemmOp, ops: Mapping[str, TileOps], name: str) -> int:
    """How many ops there are on the tiles of an operand."""
    if isinstance(product, tl.GemmOp):
        return len(ops_on(product.tiles, name)) if product.tiles is not None else 0
    return len(ops[name].ops)


def _width(ops: TileOps) -> int:
    return element_bytes(operand_element(ops.source.type))


def sharers_of(operand: SSAValue) -> int:
    """How many PEs of the launch share the slice that an operand is read from, as far as that is known."""
    at = operand
    while isinstance(op := at.owner, RegionOp | tl.LoadRegionOp | tl.TransOp | tl.AddPtrOp):
        at = op.base if isinstance(op, RegionOp) else op.operands[0]
    if isinstance(at, BlockArgument) and isinstance(function := at.owner.parent_op(), func.FuncOp):
        fact = argument_fact(function, at.index, SHARERS)
        if isinstance(fact, IntegerAttr):
            return fact.value.data
    return 1


def _epilogue(product: tl.DotOp | tl.GemmOp) -> tuple[int, bool]:
    """How many MATH ops on the result alone follow (a cast before the store is none), the rows of a recipe on tiles
    among them, and whether it is then stored.
    """
    count, value = int(product.acc is not None), product.result
    while True:
        users = dict.fromkeys(use.operation for use in value.uses)
        op = next(iter(users)) if len(users) == 1 else None
        if isinstance(op, tl.StoreRegionOp):
            return count - isinstance(value.owner, tl.CastOp), True
        if op is None or op.parent is not product.parent:
            return count, False
        if (rows := _rows_on_tiles(op)) is not None:
            count, value = count + rows, op.results[-1]
        elif is_lane_by_lane(op):
            count, value = count + 1, op.results[0]
        else:
            return count, False


def _rows_on_tiles(op: Operation) -> int | None:
    """How many rows the recipe has that an op is, if it is one that goes on with tiles."""
    if not isinstance(op, tl.CompositeOp) or op.product is not None or op.recipe is None:
        return None
    recipe = RECIPES[op.recipe.recipe.data]
    return len(recipe.rows_for(op.recipe.choice)) if recipe.place == "tile" else None


def _staging(facts: GemmFacts, staged: tuple[str, ...]) -> GemmFacts:
    """The facts with some operands staged. The estimate knows one; what else is staged counts as lying in TCM."""
    more = [n for n in staged if not (facts.a_in_tcm if n == "a" else facts.b_in_tcm)]
    if not more:
        return facts
    first = replace(facts, staged=more[0])
    return replace(first, b_in_tcm=True) if len(more) == 2 else first


def own_block_k(gemm: tl.GemmOp, otherwise: int) -> int:
    """The K block that the kernel was written with."""
    known = gemm.attributes.get(BLOCK_K)
    return known.value.data if isinstance(known, IntegerAttr) else otherwise


def _valid(operand: SSAValue, axis: int, block: int) -> int:
    """The most lanes of an axis that are valid."""
    region = operand.owner
    high = bounds_of(region.his[axis]).high if isinstance(region, RegionOp) else None
    return block if high is None else max(min(high, block), 0)


def _extents(operand: SSAValue, axis: int, block: int) -> list[tuple[int, int]]:
    """(valid lanes, how many blocks have them) of the blocks that an axis of the tensor is cut into: the whole ones and
    what is left. A bound that no program number enters is that of the first block.
    """
    region = operand.owner
    if not isinstance(region, RegionOp):
        return [(block, 1)]
    bound = region.his[axis]
    while isinstance(op := bound.owner, arith.MinSIOp) and block in (constant_of(op.lhs), constant_of(op.rhs)):
        bound = op.rhs if constant_of(op.lhs) == block else op.lhs
    high = bounds_of(bound, likely=True).high
    if high is None:
        return [(block, 1)]
    whole, left = divmod(max(high, 0), block)
    return [each for each in ((block, whole), (left, 1 if left or not whole else 0)) if each[1]]
