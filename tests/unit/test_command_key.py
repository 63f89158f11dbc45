"""The key of what a lowered kernel does: free ops count by what commands take from them, commands in every respect."""

from __future__ import annotations

from pathlib import Path

from ahbmc.driver.command_key import command_key
from ahbmc.driver.execution import compile_all
from ahbmc.driver.prepare import prepare
from ahbmc.driver.workload import load
from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Operation

EXAMPLES = Path(__file__).parents[2] / "examples"


def lowered() -> ModuleOp:
    (compiled,) = compile_all(prepare(load(EXAMPLES / "softmax.yaml"), None, "primitive").requests)
    return compiled.module.clone()


def named(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def test_the_order_and_the_locations_of_free_ops_do_not_count() -> None:
    """Constants moved to the front, one of them twice, one that nobody uses; remarks are for the report."""
    module, other = lowered(), lowered()
    constants = [op for op in other.walk() if isinstance(op, arith.ConstantOp) and op.parent_block() is not None]
    assert len(constants) > 2
    for op in constants:
        block = op.parent_block()
        assert block is not None and block.first_op is not None
        op.location = UNKNOWN_LOC
        if block.first_op is not op:
            op.detach()
            block.insert_op_before(op, block.first_op)
        block.insert_op_before(op.clone(), op)
    twin = constants[0].prev_op
    assert twin is not None
    constants[0].results[0].replace_uses_with_if(twin.results[0], lambda use: use.index == 0)
    other.attributes["ahbm.remarks"] = StringAttr("others")
    assert command_key(other) == command_key(module)


def test_what_commands_take_and_where_they_stand_counts() -> None:
    """A value, an attribute, a location, a command that is not there, the machine."""
    key = command_key(lowered())

    def changed(index: int) -> ModuleOp:
        module = lowered()
        command = named(module, "ahbm.dma_read")[0]
        match index:
            case 0:
                value = next(c for c in named(module, "arith.constant") if c.results[0].type == i32)
                value.properties["value"] = IntegerAttr(12345, 32)
            case 1:
                command.attributes["note"] = StringAttr("x")
            case 2:
                command.location = UNKNOWN_LOC
            case 3:
                named(module, "ahbm.dma_write")[0].detach()
            case _:
                module.attributes["ahbm.machine"] = StringAttr("another")
        return module

    for index in range(5):
        assert command_key(changed(index)) != key, index
