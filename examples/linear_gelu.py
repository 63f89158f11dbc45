"""y = gelu(x @ w + bias), as two authors write it: exact with erf, and by the tangent written with exponentials."""

import triton
import triton.language as tl


@triton.jit
def linear_gelu_kernel(
    x_ptr,
    w_ptr,
    bias_ptr,
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
    x_ptrs = x_ptr + rows[:, None] * K + ks[None, :]
    w_ptrs = w_ptr + ks[:, None] * N + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=(rows[:, None] < M) & (k + ks[None, :] < K), other=0.0)
        w = tl.load(w_ptrs, mask=(k + ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K * N
    acc += tl.load(bias_ptr + cols, mask=cols < N, other=0.0)[None, :]
    y = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], y, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def tanh(x):
    e = tl.exp(2 * x)
    return (e - 1) / (e + 1)


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


@triton.jit
def mlp_up_kernel(hidden, weight, out, n_tokens, D, F, T: tl.constexpr, BF: tl.constexpr, BD: tl.constexpr):
    token = tl.program_id(0) * T + tl.arange(0, T)[:, None]
    unit = tl.program_id(1) * BF + tl.arange(0, BF)[None, :]
    total = tl.zeros([T, BF], tl.float32)
    for start in range(0, D, BD):
        a = tl.load(hidden + token * D + (start + tl.arange(0, BD))[None, :], mask=token < n_tokens, other=0)
        b = tl.load(weight + (start + tl.arange(0, BD))[:, None] * F + unit)
        total = tl.dot(a, b, total)
    h = total.to(tl.float16).to(tl.float32)
    tl.store(out + token * F + unit, gelu(h).to(tl.float16), mask=token < n_tokens)
