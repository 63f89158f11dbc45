"""Decoding with grouped-query attention, tiled by hand into products of 16 x 16 x 16 as for a matrix unit of that size:
a step takes 16 keys, and every block of 16 x 16 is loaded and multiplied by a command of its own.
"""

import triton
import triton.language as tl


@triton.jit
def flash_decode_tiled_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, sm_scale, S, G: tl.constexpr, HEAD_DIM: tl.constexpr, TILE: tl.constexpr
):
    CHUNKS: tl.constexpr = HEAD_DIM // TILE
    offs = tl.arange(0, TILE)
    rows = offs < G  # G heads are padded to a tile
    qk_scale = sm_scale * 1.44269504

    q = ()
    acc = ()
    for i in tl.static_range(CHUNKS):
        q_ptrs = q_ptr + offs[:, None] * HEAD_DIM + i * TILE + offs[None, :]
        q = q + (tl.load(q_ptrs, mask=rows[:, None], other=0.0),)
        acc = acc + (tl.zeros([TILE, TILE], dtype=tl.float32),)
    m = tl.full([TILE], -float("inf"), dtype=tl.float32)
    l = tl.zeros([TILE], dtype=tl.float32)
    for start in range(0, S, TILE):
        qk = tl.zeros([TILE, TILE], dtype=tl.float32)
        for i in tl.static_range(CHUNKS):
            # K is read transposed.
            k = tl.load(k_ptr + (start + offs)[None, :] * HEAD_DIM + i * TILE + offs[:, None])
            qk = tl.dot(q[i], k, qk)
        qk = qk * qk_scale
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        p = p.to(v_ptr.dtype.element_ty)
        new = ()
        for i in tl.static_range(CHUNKS):
            v = tl.load(v_ptr + (start + offs)[:, None] * HEAD_DIM + i * TILE + offs[None, :])
            new = new + (tl.dot(p, v, acc[i] * alpha[:, None]),)
        acc = new
        m = m_new
    for i in tl.static_range(CHUNKS):
        o_ptrs = o_ptr + offs[:, None] * HEAD_DIM + i * TILE + offs[None, :]
        tl.store(o_ptrs, (acc[i] / l[:, None]).to(o_ptr.dtype.element_ty), mask=rows[:, None])
