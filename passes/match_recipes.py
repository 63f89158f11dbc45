"""`match-recipes`: what a kernel computes as a recipe does becomes a composite, with the product that takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from ..dialects.shapes import element_of, is_float
from .analysis.terms import Terms
from .commands.math_kinds import is_lane_by_lane, math_kind
from .composites.gemm_choice import is_in_loop
from .composites.iteration_cost import single_ops_are_faster, single_ops_are_faster_once
from .composites.loaded_ahead import loop_of
from .composites.recipe_match import Match, Refused, matches
from .composites.recipe_wrap import wrap
from .recipe import Place, Recipe
from .recipes import OWN, RECIPES


@dataclass(frozen=True)
class MatchRecipesPass(ModulePass):
    """Make what a recipe does one op of a composite, together with the product that takes its primary output.

    before:  the row maximum of s, the new maximum, two exponentials, the row sum, the rescaling of l and O, and
             %o = tl.dot %p, %v acc(%o_rescaled)
    after:   %m, %l, %o = tl.composite(%s, %m, %l, %o, %v) {
               %m2, %l2, %o2, %p = tl.recipe(%s, %m, %l, %o) {recipe = "softmax_merge", params} { those ops }
               %d = tl.dot %p, %v acc(%o2) ; tl.yield %m2, %l2, %d }

    What counts is the flow of data, not how it is spelled: the terms of the rows are built for each choice of the
    recipe's parameters and unified with the kernel's. `ahbmc recipes` lists places, operands, parameters and rows.
    The composite also gives the primary output, where others than the product read it.
    Rows that work on the tile of a product, or come after it, become a composite of their own, which `fuse-epilogues`
    joins to that of the product.

    needs:   `dot-accumulate`, `canonicalize` and `cse`. Operands are blocks of floats.
    keeps:   values; the body of the recipe holds the kernel's own ops. A product whose `a` comes from a function that
             the rows of a recipe have, and that does not match, leaves a remark with the reason. Recipes of one's own
             leave one at whatever place they run.
    options: when=always|auto  `auto` leaves a loop alone whose iterations single-op commands do faster
    """

    name = "match-recipes"

    when: Literal["always", "auto"] = "always"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for dot in [each for each in op.walk() if isinstance(each, tl.DotOp)]:
            if not dot.is_batch and not isinstance(dot.parent_op(), tl.CompositeOp):
                self._before(dot, op, machine)
        # Of two products that meet the later one goes on with what the other has made.
        for product in reversed([each for each in op.walk() if isinstance(each, tl.DotOp | tl.GemmOp)]):
            if not isinstance(product.parent_op(), tl.CompositeOp):
                self._on_tiles(product, op)
        for block in dict.fromkeys(b for each in op.walk() if isinstance(each, tl.ReduceOp) and (b := each.parent)):
            if not isinstance(block.parent_op(), tl.RecipeOp):
                self._after(block, op)

    def _before(self, dot: tl.DotOp, module: ModuleOp, machine: Machine) -> None:
        """The first recipe that makes the `a` of a product."""
        location, refusals = dot.location, list[str]()
        for recipe in _at("before"):
            refusal = self._match(recipe, dot, machine)
            if refusal is None:
                remark(module, self.name, "recipe", "matched", recipe.name, location)
                return
            if _is_worth_a_word(recipe, dot.a):
                refusals.append(f"{recipe.name}: {refusal}")
        for refusal in refusals:
            remark(module, self.name, "recipe", "refused", refusal, location)

    def _match(self, recipe: Recipe, dot: tl.DotOp, machine: Machine) -> Refused | None:
        """Wrap the first match that can be; None, or why there is none."""
        last: Refused | None = None
        try:
            for match in _matches_before(recipe, dot):
                try:
                    self._wrap(match, dot, machine)
                except Refused as refusal:
                    last = refusal
                else:
                    return None
        except Refused as refusal:
            last = refusal
        return last

    def _on_tiles(self, product: tl.DotOp | tl.GemmOp, module: ModuleOp) -> None:
        """The first recipe that goes on with the tiles of a product, or with what lane by lane becomes of them."""
        block = product.parent
        assert block is not None
        location, refusals = product.location, dict[str, str]()
        for recipe in [r for r in _at("tile") if _has_functions(r, block)]:
            for tile in _tiles_of(product):
                made = _made_of(tile, block)
                try:
                    match = _match_tile(recipe, tile, made, block)
                except Refused as refusal:
                    if recipe.name in OWN and not _signs_of(recipe).isdisjoint(map(_kind_of, made)):
                        refusals[recipe.name] = str(refusal)
                else:
                    if self._join(match, product, block, module):
                        return
        for name, refusal in refusals.items():
            remark(module, self.name, "recipe", "refused", f"{name}: {refusal}", location)

    def _after(self, block: Block, module: ModuleOp) -> None:
        """Recipes that need no product."""
        for recipe in _at("after"):
            if not _has_functions(recipe, block):
                continue
            try:
                match = next(matches(recipe, block, Terms(block), {}, {}))
            except Refused as refusal:
                if recipe.name in OWN:
                    at = next(op for op in block.ops if isinstance(op, tl.ReduceOp))
                    remark(module, self.name, "recipe", "refused", f"{recipe.name}: {refusal}", at.location)
                continue
            self._join(match, match.results[-1].owner, block, module)

    def _join(self, match: Match, at: Operation | Block, block: Block, module: ModuleOp) -> bool:
        """Make the rows of a match a composite of their own."""
        assert isinstance(at, Operation)
        location, name = at.location, match.recipe.name
        try:
            wrap(match, None, block)
        except Refused as refusal:
            # What a product takes besides has its remark already.
            if not any(isinstance(op, tl.DotOp) for op in block.ops) or match.recipe.place == "tile":
                remark(module, self.name, "recipe", "refused", f"{name}: {refusal}", location)
            return False
        remark(module, self.name, "recipe", "matched", name, location)
        return True

    def _wrap(self, match: Match, dot: tl.DotOp, machine: Machine) -> None:
        loop = loop_of(dot)
        if self.when == "auto":
            if loop is None or not is_in_loop(dot):
                if single_ops_are_faster_once(match.recipe.rows_for(match.params), dot, machine):
                    raise Refused("single ops are faster")
            elif single_ops_are_faster(loop, machine):
                raise Refused("single ops do an iteration of the loop faster")
        assert dot.parent is not None
        wrap(match, dot, dot.parent)


def _at(place: Place) -> list[Recipe]:
    """The recipes whose rows stand there, those of one's own first: what they hold may hold one of ours."""
    own_first = {**OWN, **RECIPES}
    return [recipe for recipe in own_first.values() if recipe.place == place]


