"""The verifier: valid IR or every fault with its place.

xDSL's own check names no op and no place, stops at the first fault and accepts a value that is used where it is not
visible; this one goes op by op, and adds the missing check.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from .errors import AhbmcError, Category, Fault, place_of


def verify(module: ModuleOp) -> None:
    """Raise AhbmcError (`invalid-ir`) with every fault of `module`, each at the place of its op."""
    faults: list[Fault] = []
    _check(module, faults)
    faults += [_fault(op, message) for op, message in invisible_operands(module)]
    if faults:
        raise AhbmcError(*faults)


def _check(op: Operation, faults: list[Fault]) -> None:
    # From the inside out: the checks of an op may rely on what it holds, so they run only when that is valid.
    before = len(faults)
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                _check(nested, faults)
    if len(faults) == before and (fault := _fault_of(op)) is not None:
        faults.append(fault)


def _fault(op: Operation, message: str) -> Fault:
    return Fault(f"'{op.name}': {message}", place_of(op.location), Category.INVALID_IR)


def _fault_of(op: Operation) -> Fault | None:
    # A single-block region without ops is the one thing that Block.verify checks beside the ops themselves.
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty and not op.has_trait(NoTerminator):
            return _fault(op, "an empty block where at least a terminator is needed")
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError) as error:  # ValueError: an operand whose op is erased
        return _fault(op, _message(error))
    return None


def _message(error: Exception) -> str:
    """The verifier's sentence, without the words that xDSL puts before it and the IR that it attaches."""
    return str(error).removeprefix("Operation does not verify: ")


def invisible_operands(module: ModuleOp) -> list[tuple[Operation, str]]:
    """Every operand that is not visible where it is used: defined later, or in a region that has ended."""
    found: list[tuple[Operation, str]] = []
    for region in module.regions:
        _scan(region, set(), found)
    return found


def _scan(region: Region, outer: set[SSAValue], found: list[tuple[Operation, str]]) -> None:
    # Our IR has no branches between blocks, so a block's values are visible in the blocks after it.
    visible = set(outer)
    for block in region.blocks:
        _scan_block(block, visible, found)


def _scan_block(block: Block, visible: set[SSAValue], found: list[tuple[Operation, str]]) -> None:
    visible.update(block.args)
    for op in block.ops:
        for number, operand in enumerate(op.operands):
            if operand not in visible:
                name = f" (%{operand.name_hint})" if operand.name_hint else ""
                found.append((op, f"operand {number}{name} is used where its value is not defined"))
        # Values from outside an isolated region are visible here: the trait's own check refuses them.
        for nested in op.regions:
            _scan(nested, visible, found)
        visible.update(op.results)
