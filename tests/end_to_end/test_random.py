"""Philox and what is made of it: bit for bit the numbers that Triton gives, against the cipher on Python integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from support_kernels import case_of_body, check_values
from support_values import reference_values

# Bits -> the multipliers and the steps of the key (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
CONSTANTS = {
    32: ((0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)),
    64: ((0xD2E7470EE14C6C93, 0xCA5A826395121157), (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)),
}


def philox(counter: Sequence[int], key: Sequence[int], rounds: int = 10, bits: int = 32) -> list[int]:
    """Four random integers of `bits`."""
    (a, b), steps = CONSTANTS[bits]
    c, k = list(counter), list(key)
    for _ in range(rounds):
        (high_a, low_a), (high_b, low_b) = divmod(a * c[0], 1 << bits), divmod(b * c[2], 1 << bits)
        c = [high_b ^ c[1] ^ k[0], low_b, high_a ^ c[3] ^ k[1], low_a]
        k = [(n + step) % (1 << bits) for n, step in zip(k, steps, strict=True)]
    return c


def uniform(integers: Array) -> Array:
    """Floats in [0, 1) of 32 random bits."""
    signed = integers.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


SEED, KEY = 2**33 + 7, (7, 2)


def numbers(offsets: Sequence[int], rounds: int = 10) -> Array:
    """[4, offset] random integers."""
    return np.array([philox((n % 2**32, n >> 32, 0, 0), KEY, rounds) for n in offsets], np.uint32).T


def test_the_cipher_of_this_file_is_the_published_one() -> None:
    assert [hex(n) for n in philox((0, 0, 0, 0), (0, 0))] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_four_random_integers() -> None:
    body = """
i = tl.arange(0, 16)
a, b, c, d = tl.randint4x(seed, i + 3, n_rounds=7)
tl.store(o + i, a)
tl.store(o + 16 + i, b)
tl.store(o + 32 + i, c)
tl.store(o + 48 + i, d)
"""
    arguments = {"o": np.zeros((4, 16), np.uint32), "seed": SEED}
    check_values(case_of_body(body, arguments), {"o": numbers(range(3, 19), 7)})


def test_an_offset_of_64_bits_and_a_single_one() -> None:
    """Scalars are computed by PE_CPU, whose products are made of halves."""
    body = """
i = tl.arange(0, 16)
tl.store(o + i, tl.randint(seed, (n + i.to(tl.int64)) << 20))
tl.store(p, tl.randint(seed, n))
tl.store(q, tl.rand(seed, n * 3 + tl.program_id(0)))
"""
    arguments = {
        "o": np.zeros(16, np.uint32),
        "p": np.zeros(1, np.uint32),
        "q": np.zeros(1, np.float32),
        "seed": SEED,
        "n": 5000,
    }
    case = case_of_body(body, arguments)
    expected = {
        "o": numbers([(5000 + i) << 20 for i in range(16)])[0],
        "p": numbers([5000])[0],
        "q": uniform(numbers([15000])[0]),
    }
    check_values(case, expected)


def test_uniform_numbers_to_the_bit() -> None:
    body = (
        "i = tl.arange(0, 64)\ntl.store(o + i, tl.rand(seed, i))\na, b, c, d = tl.rand4x(seed, i)\ntl.store(p + i, d)"
    )
    arguments = {"o": np.zeros(64, np.float32), "p": np.zeros(64, np.float32), "seed": SEED}
    case, wanted = case_of_body(body, arguments), numbers(range(64))
    got = reference_values(case)
    for name, row in (("o", 0), ("p", 3)):
        assert np.array_equal(got[name].view(np.uint32), uniform(wanted[row]).view(np.uint32))
    check_values(case, {"o": uniform(wanted[0]), "p": uniform(wanted[3])})


def test_normal_numbers() -> None:
    """Box and Muller's transform of two uniform ones."""
    body = (
        "i = tl.arange(0, 64)\ntl.store(o + i, tl.randn(1234, i))\na, b, c, d = tl.randn4x(1234, i)\ntl.store(p + i, b)"
    )
    arguments = {"o": np.zeros(64, np.float32), "p": np.zeros(64, np.float32), "n": 0}
    u, v, *_ = (uniform(r) for r in np.array([philox((n, 0, 0, 0), (1234, 0)) for n in range(64)], np.uint32).T)
    radius, angle = np.sqrt(-2 * np.log(np.maximum(u, 1e-7))), 2 * math.pi * v.astype(np.float64)
    expected = {"o": radius * np.cos(angle), "p": radius * np.sin(angle)}
    check_values(case_of_body(body, arguments), {n: v.astype(np.float32) for n, v in expected.items()})


@pytest.mark.parametrize("rounds", [1, 10])
def test_counters_of_64_bits(rounds: int) -> None:
    body = f"""
i = tl.arange(0, 8).to(tl.uint64)
a, b, c, d = tl.philox(seed, i, i * 0, i * 0, i * 0, n_rounds={rounds})
tl.store(o + tl.arange(0, 8), c)
"""
    arguments = {"o": np.zeros(8, np.uint64), "seed": SEED}
    expected = [philox((n, 0, 0, 0), (SEED, 0), rounds, bits=64)[2] for n in range(8)]
    check_values(case_of_body(body, arguments), {"o": np.array(expected, np.uint64)})
