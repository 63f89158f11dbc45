"""Ten ways in which users write flash attention. All take (q, k, v, o, scale, row strides of q, k, v, o, S, head
size, blocks, CAUSAL).
"""

import triton
import triton.language as tl


@triton.jit
def natural_base(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    pid = tl.program_id(0)
    rows = pid * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32)
    o = tl.zeros([BM, D], dtype=tl.float32)
    q = tl.load(Q + rows[:, None] * sq + d[None, :], mask=rows[:, None] < S, other=0.0)
    for start in range(0, S, BN):
        cols = start + tl.arange(0, BN)
        k = tl.load(K + cols[None, :] * sk + d[:, None], mask=cols[None, :] < S, other=0.0)
        v = tl.load(V + cols[:, None] * sv + d[None, :], mask=cols[:, None] < S, other=0.0)
        s = tl.dot(q, k)
        s = s * scale
        s = tl.where(cols[None, :] < S, s, -float("inf"))
        if CAUSAL:
            s = tl.where(rows[:, None] >= cols[None, :], s, -float("inf"))
        m_new = tl.maximum(tl.max(s, axis=1), m)
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        o = o * alpha[:, None]
        o += tl.dot(p.to(V.dtype.element_ty), v)
        l = alpha * l + tl.sum(p, axis=1)
        m = m_new
    tl.store(Out + rows[:, None] * so + d[None, :], (o / l[:, None]).to(Out.dtype.element_ty), mask=rows[:, None] < S)


@triton.jit
def scaled_query(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    start_m = tl.program_id(0) * BM
    offs_m = start_m + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    q = (q * (scale * 1.44269504)).to(Q.dtype.element_ty)
    k_ptrs = K + offs_n[:, None] * sk + offs_d[None, :]
    v_ptrs = V + offs_n[:, None] * sv + offs_d[None, :]
    m_i = tl.full((BM,), float("-inf"), tl.float32)
    l_i = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, tl.cdiv(S, BN)):
        cols = n * BN + offs_n
        k = tl.load(k_ptrs + n * BN * sk, mask=cols[:, None] < S, other=0.0)
        qk = tl.dot(q, tl.trans(k))
        if CAUSAL:
            qk = tl.where((offs_m[:, None] >= cols[None, :]) & (cols[None, :] < S), qk, float("-inf"))
        else:
            qk = tl.where(cols[None, :] < S, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        alpha = tl.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs + n * BN * sv, mask=cols[:, None] < S, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    acc /= l_i[:, None]
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def scale_in_exponent(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    qk_scale = scale * 1.44269504
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in range(0, S, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None], mask=offs_n[None, :] < S, other=0.0)
        qk = tl.dot(q, k)
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= offs_n[None, :], qk, -1.0e6)
        qk = tl.where(offs_n[None, :] < S, qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
        p = tl.exp2(qk * qk_scale - m_ij[:, None])
        alpha = tl.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :], mask=offs_n[:, None] < S, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def additive_mask(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    k_ptrs = K + offs_n[None, :] * sk + offs_d[:, None]
    v_ptrs = V + offs_n[:, None] * sv + offs_d[None, :]
    m_i = tl.full([BM], -1.0e30, dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in range(0, S, BN):
        k = tl.load(k_ptrs, mask=start_n + offs_n[None, :] < S, other=0.0)
        qk = tl.zeros([BM, BN], dtype=tl.float32)
        qk += tl.dot(q, k)
        qk *= scale
        qk += tl.where(start_n + offs_n[None, :] < S, 0.0, -1.0e30)
        if CAUSAL:
            qk += tl.where(offs_m[:, None] >= start_n + offs_n[None, :], 0.0, -1.0e30)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs, mask=start_n + offs_n[:, None] < S, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_new
        k_ptrs += BN * sk
        v_ptrs += BN * sv
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def sum_after_cast(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    m_i = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    hi = tl.minimum((tl.program_id(0) + 1) * BM, S) if CAUSAL else S
    for start_n in range(0, hi, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None], mask=offs_n[None, :] < S, other=0.0)
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :], mask=offs_n[:, None] < S, other=0.0)
        qk = tl.dot(q, k) * scale
        keep = offs_n[None, :] < S
        if CAUSAL:
            keep = keep & (offs_m[:, None] >= offs_n[None, :])
        qk = tl.where(keep, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(qk - m_new[:, None]).to(v.dtype)
        l_i = l_i * alpha + tl.sum(p.to(tl.float32), 1)
        acc = tl.dot(p, v, acc * alpha[:, None])
        m_i = m_new
    tl.store(
        Out + offs_m[:, None] * so + offs_d[None, :],
        (acc / l_i[:, None]).to(Out.dtype.element_ty),
        mask=offs_m[:, None] < S,
    )


@triton.jit
def two_loops(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    start_m = tl.program_id(0)
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    # Key blocks that every query sees need no mask; the rest is masked.
    full = (start_m * BM // BN) * BN if CAUSAL else (S // BN) * BN
    last = tl.minimum((start_m + 1) * BM, S) if CAUSAL else S
    for start_n in range(0, full, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None])
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :])
        qk = tl.dot(q, k) * scale
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    for start_n in range(full, last, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None], mask=offs_n[None, :] < S, other=0.0)
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :], mask=offs_n[:, None] < S, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where(offs_n[None, :] < S, qk, float("-inf"))
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= offs_n[None, :], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def carried_offsets(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    max_so_far = tl.full([BM], -float("inf"), dtype=tl.float32)
    sum_so_far = tl.zeros([BM], dtype=tl.float32)
    out = tl.zeros([BM, D], dtype=tl.float32)
    for _ in range(tl.cdiv(S, BN)):
        keys = tl.load(K + offs_d[:, None] + offs_n[None, :] * sk, mask=offs_n[None, :] < S, other=0.0)
        values = tl.load(V + offs_d[None, :] + offs_n[:, None] * sv, mask=offs_n[:, None] < S, other=0.0)
        scores = scale * tl.dot(q, keys)
        scores = tl.where(offs_n[None, :] < S, scores, float("-inf"))
        if CAUSAL:
            scores = tl.where(offs_n[None, :] <= offs_m[:, None], scores, float("-inf"))
        new_max = tl.maximum(max_so_far, tl.max(scores, 1))
        weights = tl.exp(scores - new_max[:, None])
        sum_so_far = sum_so_far * tl.exp(max_so_far - new_max) + tl.sum(weights, 1)
        out = tl.dot(weights.to(values.dtype), values, out * tl.exp(max_so_far - new_max)[:, None])
        max_so_far = new_max
        offs_n += BN
    out = out / sum_so_far[:, None]
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], out.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def _step(q, k, v, m_i, l_i, acc, keep, scale):
    qk = tl.where(keep, tl.dot(q, k) * scale, float("-inf"))
    m_new = tl.maximum(m_i, tl.max(qk, 1))
    alpha = tl.exp(m_i - m_new)
    p = tl.exp(qk - m_new[:, None])
    return m_new, l_i * alpha + tl.sum(p, 1), tl.dot(p.to(v.dtype), v, acc * alpha[:, None])


