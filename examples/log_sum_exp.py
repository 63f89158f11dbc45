"""The logarithm of a row's sum of exponentials, without keeping the row: of scores in memory, and of a product."""

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, z_ptr, M, V, BLOCK_M: tl.constexpr, BLOCK_V: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    d = tl.zeros([BLOCK_M], tl.float32)
    for start in range(0, V, BLOCK_V):
        cols = start + tl.arange(0, BLOCK_V)
        inside = (rows[:, None] < M) & (cols[None, :] < V)
        x = tl.load(x_ptr + rows[:, None] * V + cols[None, :], mask=inside, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=1))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new[:, None]), axis=1)
        m = m_new
    tl.store(z_ptr + rows, m + tl.log(d), mask=rows < M)


@triton.jit
def linear_log_sum_exp(
    hidden, vocabulary, lse, n_tokens, D: tl.constexpr, V, T: tl.constexpr, BV: tl.constexpr, LOG2E: tl.constexpr
):
    t = tl.program_id(0) * T + tl.arange(0, T)
    d = tl.arange(0, D)
    h = tl.load(hidden + t[:, None] * D + d[None, :], mask=t[:, None] < n_tokens, other=0.0)
    biggest = tl.zeros([T], tl.float32) - float("inf")
    total = tl.zeros([T], tl.float32)
    for v in range(tl.cdiv(V, BV)):
        word = v * BV + tl.arange(0, BV)
        e = tl.load(vocabulary + word[None, :] * D + d[:, None])
        logits = tl.dot(h, e) * LOG2E
        bigger = tl.maximum(tl.max(logits, 1), biggest)
        scaled = total * tl.math.exp2(biggest - bigger)
        total = tl.sum(tl.math.exp2(logits - bigger[:, None]), 1) + scaled
        biggest = bigger
    tl.store(lse + t, (biggest + tl.math.log2(total)) / LOG2E, mask=t < n_tokens)
