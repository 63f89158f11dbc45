"""Values through every pass for kernels that are hard on buffers, scalars and control flow rather than on addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.dialects import ahbm
from support_values import case_of_text, check_every_pass, random_array

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def _array(*shape: int, seed: int = 1, kind: str = "fp32") -> Array:
    return random_array(shape, kind, seed)


def _kernel(body: str, arguments: dict[str, Any], grid: tuple[int, ...] = (1,), **constants: Any) -> tuple[str, Any]:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    names = ", ".join([*arguments, *(f"{c}: tl.constexpr" for c in constants)])
    return f"{HEAD}def k({names}):\n{lines}\n", (arguments, constants, grid)


def _vector(body: str, **more: Any) -> tuple[str, Any]:
    """A kernel over vectors of 16 with `o` as output."""
    arguments = {"x": _array(16), "y": _array(16, seed=2), "o": np.zeros(16, np.float32), "n": 5, **more}
    return _kernel("i = tl.arange(0, 16)\na = tl.load(x + i)\nb = tl.load(y + i)\n" + body, arguments)


VECTORS: dict[str, tuple[str, Any]] = {
    "a swap of two carried blocks": _vector("for t in range(n):\n    a, b = b, a\ntl.store(o + i, a - 2 * b)"),
    "a swap with a sum: both buffers are taken over": _vector(
        "for t in range(n):\n    a, b = b, a * 0.5 + b\ntl.store(o + i, a - 2 * b)"
    ),
    "three blocks go round": _vector(
        "c = a * b\nfor t in range(n):\n    a, b, c = b, c, a\ntl.store(o + i, a + 2 * b + 4 * c)"
    ),
    "an old value is read after its successor is made": _vector(
        "for t in range(n):\n    new = tl.maximum(a, b * t)\n    b = b + tl.exp(a - new)\n    a = new\n"
        "tl.store(o + i, a + b)"
    ),
    "the same, in a loop within a loop": _vector(
        "for s in range(3):\n    for t in range(n):\n        new = tl.maximum(a * 0.9, b - t)\n"
        "        b = b + tl.exp(a - new) + s\n        a = new\ntl.store(o + i, a + b)"
    ),
    "the init of a carried block is used after the loop": _vector(
        "c = a\nfor t in range(n):\n    c = c * 0.5 + b\ntl.store(o + i, c + a)"
    ),
    "one init for two carried blocks": _vector(
        "z = tl.zeros((16,), tl.float32)\nc = z\nd = z\nfor t in range(n):\n    c += a\n    d += c * b\n"
        "tl.store(o + i, c + d)"
    ),
    "one next value for two carried blocks": _vector(
        "c = a\nd = b\nfor t in range(n):\n    e = c + d * 0.5\n    c = e\n    d = e\ntl.store(o + i, c - 3 * d)"
    ),
    "a carried block becomes a constant and an outer block": _vector(
        "c = a\nd = a\nfor t in range(n):\n    c = tl.full((16,), 2.0, tl.float32)\n    d = b\n"
        "tl.store(o + i, c * d + a)"
    ),
    "no iteration at all": _vector("c = a\nfor t in range(n - 5):\n    c = c + b\ntl.store(o + i, c)"),
    "a branch that changes a block": _vector("if n > 3:\n    a = a + b\nelse:\n    a = a - b\ntl.store(o + i, a * b)"),
    "a branch that leaves a block alone": _vector("c = a\nif n < 3:\n    c = c * b\ntl.store(o + i, c + a)"),
    "a branch gives a pointer and a mask": _vector(
        "if n > 3:\n    p = x + 2\n    m = a > 0\nelse:\n    p = y\n    m = b > 0\n"
        "tl.store(o + i, tl.load(p + i, mask=m & (i < 14), other=0.5))"
    ),
    "a branch in a loop": _vector(
        "for t in range(n):\n    if t % 2 == 0:\n        a = a + b\n    else:\n        b = a * 0.5\n"
        "tl.store(o + i, a - b)"
    ),
    "a scalar of a reduction as a factor, a condition and a bound": _vector(
        "s = tl.sum(a, 0)\nif s > 0:\n    b = b * s\nm = tl.max(tl.abs(a), 0).to(tl.int32) + 2\n"
        "for t in range(m):\n    b = b + 1\ntl.store(o + i, b)"
    ),
    "a scalar that a loop carries": _vector(
        "s = 0.0\nfor t in range(n):\n    s += tl.sum(a * t, 0)\ntl.store(o + i, b * s)"
    ),
    "remainders of floats that PE_CPU holds": _vector(
        "r = (n + 0.75) % 2.5\ntl.store(o + i, a % r + tl.zeros((16,), tl.float32) % 3.0)\ntl.store(o, r % 0.5)"
    ),
    "casts of numbers without a sign that PE_CPU holds": _vector(
        "u = n.to(tl.uint32)\nf = (u - 10).to(tl.float32) + (n > 3).to(tl.float32)\n"
        "tl.store(o + i, a * f + (f.to(tl.uint32) >> 4).to(tl.float32))"
    ),
    "scalars loaded and stored": _vector(
        "p = tl.load(x + 3)\nq = tl.load(y + n)\ntl.store(o + i, a)\ntl.store(o + 2, p * q + 1.0)"
    ),
    "an address that is loaded": _vector(
        "at = tl.load(w + 1)\nc = tl.load(x + at + i, mask=at + i < 16, other=3.0)\ntl.store(o + i, c)",
        w=np.array([3, 7, 2], np.int32),
    ),
    "a gather and a scatter": _vector(
        "j = tl.load(w + i)\nc = tl.load(x + j)\ntl.store(o + (15 - j), c * 2.0, mask=j != 4)",
        w=np.random.default_rng(3).permutation(16).astype(np.int32),
    ),
    "pointers that no region describes move on in a loop": _vector(
        "p = x + (i * i) % 11\nfor t in range(n):\n    b += tl.load(p)\n    p += 1\n"
        "    for u in range(2):\n        b += tl.load(p)\n        p = p - i % 2\n    p += i % 2 * 2\n"
        "tl.store(o + i, b + tl.load(p - n))"
    ),
    "a reversed and a repeated load": _vector("tl.store(o + i, tl.load(x + (15 - i)) + tl.load(y + i // 4))"),
    "masks of indices, of values, and both": _vector(
        "m = (i > 3) & (a > 0) | (i == 1)\ntl.store(o + i, tl.where(m, a, b - i), mask=i < 13)"
    ),
    "an index block as a number": _vector("tl.store(o + i, (i * 3 + n).to(tl.float32) + a)"),
}


def _matrix(body: str, **constants: Any) -> tuple[str, Any]:
    arguments = {"x": _array(16, 32), "y": _array(32, 16, seed=2), "o": np.zeros((16, 16), np.float32), "n": 3}
    head = (
        "i = tl.arange(0, 16)\nj = tl.arange(0, 32)\n"
        "a = tl.load(x + i[:, None] * 32 + j[None, :])\nb = tl.load(y + j[:, None] * 16 + i[None, :])\n"
        "out = o + i[:, None] * 16 + i[None, :]\n"
    )
    return _kernel(head + body, arguments, **constants)


MATRICES: dict[str, tuple[str, Any]] = {
    "a product with bias, activation and cast": _matrix(
        "c = tl.dot(a, b)\nbias = tl.load(x + i)\nc = tl.maximum(c + bias[None, :], 0.0) * 0.5\n"
        "tl.store(out, c.to(tl.float16).to(tl.float32))"
    ),
    "a product masked by row and column": _matrix(
        "c = tl.dot(a, b)\nc = tl.where(i[:, None] >= i[None, :], c, -1.0)\ntl.store(out, c, mask=i[None, :] < 11)"
    ),
    "a product of a transposed block": _matrix("c = tl.dot(a, tl.trans(a))\ntl.store(out, c + tl.trans(c))"),
    "a product that is read twice": _matrix("c = tl.dot(a, b)\ntl.store(out, c * tl.sum(c, 1)[:, None])"),
    "products that are added up": _matrix(
        "c = tl.dot(a, b)\nd = tl.dot(a * 2.0, b)\ntl.store(out, c * 0.5 + d - tl.dot(a, b + 1.0))"
    ),
    "a product into an accumulator that is scaled": _matrix(
        "c = tl.zeros((16, 16), tl.float32)\nfor t in range(n):\n    c = tl.dot(a, b, c * 0.5)\ntl.store(out, c)"
    ),
    "an accumulator that starts from a loaded block": _matrix(
        "c = tl.load(x + i[:, None] * 32 + i[None, :])\nc = tl.dot(a, b, c)\ntl.store(out, c)"
    ),
    "a transposed store": _matrix("tl.store(o + i[None, :] * 16 + i[:, None], tl.dot(a, b))"),
    "reductions along both axes": _matrix(
        "r = tl.max(a, 1)\ns = tl.sum(b, 0)\ntl.store(out, r[:, None] * s[None, :] + r[None, :])"
    ),
    "a reshape of a block and of indices": _matrix(
        "c = tl.reshape(tl.dot(a, b), (256,))\nk = tl.arange(0, 256)\nd = tl.reshape(k, (16, 16))\n"
        "tl.store(o + k, c + k)\ntl.store(out, tl.load(out) + d, mask=d < 200)"
    ),
}

CASES = {**VECTORS, **MATRICES}


# Without a product all pipelines do the same.
RUNS = [(name, "primitive") for name in CASES] + [(name, p) for name in MATRICES for p in ("composite", "auto")]


@pytest.mark.parametrize(("name", "pipeline"), RUNS)
def test_values(name: str, pipeline: str) -> None:
    """The case keeps its values through every pass."""
    source, (arguments, constants, grid) = CASES[name]
    case = case_of_text(source, "k", arguments, constants, grid)
    check_every_pass(case, pipeline)


MATMUL = """
import triton
import triton.language as tl


