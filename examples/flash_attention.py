"""Attention forward of one head with online softmax: a program takes BLOCK_M queries and walks over the keys, BLOCK_N
at a time.
"""

import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    sm_scale,
    stride_qm,
    stride_kn,
    stride_vn,
    stride_om,
    S,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start_m = tl.program_id(0)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)

    q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=offs_m[:, None] < S, other=0.0)
    # K is read transposed, [HEAD_DIM, BLOCK_N]; exp2 takes the scale in base 2.
    k_ptrs = k_ptr + offs_n[None, :] * stride_kn + offs_d[:, None]
    v_ptrs = v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :]
    qk_scale = sm_scale * 1.44269504

    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)

    end_n = S
    if CAUSAL:
        end_n = min((start_m + 1) * BLOCK_M, S)
    for start_n in range(0, end_n, BLOCK_N):
        k = tl.load(k_ptrs, mask=(start_n + offs_n)[None, :] < S, other=0.0)
        qk = tl.dot(q, k) * qk_scale
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= (start_n + offs_n)[None, :], qk, -float("inf"))
        else:
            qk = tl.where((start_n + offs_n)[None, :] < S, qk, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs, mask=(start_n + offs_n)[:, None] < S, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn

    acc = acc / l_i[:, None]
    o_ptrs = o_ptr + offs_m[:, None] * stride_om + offs_d[None, :]
    tl.store(o_ptrs, acc.to(o_ptr.dtype.element_ty), mask=offs_m[:, None] < S)
