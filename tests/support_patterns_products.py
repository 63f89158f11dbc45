"""Patterns of K loops: rows of `docs/patterns.md` in the frame of a matrix product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ahbmc.backend_sim.numerics.dtypes import Array
from support_patterns import Arrays, K, M, N, Pattern
from support_values import random_array


def product(d: Arrays) -> Array:
    """a @ b."""
    return over(d, slice(0, K))


def over(d: Arrays, lanes: slice | Array) -> Array:
    """The product over some lanes of K."""
    return d["a"][:M].astype(np.float32)[:, lanes] @ d["b"][:K].astype(np.float32)[lanes]


def blocks(d: Arrays, numbers: list[int]) -> Array:
    """The product over some blocks of 16 lanes."""
    return sum((over(d, slice(16 * n, min(16 * n + 16, K))) for n in numbers), np.zeros((M, N), np.float32))


def first_rows(m: int) -> Callable[[Arrays], Array]:
    """The product with only the first m rows written."""

    def wanted(d: Arrays) -> Array:
        c = np.zeros((M, N), np.float32)
        c[:m] = product(d)[:m]
        return c

    return wanted


def k_loop(*lines: str) -> str:
    """The usual loop over blocks of K."""
    return "\n".join((TRIPS, *(f"    {line}" for line in lines)))


TRIPS = "for k in range(0, tl.cdiv(K, BK)):"
STEP = k_loop("acc = tl.dot(A[...], B[...], acc)", "MOVE")
FROM_KK = "    kk = k + ok\n    acc = tl.dot(A[kk], B[kk], acc)"
NO_MASK = """\
for k in range(0, K, BK):
    x = tl.load(ap, mask=om[:, None] < M)
    acc = tl.dot(x, tl.load(bp, mask=on[None, :] < N), acc)
    MOVE"""
IN_K = "in_k = (kk >= 0) & (kk < K)"
FROM_BELOW = "tl.load(a + om[:, None] * K + kk[None, :], mask=(om[:, None] < M) & in_k[None, :])"
B_FROM_BELOW = "tl.load(b + kk[:, None] * N + on[None, :], mask=in_k[:, None] & (on[None, :] < N))"
MODULO = """\
ap = a + {rows}[:, None] * K + ok[None, :]
bp = b + ok[:, None] * N + {columns}[None, :]
for k in range(0, tl.cdiv(K, BK)):
    x = tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0)
    y = tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0)
    acc = tl.dot(x, y, acc)
    MOVE"""
WRAPPED = MODULO.format(rows="(om % M)", columns="(on % N)")
HELD_BACK = """\
for k in range(0, tl.cdiv(K, BK)):
    kk = k * BK + ok
    safe = tl.minimum(kk, K - 1)
    x = tl.load(a + om[:, None] * K + safe[None, :], mask=(om[:, None] < M) & (kk < {last})[None, :], other=0.0)
    y = tl.load(b + safe[:, None] * N + on[None, :], mask=(kk < {last})[:, None] & (on[None, :] < N), other=0.0)
    acc = tl.dot(x, y, acc)"""

SPELLINGS = (
    Pattern(1, "pointers advance", STEP, product),
    Pattern(
        1, "addresses from the counter", f"{TRIPS}\n    kk = k * BK + ok\n    acc = tl.dot(A[kk], B[kk], acc)", product
    ),
    Pattern(1, "lanes of K carried", f"kk = ok\n{TRIPS}\n    acc = tl.dot(A[kk], B[kk], acc)\n    kk += BK", product),
    Pattern(
        1,
        "what is left of K carried",
        f"left = K\n{TRIPS}\n    acc = tl.dot(A[left], B[left], acc)\n    left -= BK\n    MOVE",
        product,
    ),
    Pattern(
        1,
        "scalar bases carried",
        f"""\
