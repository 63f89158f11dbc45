"""Kernels drawn by hypothesis, each with its launch and its numpy twin, which are written together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from ahbmc.backend_sim.numerics.dtypes import Array, dtype_named
from hypothesis import strategies as st
from support_values import Case, case_of_text, random_array

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


@dataclass(frozen=True)
class Program:
    """A kernel with its launch, and what numpy says that it writes."""

    case: Case
    expected: Mapping[str, Array] = field(repr=False)


# --- lane-wise programs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A name of the kernel and what numpy has for it (float32)."""

    name: str
    content: Array


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "tl.exp(-tl.abs({0}))": lambda a: np.exp(-np.abs(a)),
    "tl.sqrt(tl.abs({0}))": lambda a: np.sqrt(np.abs(a)),
    "-{0}": np.negative,
    "{0} * 0.5 + 1.0": lambda a: a * np.float32(0.5) + np.float32(1.0),
    "tl.sin({0})": np.sin,
    "({0}).to(tl.int32).to(tl.float32)": np.trunc,
    "tl.where({0} > 0.25, {0}, 2.0)": lambda a: np.where(a > 0.25, a, np.float32(2.0)),
    "tl.broadcast_to(tl.max({0}, axis=AXIS, keep_dims=True), SHAPE)": lambda a: np.broadcast_to(
        a.max(-1, keepdims=True), a.shape
    ),
    "{0} - tl.sum({0}, axis=AXIS, keep_dims=True) * 0.01": lambda a: a - a.sum(-1, keepdims=True) * np.float32(0.01),
}
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "{0} + {1}": np.add,
    "{0} - {1}": np.subtract,
    "{0} * {1}": np.multiply,
    "{0} / (1.0 + tl.abs({1}))": lambda a, b: a / (np.float32(1.0) + np.abs(b)),
    "tl.maximum({0}, {1})": np.fmax,
    "tl.minimum({1}, {0})": lambda a, b: np.fmin(b, a),
    "tl.where({0} < {1}, {0}, {1} + 1.0)": lambda a, b: np.where(a < b, a, b + np.float32(1.0)),
    "tl.where(({0} < {1}) & ({0} > -1.0), {1}, {0})": lambda a, b: np.where((a < b) & (a > -1), b, a),
}


