"""y = rmsnorm(x, weight) @ w over blocks of K: squares are summed beside the product, which is divided afterwards."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm_matmul_kernel(
    x_ptr,
    weight_ptr,
    w_ptr,
    y_ptr,
    M,
    N,
    K,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    squares = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (k + ks)[None, :], mask=rows[:, None] < M, other=0.0)
        wide = x.to(tl.float32)
        squares += wide * wide
        weight = tl.load(weight_ptr + k + ks)
        w = tl.load(w_ptr + (k + ks)[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        acc += tl.dot(x * weight[None, :], w)
    acc = acc * tl.rsqrt(tl.sum(squares, axis=1) / K + eps)[:, None]
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def project_then_normalise(tokens, g, m, out, n, D, F, T: tl.constexpr, BF: tl.constexpr, BD: tl.constexpr):
    t = tl.program_id(0) * T + tl.arange(0, T)[:, None]
    f = tl.program_id(1) * BF + tl.arange(0, BF)[None, :]
    total = tl.zeros([T], tl.float32)
    out_block = tl.zeros([T, BF], tl.float32)
    for i in range(D // BD):
        d = i * BD + tl.arange(0, BD)
        h = tl.load(tokens + t * D + d[None, :], mask=t < n, other=0.0).to(tl.float32)
        total += tl.sum(h * h, 1)
        scaled = (h * tl.load(g + d)[None, :]).to(tl.bfloat16)
        out_block = tl.dot(scaled, tl.load(m + d[:, None] * F + f), out_block)
    norm = 1.0 / tl.sqrt(total / D + 1e-6)
    tl.store(out + t * F + f, out_block * norm[:, None], mask=t < n)