p = a
q = b
{TRIPS}
    ap = p + om[:, None] * K + ok[None, :]
    bp = q + ok[:, None] * N + on[None, :]
    acc = tl.dot(A[...], B[...], acc)
    p += BK
    q += BK * N""",
        product,
    ),
)
LOOPS = (
    Pattern(2, "over lanes", f"for k in range(0, K, BK):\n{FROM_KK}", product),
    Pattern(
        2,
        "from 1",
        "for k in range(1, tl.cdiv(K, BK) + 1):\n    kk = (k - 1) * BK + ok\n    acc = tl.dot(A[kk], B[kk], acc)",
        product,
    ),
    Pattern(2, "backwards", f"for k in range((tl.cdiv(K, BK) - 1) * BK, -1, -BK):\n{FROM_KK}", product),
    Pattern(2, "backwards between known bounds", f"for k in range(64, -1, -BK):\n{FROM_KK}", product),
    Pattern(
        2,
        "counting what is left",
        "for k in range(K, 0, -BK):\n    left = k\n    acc = tl.dot(A[left], B[left], acc)\n    MOVE",
        product,
    ),
    Pattern(
        2,
        "no iterations",
        STEP.replace("tl.cdiv(K, BK)", "tl.cdiv(K, BK) - 5") + "\nacc += 1",
        lambda d: np.ones((M, N), np.float32),
    ),
    Pattern(2, "one iteration", STEP.replace("tl.cdiv(K, BK)", "1"), lambda d: over(d, slice(0, 16))),
    Pattern(3, "a block that divides K", NO_MASK, product, constants={"BK": 8}),
    Pattern(
        3,
        "`EVEN_K` false",
        f"""\
{TRIPS}
    if EVEN:
        x = tl.load(ap)
        y = tl.load(bp)
    else:
        x = A[...]
        y = B[...]
    acc = tl.dot(x, y, acc)
    MOVE""",
        product,
        constants={"EVEN": 0},
    ),
    Pattern(
        3,
        "K masked on a alone",
        STEP.replace("B[...]", "tl.load(bp, mask=on[None, :] < N)"),
        product,
    ),
    Pattern(3, "K masked on b alone", STEP.replace("A[...]", "tl.load(ap, mask=om[:, None] < M)"), product),
    Pattern(
        3,
        "a bound within each block",
        STEP.replace("A[...]", "tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < 5))"),
        lambda d: over(d, np.flatnonzero(np.arange(K) % 16 < 5)),
    ),
    Pattern(
        3,
        "a bound from below that holds nothing back",
        k_loop("kk = k * BK + ok", IN_K, f"acc = tl.dot({FROM_BELOW}, B[kk], acc)"),
        product,
    ),
    Pattern(
        3,
        "a first block that begins before K",
        k_loop("kk = k * BK - 3 + ok", IN_K, f"acc = tl.dot({FROM_BELOW}, {B_FROM_BELOW}, acc)"),
        product,
    ),
    Pattern(
        3,
        "`other=-inf`",
        STEP.replace("A[...]", "tl.load(ap, mask=om[:, None] < M, other=-float('inf'))"),
        product,
        constants={"BK": 8},
    ),
)
REMAINDERS = (
    Pattern(5, "rows and columns modulo, ragged", WRAPPED, product),
    Pattern(5, "rows modulo, M = 1", WRAPPED, first_rows(1), arguments={"M": 1}),
    Pattern(5, "rows modulo, M below the block", WRAPPED, first_rows(10), arguments={"M": 10}),
    Pattern(5, "rows modulo, M a multiple", WRAPPED, first_rows(32), arguments={"M": 32}),
    Pattern(
        5,
        "modulo with hints",
        MODULO.format(
            rows="tl.max_contiguous(tl.multiple_of(om % M, BM), BM)",
            columns="tl.max_contiguous(tl.multiple_of(on % N, BN), BN)",
        ),
        product,
    ),
    Pattern(
        5,
        "held back by `where`",
        MODULO.format(rows="tl.where(om < M, om, 0)", columns="tl.where(on < N, on, 0)"),
        product,
    ),
    Pattern(
        5,
        "held back by `minimum`",
        MODULO.format(rows="tl.minimum(om, M - 1)", columns="tl.minimum(on, N - 1)"),
        product,
    ),
    Pattern(5, "lanes of K held back, and masked", HELD_BACK.format(last="K"), product),
    Pattern(
        5,
        "lanes of K held back, and masked one lane later",
        HELD_BACK.format(last="K + 1"),
        lambda d: product(d) + over(d, slice(K - 1, K)),
    ),
)
_BT = random_array([N, K], "fp16", 5)


def transposed(d: Arrays) -> Array:
    return d["a"][:M].astype(np.float32) @ d["bt"].T.astype(np.float32)


VIEWS = (
    Pattern(
        8,
        "b by transposed pointers",
        k_loop(
            "kk = k * BK + ok",
            "y = tl.load(bt + on[None, :] * K + kk[:, None], mask=(kk[:, None] < K) & (on[None, :] < N))",
            "acc = tl.dot(A[kk], y, acc)",
        ),
        transposed,
        arguments={"bt": _BT},
    ),
    Pattern(
        8,
        "`tl.trans` of a loaded block",
        k_loop(
            "kk = k * BK + ok",
            "y = tl.load(bt + on[:, None] * K + kk[None, :], mask=(on[:, None] < N) & (kk[None, :] < K))",
            "acc = tl.dot(A[kk], tl.trans(y), acc)",
        ),
        transposed,
        arguments={"bt": _BT},
    ),
    Pattern(
        8,
        "block pointers, one of order (0, 1)",
        f"""\
