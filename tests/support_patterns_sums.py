"""Patterns of what a K loop adds up and what else is in it: rows of `docs/patterns.md`."""

from __future__ import annotations

import numpy as np
from ahbmc.backend_sim.numerics.dtypes import Array
from support_patterns import Arrays, K, M, N, Pattern
from support_patterns_products import FROM_KK, STEP, TRIPS, blocks, k_loop, over, product
from support_values import random_array

NARROW = "tl.load(bp, mask=(ok[:, None] < K - k * BK) & (on[None, :] < 9))"


def column_sums_of_t(d: Arrays) -> Array:
    bias = np.zeros(N, np.float32)
    bias[:5] = d["t"]
    return product(d) + bias


def rounded(d: Arrays) -> Array:
    """The sum over blocks of K, rounded after each."""
    total = np.zeros((M, N), np.float16)
    for n in range(5):
        total = total + blocks(d, [n]).astype(np.float16)
    return total.astype(np.float32)


def dequantised(d: Arrays) -> Array:
    return d["a"][:M].astype(np.float32) @ ((d["q"].astype(np.float32) - 3) * 0.25)


SUMS = (
    Pattern(11, "pointers from a condition", f"if tl.program_id(0) == 7:\n    ap = ap + 1\n{STEP}", product),
    Pattern(11, "early return", f"if tl.program_id(1) > 5:\n    return\n{STEP}", product),
    Pattern(
        11,
        "a condition around the dot",
        f"{TRIPS}\n    if k % 2 == 0:\n        acc = tl.dot(A[...], B[...], acc)\n    MOVE",
        lambda d: blocks(d, [0, 2, 4]),
    ),
    Pattern(
        11,
        "an accumulator that a condition changes",
        k_loop("acc = tl.dot(A[...], B[...], acc)", "if k == 1:", "    acc = acc * 0.5", "MOVE"),
        lambda d: blocks(d, [0, 1]) / 2 + blocks(d, [2, 3, 4]),
    ),
    Pattern(
        11,
        "a name in one branch of a known condition",
        f"if BK == 16:\n    one = 1.0\n{STEP}\nif BK == 16:\n    acc += one",
        lambda d: product(d) + 1,
    ),
    Pattern(
        12, "`acc +=`", STEP.replace("acc = tl.dot(A[...], B[...], acc)", "acc += tl.dot(A[...], B[...])"), product
    ),
    Pattern(12, "`dot(a, b, acc)`", STEP, product),
    Pattern(
        12,
        "a loaded bias as `acc`",
        f"acc = acc + tl.load(t + on, mask=on < 5, other=0)[None, :].to(tl.float32)\n{STEP}",
        column_sums_of_t,
    ),
    Pattern(
        12,
        "`acc` scaled in every step",
        f"{TRIPS}\n    acc = acc * 0.5 + tl.dot(A[...], B[...])\n    MOVE",
        lambda d: sum((blocks(d, [n]) * 0.5 ** (4 - n) for n in range(5)), np.zeros((M, N), np.float32)),
    ),
    Pattern(
        12,
        "the product scaled by a number",
        STEP.replace("acc = tl.dot(A[...], B[...], acc)", "acc += tl.dot(A[...], B[...]) * 0.5"),
        lambda d: product(d) / 2,
    ),
    Pattern(
        12,
        "the product scaled by what the step loads",
        STEP.replace(
            "acc = tl.dot(A[...], B[...], acc)", "acc += tl.dot(A[...], B[...]) * tl.load(t + k).to(tl.float32)"
        ),
        lambda d: sum((blocks(d, [n]) * float(d["t"][n]) for n in range(5)), np.zeros((M, N), np.float32)),
    ),
    Pattern(
        12,
        "the product scaled by rows that the step loads",
        STEP.replace(
            "acc = tl.dot(A[...], B[...], acc)",
            "s = tl.load(t + (om + k) % 5).to(tl.float32)\n    acc += tl.dot(A[...], B[...]) * s[:, None]",
        ),
        lambda d: sum(
            (blocks(d, [n]) * d["t"][(np.arange(M) + n) % 5][:, None] for n in range(5)), np.zeros((M, N), np.float32)
        ),
    ),
    Pattern(
        12,
        "the product taken off",
        STEP.replace("acc = tl.dot(A[...], B[...], acc)", "acc -= tl.dot(A[...], B[...])"),
        lambda d: -product(d),
    ),
    Pattern(
        12,
        "two sums with one zero and one a",
        "two = tl.zeros((BM, BN), dtype=tl.float32)\n"
        + k_loop("x = A[...]", "acc = tl.dot(x, B[...], acc)", f"two = tl.dot(x, {NARROW}, two)", "MOVE")
        + "\nacc = acc + 2 * two",
        lambda d: product(d) * np.where(np.arange(N) < 9, 3, 1),
    ),
    Pattern(
        12,
        "two dots in one sum",
        k_loop("x = A[...]", "acc = tl.dot(x, B[...], acc)", f"acc += tl.dot(x, {NARROW})", "MOVE"),
        lambda d: product(d) * np.where(np.arange(N) < 9, 2, 1),
    ),
    Pattern(
        12,
        "one dot added and one taken off",
        k_loop("x = A[...]", "y = tl.dot(x, B[...])", f"acc = acc + y - tl.dot(x, {NARROW}) * 0.25", "MOVE"),
        lambda d: product(d) * np.where(np.arange(N) < 9, 0.75, 1),
    ),
    Pattern(
        12,
        "the product scaled by columns",
        "s = tl.load(t + on, mask=on < 5, other=2).to(tl.float32)\n"
        + STEP.replace("acc = tl.dot(A[...], B[...], acc)", "acc += tl.dot(A[...], B[...]) * s[None, :]"),
        lambda d: product(d) * np.concatenate([d["t"], np.full(N - 5, 2)]),
    ),
    Pattern(
        12,
        "a product of integers scaled",
        k_loop(
            "kk = k * BK + ok",
            "x = tl.load(q + om[:, None] * K + kk[None, :], mask=(om[:, None] < M) & (kk[None, :] < K), other=0)",
            "y = tl.load(w + kk[:, None] * N + on[None, :], mask=(kk[:, None] < K) & (on[None, :] < N), other=0)",
            "acc += tl.dot(x, y).to(tl.float32) * 0.25",
        ),
        lambda d: (d["q"].astype(np.float32) @ d["w"].astype(np.float32)) / 4,
        arguments={"q": random_array([M, K], "i8", 6), "w": random_array([K, N], "i8", 7)},
    ),
    Pattern(
        12,
        "a sum in fp16",
        "acc = tl.zeros((BM, BN), dtype=tl.float16)\n"
        + k_loop("acc += tl.dot(A[...], B[...], out_dtype=tl.float16)", "MOVE"),
        rounded,
        tolerance=3e-2,
    ),
    Pattern(
        12,
        "a number carried as well",
        f"s = 1.0\n{TRIPS}\n    acc = tl.dot(A[...], B[...], acc)\n    s = s * 0.5\n    MOVE\nacc += s",
        lambda d: product(d) + 0.5**5,
    ),
    Pattern(
        13,
        "a store in the loop",
        f"{TRIPS}\n    acc = tl.dot(A[...], B[...], acc)\n    tl.store(t + k, k)\n    MOVE",
        product,
    ),
    Pattern(
        13,
        "an atomic in the loop",
        f"{TRIPS}\n    acc = tl.dot(A[...], B[...], acc)\n    tl.atomic_add(t + k, 1)\n    MOVE",
        product,
    ),
    Pattern(
        13,
        "a second reader of a load",
        "s = tl.zeros((BM,), tl.float32)\n"
        + k_loop("x = A[...]", "acc = tl.dot(x, B[...], acc)", "s += tl.sum(x.to(tl.float32), 1)", "MOVE")
        + "\nacc += s[:, None]",
        lambda d: product(d) + d["a"][:M].astype(np.float32).sum(1)[:, None],
    ),
    Pattern(
        13,
        "a cast between load and dot",
        STEP.replace("tl.dot(A[...], B[...], acc)", "tl.dot(A[...].to(tl.float32), B[...].to(tl.float32), acc)"),
        product,
    ),
    Pattern(
        13,
        "a dequantisation between load and dot",
        k_loop(
            "kk = k * BK + ok",
            "y = tl.load(q + kk[:, None] * N + on[None, :], mask=(kk[:, None] < K) & (on[None, :] < N))",
            "acc = tl.dot(A[kk], ((y.to(tl.float32) - 3) * 0.25).to(tl.float16), acc)",
        ),
        dequantised,
        arguments={"q": random_array([K, N], "i8", 6)},
    ),
    Pattern(
        14,
        "split K, its stride known",
        """\
ok = tl.program_id(2) * BK + ok
ap = a + om[:, None] * K + ok[None, :]
bp = b + ok[:, None] * N + on[None, :]
for k in range(0, tl.cdiv(K, BK * S)):
    x = tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < K - k * (BK * S)), other=0.0)
    y = tl.load(bp, mask=(ok[:, None] < K - k * (BK * S)) & (on[None, :] < N), other=0.0)
    acc = tl.dot(x, y, acc)
    ap += BK * S
    bp += BK * S * N""",
        lambda d: blocks(d, [0, 2, 4]),
        constants={"S": 2},
    ),
    Pattern(
        14,
        "split K by the programs of the grid",
        f"for k in range(tl.program_id(2) * BK, K, BK * tl.num_programs(2)):\n{FROM_KK}\nacc += tl.load(cp, mask=box)",
        product,
        grid=(2, 2, 3),
    ),
    Pattern(
        14,
        "blocks that overlap",
        f"for k in range(0, K, BK // 2):\n{FROM_KK}",
        lambda d: sum((over(d, slice(8 * n, min(8 * n + 16, K))) for n in range(9)), np.zeros((M, N), np.float32)),
    ),
    Pattern(
        14,
        "blocks by a remainder, as in stream-K",
        "for step in range(2, 2 + tl.cdiv(K, BK)):\n    kk = step % tl.cdiv(K, BK) * BK + ok\n"
        "    acc = tl.dot(A[kk], B[kk], acc)",
        product,
    ),
    Pattern(14, "a block that is no divisor of K", STEP, product, constants={"BK": 32}),
    Pattern(
        14,
        "trips from memory",
        f"n = tl.load(t + 4)\n{STEP.replace('tl.cdiv(K, BK)', 'n')}",
        lambda d: over(d, slice(0, 64)),
    ),
    Pattern(
        19, "unrolled", "for k in tl.static_range(0, 5):\n    acc = tl.dot(A[...], B[...], acc)\n    MOVE", product
    ),
)