@triton.jit
def k(x, y, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        r = k + tl.arange(0, BK)
        a = tl.load(x + i[:, None] * K + r[None, :], mask=(i[:, None] < M) & (r[None, :] < K), other=0.0)
        b = tl.load(y + r[:, None] * N + j[None, :], mask=(r[:, None] < K) & (j[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    acc = tl.maximum(acc, 0.0)
    tl.store(o + i[:, None] * N + j[None, :], acc.to(tl.float16), mask=(i[:, None] < M) & (j[None, :] < N))
"""


@pytest.mark.parametrize(
    ("stage", "sizes", "blocks"),
    [
        ("a", (70, 33, 100), (32, 16, 32)),
        ("b", (70, 33, 100), (32, 16, 32)),
        # One block of A over the whole of K has 1.25 MB, more than the scratch: it is read in pieces.
        ("a", (128, 20, 5000), (128, 32, 64)),
        ("b", (20, 128, 5000), (32, 128, 64)),
        ("auto", (128, 20, 5000), (128, 32, 64)),
    ],
)
def test_staging(stage: str, sizes: tuple[int, int, int], blocks: tuple[int, int, int]) -> None:
    """An operand staged over the whole of K, at once or in pieces, gives the same values."""
    m, n, k = sizes
    arguments = {
        "x": _array(m, k, kind="fp16"),
        "y": _array(k, n, seed=2, kind="fp16"),
        "o": np.zeros((m, n), np.float16),
        "M": m,
        "N": n,
        "K": k,
    }
    constants = {"BM": blocks[0], "BN": blocks[1], "BK": blocks[2]}
    grid = (-(-m // blocks[0]), -(-n // blocks[1]))
    options = {"form-composites": {"stage": stage}}
    module = check_every_pass(case_of_text(MATMUL, "k", arguments, constants, grid, options=options), "composite")
    composites = [op for op in module.walk() if isinstance(op, ahbm.CompositeOp)]
    in_pieces = stage != "auto" and k == 5000
    assert len(composites) == (2 if in_pieces else 1)
    # The last composite (of the last piece) takes the maximum along and writes HBM itself.
    assert [spec.kind.data for spec in composites[-1].specs][-1] == "max"
    assert not any(isinstance(op, ahbm.DmaWriteOp) for op in module.walk())
