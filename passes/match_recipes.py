"""`match-recipes`: what a kernel computes as a recipe does becomes a composite, with the product that takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from ..dialects.shapes import element_of, is_float
from .analysis.terms import Terms
from .commands.math_kinds import is_lane_by_lane, math_kind
from .composites.iteration_cost import single_ops_are_faster
from .composites.loaded_ahead import InLoops, loaded_ahead, loop_of
from .composites.recipe_match import Match, Refused, match_recipe
from .composites.recipe_wrap import wrap
from .recipes import RECIPES, Recipe


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
    Rows that work on the tile of a product, or come after it, become a composite of their own, which `fuse-epilogues`
    joins to that of the product.

    needs:   `dot-accumulate`, `canonicalize` and `cse`. Operands are blocks of floats.
    keeps:   values; the body of the recipe holds the kernel's own ops. A product whose `a` comes from a function that
             the rows of a recipe have, and that does not match, leaves a remark with the reason.
    options: in-loops=stream|load  whether the product streams its b in a loop, or leaves it to the load that is there,
                                   for `prefetch-loads`
             when=always|auto      `auto` leaves a loop alone whose iterations single-op commands do faster
    """

    name = "match-recipes"

    in_loops: InLoops = "stream"
    when: Literal["always", "auto"] = "always"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for dot in [each for each in op.walk() if isinstance(each, tl.DotOp)]:
            if not dot.is_batch:
                self._before(dot, op, machine)

    def _before(self, dot: tl.DotOp, module: ModuleOp, machine: Machine) -> None:
        """The first recipe that makes the `a` of a product."""
        location, refusals = dot.location, list[str]()
        for recipe in [r for r in RECIPES.values() if r.place == "before"]:
            try:
                self._wrap(_match_before(recipe, dot), dot, machine)
            except Refused as refusal:
                if _is_worth_a_word(recipe, dot.a):
                    refusals.append(f"{recipe.name}: {refusal}")
            else:
                remark(module, self.name, "recipe", "matched", recipe.name, location)
                return
        for refusal in refusals:
            remark(module, self.name, "recipe", "refused", refusal, location)

    def _wrap(self, match: Match, dot: tl.DotOp, machine: Machine) -> None:
        loop = loop_of(dot)
        load = loaded_ahead(dot, dot.b, machine) if self.in_loops == "load" else None
        if self.when == "auto" and loop is not None and single_ops_are_faster(loop, machine):
            raise Refused("single ops do an iteration of the loop faster")
        assert dot.parent is not None
        wrap(match, dot, dot.parent, stream=load is None)


def _match_before(recipe: Recipe, dot: tl.DotOp) -> Match:
    """The recipe whose primary output `dot` takes; raises `Refused`."""
    element = element_of(dot.a.type)
    assert dot.parent is not None and recipe.primary is not None
    terms = Terms(dot.parent, least_bits=element.bitwidth if isinstance(element, AnyFloat) else 32)
    anchors: dict[str, list[SSAValue]] = {recipe.primary.name: [dot.a]}
    if recipe.accumulator is not None:
        if dot.acc is None:
            raise Refused("the product is not added to anything")
        anchors[recipe.accumulator] = [dot.acc]
    return match_recipe(recipe, dot.parent, terms, anchors, {})


FUNCTIONS = {"exp": "exp", "exp2": "exp2", "exp_diff": "exp", "exp2_diff": "exp2", "rsqrt": "sqrt", "erf": "erf"}
"""The functions that tell recipes apart -> what a kernel may use for them."""


def _is_worth_a_word(recipe: Recipe, value: SSAValue) -> bool:
    """Whether a function of the rows is among the last few ops that make `value`."""
    rows = {row.kind for params in recipe.every_choice() for row in recipe.rows_for(params)}
    functions = {f for kind in rows & set(FUNCTIONS) for f in (kind, FUNCTIONS[kind])}
    todo, steps = [value], 0
    while todo and steps < 8:
        op = todo.pop(0).owner
        steps += 1
        if not isinstance(op, Operation) or not is_float(value.type) or isinstance(op, tl.DotOp | tl.LoadRegionOp):
            continue
        if is_lane_by_lane(op) and math_kind(op) in functions:
            return True
        todo += [v for v in op.operands if is_float(v.type)]
    return False
