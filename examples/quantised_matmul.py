"""C = A @ dequantised(B): B is int8 with a scale per column for each group of GROUP lanes of K. Every block of K lies
in one group, so its scales are one row.
"""

import triton
import triton.language as tl


@triton.jit
def quantised_matmul_kernel(
    a_ptr,
    b_ptr,
    scale_ptr,
    c_ptr,
    M,
    N,
    K,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    rows, columns = offs_m[:, None] < M, offs_n[None, :] < N

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs_m[:, None] * K + (k + offs_k)[None, :], mask=rows, other=0.0)
        b = tl.load(b_ptr + (k + offs_k)[:, None] * N + offs_n[None, :], mask=columns, other=0)
        scale = tl.load(scale_ptr + (k // GROUP) * N + offs_n, mask=offs_n < N, other=0.0)
        acc += tl.dot(a, b.to(tl.float16) * scale[None, :])
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16), mask=rows & columns)
