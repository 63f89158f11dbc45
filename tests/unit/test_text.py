"""IR as text: what is printed is read back as the same IR."""

from __future__ import annotations

import math

import pytest
from ahbmc.dialects.text import parse_module, print_module
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float8E5M2Type,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)


@pytest.mark.parametrize("kind", [f16, bf16, f32, f64, Float8E5M2Type()], ids=str)
@pytest.mark.parametrize("value", [-math.inf, math.inf, -1.5, 0.0])
def test_a_block_constant_is_read_back_as_it_was_written(kind: AnyFloat, value: float) -> None:
    """xDSL writes infinities as bits in hexadecimal; read as a number they would be something else."""
    block = DenseIntOrFPElementsAttr.from_list(TensorType(kind, [4]), [value])
    again = parse_module(print_module(ModuleOp([ConstantOp(block)])), "x.mlir")
    (op,) = again.body.block.ops
    assert isinstance(op, ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr)
    assert list(op.value.get_values()) == [value] * 4
