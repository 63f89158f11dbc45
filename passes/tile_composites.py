"""`tile-composites`: the plan of what PE_SCHED streams for each composite, loops rolled."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import machine_of
from ..dialects import ahbm, pe
from ..dialects.ahbm.composite import is_recipe, plan_block
from ..dialects.errors import Category, fail, place_of


@dataclass(frozen=True)
class TileCompositesPass(ModulePass):
    """Give every composite its plan: ops that run once, and the loop over the tiles of its GEMM.

    before:  ahbm.composite(...) {specs = [gemm k_tile, add output_tile]} plan {}
    after:   ... plan { pe.tiles {tile = 32, 64, 32} k { pe.fetch ; pe.gemm } output { pe.math ; pe.store } }

    Position gives the phase, scope the repetition: ops before the GEMM that run once stand before the loop, those after
    it behind it; `k_tile` ops before the GEMM work on the fetched tiles, those after it in the accumulation;
    `output_tile` ops run between GEMM and STORE. The tile is the machine's.

    needs:   `lower-to-commands`, `expand-recipes`.
    keeps:   the op list, which is what is issued and paid for. A composite that has a plan is left alone.
    options: none
    """

    name = "tile-composites"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for composite in [each for each in op.walk() if isinstance(each, ahbm.CompositeOp)]:
            if not composite.planned:
                _plan(composite, machine)


def _plan(composite: ahbm.CompositeOp, machine: Machine) -> None:
    recipes = [spec.kind.data for spec in composite.specs if is_recipe(spec)]
    if recipes:
        raise fail(
            f"a composite with the recipe '{recipes[0]}' cannot be tiled",
            place_of(composite.location),
            Category.INVALID_IR,
            "run expand-recipes before tile-composites",
        )
    stages = list(_stages(composite, machine))
    for op in stages:
        for each in op.walk():
            each.location = composite.location
    plan_block(composite).add_ops(stages)


def _stages(composite: ahbm.CompositeOp, machine: Machine) -> list[Operation]:
    gemm = composite.gemm_number
    before: list[Operation] = []
    after: list[Operation] = []
    k: list[Operation] = []
    output: list[Operation] = []
    for number, spec in enumerate(composite.specs):
        scope = ahbm.Scope(spec.scope.data)
        if spec.is_gemm:
            k.append(pe.GemmOp(number))
        elif scope is ahbm.Scope.ONCE:
            (before if gemm is None or number < gemm else after).append(pe.OnceOp(number))
        else:
            (k if scope is ahbm.Scope.K_TILE else output).append(pe.MathOp(number))
    if gemm is None:
        return before
    store = pe.StoreOp(composite.specs.data[gemm].out.data)
    tiles = pe.TilesOp(machine.pe.gemm.tile, [pe.FetchOp(), *k], [*output, store])
    return [*before, tiles, *after]