ab = tl.make_block_ptr(a, (M, K), (K, 1), (tl.program_id(0) * BM, 0), (BM, BK), (1, 0))
bb = tl.make_block_ptr(bt, (K, N), (1, K), (0, tl.program_id(1) * BN), (BK, BN), (0, 1))
{TRIPS}
    x = tl.load(ab, boundary_check=(0, 1), padding_option="zero")
    y = tl.load(bb, boundary_check=(0, 1), padding_option="zero")
    acc = tl.dot(x, y, acc)
    ab = tl.advance(ab, (0, BK))
    bb = tl.advance(bb, (BK, 0))""",
        transposed,
        arguments={"bt": _BT},
    ),
    Pattern(
        8,
        "tensor descriptors",
        f"""\
ad = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
bd = tl.make_tensor_descriptor(bt, [N, K], [K, 1], [BN, BK])
{TRIPS}
    x = ad.load([tl.program_id(0) * BM, k * BK])
    y = bd.load([tl.program_id(1) * BN, k * BK])
    acc = tl.dot(x, y.T, acc)""",
        transposed,
        arguments={"bt": _BT},
    ),
)


def by_table(d: Arrays) -> Array:
    return blocks(d, [int(n) for n in d["t"]])


def picked_rows(d: Arrays) -> Array:
    c = np.zeros((M, N), np.float32)
    c[:5] = product(d)[d["t"]]
    return c


INDIRECT = (
    Pattern(
        9,
        "blocks of K by a table",
        f"{TRIPS}\n    kk = tl.load(t + k) * BK + ok\n    acc = tl.dot(A[kk], B[kk], acc)",
        by_table,
    ),
    Pattern(
        9,
        "rows by a block of numbers",
        f"rows = tl.load(t + om, mask=om < M, other=0)\nap = a + rows[:, None] * K + ok[None, :]\n{STEP}",
        picked_rows,
        arguments={"M": 5},
        grid=(1, 2),
    ),
    Pattern(
        9,
        "rows by a table that holds some that are none",
        f"""\
rows = tl.load(t + om)
kept = rows < M
{TRIPS}
    kk = k * BK + ok
    x = tl.load(a + rows[:, None] * K + kk[None, :], mask=kept[:, None] & (kk[None, :] < K), other=0.0)
    acc = tl.dot(x, B[kk], acc)
tl.store(c + rows[:, None] * N + on[None, :], acc, mask=kept[:, None] & (on[None, :] < N))
acc = tl.load(cp, mask=box)""",
        product,
        arguments={"t": np.arange(64, dtype=np.int32).reshape(2, 32)[:, ::-1].copy().reshape(-1)},
    ),
    Pattern(
        9,
        "a page number for all lanes",
        "kk = tl.load(t + 2) * BK + ok\nacc = tl.dot(A[kk], B[kk], acc)",
        lambda d: blocks(d, [2]),
    ),
    Pattern(
        10,
        "tiles in an outer loop",
        f"""\
for tile in range(0, tl.cdiv(M, BM)):
    om = tile * BM + tl.arange(0, BM)
    ap = a + om[:, None] * K + ok[None, :]
    bp = b + ok[:, None] * N + on[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    {TRIPS}
        acc = tl.dot(A[...], B[...], acc)
        MOVE
    tl.store(c + om[:, None] * N + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))
acc = tl.load(cp, mask=box)""",
        product,
        grid=(1, 2),
    ),
    Pattern(
        10,
        "pointers of an inner loop used in the outer one",
        """\
for half in range(0, 2):
    for k in range(0, 2):
        x = tl.load(ap, mask=om[:, None] < M)
        y = tl.load(bp, mask=on[None, :] < N)
        acc = tl.dot(x, y, acc)
        MOVE""",
        lambda d: over(d, slice(0, 64)),
    ),
    Pattern(
        10,
        "tiles and K in one loop",
        """\
for step in range(0, tl.cdiv(M, BM) * tl.cdiv(K, BK)):
    k = step % tl.cdiv(K, BK)
    om = step // tl.cdiv(K, BK) * BM + tl.arange(0, BM)
    kk = k * BK + ok
    acc = tl.dot(A[kk], B[kk], acc)
    if k == tl.cdiv(K, BK) - 1:
        tl.store(c + om[:, None] * N + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))
        acc = tl.zeros((BM, BN), dtype=tl.float32)
acc = tl.load(cp, mask=box)""",
        product,
        grid=(1, 2),
    ),
)


PRODUCTS = (*SPELLINGS, *LOOPS, *REMAINDERS, *VIEWS, *INDIRECT)
