"""Decoding with grouped-query attention: the G query heads of one KV head are the rows of one block, so that K and V
are read once for all of them.
"""

import triton
import triton.language as tl


@triton.jit
def flash_decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    sm_scale,
    S,
    G: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_N: tl.constexpr,
):
    kv_head = tl.program_id(0)
    offs_g = kv_head * G + tl.arange(0, G)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)

    q = tl.load(q_ptr + offs_g[:, None] * HEAD_DIM + offs_d[None, :])
    # K is read transposed, [HEAD_DIM, BLOCK_N]; exp2 takes the scale in base 2.
    k_ptrs = k_ptr + kv_head * S * HEAD_DIM + offs_n[None, :] * HEAD_DIM + offs_d[:, None]
    v_ptrs = v_ptr + kv_head * S * HEAD_DIM + offs_n[:, None] * HEAD_DIM + offs_d[None, :]
    qk_scale = sm_scale * 1.44269504

    m = tl.full([G], -float("inf"), dtype=tl.float32)
    l = tl.zeros([G], dtype=tl.float32)
    acc = tl.zeros([G, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, S, BLOCK_N):
        if EVEN_N:
            k = tl.load(k_ptrs)
            v = tl.load(v_ptrs)
        else:
            k = tl.load(k_ptrs, mask=(start_n + offs_n)[None, :] < S, other=0.0)
            v = tl.load(v_ptrs, mask=(start_n + offs_n)[:, None] < S, other=0.0)
        qk = tl.dot(q, k) * qk_scale
        if not EVEN_N:
            qk = tl.where((start_n + offs_n)[None, :] < S, qk, -float("inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m = m_new
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    acc = acc / l[:, None]
    tl.store(o_ptr + offs_g[:, None] * HEAD_DIM + offs_d[None, :], acc.to(o_ptr.dtype.element_ty))
