"""What an iteration of a loop of commands costs with a composite whole, and with its MATH ops and its GEMM apart.

The loop takes as long as what is busy longest: PE_CPU, the GEMM engine, or, where the MATH ops before a GEMM wait for
the GEMM of the iteration before, the two in turn.
"""

from __future__ import annotations

from math import prod

from ...backend_sim.target.cost import GEMM_ELEMENTS, fetch_ps, gemm_ps, gemm_tile_ps, issue_ps, math_ps, store_ps
from ...backend_sim.target.machine import Machine
from ...dialects import ahbm
from ...dialects.ahbm.commands import CommandOp
from ...dialects.region import operand_element
from ...dialects.shapes import element_bytes, element_of, shape_of


def iteration_ps(
    composite: ahbm.CompositeOp, ops: ahbm.CompositeOp, product: ahbm.CompositeOp, machine: Machine
) -> tuple[int, int]:
    """How long an iteration takes with `composite`, and with `ops` and `product` in its place."""
    loop = composite.parent_op()
    assert loop is not None
    commands = [op for op in loop.walk() if isinstance(op, CommandOp)]
    others = [op for op in commands if isinstance(op, ahbm.CompositeOp) and op is not composite]
    held = sum(_cpu_ps(op, machine) for op in commands)
    apart = held - _cpu_ps(composite, machine) + _cpu_ps(ops, machine) + _cpu_ps(product, machine)
    gemm = sum(_gemm_ps(op, machine) for op in (product, *others))
    between = sum(_between_ps(op, machine) for op in others)
    in_turn = _once_ps(ops, machine) + between + _product_ps(product, machine)
    return max(held, gemm, in_turn), max(apart, gemm)


def _cpu_ps(op: CommandOp, machine: Machine) -> int:
    """How long a command holds PE_CPU, its operands being there."""
    held = issue_ps(machine, op.logical_bytes, composite=isinstance(op, ahbm.CompositeOp))
    entry = machine.pe.sched.entry_engine_ps
    match op:
        case ahbm.GemmOp():
            (m, k), (_, n) = shape_of(op.a.type), shape_of(op.b.type)
            element = str(element_of(op.a.type))
            return held + entry + (gemm_ps(machine, m, k, n, element) if element in GEMM_ELEMENTS else 0)
        case ahbm.MathOp():
            elements = max(prod(shape_of(v.type)) for v in op.operands)
            return held + entry + math_ps(machine, op.kind.data, elements, op.axis_size)
        case _:
            return held


def _once_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """The ops that run once, in order."""
    total = 0
    for spec in op.specs:
        if spec.scope.data == ahbm.Scope.ONCE.value:
            parts = [op.parts[n].type for n in (*spec.operand_numbers, spec.out.data) if n >= 0]
            total += math_ps(machine, spec.kind.data, max(prod(shape_of(kind)) for kind in parts))
    return total


def _gemm(op: ahbm.CompositeOp) -> ahbm.SpecAttr | None:
    return None if op.gemm_number is None else op.specs.data[op.gemm_number]


def _outputs(op: ahbm.CompositeOp, machine: Machine) -> int:
    """Output tiles of the GEMM; one where the output is in HBM, so that no block tells."""
    gemm = _gemm(op)
    if gemm is None:
        return 0
    tile_m, _, tile_n = machine.pe.gemm.tile
    m, n = shape_of(op.parts[gemm.out.data].type) or (tile_m, tile_n)
    return -(-m // tile_m) * -(-n // tile_n)


def _tile_gemm_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """One tile of the GEMM; 0 where the engine does not take its type, of which `check-limits` tells."""
    gemm = _gemm(op)
    assert gemm is not None
    element = str(operand_element(op.parts[gemm.operand_numbers[0]].type))
    return gemm_tile_ps(machine, element) if element in GEMM_ELEMENTS else 0


def _tile_store_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    gemm, (tile_m, _, tile_n) = _gemm(op), machine.pe.gemm.tile
    assert gemm is not None
    return store_ps(machine, tile_m * tile_n * element_bytes(operand_element(op.parts[gemm.out.data].type)))


def _gemm_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """All tiles of the GEMM."""
    gemm = _gemm(op)
    if gemm is None:
        return 0
    a, b = (op.parts[n].type for n in gemm.operand_numbers)
    tile_k = machine.pe.gemm.tile[1]
    k = next((shape_of(kind)[axis] for kind, axis in ((a, 1), (b, 0)) if shape_of(kind)), tile_k)
    return _outputs(op, machine) * -(-k // tile_k) * _tile_gemm_ps(op, machine)


def _tile_math_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """The MATH ops on one output tile."""
    tile_m, _, tile_n = machine.pe.gemm.tile
    scope = ahbm.Scope.OUTPUT_TILE.value
    return sum(math_ps(machine, s.kind.data, tile_m * tile_n) for s in op.specs if s.scope.data == scope)


def _between_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """What comes in between from another composite: the MATH ops on its tiles, and one tile that is under way."""
    if _gemm(op) is None:
        return 0
    tile = _tile_gemm_ps(op, machine) + _tile_store_ps(op, machine)
    return _outputs(op, machine) * _tile_math_ps(op, machine) + tile


def _product_ps(op: ahbm.CompositeOp, machine: Machine) -> int:
    """The tiles of a GEMM from the first one's FETCH to the last one's STORE."""
    gemm = _gemm(op)
    assert gemm is not None
    tile_m, tile_k, tile_n = machine.pe.gemm.tile
    fetched = (tile_m + tile_n) * tile_k * element_bytes(operand_element(op.parts[gemm.operand_numbers[0]].type))
    ends = fetch_ps(machine, fetched) + _tile_math_ps(op, machine) + _tile_store_ps(op, machine)
    return _gemm_ps(op, machine) + ends