def _matches_before(recipe: Recipe, dot: tl.DotOp) -> Iterator[Match]:
    """The matches whose primary output `dot` takes; raises `Refused`."""
    element = element_of(dot.a.type)
    assert dot.parent is not None and recipe.primary is not None
    terms = Terms(dot.parent, least_bits=element.bitwidth if isinstance(element, AnyFloat) else 32)
    anchors: dict[str, list[SSAValue]] = {recipe.primary.name: [dot.a]}
    if recipe.accumulator is not None:
        if dot.acc is None:
            raise Refused("the product is not added to anything")
        anchors[recipe.accumulator] = [dot.acc]
    return matches(recipe, dot.parent, terms, anchors, {})


def _tiles_of(product: tl.DotOp | tl.GemmOp) -> Iterator[SSAValue]:
    """The result of a product, and what ops that alone go on with it make of it lane by lane."""
    value: SSAValue = product.result
    while True:
        yield value
        users = dict.fromkeys(use.operation for use in value.uses)
        op = next(iter(users)) if len(users) == 1 else None
        if op is None or op.parent is not product.parent or not is_lane_by_lane(op):
            return
        value = op.results[0]


def _match_tile(recipe: Recipe, tile: SSAValue, made: list[SSAValue], block: Block) -> Match:
    """The recipe as one that goes on with `tile`, of which `made` is made; raises `Refused`."""
    assert recipe.tile is not None and recipe.primary is not None
    if not made:
        raise Refused("nothing goes on with the product lane by lane")
    terms = Terms(block, leaves=[tile])
    return next(matches(recipe, block, terms, {recipe.primary.name: made}, {recipe.tile: tile}))


def _made_of(value: SSAValue, block: Block) -> list[SSAValue]:
    """What is made of a value lane by lane, in order."""
    found: dict[SSAValue, None] = {}
    todo = [value]
    while todo:
        for use in todo.pop().uses:
            op = use.operation
            if (
                op.parent is block
                and is_lane_by_lane(op)
                and is_float(op.results[0].type)
                and op.results[0] not in found
            ):
                found[op.results[0]] = None
                todo.append(op.results[0])
    return [r for op in block.ops for r in op.results if r in found]


FUNCTIONS = {
    "exp": "exp",
    "exp2": "exp2",
    "exp_diff": "exp",
    "exp2_diff": "exp2",
    "rsqrt": "sqrt",
    "erf": "erf",
    "tanh": "exp",
}
"""The functions that tell recipes apart -> what a kernel may use for them."""


def _functions_of(recipe: Recipe) -> set[str]:
    """The kinds of functions by which a kernel that computes a recipe is known; none if its rows are arithmetic."""
    return {f for kind in _kinds_of(recipe) & set(FUNCTIONS) for f in (kind, FUNCTIONS[kind])}


def _kinds_of(recipe: Recipe) -> set[str]:
    return {row.kind for params in recipe.every_choice() for row in recipe.rows_for(params)}


def _signs_of(recipe: Recipe) -> set[str]:
    """The kinds of ops behind which somebody may look for a recipe: its functions, or the arithmetic of one of the
    user's own that has none.
    """
    return _functions_of(recipe) or (_kinds_of(recipe) if recipe.name in OWN else set())


def _kind_of(value: SSAValue) -> str:
    """The kind of the op that makes one of `_made_of`."""
    assert isinstance(value.owner, Operation)
    return math_kind(value.owner)


def _has_functions(recipe: Recipe, block: Block) -> bool:
    """Whether the recipe can be in a block at all, which is cheap to say."""
    functions = _functions_of(recipe)
    return not functions or any(is_lane_by_lane(op) and math_kind(op) in functions for op in block.ops)


def _is_worth_a_word(recipe: Recipe, value: SSAValue) -> bool:
    """Whether one of the signs of a recipe is among the last few ops that make `value`, or for a recipe of one's own
    among all of them.
    """
    signs = _signs_of(recipe)
    todo, seen, steps = [value], set[SSAValue](), 0
    while todo and (steps < 8 or recipe.name in OWN):
        at = todo.pop(0)
        op = at.owner
        steps += 1
        if not isinstance(op, Operation) or isinstance(op, tl.DotOp | tl.LoadRegionOp | tl.CompositeOp):
            continue
        if at in seen or not is_float(at.type):
            continue
        seen.add(at)
        if is_lane_by_lane(op) and math_kind(op) in signs:
            return True
        todo += [v for v in op.operands if is_float(v.type)]
    return False