@st.composite
def lane_wise(draw: st.DrawFn) -> Program:
    """Two loads, a chain of operations on what there is, a store; rank 1 or 2, ragged sizes, several programs."""
    rank = draw(st.integers(1, 2))
    dtype = draw(st.sampled_from(["fp32", "fp16", "bf16"]))
    rows, columns = (draw(st.integers(3, 20)) if rank == 2 else 1), draw(st.integers(5, 70))
    block_rows, block = draw(st.sampled_from([4, 8])), 128 if rank == 1 else 64
    columns = min(columns, block)
    shape = (rows, columns) if rank == 2 else (columns,)
    x, y = random_array(shape, dtype, draw(st.integers(0, 99))), random_array(shape, dtype, 100)
    other = draw(st.sampled_from(["", ", other=0.0"]))
    if rank == 2:
        lines = [
            f"    r = tl.program_id(0) * {block_rows} + tl.arange(0, {block_rows})",
            f"    c = tl.arange(0, {block})",
            "    at = r[:, None] * stride + c[None, :]",
            "    m = (r[:, None] < rows) & (c[None, :] < columns)",
        ]
        full, axis, grid = f"[{block_rows}, {block}]", "1", -(-rows // block_rows)
    else:
        lines = [f"    at = tl.arange(0, {block})", "    m = at < columns"]
        full, axis, grid = f"[{block}]", "0", 1
    lines += [
        f"    v0 = tl.load(x_ptr + at, mask=m{other}).to(tl.float32)",
        "    v1 = tl.load(y_ptr + at, mask=m, other=0.0).to(tl.float32)",
    ]
    # The twin computes on whole padded blocks, as lanes that are masked off take part in reductions.
    width = [(0, 0)] * (rank - 1) + [(0, block - columns)]
    values = [Value("v0", np.pad(x.astype(np.float32), width)), Value("v1", np.pad(y.astype(np.float32), width))]
    for number in range(2, 2 + draw(st.integers(1, 6))):
        if draw(st.booleans()):
            text = draw(st.sampled_from(sorted(UNARY)))
            a = draw(st.sampled_from(values))
            content, code = UNARY[text](a.content), text.format(a.name)
        else:
            text = draw(st.sampled_from(sorted(BINARY)))
            a, b = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            content, code = BINARY[text](a.content, b.content), text.format(a.name, b.name)
        lines.append(f"    v{number} = {code.replace('AXIS', axis).replace('SHAPE', full)}")
        values.append(Value(f"v{number}", content.astype(np.float32)))
    last = values[-1]
    lines.append(f"    tl.store(o_ptr + at, {last.name}.to(o_ptr.dtype.element_ty), mask=m)")
    source = HEAD + "def kernel(x_ptr, y_ptr, o_ptr, rows, columns, stride):\n" + "\n".join(lines) + "\n"
    arguments = {
        "x_ptr": x,
        "y_ptr": y,
        "o_ptr": np.full(shape, 77, x.dtype),
        "rows": rows,
        "columns": columns,
        "stride": columns,
    }
    wanted = last.content[..., :columns].astype(x.dtype)
    return Program(case_of_text(source, "kernel", arguments, grid=(grid,)), {"o_ptr": wanted})


# --- addresses and masks --------------------------------------------------------------------------------------------

ROW_FORMS: Mapping[str, Callable[[Array, int], Array]] = {
    "r": lambda r, n: r,
    "r % wrap": lambda r, n: r % n,
    "r // 3": lambda r, n: r // 3,
    "tl.minimum(r, wrap - 1)": lambda r, n: np.minimum(r, n - 1),
    "wrap - 1 - r": lambda r, n: n - 1 - r,
    "tl.where(r < wrap, r, 0)": lambda r, n: np.where(r < n, r, 0),
}
MASKS: Mapping[str, Callable[[Array, Array, int, int], Array | bool]] = {
    "": lambda r, c, n, k: True,
    "(r < limit)[:, None] & (c < columns)[None, :]": lambda r, c, n, k: (r < n) & (c < k),
    "(c[None, :] < columns) & (limit > r[:, None])": lambda r, c, n, k: (r < n) & (c < k),
    "(r[:, None] >= 1) & (r[:, None] < limit) & (c[None, :] >= 2)": lambda r, c, n, k: (r >= 1) & (r < n) & (c >= 2),
    "(r[:, None] + c[None, :]) < limit + columns // 2": lambda r, c, n, k: r + c < n + k // 2,
    "(r[:, None] == 1) | (c[None, :] < 3)": lambda r, c, n, k: (r == 1) | (c < 3),
    "(limit - r > 0)[:, None]": lambda r, c, n, k: (n - r > 0) & (c >= 0),
}


@st.composite
def accesses(draw: st.DrawFn) -> Program:
    """One load and one store of a block: rows in any form, strides of any sign, masks of any shape, any `other`."""
    rows, columns = 8, draw(st.sampled_from([8, 16]))
    wrap = draw(st.sampled_from([3, 5, 8]))
    form = draw(st.sampled_from(sorted(ROW_FORMS)))
    mask_text = draw(st.sampled_from(sorted(MASKS)))
    limit, width = draw(st.integers(0, 9)), draw(st.integers(0, columns))
    other = draw(st.sampled_from([0.0, 1.5, None]))
    row_stride, column_stride = draw(st.sampled_from([(40, 1), (40, 2), (1, 40), (0, 1), (-40, 1), (40, -1), (33, 0)]))
    base = 2000
    x = random_array([4000], "fp32", 7)
    r, c = np.arange(rows)[:, None], np.arange(columns)[None, :]
    index = base + ROW_FORMS[form](r, wrap) * row_stride + c * column_stride
    mask = np.broadcast_to(MASKS[mask_text](r, c, limit, width), (rows, columns))
    masking = ", mask=m" * bool(mask_text) + f", other={other}" * (bool(mask_text) and other is not None)
    lines = [
        f"    r = tl.arange(0, {rows})",
        f"    c = tl.arange(0, {columns})",
        f"    rr = {form}",
        "    p = x_ptr + base + rr[:, None] * sr + c[None, :] * sc",
        f"    m = {mask_text}" if mask_text else "",
        f"    v = tl.load(p{masking})",
        "    q = o_ptr + r[:, None] * so + c[None, :]",
        f"    tl.store(q, v * 2.0{', mask=m' if mask_text and draw(st.booleans()) else ''})",
    ]
    stored = np.where("mask=m" in lines[-1], mask, True)
    wanted = np.full((rows, 20), -1, np.float32)
    loaded = np.where(mask, x[np.where(mask, index, 0)], np.float32(other or 0.0)) * 2
    wanted[:, :columns] = np.where(stored, loaded, -1)
    source = HEAD + "def kernel(x_ptr, o_ptr, base, sr, sc, so, wrap, limit, columns):\n" + "\n".join(lines) + "\n"
    arguments = {
        "x_ptr": x,
        "o_ptr": np.full((rows, 20), -1, np.float32),
        "base": base,
        "sr": row_stride,
        "sc": column_stride,
        "so": 20,
        "wrap": wrap,
        "limit": limit,
        "columns": width,
    }
    return Program(case_of_text(source, "kernel", arguments), {"o_ptr": wanted})


# --- products -------------------------------------------------------------------------------------------------------

# What is done to a loaded block of B before the product, and what it is worth; integers are dequantised.
DECODINGS: Mapping[str, float] = {
    "": 1,
    "        b = b * 0.5": 0.5,
    "        b = b.to(a.dtype)": 1,
    "        b = (b.to(tl.float32) * 0.125).to(a.dtype)": 0.125,
}
EPILOGUES: Mapping[str, Callable[[Array], Array]] = {
    "acc": lambda a: a,
    "acc * 0.5": lambda a: a * 0.5,
    "tl.maximum(acc + 1.0, 0.0)": lambda a: np.maximum(a + 1.0, 0.0),
    "tl.where(acc > 0.0, acc, acc * 0.1)": lambda a: np.where(a > 0, a, a * 0.1),
    "acc * acc - 0.25": lambda a: a * a - 0.25,
    "tl.minimum(tl.maximum(-acc, -2.0), 2.0)": lambda a: np.clip(-a, -2, 2),
}
BOUNDED = "mask=(rm[:, None] < M) & (rn[None, :] < N)"
# What joins the product after that: nothing, a bias, a residual.
TAILS: Mapping[str, str] = {
    "none": "",
    "bias": "    acc += tl.load(d_ptr + rn, mask=rn < N, other=0.0)[None, :]",
    "residual": f"    acc = tl.load(d_ptr + rm[:, None] * N + rn[None, :], {BOUNDED}, other=0.0) - acc",
}


@st.composite
def products(draw: st.DrawFn) -> Program:
    """A matrix product in pieces chosen one by one: loop, addresses, masks, accumulation, epilogue, sizes and types."""
    bm, bn, bk = draw(st.sampled_from([16, 32])), draw(st.sampled_from([16, 32])), draw(st.sampled_from([16, 32, 64]))
    m, n, k = draw(st.integers(1, 2 * bm)), draw(st.integers(1, 2 * bn)), draw(st.integers(1, 70))
    dtype, out = draw(st.sampled_from(["fp16", "bf16", "fp32"])), draw(st.sampled_from(["fp16", "bf16", "fp32"]))
    advance, transposed = draw(st.booleans()), draw(st.booleans())
    epilogue = draw(st.sampled_from(sorted(EPILOGUES)))
    accumulate = draw(st.sampled_from(["acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b) + acc"]))
    decoding, tail = draw(st.sampled_from(sorted(DECODINGS))), draw(st.sampled_from(sorted(TAILS)))
    loop = draw(st.sampled_from(["for k in range(0, K, BK):", "for t in range(tl.cdiv(K, BK)):"]))
    start = "k" if " k " in loop else "t * BK"
    inside = f"{start} + rk" if not advance else "rk"
    bound = "K" if not advance else f"K - {start}"
    lines = [
        "    rm = tl.program_id(0) * BM + tl.arange(0, BM)",
        "    rn = tl.program_id(1) * BN + tl.arange(0, BN)",
        "    rk = tl.arange(0, BK)",
        "    acc = tl.zeros((BM, BN), dtype=tl.float32)",
        "    pa = a_ptr + rm[:, None] * sam + rk[None, :] * sak",
        "    pb = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn",
        f"    {loop}",
        f"        kk = {inside}",
        "" if advance else "        pa = a_ptr + rm[:, None] * sam + kk[None, :] * sak",
        "" if advance else "        pb = b_ptr + kk[:, None] * sbk + rn[None, :] * sbn",
        f"        a = tl.load(pa, mask=(rm[:, None] < M) & (kk[None, :] < {bound}), other=0.0)",
        f"        b = tl.load(pb, mask=(kk[:, None] < {bound}) & (rn[None, :] < N), other=0.0)",
        decoding,
        f"        {accumulate}",
        "        pa += BK * sak" if advance else "",
        "        pb += BK * sbk" if advance else "",
        f"    acc = {epilogue}",
        TAILS[tail],
        "    c = acc.to(c_ptr.dtype.element_ty)",
        f"    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c, {BOUNDED})",
    ]
    constants = "BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr"
    head = f"def kernel(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, sam, sak, sbk, sbn, {constants}):\n"
    a = random_array([m, k], dtype, 1)
    b = random_array([n, k] if transposed else [k, n], "i8" if "to(" in decoding else dtype, 2)
    d = random_array([n] if tail == "bias" else [m, n], "fp32", 3)
    exact = EPILOGUES[epilogue](
        a.astype(np.float64) @ ((b.T if transposed else b).astype(np.float64) * DECODINGS[decoding])
    )
    joined = {"none": exact, "bias": exact + d, "residual": d - exact}[tail]
    strides = {"sam": k, "sak": 1, "sbk": 1 if transposed else n, "sbn": k if transposed else 1}
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": np.full((m, n), 77, dtype_named(out)),
        "d_ptr": d,
        "M": m,
        "N": n,
        "K": k,
        **strides,
    }
    source = HEAD + head + "\n".join(line for line in lines if line) + "\n"
    case = case_of_text(source, "kernel", arguments, {"BM": bm, "BN": bn, "BK": bk}, (-(-m // bm), -(-n // bn)))
    return Program(case, {"c_ptr": joined.astype(dtype_named(out))})


# --- attention ------------------------------------------------------------------------------------------------------

# One step of an online softmax: (the scores as they are merged, the new maximum, the exponent of a difference).
SOFTMAXES: Mapping[str, tuple[str, str, str]] = {
    "scale before": ("tl.dot(q, k) * scale", "tl.maximum(m, tl.max(s, 1))", "{0} - {1}"),
    "scale after": ("tl.dot(q, k)", "tl.maximum(m, tl.max(s, 1) * scale)", "{0} - {1}"),
    "scale inside": ("tl.dot(q, k)", "tl.maximum(m, tl.max(s, 1))", "({0} - {1}) * scale"),
}
SUMS = ("l = l * corr + tl.sum(p, 1)", "l = corr * l + tl.sum(p.to(v.dtype).to(tl.float32), 1)")
PRODUCTS = (
    "acc = tl.dot(p.to(v.dtype), v, acc * corr[:, None])",
    "acc = acc * corr[:, None] + tl.dot(p.to(v.dtype), v)",
    "acc *= corr[:, None]\n        acc += tl.dot(p.to(v.dtype), v)",
)
COLUMN, CAUSAL = "(at < S)[None, :]", "(at < S)[None, :] & (at[None, :] <= r[:, None] // G + S - T)"


@st.composite
def attention(draw: st.DrawFn) -> Program:
    """Online softmax over blocks of keys: the G query heads of a KV head are rows of one block. The form of each step,
    masks, exponential, sizes and types are drawn.
    """
    group, queries, head = draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 8)), draw(st.sampled_from([16, 32]))
    block, dtype = draw(st.sampled_from([16, 32])), draw(st.sampled_from(["fp16", "bf16", "fp32"]))
    keys = queries + draw(st.integers(0, 3 * block - 8))
    causal, base = draw(st.booleans()), draw(st.sampled_from(["exp", "exp2"]))
    form = draw(st.sampled_from(sorted(SOFTMAXES)))
    scores, most, exponent = SOFTMAXES[form]
    scaled = "s * scale" if form == "scale after" else "s"
    masked = f"tl.where({CAUSAL if causal else COLUMN}, s, -float('inf'))"
    constants = "G: tl.constexpr, D: tl.constexpr, BN: tl.constexpr"
    source = f"""{HEAD}def kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, S, T, {constants}):
    r = tl.arange(0, 32)
    d = tl.arange(0, D)
    n = tl.arange(0, BN)
    q = tl.load(q_ptr + r[:, None] * D + d[None, :], mask=(r < T * G)[:, None], other=0.0)
    m = tl.full([32], -float("inf"), tl.float32)
    l = tl.zeros([32], tl.float32)
    acc = tl.zeros([32, D], tl.float32)
    for start in range(0, S, BN):
        at = start + n
        k = tl.load(k_ptr + at[None, :] * D + d[:, None], mask=(at < S)[None, :], other=0.0)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :], mask=(at < S)[:, None], other=0.0)
        s = {scores}
        s = {masked}
        new = {most}
        p = tl.{base}({exponent.format(scaled, "new[:, None]")})
        corr = tl.{base}({exponent.format("m", "new")})
        {draw(st.sampled_from(SUMS))}
        {draw(st.sampled_from(PRODUCTS))}
        m = new
    acc = acc / l[:, None]
    tl.store(o_ptr + r[:, None] * D + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=(r < T * G)[:, None])
"""
    rows = queries * group
    q, k, v = (random_array([n, head], dtype, seed) for seed, n in enumerate((rows, keys, keys), 1))
    arguments = {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": np.full_like(q, 77),
        "scale": 0.3,
        "S": keys,
        "T": queries,
    }
    wide = q.astype(np.float64) @ k.astype(np.float64).T * 0.3
    if causal:
        seen = np.arange(keys)[None, :] <= np.arange(rows)[:, None] // group + keys - queries
        wide = np.where(seen, wide, -np.inf)
    p = (np.exp if base == "exp" else np.exp2)(wide - wide.max(1, keepdims=True))
    expected = (p / p.sum(1, keepdims=True) @ v.astype(np.float64)).astype(q.dtype)
    return Program(case_of_text(source, "kernel", arguments, {"G": group, "D": head, "BN": block}), {"o_ptr": expected})
