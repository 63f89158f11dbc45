"""Patterns of masks, addresses, attention and carried values: rows of `docs/patterns.md` in the other frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ahbmc.backend_sim.numerics.dtypes import Array
from support_patterns import KEYS, ROWS, Arrays, Frame, Pattern

R, C = np.arange(64)[:, None], np.arange(32)[None, :]


def copied(d: Arrays, at: Any, mask: Any = True) -> Array:
    """y of the frame "copy": x at element numbers `at` [64, 32] where `mask` holds, else 3; and 1 more."""
    x = d["x"].reshape(-1)
    m, n = d["m"], d["n"]
    at, mask = np.broadcast_to(at, (64, 32)), np.broadcast_to(mask, (64, 32))
    block = np.where(mask, x[np.where(mask, at, 0)], np.float32(3))[:m, :n]
    y = np.zeros(50 * 20, np.float32)
    y[: m * n] = (block + 1).reshape(-1)
    return y.reshape(50, 20)


def _mask(name: str, mask: str, wanted: Callable[[Arrays], Any]) -> Pattern:
    def y(d: Arrays) -> Array:
        return copied(d, R * d["n"] + C, wanted(d) & (d["m"] > R) & (d["n"] > C))

    return Pattern(4, name, f"v = tl.load(x + r[:, None] * n + o[None, :], mask={mask}, other=3.0)", y, "copy")


def _address(group: int, name: str, address: str, wanted: Callable[[Arrays], Any]) -> Pattern:
    lines = f"v = tl.load(x + {address})"
    return Pattern(group, name, lines, lambda d: copied(d, wanted(d)), "copy", constants={"BLOCK": 16, "S": 2})


MASKS = (
    _mask("bounds, in either order", "(o[None, :] < n) & (r[:, None] < m)", lambda d: d["m"] > R),
    _mask("nested `where`", "tl.where(r[:, None] < m, o[None, :] < n, False)", lambda d: d["m"] > R),
    _mask("differences and `>=`", "(m - r[:, None] > 0) & (n - 1 >= o[None, :])", lambda d: d["m"] > R),
    _mask("bounds from below as well", "box & (r[:, None] >= 3) & (o[None, :] > 1)", lambda d: (R >= 3) & (C > 1)),
    _mask("a condition of the program", "box & (tl.program_id(0) < 2)", lambda d: R < 32),
    _mask("two truth values compared", "box & ((tl.program_id(0) < 2) == (tl.program_id(1) < 5))", lambda d: R < 32),
    Pattern(
        4,
        "a window that begins before the tensor",
        "s = r - 3\nin_x = (s[:, None] >= 0) & (s[:, None] < m) & (o[None, :] < n)\n"
        "v = tl.load(x + s[:, None] * n + o[None, :], mask=in_x, other=3.0)",
        lambda d: copied(d, (R - 3) * d["n"] + C, (R >= 3) & (d["m"] > R - 3) & (d["n"] > C)),
        "copy",
    ),
    _mask("`==`", "box & (r[:, None] == 7)", lambda d: R == 7),
    _mask("a multiple of the row", "box & (r[:, None] * 2 < m)", lambda d: d["m"] > R * 2),
    _mask("a product on both sides", "box & (r[:, None] * g < 7 * g)", lambda d: R * d["g"] < 7 * d["g"]),
    _mask("`or`", "box & ((r[:, None] < 5) | (o[None, :] == 3))", lambda d: (R < 5) | (C == 3)),
    _mask("`!=`", "box & (r[:, None] != 5)", lambda d: R != 5),
    _mask("a bound over both axes", "box & (r[:, None] >= o[None, :])", lambda d: R >= C),
)
ADDRESSES = (
    _address(6, "groups of eight rows", "(r // 8)[:, None] * n + o[None, :]", lambda d: R // 8 * d["n"] + C),
    _address(6, "groups of a run-time size", "(r // g)[:, None] * n + o[None, :]", lambda d: R // d["g"] * d["n"] + C),
    Pattern(
        6,
        "flat `//` and `%` on a tensor with long rows",
        "p = tl.program_id(0) * 16 + tl.arange(0, 16)\nu = tl.load(x + p // n * 40 + p % n, mask=p < m * n)\n"
        "tl.store(y + p, u * 2, mask=p < m * n)\nv = tl.load(y + r[:, None] * n + o[None, :], mask=box) - 1",
        lambda d: d["x"][:, :20] * 2,
        "copy",
        grid=(63, 1),
        shown="p = tl.program_id(0) * 16 + tl.arange(0, 16)\nu = tl.load(x + p // n * 40 + p % n, mask=p < m * n)",
    ),
    _address(7, "stride 1", "r[:, None] * n + o[None, :]", lambda d: R * d["n"] + C),
    _address(7, "a known stride", "r[:, None] * n + o[None, :] * S", lambda d: R * d["n"] + C * 2),
    _address(7, "a run-time stride", "r[:, None] * n + o[None, :] * g", lambda d: R * d["n"] + C * d["g"]),
    _address(7, "stride 0", "r[:, None] * 0 + o[None, :]", lambda d: C),
    _address(7, "a negative stride", "(63 - r)[:, None] * n + o[None, :]", lambda d: (63 - R) * d["n"] + C),
    _address(7, "the diagonal", "r[:, None] * (n + 1) + o[None, :]", lambda d: R * (d["n"] + 1) + C),
    _address(7, "offsets in 64 bits", "r.to(tl.int64)[:, None] * n + o[None, :]", lambda d: R * d["n"] + C),
    _address(
        7,
        "a base in 64 bits",
        "tl.program_id(0).to(tl.int64) * BLOCK * n + tl.arange(0, BLOCK)[:, None] * n + o[None, :]",
        lambda d: R * d["n"] + C,
    ),
    Pattern(
        8,
        "a transposed block",
        "u = tl.load(x + r[None, :] * n + o[:, None], mask=(r[None, :] < m) & (o[:, None] < n))\nv = tl.trans(u)",
        lambda d: copied(d, R * d["n"] + C),
        "copy",
    ),
    Pattern(
        9,
        "rows by a loaded block of numbers",
        "rows = tl.load(t + r)\nv = tl.load(x + rows[:, None] * n + o[None, :])",
        lambda d: copied(d, d["t"][:64, None] * d["n"] + C),
        "copy",
    ),
    _address(9, "an address over both axes", "(r[:, None] * 3 + o[None, :]) // 5", lambda d: (R * 3 + C) // 5),
    Pattern(
        11,
        "a base from a condition",
        "p = x\nif tl.program_id(0) == 1:\n    p = x + n\nv = tl.load(p + r[:, None] * n + o[None, :])",
        lambda d: copied(d, R * d["n"] + C + np.where((R >= 16) & (R < 32), d["n"], 0)),
        "copy",
    ),
)

_STEP = {
    "scaled": "qk = qk * c",
    "mask": "qk = tl.where(inside[None, :], qk, -float('inf'))",
    "maximum": "new = tl.maximum(m, tl.max(qk, 1))",
    "p": "p = tl.exp2(qk - new[:, None])",
    "alpha": "alpha = tl.exp2(m - new)",
    "sum": "l = l * alpha + tl.sum(p, 1)",
    "rescale": "acc = acc * alpha[:, None]",
    "dot": "acc = tl.dot(p.to(tl.float16), v, acc)",
    "carry": "m = new",
}


def attention(d: Arrays, keep: Any = True, scale: float | None = None) -> Array:
    """Softmax over the keys that `keep` [rows, keys] keeps."""
    q, k, v = (d[n].astype(np.float64) for n in ("q_ptr", "k_ptr", "v_ptr"))
    s = np.where(keep, q @ k.T * (d["scale"] if scale is None else scale), -np.inf)
    e = np.exp(s - s.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True) @ v).astype(np.float32)


def two_outputs(d: Arrays) -> Array:
    """The sum of attention with the values v, and with the keys as values."""
    return attention(d) + attention({**d, "v_ptr": d["k_ptr"]})


def _softmax(
    group: int,
    name: str,
    wanted: Callable[[Arrays], Array] = attention,
    frame: Frame = "attention",
    **changes: str,
) -> Pattern:
    lines = "\n".join(line for line in {**_STEP, **changes}.values() if line)
    shown = "\n".join(line for line in changes.values() if line) or "as in the tutorial"
    # The weights are rounded to fp16, which numpy does not, and recipes do in another order.
    return Pattern(group, name, lines, wanted, frame, shown=shown, tolerance=3e-3)


CAUSAL = np.arange(ROWS)[:, None] >= np.arange(KEYS)[None, :]
_HALF = "p = tl.exp2(qk - new[:, None]).to(tl.float16)"
SOFTMAXES = (
    _softmax(15, "as in the tutorial"),
    _softmax(15, "the maximum in another order", maximum="new = tl.maximum(tl.max(qk, 1), m)"),
    _softmax(
        15,
        "sums and products in another order",
        sum="l = tl.sum(p, 1) + alpha * l",
        rescale="acc = alpha[:, None] * acc",
    ),
    _softmax(
        15,
        "scaled after the maximum",
        scaled="",
        maximum="new = tl.maximum(m, tl.max(qk, 1) * c)",
        p="p = tl.exp2(qk * c - new[:, None])",
    ),
    _softmax(
        15,
        "scaled in the exponent",
        scaled="",
        p="p = tl.exp2((qk - new[:, None]) * c)",
        alpha="alpha = tl.exp2((m - new) * c)",
    ),
    _softmax(
        15,
        "base e",
        scaled="qk = qk * scale",
        p="p = tl.exp(qk - new[:, None])",
        alpha="alpha = tl.exp(m - new)",
    ),
    _softmax(
        15,
        "the sum after the cast",
        p=_HALF,
        sum="l = l * alpha + tl.sum(p.to(tl.float32), 1)",
        dot="acc = tl.dot(p, v, acc)",
    ),
    _softmax(15, "`acc +=`", dot="acc += tl.dot(p.to(tl.float16), v)"),
    _softmax(15, "an added mask", mask="qk += tl.where(inside[None, :], 0, -1.0e6)"),
    _softmax(
        15,
        "causal",
        lambda d: attention(d, CAUSAL),
        mask="qk = tl.where(inside[None, :] & (om[:, None] >= (start + on)[None, :]), qk, -float('inf'))",
    ),
    _softmax(
        15,
        "columns of maxima and sums",
        frame="columns",
        maximum="new = tl.maximum(m, tl.max(qk, 1, keep_dims=True))",
        p="p = tl.exp2(qk - new)",
        sum="l = l * alpha + tl.sum(p, 1, keep_dims=True)",
        rescale="acc = acc * alpha",
    ),
    _softmax(
        15,
        "two products of the weights",
        two_outputs,
        frame="two outputs",
        rescale="acc = acc * alpha[:, None]\nacc2 = acc2 * alpha[:, None]",
        dot="h = p.to(tl.float16)\nacc = tl.dot(h, v, acc)\nacc2 = tl.dot(h, w, acc2)",
    ),
    _softmax(
        15,
        "the weights stored as rounded",
        p=_HALF,
        dot="acc = tl.dot(p, v, acc)",
        carry="tl.store(x_ptr + om[:, None] * 64 + on[None, :], p)\nm = new",
    ),
    _softmax(15, "the exponential written twice", rescale="acc = acc * tl.exp2(m - new)[:, None]"),
    _softmax(15, "the weights stored", carry="tl.store(x_ptr + om[:, None] * 64 + on[None, :], p)\nm = new"),
    _softmax(
        15,
        "a guarded maximum",
        p="safe = tl.where(new == -float('inf'), 0, new)\np = tl.exp2(qk - safe[:, None])",
    ),
    _softmax(
        15,
        "weights and correction 0 where there is no key",
        alpha="alpha = tl.where(new == -float('inf'), 0.0, tl.exp2(m - new))",
        p="p = tl.where((new == -float('inf'))[:, None], 0.0, tl.exp2(qk - new[:, None]))",
    ),
    _softmax(
        15,
        "a correction of 0 for what had no key before",
        alpha="alpha = tl.where(m == -float('inf'), 0.0, tl.exp2(m - new))",
        p="p = tl.where((new == -float('inf'))[:, None], 0.0, tl.exp2(qk - new[:, None]))",
    ),
    _softmax(
        15,
        "a guarded maximum that goes on",
        maximum="new = tl.maximum(m, tl.max(qk, 1))\nnew = tl.where(new > -float('inf'), new, 0.0)",
    ),
    _softmax(15, "the weights masked again", p="p = tl.where(inside[None, :], tl.exp2(qk - new[:, None]), 0.0)"),
    _softmax(
        15,
        "a correction with 0 times the sum",
        sum="",
        rescale="acc = acc * (l * 0 + alpha)[:, None]\nl = l * alpha + tl.sum(p, 1)",
    ),
    _softmax(
        16,
        "normalised in every step",
        maximum="here = tl.max(qk, 1)\nnew = tl.maximum(m, here)",
        p="p = tl.exp2(qk - here[:, None])",
        alpha="alpha = tl.exp2(m - new)\nbeta = tl.exp2(here - new)",
        sum="l_new = l * alpha + beta * tl.sum(p, 1)\np = p * (beta / l_new)[:, None]",
        rescale="acc = acc * (l / l_new * alpha)[:, None]",
        carry="m = new\nl = l_new",
        wanted=lambda d: attention(d) / _row_sums(d),
    ),
    _softmax(
        16,
        "two products into one output",
        lambda d: 2 * attention(d),
        dot="w = p.to(tl.float16)\nacc = tl.dot(w, v, acc)\nacc = tl.dot(w, v, acc)",
    ),
    _softmax(
        16,
        "the logarithm of the sum carried",
        sum="l = new + tl.log2(tl.exp2(l - new) + tl.sum(p, 1))",
        wanted=lambda d: _by_logarithm(d),
    ),
    _softmax(
        18,
        "the weights masked again, without any key",
        lambda d: attention(d, (np.arange(KEYS) < 16)[None, :]),
        mask="keep = (start + on < 16)[None, :]\nqk = tl.where(keep, qk, -float('inf'))",
        p="p = tl.where(keep, tl.exp2(qk - new[:, None]), 0.0)",
    ),
    _softmax(
        18,
        "rows and blocks without any key",
        lambda d: attention(d, (np.arange(ROWS) % 3 != 1)[:, None] & (np.arange(KEYS) < 16)[None, :]),
        mask="qk = tl.where((om % 3 != 1)[:, None] & (start + on < 16)[None, :], qk, -float('inf'))",
    ),
)


def _row_sums(d: Arrays) -> Array:
    s = d["q_ptr"].astype(np.float64) @ d["k_ptr"].astype(np.float64).T * d["scale"]
    return np.exp(s - s.max(1, keepdims=True)).sum(1, keepdims=True).astype(np.float32)


def _by_logarithm(d: Arrays) -> Array:
    """What the frame's division by l makes of a sum that is a logarithm, from l = 0."""
    s = d["q_ptr"].astype(np.float64) @ d["k_ptr"].astype(np.float64).T * d["scale"] * 1.44269504
    m, total = np.full(ROWS, -np.inf), np.zeros(ROWS)
    for start in range(0, KEYS, 16):
        new = np.maximum(m, s[:, start : start + 16].max(1))
        total = new + np.log2(np.exp2(total - new) + np.exp2(s[:, start : start + 16] - new[:, None]).sum(1))
        m = new
    return (np.exp2(s - m[:, None]) @ d["v_ptr"].astype(np.float64) / total[:, None]).astype(np.float32)


