"""What kernels compute: each case runs on the reference values and is compared with numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from ahbmc.dialects.elementwise import BY_TL
from support_frontend import compiled, ran

# (what it shows, expression of n, its value for n = 5)
SCALARS: list[tuple[str, str, float]] = [
    ("division of integers truncates", "(-n) // 2", -2),
    ("division by a negative number truncates", "n // -2", -2),
    ("a remainder has the sign of the dividend", "(-n) % 3", -2),
    ("compile-time division is Python's", "-5 // 2", -3),
    ("compile-time remainder is Python's", "-5 % 3", 1),
    ("a true division of integers is a float", "n / 2", 2.5),
    ("a product wraps in 32 bits", "n * 1000000000", 705032704),
    ("but not in 64", "n.to(tl.int64) * 1000000000", 5e9),
    ("a shift to the right keeps the sign", "(-n) >> 1", -3),
    ("of an unsigned number it does not", "(-n).to(tl.uint32) >> 28", 15),
    ("bits", "(n & 6) | (n ^ 1) << 4 | ~n & 3", 4 | 4 << 4 | 2),
    ("a comparison chain", "(1 < n < 6) + (n < 6 < 3)", 1),
    ("and, or, not", "(n > 3 and n < 4) + 2 * (n > 9 or n == 5) + 4 * (not n)", 2),
    ("a conditional on a run-time value", "n if n > 3 else 7", 5),
    ("a conditional whose sides have effects", "tl.load(x + 9) if n > 3 else tl.load(x + 1000000)", 9),
    ("a conditional known at compile time", "B if B > 3 else undefined", 16),
    ("Python's min and max", "min(n, 3) + max(n, 9, 2) * 10 + min(2, 1) * 100", 193),
    ("abs", "abs(-n) + tl.abs(-2.5)", 7.5),
    ("cdiv of run-time and compile-time numbers", "tl.cdiv(n, 3) + tl.cdiv(B, 3) * 10 + triton.cdiv(7, 2) * 100", 462),
    ("next power of two", "triton.next_power_of_2(B + 1)", 32),
    ("a number takes the type of the value", "(n.to(tl.int8) + 100).to(tl.int32)", 105),
    ("and wraps in it", "(n.to(tl.int8) + 126).to(tl.int32)", -125),
    ("a cast truncates", "(n / -2).to(tl.int32)", -2),
    ("a cast to a boolean", "n.to(tl.int1) + (n - 5).to(tl.int1)", 1),
    ("half precision rounds", "(n.to(tl.float16) + 2047).to(tl.float32) ", 2052),
    ("a type called as a cast", "tl.cast(n / 2, tl.int32) + tl.float32(n)", 7),
    ("tuples compare and are found", "((1, 2) == (1, 2)) + 2 * (3 in (1, 2)) + 4 * (3 not in (1, 2))", 5),
    ("None is no value", "(n is not None) + 2 * (None is None) + 4 * (n is None)", 3),
    ("strings compare", "('a' == 'a') + 2 * ('a' != 'b') + 4 * ('a' == n)", 3),
    ("constants of math", "math.floor if False else math.pi + math.sqrt(4)", math.pi + 2),
    ("float()", "float('-inf') if n < 0 else float(2)", 2),
    ("an infinity is compared", "tl.load(x + 1) < float('inf')", 1),
]


@pytest.mark.parametrize(("shows", "expression", "expected"), SCALARS, ids=[c[0] for c in SCALARS])
def test_scalar_expressions(shows: str, expression: str, expected: float) -> None:
    """One expression, one number."""
    got = ran(f"tl.store(y, ({expression}))", "import math\n", out="fp64")[0]
    assert got == pytest.approx(expected, rel=1e-6)


# (what it shows, expression of the lanes o and the block v = 0., 1., 2., ..., the first four lanes)
BLOCKS: list[tuple[str, str, list[float]]] = [
    ("arithmetic in mixed types", "o * 2 + v / 4 - 1", [-1, 1.25, 3.5, 5.75]),
    ("where keeps the type of the block", "tl.where(o < 2, v, -1)", [0, 1, -1, -1]),
    ("maximum and minimum", "tl.maximum(v, 2) + tl.minimum(o, 1) * 10", [2, 12, 12, 13]),
    ("maximum drops a NaN", "tl.maximum(v, float('nan'))", [0, 1, 2, 3]),
    ("unless it is told to propagate it", "tl.maximum(v, float('nan'), propagate_nan=tl.PropagateNan.ALL)",
     [math.nan] * 4),
    ("clamp", "tl.clamp(v, 1.0, 2.0)", [1, 1, 2, 2]),
    ("exponentials", "tl.exp2(v) + tl.exp(v * 0)", [2, 3, 5, 9]),
    ("roots and logarithms", "tl.sqrt(v * v) + tl.log2(tl.exp2(v)) + tl.rsqrt(v * 0 + 4)", [0.5, 2.5, 4.5, 6.5]),
    ("sigmoid", "tl.sigmoid(v * 0)", [0.5] * 4),
    ("rounding", "tl.floor(v / 2) + 10 * tl.ceil(v / 2)", [0, 10, 11, 21]),
    ("erf", "tl.erf(v * 0) + tl.erf(v * 0 + 9)", [1] * 4),
    ("fma", "tl.fma(v, 2.0, 1.0)", [1, 3, 5, 7]),
    ("negation, inversion, bits", "-o + (~o & 3) + (o ^ 1) + (o << 2) + (o >> 1)", [4, 5, 11, 12]),
    ("sum and its axes", "tl.sum(v) + tl.sum(v[None, :], 1) + v", [240, 241, 242, 243]),
    ("max with kept axes", "v + tl.max(v[:, None] + o[None, :], axis=0, keep_dims=True).reshape(B)",
     [15, 17, 19, 21]),
    ("a minimum of negative numbers", "tl.min(-v, axis=0) + v", [-15, -14, -13, -12]),
    ("the place of an extremum", "tl.argmax(-abs(v - 5), 0) + 10 * tl.argmin(-v, 0) + v", [155, 156, 157, 158]),
    ("the first of equal extrema", "tl.argmax(v * 0, 0) + v", [0, 1, 2, 3]),
    ("softmax", "tl.softmax(v * 0) * 16", [1] * 4),
    ("xor", "tl.xor_sum(o, 0) + v", [0, 1, 2, 3]),
    ("transposition", "tl.sum(tl.trans(tl.reshape(v, 4, 4)) * tl.arange(0, 4)[:, None], 1).reshape(4, 1)",
     [0, 28, 64, 108]),
    ("a permutation", "tl.permute(v.reshape(2, 8), (1, 0)).reshape(B)", [0, 8, 1, 9]),
    ("new axes broadcast", "tl.sum(v[:, None] * o[None, :], 1) / 120", [0, 1, 2, 3]),
    ("a scalar becomes a block", "tl.broadcast_to(n, (B,)) + tl.full((B,), 1.5, tl.float32)", [6.5] * 4),
    ("zeros of another block", "tl.zeros_like(v) + v.shape[0] + v.numel", [32] * 4),
    ("hints change nothing", "tl.multiple_of(tl.max_contiguous(o, B), B) + v", [0, 2, 4, 6]),
    ("a product of matrices", "tl.sum(tl.dot(v.reshape(4, 4), tl.zeros((4, 4), tl.float32) + 1), 1)[:, None]",
     [24, 88, 152, 216]),
    ("swizzled places", "tl.swizzle2d(o // 4, o % 4, 4, 4, 2)[0]", [0, 1, 0, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "expression", "expected"), BLOCKS, ids=[c[0] for c in BLOCKS])
def test_block_expressions(shows: str, expression: str, expected: list[float]) -> None:
    """One expression of blocks, its first four lanes."""
    got = ran(
        f"""
        o = tl.arange(0, B)
        v = tl.load(x + o)
        r = tl.broadcast_to(({expression}), ({expression}).shape)
        tl.store(y + tl.arange(0, r.shape[0]).reshape(r.shape), r)
        """
    )[:4]
    assert got == pytest.approx(expected, rel=1e-6, nan_ok=True)


# (what it shows, body, values of y)
FLOW: list[tuple[str, str, list[float]]] = [
    ("a loop carries what it changes", "s = 0\nfor i in range(n):\n    s += i\ntl.store(y, s)", [10]),
    ("a loop with a step", "s = 0\nfor i in range(1, n, 2):\n    s = s * 10 + i\ntl.store(y, s)", [13]),
    ("a loop that runs backward", "s = 0\nfor i in range(n - 1, -1, -2):\n    s = s * 10 + i\ntl.store(y, s)", [420]),
    ("backward with constant bounds", "s = 0\nfor i in range(3, -1, -1):\n    s = s * 10 + i\ntl.store(y, s)",
     [3210]),
    ("a loop that never runs", "s = 7\nfor i in range(n, 2):\n    s = 0\ntl.store(y, s)", [7]),
    ("a swap in a loop", "a = 0\nb = 1\nfor i in range(n):\n    a, b = b, a + b\ntl.store(y, a)", [5]),
    ("nested loops", "s = 0\nfor i in tl.range(n):\n    for j in range(i):\n        s += 1\ntl.store(y, s)", [10]),
    ("a tuple that a loop carries", "t = (0, 1)\nfor i in range(n):\n    t = (t[1], t[0] + 1)\ntl.store(y, t[0])",
     [3]),
    ("a constant that a loop changes", "k: tl.constexpr = 1\nfor i in range(n):\n    k = k * 2\ntl.store(y, k)",
     [32]),
    ("a pointer that a loop moves", "p = y\nfor i in range(3):\n    tl.store(p, i + 1)\n    p += 1", [1, 2, 3]),
    ("while", "i = n\ns = 0\nwhile i > 0:\n    s += i\n    i -= 2\ntl.store(y, s)", [9]),
    ("a loop whose condition is false at once", "while B < 3:\n    tl.store(y, 1)\ntl.store(y + 1, n)", [0, 5]),
    ("an unrolled loop", "for i in tl.static_range(3, 0, -1):\n    tl.store(y + i, i)", [0, 1, 2, 3]),
    ("a tuple that grows",
     "t = ()\nfor i in tl.static_range(4):\n    t = t + (n * i,)\ntl.store(y, t[3] + len(t))", [19]),
    ("a loop over a tuple", "s = 0\nfor a, b in ((1, n), (2, 3)):\n    s += a * b\ntl.store(y, s)", [11]),
    ("if with a merge", "if n > 3:\n    a = 1\n    b = n\nelse:\n    a = n\n    b = 2\ntl.store(y, a * 10 + b)",
     [15]),
    ("if without else", "a = 1\nif n > 3:\n    a = n\ntl.store(y, a)", [5]),
    ("elif", "if n < 3:\n    a = 1\nelif n < 6:\n    a = 2\nelse:\n    a = 3\ntl.store(y, a)", [2]),
    ("if known at compile time", "if B == 16:\n    a = 1\nelse:\n    a = undefined\ntl.store(y, a)", [1]),
    ("a flag that is known", "flag = x is None\nif flag:\n    tl.store(undefined, 1)\ntl.store(y, n)", [5]),
    ("an if in a loop", "s = 0\nfor i in range(n):\n    if i % 2 == 0:\n        s += i\ntl.store(y, s)", [6]),
    ("an early return", "if n > 3:\n    tl.store(y, 1)\n    return\ntl.store(y, 2)", [1]),
    ("no early return", "if n > 9:\n    return\ntl.store(y, 2)", [2]),
    ("a nested return", "if n > 3:\n    if n > 4:\n        return\n    tl.store(y, 1)\ntl.store(y + 1, 2)", [0, 0]),
    ("a nested return not taken",
     "if n > 3:\n    if n > 5:\n        return\n    tl.store(y, 1)\ntl.store(y + 1, 2)", [1, 2]),
    ("several targets and unpacking",
     "a = b = n\n(c, (d, *e)), f = (1, (2, 3, 4)), 5\ntl.store(y, a + b + c + d + e[1] + f)", [22]),
    ("a masked load and store",
     "o = tl.arange(0, 4)\ntl.store(y + o, tl.load(x + o, mask=o < 2, other=-1.0), mask=o != 1)",
     [0, 0, -1, -1]),
    ("a region",
     "a = tl.load(al.ref(x + 1, (2, 3), (10, 1)))\nal.wait(a)\nal.cycles(3)\ntl.store(al.ref(y, (2, 3)), a)",
     [1, 2, 3, 11, 12, 13]),
    ("a copy rebinds its destination",
     "a = tl.load(al.ref(x, (2,)))\nb = a * 0 + 9\nal.copy_to(b, a)\ntl.store(al.ref(y, (2,)), b)",
     [0, 1]),
    ("block pointers at an edge",
     "p = tl.make_block_ptr(x, (3, n), (8, 1), (1, 0), (2, 4), (1, 0))\np = tl.advance(p, (1, 2))\n"
     "q = tl.make_block_ptr(y, (2, 4), (4, 1), (0, 0), (2, 4), (1, 0))\n"
     "tl.store(q, tl.load(p, boundary_check=(0, 1), padding_option='zero'))", [18, 19, 20, 0, 0, 0, 0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "body", "expected"), FLOW, ids=[c[0] for c in FLOW])
def test_control_flow_and_memory(shows: str, body: str, expected: list[float]) -> None:
    """One body, what it leaves in memory."""
    assert ran(body)[: len(expected)] == expected


GLOBALS = """
from triton.language import load as fetch, exp2
from triton import language as other
SCALE: tl.constexpr = 3
TABLE = (1, SCALE + 1)
WRAPPED = tl.constexpr(7)

