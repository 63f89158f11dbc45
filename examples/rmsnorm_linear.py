"""y = rmsnorm(x) @ w: rows that are normalised before their product, as two authors write it."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm_linear_kernel(
    x_ptr, weight_ptr, w_ptr, y_ptr, M, N, eps, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, K)
    x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=1) / K + eps)
    weight = tl.load(weight_ptr + ks)
    normed = (x * rstd[:, None]).to(tl.float16) * weight[None, :]
    w = tl.load(w_ptr + ks[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
    y = tl.dot(normed, w)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], y, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def project_normalised(
    tokens, matrix, out, n_tokens, dim, F, one_over_dim, T: tl.constexpr, D: tl.constexpr, BF: tl.constexpr
):
    t = tl.program_id(0) * T + tl.arange(0, T)[:, None]
    f = tl.program_id(1) * BF + tl.arange(0, BF)[None, :]
    d = tl.arange(0, D)
    h = tl.load(tokens + t * dim + d[None, :], mask=(t < n_tokens) & (d[None, :] < dim), other=0.0)
    mean_square = tl.sum(h * h, 1) * one_over_dim
    h = h * (1.0 / tl.sqrt(mean_square + 1e-5))[:, None]
    b = tl.load(matrix + d[:, None] * F + f, mask=d[:, None] < dim, other=0.0)
    tl.store(out + t * F + f, tl.dot(h.to(tl.bfloat16), b), mask=t < n_tokens)