def _carried(name: str, body: str, wanted: Callable[[Arrays], Array], group: int = 17) -> Pattern:
    lines = f"i = tl.arange(0, 32)\n{body}\ntl.store(y + i, u)"

    def written(d: Arrays) -> Array:
        return np.concatenate([wanted(d), np.zeros(480)]).astype(np.float32)

    return Pattern(group, name, lines, written, "whole", shown=body)


def _halves(d: Arrays) -> tuple[Array, Array]:
    return d["x"][:32].astype(np.float64), d["x"][32:64].astype(np.float64)


def _fibonacci(d: Arrays) -> Array:
    u, w = _halves(d)
    for _ in range(d["n"]):
        u, w = w, u + w
    return u


def _running(d: Arrays) -> Array:
    u, _ = _halves(d)
    s = np.zeros(32)
    for k in range(d["n"]):
        new = np.maximum(u, d["x"][64 + 32 * k : 96 + 32 * k])
        s, u = s + np.exp(u - new) + new, new
    return u + s


LOAD = "u = tl.load(x + i)\nw = tl.load(x + 32 + i)\n"
CARRIED = (
    _carried("a swap", f"{LOAD}for k in range(0, n):\n    u, w = w, u", lambda d: _halves(d)[1]),
    _carried("a swap with a sum", f"{LOAD}for k in range(0, n):\n    u, w = w, u + w", _fibonacci),
    _carried(
        "the first value used after the loop",
        f"{LOAD}s = u\nfor k in range(0, n):\n    s = s * w\nu = u + s",
        lambda d: _halves(d)[0] * (1 + _halves(d)[1] ** 3),
    ),
    _carried(
        "the old value used after the new one is there",
        "u = tl.load(x + i)\ns = tl.zeros((32,), tl.float32)\nfor k in range(0, n):\n"
        "    new = tl.maximum(u, tl.load(x + 64 + 32 * k + i))\n    s = s + tl.exp(u - new) + new\n    u = new\n"
        "u = u + s",
        _running,
    ),
    _carried(
        "a pointer through three loops",
        "u = tl.zeros((32,), tl.float32)\np = x + i\nfor j in range(0, n):\n    for k in range(0, 2):\n"
        "        for h in range(0, n):\n            u += tl.load(p)\n            p += 8\n        p += 16\n",
        lambda d: sum((d["x"][40 * q + 8 * h : 40 * q + 8 * h + 32] for q in range(6) for h in range(3)), np.zeros(32)),
        19,
    ),
    _carried(
        "increments without a loop",
        "u = tl.zeros((32,), tl.float32)\np = x + i\nfor k in tl.static_range(40):\n    u += tl.load(p)\n    p += 8",
        lambda d: sum((d["x"][8 * k : 8 * k + 32] for k in range(40)), np.zeros(32)),
        19,
    ),
)
OTHERS = (*MASKS, *ADDRESSES, *SOFTMAXES, *CARRIED)
