"""`ahbmc bisect --on values` on a kernel with floats, integers, scalars, atomics and writes over each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.dialects import ahbm, tl
from ahbmc.dialects.shapes import element_of, shape_of
from ahbmc.driver.main import main
from support_bisect import Fault, first, inject
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i8, i64
from xdsl.rewriter import Rewriter

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("compile_anew")


OWN = """\
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, t, n, N: tl.constexpr):
    i = tl.arange(0, N)
    b = tl.load(x + i[:, None] * N + i[None, :])
    s = tl.sum(b, 0)
    c = tl.cumsum(b, 1)
    at = y + i[:, None] * N + i[None, :]
    tl.store(at, tl.trans(c) * s[:, None])
    tl.store(at, b, mask=i[:, None] < 5)
    w = (i << 5).to(tl.int8).to(tl.int32)
    tl.atomic_add(t + i % 16, w, mask=i < n)
    f = 1.0
    for k in range(n):
        f = f * 0.5 + k
    tl.store(y + N * N, f)
"""
OWN_LAUNCH = """\
kernel: kernel.py::kernel
args:
  x: {shape: [N, N], dtype: fp32, init: {normal: {seed: 1}}}
  y: {shape: ["N * N + 1"], dtype: fp32}
  t: {shape: [16], dtype: i32}
  n: 9
pipeline: pipelined
const: {N: 64}
"""


def change_axis(module: ModuleOp) -> None:
    reduction = first(module, tl.ReduceOp)
    reduction.properties["axis"] = IntegerAttr(1, reduction.axis.type)


def reverse_scan(module: ModuleOp) -> None:
    first(module, tl.ScanOp).properties["reverse"] = UnitAttr()


def lose_transposition(module: ModuleOp) -> None:
    transposed = first(module, tl.TransOp)
    Rewriter.replace_op(transposed, [], [transposed.operand])


def swap_stores(module: ModuleOp) -> None:
    stores = [op for op in module.walk() if isinstance(op, tl.StoreRegionOp)]
    stores[0].detach()
    block = stores[1].parent
    assert block is not None
    block.insert_op_after(stores[0], stores[1])


def swap_writes(module: ModuleOp) -> None:
    writes = [op for op in module.walk() if isinstance(op, ahbm.DmaWriteOp)]
    writes[0].detach()
    block = writes[1].parent
    assert block is not None
    block.insert_op_after(writes[0], writes[1])


def lose_wrapping(module: ModuleOp) -> None:
    narrow = first(module, tl.CastOp, lambda op: element_of(op.result.type) == i8)
    wide = next(iter(narrow.result.uses)).operation
    wide.results[0].replace_all_uses_with(narrow.operand)


def add_twice(module: ModuleOp) -> None:
    atomic = first(module, tl.AtomicOp)
    block = atomic.parent
    assert block is not None
    block.insert_op_after(atomic.clone(), atomic)


def change_scalar(module: ModuleOp) -> None:
    product = first(module, arith.MulfOp, lambda op: not shape_of(op.result.type))
    product.operands = [product.lhs, product.lhs]


def change_math_axis(module: ModuleOp) -> None:
    command = first(module, ahbm.MathOp, lambda op: op.kind.data == "reduce_sum")
    command.properties["axis"] = IntegerAttr(1, i64)


OWN_FAULTS = (
    Fault(change_axis, "raise-regions", [], 9),
    Fault(reverse_scan, "prefetch-loads", [], 10),
    Fault(lose_transposition, "raise-regions", [], 12),
    Fault(swap_stores, "raise-regions", [], 13),
    Fault(swap_writes, "lower-to-commands", [], 13),
    Fault(lose_wrapping, "match-recipes", [], 15),
    Fault(add_twice, "form-composites", [], 15),
    Fault(change_scalar, "normalise-loops", [], 19),
    Fault(change_math_axis, "allocate-scratch", [], 9),
)


@pytest.mark.parametrize("fault", OWN_FAULTS, ids=lambda fault: fault.damage.__name__)
def test_a_fault_in_a_kernel_of_many_kinds_is_found(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Floats, integers, scalars, writes over each other and atomics: each at its line, or where it is written."""
    (tmp_path / "kernel.py").write_text(OWN)
    (tmp_path / "w.yaml").write_text(OWN_LAUNCH)
    bisect = ["bisect", str(tmp_path / "w.yaml"), "--on", "values"]
    assert main(bisect) == 0
    inject(monkeypatch, fault.pass_name, fault.damage)
    assert main(bisect) == 3
    out = capsys.readouterr().out
    assert f"\n{fault.pass_name} changes the values; " in out
    assert f"and not before:\n  {tmp_path / 'kernel.py'}:{fault.line}:" in out
