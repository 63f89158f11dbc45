"""Attention over a whole prompt, without a mask: a program takes BLOCK_M queries and walks over all keys."""

import triton
import triton.language as tl


@triton.jit
def prefill_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    sm_scale,
    S,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)

    q = tl.load(q_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :])
    # K is read transposed, [HEAD_DIM, BLOCK_N]; exp2 takes the scale in base 2. BLOCK_N divides S.
    k_ptrs = k_ptr + offs_n[None, :] * HEAD_DIM + offs_d[:, None]
    v_ptrs = v_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :]
    qk_scale = sm_scale * 1.44269504

    m = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for _ in range(0, S, BLOCK_N):
        qk = tl.dot(q, tl.load(k_ptrs)) * qk_scale
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m = m_new
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    acc = acc / l[:, None]
    tl.store(o_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], acc.to(o_ptr.dtype.element_ty))