@triton.jit
def larger(a, b, c: tl.constexpr = 2, *, d=SCALE):
    if a > b:
        return a * c
    return b + d

@triton.jit
def both(a):
    if a > 3:
        return a, 1
    else:
        return 0, a

@triton.jit
def apply(f, *args):
    return f(*args)

@triton.jit
def nothing(p):
    tl.store(p, 8)
"""

CALLS: list[tuple[str, str, float]] = [
    ("a helper with a default", "larger(n, 3)", 10),
    ("the other return, and a keyword", "larger(n, 9, d=1)", 10),
    ("a run-time choice of returns", "larger(9, n) + larger(b=n, a=0, c=5)", 26),
    ("a tuple of results", "both(n)[0] + 10 * both(n)[1]", 15),
    ("a function as argument", "apply(larger, n, 3) + apply(tl.cdiv, n, 2)", 13),
    ("constants of the file", "n * SCALE + TABLE[1] + WRAPPED", 26),
    ("names imported from tl", "fetch(x + 2) + exp2(n * 1.0) + other.abs(-1.0)", 35),
    ("no result is None", "(nothing(y + 1) is None) + 0", 1),
]


@pytest.mark.parametrize(("shows", "expression", "expected"), CALLS, ids=[c[0] for c in CALLS])
def test_helpers_and_globals(shows: str, expression: str, expected: float) -> None:
    """Functions of the file are inlined, its constants known."""
    assert ran(f"tl.store(y, {expression})", GLOBALS)[0] == expected


def test_types_of_results() -> None:
    """The type of an expression can be asked at compile time, and is Triton's."""
    checks = {
        "o + 1": "int32",
        "o / 2": "float32",
        "h * 2.5": "float16",
        "h / 2": "float32",
        "h + v": "float32",
        "b + h": "float16",
        "tl.maximum(b, 0.0)": "float32",
        "tl.max(h, 0)": "float32",
        "tl.sum(h, 0)": "float16",
        "tl.sum(o.to(tl.int8), 0)": "int32",
        "tl.sum(o.to(tl.uint8), 0)": "uint32",
        "tl.where(o > 1, h, 0.0)": "float16",
        "tl.where(o > 1, 1, 0.0)": "float32",
        "o > 1": "int1",
        "o.to(tl.int64) + o": "int64",
        "tl.dot(m, m)": "float32",
        "tl.dot(m, m, out_dtype=tl.float16)": "float16",
        "tl.dot(m.to(tl.int8), m.to(tl.int8))": "int32",
        "tl.load(x)": "float32",
        "k": "int32",
        "f": "float32",
    }
    asserts = "\n".join(f"        tl.static_assert(({e}).dtype == tl.{t}, '{e}')" for e, t in checks.items())
    body = f"""
        o = tl.arange(0, B)
        v = tl.load(x + o)
        h = v.to(tl.float16)
        b = v.to(tl.bfloat16)
        m = tl.zeros((B, B), tl.float16)
        k = 3
        f = 2.5
        tl.static_assert(x.dtype.element_ty == tl.float32)
        tl.static_assert(x.dtype.is_ptr() and x.dtype.element_ty.is_floating() and not o.dtype.is_floating())
        tl.static_assert(m.shape[0] == B and m.type.element_ty.primitive_bitwidth == 16 and h.type.scalar.is_fp16())
{asserts}
        tl.store(y, 1.0)
    """
    assert ran(body)[0] == 1


@pytest.mark.parametrize("name", sorted(set(BY_TL) - {"max", "min"}))
def test_every_name_of_the_element_wise_table_is_a_function_of_tl(name: str) -> None:
    """A row of the table is all that a kernel needs to call a function: it makes the op of the row."""
    rows = [r for r in BY_TL[name] if r.domain in ("float", "sint", "int")]
    for row in rows:
        value = "tl.load(x + 1)" if row.domain == "float" else "n"
        module = compiled(f"tl.store(y, tl.{name}({', '.join([value] * row.arity)}))")
        assert row.op in {op.name for op in module.walk()}
