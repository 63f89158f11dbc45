"""What is asked of a kernel's parameters, followed through sums, loops, branches, helpers and casts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from ahbmc.driver.guess import Guess, guessed
from ahbmc.driver.kernel_files import module_in
from ahbmc.driver.kernels import kernel_of

HEAD = """\
import triton
import triton.language as tl


@triton.jit
def unpacked(b, shift):
    return (b >> shift) & 15


other_name = unpacked


@triton.jit
def placed(base, row, mask):
    return base + row, tl.load(base + row, mask=mask)


@triton.jit
def activated(x, kind: tl.constexpr):
    if kind == "relu":
        out = tl.maximum(x, 0)
    elif kind == "tanh":
        out = tl.sigmoid(x)
    return out


@triton.jit
def k({parameters}):
    i = tl.arange(0, 32)
{body}
"""


def guess_of(folder: Path, parameters: str, *body: str) -> Guess:
    file = folder / "k.py"
    text = HEAD.format(parameters=parameters, body="\n".join(f"    {line}" for line in body))
    file.write_text(text, encoding="utf-8")
    module = module_in(str(file))
    return guessed(module, kernel_of(module, "k"))


@pytest.mark.parametrize(
    ("body", "types"),
    [
        (["n = tl.load(x)", "for j in range(n):", "    tl.store(y + j, 1.0)"], {"x": "*i32", "y": "*fp32"}),
        (["row = tl.load(x) * 4 + 1", "tl.store(y + row + i, 1.0)"], {"x": "*i32", "y": "*fp32"}),
        (["p = x + i", "v = tl.load(p)", "p = y + i", "tl.store(p, v)"], {"x": "*fp32", "y": "*fp32"}),
        (["tl.store(y + i, other_name(tl.load(x + i), 4))"], {"x": "*i32", "y": "*fp32"}),
        (["q, v = placed(x, 3, i < 2)", "tl.store(q, v)", "tl.store(y, tl.exp(v))"], {"x": "*fp32", "y": "*fp32"}),
        (["if tl.load(y) > 0:", "    p = x", "else:", "    p = y", "tl.load(p)"], {"x": "*fp32", "y": "*fp32"}),
        (["a = tl.load(x).to(tl.pointer_type(tl.float16))", "tl.store(y, tl.load(a))"], {"x": "*i64", "y": "*fp32"}),
        (["tl.store(y + i, 1.0, mask=tl.load(x + i))"], {"x": "*i1", "y": "*fp32"}),
        (["b = tl.make_block_ptr(base=x, shape=(y,), strides=(1,), offsets=(0,), block_shape=(1,), order=(0,))",
          "tl.load(b)"], {"x": "*fp32", "y": "i32"}),
        (["x.store([0, y], tl.zeros([32, 32], tl.float32))"], {"x": "tensordesc<fp32[32, 32]>", "y": "i32"}),
        (["tl.load(al.ref(pointer=x, shape=(32, 32), strides=(y, 1)))"], {"x": "*fp32", "y": "i32"}),
        (["tl.store(x + y * i, 1.0)"], {"x": "*fp32", "y": "i32"}),
        (["tl.store(x, tl.exp2(y))"], {"x": "*fp32", "y": "fp32"}),
        (["tl.dot(tl.load(x).to(tl.float16), tl.load(y))"], {"x": "*fp16", "y": "*fp16"}),
        (["al.composite(op='gemm', a=tl.load(x).to(tl.float16), b=al.ref(y, (32, 32)))"], {"x": "*fp16", "y": "*fp16"}),
        (["a = tl.zeros([32, 32], dtype=tl.int32)", "a += tl.dot(tl.load(x), tl.load(y))"], {"x": "*i8", "y": "*i8"}),
    ],
)  # fmt: skip
def test_types(body: list[str], types: Mapping[str, str], tmp_path: Path) -> None:
    """Whatever stands between a parameter and what is asked of it."""
    assert guess_of(tmp_path, "x, y", *body).signature == types


def test_names_give_way_to_uses(tmp_path: Path) -> None:
    """A stride of scales is an integer, a table of exponents holds floats."""
    body = "tl.store(scales_ptr + i * stride_scale, tl.exp(tl.load(table + i)))"
    guess = guess_of(tmp_path, "scales_ptr, stride_scale, table", body)
    assert guess.signature == {"scales_ptr": "*fp32", "stride_scale": "i32", "table": "*fp32"}


def test_constants(tmp_path: Path) -> None:
    """What a helper compares with, types from casts, sizes whatever their names say."""
    guess = guess_of(
        tmp_path,
        "x, act: tl.constexpr, OUT: tl.constexpr, PACKED: tl.constexpr, SCALE_BLOCK: tl.constexpr, how: tl.constexpr",
        "v = activated(tl.load(x + tl.arange(0, SCALE_BLOCK)), act).to(OUT)",
        "w = tl.load(x + i).to(PACKED) << 2",
        "tl.dot(v, w, input_precision=how)",
    )
    wanted = {"act": "relu", "OUT": "fp32", "PACKED": "int32", "SCALE_BLOCK": 32, "how": "ieee"}
    assert guess.constants == wanted


def test_files_that_import_everything_of_each_other(tmp_path: Path) -> None:
    """Each file is asked for a name once, a function that none of them has is none."""
    for number in range(12):
        others = "\n".join(f"from .f{other} import *" for other in range(12) if other != number)
        (tmp_path / f"f{number}.py").write_text(f"{others}\n", encoding="utf-8")
    with (tmp_path / "f3.py").open("a", encoding="utf-8") as file:
        file.write("import triton\n\n\n@triton.jit\ndef far(x):\n    return x + 1\n")
    module = module_in(str(tmp_path / "f0.py"))
    assert module.kernel_function("far") is not None and module.kernel_function("nowhere") is None
