"""The composite command: a flat ordered list of op specs that PE_SCHED tiles and streams, and its `pe` plan once there
is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, UnitAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..region import RegionType, operand_element
from ..shapes import require, shape_of
from .commands import CommandOp
from .math import MATH_KINDS, arity_of
from .plan import plan_faults
from .types import (
    FRAMING_BYTES,
    HANDLE_BYTES,
    LENGTH_BYTES,
    NO_OUT,
    RUNNING_TILE,
    BufferType,
    Scope,
    SpecAttr,
)


@irdl_op_definition
class CompositeOp(CommandOp):
    """One command of many ops. `parts` are the operands that the specs number; `extents` the valid m, n, k of the GEMM.

    `writes` numbers the handles outside the composite that it writes: they are what later commands wait for. The
    region is the plan of `dialects/pe.py`; it is empty until `tile-composites` has made one. No pass splits one that is
    `as_written`: the programmer has placed it.
    """

    name = "ahbm.composite"
    KIND: ClassVar[str] = "composite"
    BYTES: ClassVar[int] = FRAMING_BYTES + 2 * LENGTH_BYTES

    parts = var_operand_def(AnyAttr())
    extents = var_operand_def(i64)
    specs = prop_def(ArrayAttr[SpecAttr])
    writes = prop_def(DenseArrayBase.constr(i64))
    as_written = opt_prop_def(UnitAttr)
    plan = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(NoTerminator())
    assembly_format = "`(` $parts `:` type($parts) `)` (`extents` `(` $extents^ `)`)? attr-dict `plan` $plan"

    def __init__(
        self,
        parts: Sequence[SSAValue],
        extents: Sequence[SSAValue],
        specs: Sequence[SpecAttr],
        writes: Sequence[int],
        plan: Region | None = None,
        as_written: UnitAttr | None = None,
    ):
        super().__init__(
            operands=[parts, extents],
            properties={
                "specs": ArrayAttr(specs),
                "writes": DenseArrayBase.from_list(i64, writes),
                "as_written": as_written,
            },
            regions=[plan or Region()],
        )

    @property
    def written(self) -> tuple[int, ...]:
        """Numbers of the parts that are written for the outside."""
        return tuple(self.writes.get_values())

    @property
    def gemm_number(self) -> int | None:
        """The number of the GEMM among the specs."""
        return next((i for i, spec in enumerate(self.specs) if spec.is_gemm), None)

    @property
    def written_back_by(self) -> int | None:
        """The number of the MATH op whose result goes to HBM: the last one of a composite without a GEMM."""
        last = len(self.specs) - 1
        out = self.specs.data[last].out.data if self.gemm_number is None and last >= 0 else NO_OUT
        return last if 0 <= out < len(self.parts) and isinstance(self.parts[out].type, RegionType) else None

    @property
    def on_tiles(self) -> dict[int, int]:
        """The specs that work on fetched tiles, by number -> the part whose tiles they change: a or b of the GEMM.

        It is their out, or their first operand where they name none. The part itself keeps its bytes.
        """
        found: dict[int, int] = {}
        for number, spec in enumerate(self.specs.data[: self.gemm_number or 0]):
            if spec.scope.data == Scope.K_TILE.value:
                found[number] = spec.out.data if spec.out.data != NO_OUT else spec.operand_numbers[0]
        return found

    @property
    def outs(self) -> tuple[int, ...]:
        """Numbers of the parts that the specs write, in order."""
        on_tiles = self.on_tiles
        found = {s.out.data for n, s in enumerate(self.specs) if n not in on_tiles and s.out.data != NO_OUT}
        return tuple(sorted(found))

    @property
    def factor_elements(self) -> tuple[Attribute, Attribute]:
        """Element types of the tiles that the GEMM multiplies: those of its operands, unless ops on tiles cast them."""
        gemm = self.gemm_number
        assert gemm is not None
        a, b = self.specs.data[gemm].operand_numbers
        elements = {n: operand_element(self.parts[n].type) for n in (a, b)}
        for number, part in self.on_tiles.items():
            elements[part] = self.specs.data[number].extras.data.get("to", elements[part])
        return elements[a], elements[b]

    @property
    def part_types(self) -> list[Attribute]:
        return [v.type for v in self.parts]

    @property
    def spec_bytes(self) -> list[int]:
        """Logical bytes of each spec, in order."""
        types = self.part_types
        return [spec.logical_bytes(types) for spec in self.specs]

    @property
    def logical_bytes(self) -> int:
        return self.BYTES + sum(self.spec_bytes) + HANDLE_BYTES * len(self.written)

    @property
    def planned(self) -> bool:
        """Whether there is a plan."""
        return bool(self.plan.blocks)

    def verify_(self) -> None:
        count = len(self.parts)
        gemms = sum(spec.is_gemm for spec in self.specs)
        require(len(self.specs) > 0, "a composite without ops")
        require(gemms <= 1, "{} GEMMs in a composite, which has one at most", gemms)
        require(
            len(self.extents) == 3 * gemms, "{} extents; m, n and k belong to a GEMM, and only to it", len(self.extents)
        )
        for number, spec in enumerate(self.specs):
            self._verify_spec(number, spec, count)
        require(all(0 <= n < count for n in self.written), "writes {} of {} parts", list(self.written), count)
        handles = {self.parts[n] for n in self.written}
        require(len(handles) == len(self.written), "a handle is named twice among those written")
        # A recipe's name does not tell which of its operands it writes; its rows will.
        outs = {n for spec in self.specs for n in (spec.out.data, *(spec.operand_numbers if is_recipe(spec) else ()))}
        require(all(n in outs for n in self.written), "a handle among those written is the out of no op")
        if self.planned:
            for fault in plan_faults(self.plan.block, self.specs.data, self.part_types):
                raise VerifyException(fault)

    def _verify_spec(self, number: int, spec: SpecAttr, count: int) -> None:
        what = f"op {number} ('{spec.kind.data}')"
        gemm = self.gemm_number
        after = gemm is not None and number > gemm
        operands = spec.operand_numbers
        for n in operands:
            require(n == RUNNING_TILE or 0 <= n < count, "{} takes operand {} of {} parts", what, n, count)
            require(n != RUNNING_TILE or after, "{} takes the running tile, but no GEMM comes before it", what)
        require(
            spec.out.data == NO_OUT or 0 <= spec.out.data < count,
            "{} writes operand {} of {} parts",
            what,
            spec.out.data,
            count,
        )
        scope = spec.scope.data
        if spec.is_gemm:
            self._verify_gemm(what, spec)
            return
        if not is_recipe(spec):
            wanted = arity_of(spec.kind.data)
            require(len(operands) == wanted, "{} takes {} operands, not {}", what, wanted, len(operands))
        if is_recipe(spec) and gemm is not None and not after:
            self._verify_primary(what, spec.out.data, self.specs.data[gemm].operand_numbers)
        require(scope != Scope.OUTPUT_TILE.value or after, "{} runs per output tile, but no GEMM comes before it", what)
        require(scope != Scope.K_TILE.value or gemm is not None, "{} runs per K tile without a GEMM", what)
        tiles = self.specs.data[gemm].operand_numbers if gemm is not None and scope == Scope.K_TILE.value else ()
        if number in self.on_tiles:
            part = self.on_tiles[number]
            require(part in tiles, "{} changes tiles of part {}, which is neither a nor b of the GEMM", what, part)
        if scope == Scope.ONCE.value or number in self.on_tiles:
            outs = () if number == self.written_back_by else (spec.out.data,)
            for n in (*operands, *outs):
                require(
                    n < 0 or n in tiles or not isinstance(self.parts[n].type, RegionType),
                    "{} runs {} and takes part {} from HBM; its operands must lie in TCM",
                    what,
                    "once" if scope == Scope.ONCE.value else "per K tile",
                    n,
                )

    def _verify_primary(self, what: str, out: int, operands: Sequence[int]) -> None:
        require(
            operands[:1] == (out,),
            "{} makes part {}, which becomes the a of the GEMM, but the GEMM has part {} as its a; give the GEMM no "
            "other a",
            what,
            out,
            operands[0] if operands else "none",
        )

    def _verify_gemm(self, what: str, spec: SpecAttr) -> None:
        require(spec.scope.data == Scope.K_TILE.value, "{} must have scope k_tile, not {}", what, spec.scope.data)
        require(len(spec.operands) == 2 and spec.out.data != NO_OUT, "{} takes a and b and writes an out", what)
        for n in (*spec.operand_numbers, spec.out.data):
            kind = self.parts[n].type
            require(isinstance(kind, BufferType | RegionType), "{} takes part {}, which is {}", what, n, kind)
            rank = kind.rank.data if isinstance(kind, RegionType) else len(shape_of(kind))
            require(rank == 2, "{} takes part {} of rank {}; a GEMM takes rank 2", what, n, rank)
        a, b = self.factor_elements
        require(a == b, "{}: a is {}, b is {}", what, *(self.parts[n].type for n in spec.operand_numbers))


def is_recipe(spec: SpecAttr) -> bool:
    """Whether a spec is the name of a recipe that `expand-recipes` is still to replace by its ops."""
    return not spec.is_gemm and spec.kind.data not in MATH_KINDS


def plan_block(composite: CompositeOp) -> Block:
    """The block of the plan, made if there is none."""
    if not composite.plan.blocks:
        composite.plan.add_block(Block())
    return composite.plan.block