@triton.jit
def with_helper(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    m_i = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in tl.range(0, S, BN):
        start_n = tl.multiple_of(start_n, BN)
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None], mask=offs_n[None, :] < S, other=0.0)
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :], mask=offs_n[:, None] < S, other=0.0)
        keep = offs_n[None, :] < S
        if CAUSAL:
            keep &= offs_m[:, None] >= offs_n[None, :]
        m_i, l_i, acc = _step(q, k, v, m_i, l_i, acc, keep, scale)
    tl.store(
        Out + offs_m[:, None] * so + offs_d[None, :],
        (acc / l_i[:, None]).to(Out.dtype.element_ty),
        mask=offs_m[:, None] < S,
    )


@triton.jit
def normalised(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    # The older form: the output is normalised in each step, so this is not the recipe.
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * sq + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    m_prev = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_prev = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in range(0, S, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * sk + offs_d[:, None], mask=offs_n[None, :] < S, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where(offs_n[None, :] < S, qk, float("-inf"))
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= offs_n[None, :], qk, float("-inf"))
        m_curr = tl.maximum(tl.max(qk, 1), m_prev)
        l_prev *= tl.exp(m_prev - m_curr)
        p = tl.exp(qk - m_curr[:, None])
        l_curr = tl.sum(p, 1) + l_prev
        l_rcp = 1.0 / l_curr
        p *= l_rcp[:, None]
        acc *= (l_prev * l_rcp)[:, None]
        v = tl.load(V + offs_n[:, None] * sv + offs_d[None, :], mask=offs_n[:, None] < S, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        l_prev = l_curr
        m_prev = m_curr
    tl.store(Out + offs_m[:, None] * so + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < S)


@triton.jit
def reordered(
    Q, K, V, Out, scale, sq, sk, sv, so, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    pid = tl.program_id(0)
    V_ptrs = V + tl.arange(0, BN)[:, None] * sv + tl.arange(0, D)[None, :]
    K_ptrs = K + tl.arange(0, BN)[:, None] * sk + tl.arange(0, D)[None, :]
    acc = tl.zeros([BM, D], dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    rows = pid * BM + tl.arange(0, BM)
    q = tl.load(Q + rows[:, None] * sq + tl.arange(0, D)[None, :], mask=rows[:, None] < S, other=0.0)
    done = 0
    while done < S:
        cols = done + tl.arange(0, BN)
        v = tl.load(V_ptrs, mask=cols[:, None] < S, other=0.0)
        k = tl.load(K_ptrs, mask=cols[:, None] < S, other=0.0)
        s = tl.dot(q, k.T) * scale
        s = tl.where(cols[None, :] < S, s, float("-inf"))
        if CAUSAL:
            s = tl.where(rows[:, None] >= cols[None, :], s, float("-inf"))
        top = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - top[:, None])
        shrink = tl.exp(m_i - top)
        acc = shrink[:, None] * acc + tl.dot(p.to(v.dtype), v)
        l_i = tl.sum(p, 1) + shrink * l_i
        m_i = top
        K_ptrs += BN * sk
        V_ptrs += BN * sv
        done += BN
    tl.store(
        Out + rows[:, None] * so + tl.arange(0, D)[None, :],
        (acc / l_i[:, None]).to(Out.dtype.element_ty),
        mask=rows[:, None] < S,
    )
