"""K loops as kernels write them: which become one GEMM, which stay and why, with values kept."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
from support_tl_passes import Passed, random, through_passes

M, N, K = 50, 40, 72
A = "tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < K - k * BK), other=0.0)"
B = "tl.load(bp, mask=(ok[:, None] < K - k * BK) & (on[None, :] < N), other=0.0)"
A_AT = "tl.load(a + om[:, None] * K + kk[None, :], mask=(om[:, None] < M) & (kk[None, :] < K), other=0.0)"
B_AT = "tl.load(b + kk[:, None] * N + on[None, :], mask=(kk[:, None] < K) & (on[None, :] < N), other=0.0)"
B_OTHER = B.replace("bp", "bp + 1").replace("< N", "< N - 1")
MOVE = "ap += BK\nbp += BK * N\n"


def matmul(loop: str, after: str = "", steps: int = 16, **changed: Any) -> Passed:
    """A kernel of which `loop` accumulates `acc` in blocks of K; `changed` replaces arguments."""
    arguments: dict[str, tuple[str, Any]] = {
        "a": ("*fp16", changed.get("a", random(M, K, seed=1, dtype="float16"))),
        "b": ("*fp16", changed.get("b", random(K, N, seed=2, dtype="float16"))),
        "c": ("*fp32", changed.get("c", np.zeros((M, N), np.float32))),
        "t": ("*i32", np.array([3, 0, 2, 1, 4], np.int32)),
        "M": ("i32", M),
        "N": ("i32", N),
        "K": ("i32", K),
    }
    head = """\
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * K + ok[None, :]
    bp = b + ok[:, None] * N + on[None, :]
    cp = c + om[:, None] * N + on[None, :]
    box = (om[:, None] < M) & (on[None, :] < N)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    """
    body = textwrap.dedent(head) + loop + after + "tl.store(cp, acc, mask=box)\n"
    header = "a, b, c, t, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr"
    passed = through_passes(header, body, arguments, {"BM": 32, "BN": 32, "BK": steps}, (2, 2))
    assert passed.difference < 1e-4
    return passed


def over(loop: str, body: str) -> str:
    return f"for k in {loop}:\n" + textwrap.indent(body, "    ")


TRIPS = "range(0, tl.cdiv(K, BK))"
RAISED = {
    "pointers advance": over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"),
    "acc +=": over(TRIPS, f"acc += tl.dot({A}, {B})\n{MOVE}"),
    "dot + acc": over(TRIPS, f"acc = tl.dot({A}, {B}) + acc\n{MOVE}"),
    "addresses from k": over("range(0, K, BK)", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
    "carried lanes of K": "kk = ok\n" + over(TRIPS, f"acc = tl.dot({A_AT}, {B_AT}, acc)\nkk += BK\n"),
    "what is left of K is carried": "left = K\n"
    + over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\nleft -= BK\n{MOVE}".replace("K - k * BK", "left")),
    "a scalar base is carried": "ab = a\nbb = b\n"
    + over(
        TRIPS,
        "acc = tl.dot(tl.load(ab + om[:, None] * K + ok[None, :], mask=(om[:, None] < M) & (ok[None, :] < K - k * BK)),"
        " tl.load(bb + ok[:, None] * N + on[None, :], mask=(ok[:, None] < K - k * BK) & (on[None, :] < N)), acc)\n"
        "ab += BK\nbb += BK * N\n",
    ),
    "a loop from 1": over(
        "range(1, tl.cdiv(K, BK) + 1)", f"acc = tl.dot({A}, {B}, acc)\n{MOVE}".replace("k * BK", "(k - 1) * BK")
    ),
    "bounds known": over("range(0, 5)", f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"),
    "trips from memory": "n = tl.load(t + 4)\n" + over("range(0, n)", f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"),
    "rows and columns modulo": "ap = a + (om % M)[:, None] * K + ok[None, :]\n"
    "bp = b + ok[:, None] * N + (on % N)[None, :]\n"
    + over(
        TRIPS,
        "acc = tl.dot(tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0),"
        f" tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0), acc)\n{MOVE}",
    ),
    "backwards": over("range((tl.cdiv(K, BK) - 1) * BK, -1, -BK)", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
    "backwards between known bounds": over("range(64, -1, -BK)", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
    "every other block": over("range(0, K, BK * 2)", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
    "every n-th block": over(
        "range(tl.program_id(2) * BK, K, BK * tl.num_programs(2))", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"
    ),
    "a product scaled by a number": over(TRIPS, f"acc += tl.dot({A}, {B}) * 0.5\n{MOVE}"),
    "a product scaled by columns": "s = tl.load(t + on, mask=on < 5, other=2).to(tl.float32)\n"
    + over(TRIPS, f"acc += tl.dot({A}, {B}) * s[None, :]\n{MOVE}"),
    "a product taken off": over(TRIPS, f"acc -= tl.dot({A}, {B})\n{MOVE}"),
    "not before the first lane of K": over(
        TRIPS,
        f"kk = k * BK + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n".replace(
            "(kk[None, :] < K)", "(kk[None, :] >= 0) & (kk[None, :] < K)"
        ),
    ),
    "a conversion between load and dot": over(
        TRIPS, f"acc = tl.dot({A}.to(tl.float32), {B}.to(tl.float32), acc)\n{MOVE}"
    ),
    "a zero and a scale per column": "s = tl.load(t + on, mask=on < 5, other=2).to(tl.float32)\n"
    + over(TRIPS, f"acc = tl.dot({A}, (({B} - 1.5) * s[None, :]).to(tl.float16), acc)\n{MOVE}"),
    "a scale per row and a factor": "s = tl.load(t + om, mask=om < 5, other=2)\nf = tl.load(t)\n"
    + over(TRIPS, f"acc = tl.dot(({A} * s[:, None]).to(tl.float16), ({B} * f).to(tl.float16), acc)\n{MOVE}"),
    "bias in the accumulator": "acc = tl.load(t + on, mask=on < 5, other=0)[None, :].to(tl.float32) + acc\n"
    + over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"),
}


@pytest.mark.parametrize("loop", RAISED.values(), ids=RAISED.keys())
def test_a_loop_over_blocks_of_k_becomes_one_gemm(loop: str) -> None:
    passed = matmul(loop)
    assert "tl.gemm" in passed.text
    assert "scf.for" not in passed.text
    assert passed.notes("raise-k-loops") == [("raised", "")]
    assert np.abs(passed.outputs[2]).max() > 1


def test_loops_that_never_run_leave_the_accumulator() -> None:
    for trips in ("tl.cdiv(K, BK) - 5", "tl.cdiv(K, BK) - 9"):
        passed = matmul(over(f"range(0, {trips})", f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"), after="acc += 1.0\n")
        assert "tl.gemm" in passed.text
        assert (passed.outputs[2] == 1).all()


def test_a_block_that_divides_k_needs_no_mask_on_k() -> None:
    loads = "tl.load(ap, mask=om[:, None] < M, other=0.0), tl.load(bp, mask=on[None, :] < N, other=0.0)"
    passed = matmul(over("range(0, K, BK)", f"acc = tl.dot({loads}, acc)\n{MOVE}"), steps=8)
    assert "tl.gemm" in passed.text


def test_an_operand_that_is_read_with_its_axes_exchanged_is_raised_too() -> None:
    b = "tl.load(b + on[:, None] * K + k * BK + ok[None, :], mask=(on[:, None] < N) & (ok[None, :] < K - k * BK))"
    passed = matmul(
        over(TRIPS, f"acc = tl.dot({A}, tl.trans({b}), acc)\nap += BK\n"), b=random(N, K, seed=5, dtype="float16")
    )
    assert "tl.gemm" in passed.text


def test_the_loop_inside_of_a_loop_over_tiles_is_raised_and_the_outer_one_stays() -> None:
    passed = matmul(
        over(
            "range(0, 2)",
            "acc = tl.zeros((BM, BN), dtype=tl.float32)\nbp = b + ok[:, None] * N + on[None, :]\n"
            + over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\n{MOVE}")
            + "ap -= tl.cdiv(K, BK) * BK\ntl.store(cp, acc, mask=box)\n",
        )
    )
    assert passed.text.count("scf.for") == 1
    assert passed.text.count("tl.gemm") == 1


REFUSED = {
    "a pad that counts": (
        over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\n{MOVE}".replace("other=0.0", "other=1.0", 1)),
        "a is padded with something else than 0",
    ),
    "an accumulator scaled per step": (
        over(TRIPS, f"acc = acc * 0.5 + tl.dot({A}, {B})\n{MOVE}"),
        "the accumulator goes through arith.mulf in every iteration",
    ),
    "a product scaled by a number of the step": (
        over(TRIPS, f"acc += tl.dot({A}, {B}) * tl.load(t + k).to(tl.float32)\n{MOVE}"),
        "the product is scaled by a value of the loop",
    ),
    "an accumulator under a condition": (
        over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\nif k == 1:\n    acc = acc * 0.5\n{MOVE}"),
        "the accumulator is changed under a condition",
    ),
    "a number carried as well": (
        "n = 1.0\n" + over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\nn = n * 0.5\n{MOVE}") + "acc += n\n",
        "it carries 'n' as well, which is no sum of dots",
    ),
    "blocks that overlap under a bound": (
        over("range(0, K, BK // 2)", f"kk = k + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
        "the K bound of a does not fall by 16 or more per iteration",
    ),
    "a bound within each block": (
        over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\n{MOVE}".replace("(ok[None, :] < K - k * BK)", "(ok[None, :] < 5)")),
        "the K bound of a does not fall by 16 or more per iteration",
    ),
    "a first block that begins before K": (
        over(
            TRIPS,
            f"kk = k * BK - 3 + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n".replace(
                "(kk[None, :] < K)", "(kk[None, :] >= 0) & (kk[None, :] < K)"
            ).replace("(kk[:, None] < K)", "(kk[:, None] >= 0) & (kk[:, None] < K)"),
        ),
        "the K axis of a has a lower bound",
    ),
    "a dot under a condition": (
        over(TRIPS, f"if k % 2 == 0:\n    acc = tl.dot({A}, {B}, acc)\n{MOVE}"),
        "the dot is under a condition",
    ),
    "a store of the accumulator": (
        over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\ntl.store(cp, acc, mask=box)\n{MOVE}"),
        "the accumulator is read inside the loop",
    ),
    "a store of something else": (
        over(TRIPS, f"acc = tl.dot({A}, {B}, acc)\ntl.store(t + k, k)\n{MOVE}"),
        "the loop also has tl.store",
    ),
    "a scale that changes along K": (
        over(TRIPS, f"acc = tl.dot({A}, ({B} * (on[None, :] + ok[:, None])).to(tl.float16), acc)\n{MOVE}"),
        "what b is combined with differs along K",
    ),
    "a scale per block of K": (
        over(TRIPS, f"acc = tl.dot({A}, ({B} * tl.load(t + k)).to(tl.float16), acc)\n{MOVE}"),
        "what b is combined with is not the same in every iteration",
    ),
    "ones behind the end of K, twice": (
        over(TRIPS, f"acc = tl.dot({A} + 1.0, {B} + 1.0, acc)\n{MOVE}"),
        "the ops on a and on b make something of the zeros behind the end of K",
    ),
    "an operand that is computed": (
        over(TRIPS, f"acc = tl.dot({A}, tl.cumsum({B}, 1).to(tl.float16), acc)\n{MOVE}"),
        "an operand comes from tl.scan",
    ),
    "blocks of K from a table": (
        over(TRIPS, f"kk = tl.load(t + k) * BK + ok\nacc = tl.dot({A_AT}, {B_AT}, acc)\n"),
        "the address or a bound of a depends on a value of the loop",
    ),
}


@pytest.mark.parametrize(("loop", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_another_loop_stays_and_says_why(loop: str, reason: str) -> None:
    passed = matmul(loop)
    assert passed.notes("raise-k-loops") == [("refused", reason)]
    assert "scf.for" in passed.text
    assert "tl.gemm" not in passed.text


SEVERAL = {
    "two accumulators with one zero and one a": (
        "two = tl.zeros((BM, BN), dtype=tl.float32)\n"
        + over(TRIPS, f"x = {A}\nacc = tl.dot(x, {B}, acc)\ntwo = tl.dot(x, {B_OTHER}, two)\n{MOVE}"),
        "acc = acc * 0.5 - two\n",
    ),
    "two dots into one accumulator": (
        over(TRIPS, f"x = {A}\nacc = tl.dot(x, {B}, acc)\nacc += tl.dot(x, {B_OTHER}) * 0.25\n{MOVE}"),
        "",
    ),
    "one dot added and one taken off": (
        over(TRIPS, f"x = {A}\ny = tl.dot(x, {B})\nacc = acc + y - tl.dot(x, {B_OTHER})\n{MOVE}"),
        "",
    ),
}


@pytest.mark.parametrize(("loop", "after"), SEVERAL.values(), ids=SEVERAL.keys())
def test_a_loop_of_several_dots_becomes_a_gemm_for_each(loop: str, after: str) -> None:
    passed = matmul(loop, after)
    assert passed.notes("raise-k-loops") == [("raised", "")] * 2
    assert passed.text.count("tl.gemm") == 2
    assert "scf.for" not in passed.text


def test_one_sum_that_cannot_be_raised_keeps_the_others_in_the_loop() -> None:
    passed = matmul(
        "two = tl.zeros((BM, BN), dtype=tl.float32)\n"
        + over(TRIPS, f"x = {A}\nacc = tl.dot(x, {B}, acc)\ntwo = tl.dot(x, tl.cumsum({B}, 1), two)\n{MOVE}"),
        after="acc = acc - two\n",
    )
    assert passed.notes("raise-k-loops") == [("refused", "an operand comes from tl.scan")]


def test_a_loop_unrolled_by_the_kernel_stays_a_row_of_dots() -> None:
    passed = matmul(over("tl.static_range(0, 5)", f"acc = tl.dot({A}, {B}, acc)\n{MOVE}"))
    assert passed.text.count("tl.dot") == 5
    assert set(passed.axes) == {("affine", "affine")}
