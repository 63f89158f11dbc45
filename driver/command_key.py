"""What a lowered kernel does, as a value: modules that issue the same commands on the same values have the same one.

Scalar arithmetic takes PE_CPU no time, so that neither its order nor its locations count; everything else does.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

_UNSEEN = ("ahbm.remarks", "ahbm.constants")  # for reports and hints


def command_key(module: ModuleOp) -> Hashable:
    """The ops of a module in order, free ones only as the operands of others."""
    attributes = tuple((name, value) for name, value in sorted(module.attributes.items()) if name not in _UNSEEN)
    numbering = _Numbering()
    rows = tuple(numbering.ops(module.body.block))
    return attributes, rows, tuple(numbering.free)


class _Numbering:
    """Numbers values in the order in which ops that are not free use them; equal ones of `free` ops get one number."""

    def __init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self.free: dict[Hashable, int] = {}
        self._next = 0

    def ops(self, block: Block) -> list[Hashable]:
        """A row for each op of a block that is not free."""
        for argument in block.args:
            self._name(argument)
        return [self._row(op) for op in block.ops if not _is_free(op)]

    def _row(self, op: Operation) -> Hashable:
        operands = self._operands(op)
        inner = tuple(tuple(self.ops(block)) for region in op.regions for block in region.blocks)
        for result in op.results:
            self._name(result)
        return op.location, _what(op), operands, inner

    def _operands(self, op: Operation) -> tuple[int, ...]:
        return tuple(map(self._number, op.operands))

    def _number(self, value: SSAValue) -> int:
        if value not in self._numbers:
            assert isinstance(value, OpResult)
            key = _what(value.op), self._operands(value.op), value.index
            self._numbers[value] = self.free.setdefault(key, self._next)
            self._next += self._numbers[value] == self._next
        return self._numbers[value]

    def _name(self, value: SSAValue) -> None:
        self._numbers[value] = self._next
        self._next += 1


def _is_free(op: Operation) -> bool:
    if not op.results or op.regions:
        return False
    return op.name.startswith("arith.") or is_side_effect_free(op)  # xDSL's arith.extsi does not say so


def _what(op: Operation) -> Hashable:
    notes = tuple(sorted({**op.attributes, **op.properties}.items(), key=lambda item: item[0]))
    return op.name, notes, tuple(result.type for result in op.results)
