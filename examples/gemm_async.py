"""C = A @ B by single-op commands that a programmer places by hand: asynchronous loads of B overlap with the dots."""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def gemm_async_full(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.load(al.ref(a_ptr, (M, K), (K, 1)))
    al.wait(a)
    b = tl.load(al.ref(b_ptr, (K, N), (N, 1)))
    c = tl.dot(a, b, out_dtype=tl.float16)
    tl.store(al.ref(c_ptr, (M, N), (N, 1)), c)


@triton.jit
def gemm_async_tiled(
    a_ptr,
    b_ptr,
    c_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    BLOCK_K: tl.constexpr,
    DEPTH: tl.constexpr,
):
    # The last chunk is shorter where BLOCK_K does not divide K.
    CHUNKS: tl.constexpr = (K + BLOCK_K - 1) // BLOCK_K
    # DEPTH chunks of B are in flight or in use at a time; "all" loads every one before the first dot.
    AHEAD: tl.constexpr = CHUNKS if DEPTH == "all" else min(DEPTH - 1, CHUNKS)

    a = ()
    for i in tl.static_range(CHUNKS):
        size: tl.constexpr = min(BLOCK_K, K - i * BLOCK_K)
        a = a + (tl.load(al.ref(a_ptr + i * BLOCK_K, (M, size), (K, 1))),)
    al.wait(a)

    b = ()
    for i in tl.static_range(AHEAD):
        size: tl.constexpr = min(BLOCK_K, K - i * BLOCK_K)
        b = b + (tl.load(al.ref(b_ptr + i * BLOCK_K * N, (size, N), (N, 1))),)
    for i in tl.static_range(CHUNKS):
        if i + AHEAD < CHUNKS:
            size: tl.constexpr = min(BLOCK_K, K - (i + AHEAD) * BLOCK_K)
            b = b + (tl.load(al.ref(b_ptr + (i + AHEAD) * BLOCK_K * N, (size, N), (N, 1))),)
        product = tl.dot(a[i], b[i], out_dtype=tl.float16)
        if i == 0:
            out = product
        else:
            out = out + product
    tl.store(al.ref(c_ptr, (M, N), (N, 1)), out)
