"""y = silu(x @ w_gate) * (x @ w_up), the other half being there or a product as well, as two authors write it."""

import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_kernel(
    x_ptr,
    gate_ptr,
    up_ptr,
    y_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (k + ks)[None, :], mask=rows[:, None] < M, other=0.0)
        w = tl.load(gate_ptr + (k + ks)[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        gate = tl.dot(x, w, gate)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (k + ks)[None, :], mask=rows[:, None] < M, other=0.0)
        w = tl.load(up_ptr + (k + ks)[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        up = tl.dot(x, w, up)
    y = silu(gate) * up
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], y, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def gate_with_stored_half(tokens, w, up, out, n_tokens, D, F, T: tl.constexpr, BF: tl.constexpr, BD: tl.constexpr):
    t = tl.program_id(1) * T + tl.arange(0, T)[:, None]
    f = tl.program_id(0) * BF + tl.arange(0, BF)[None, :]
    d = tl.arange(0, BD)
    u = tl.load(up + t * F + f, mask=t < n_tokens, other=0.0).to(tl.float32)
    g = tl.zeros([T, BF], tl.float32)
    for i in range(D // BD):
        a = tl.load(tokens + t * D + (i * BD + d)[None, :], mask=t < n_tokens, other=0.0)
        g += tl.dot(a, tl.load(w + (i * BD + d)[:, None] * F + f))
    h = (g / (1.0 + tl.exp(-g))) * u
    tl.store(out + t * F + f, h.to(tl.bfloat16), mask=t < n_tokens)
