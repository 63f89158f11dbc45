"""Decoding with grouped-query attention, tile by tile, as a plain Triton kernel: what `decode_tile_primitive.py` and
`decode_tile_fused.py` write out for one tile is left to the passes.

The running maximum m, sum l and output O are stored as they are after the last tile.
"""

import triton
import triton.language as tl


@triton.jit
def decode_tile(
    q_ptr, k_ptr, v_ptr, m_ptr, l_ptr, o_ptr, S, G: tl.constexpr, TILE: tl.constexpr, HEAD_DIM: tl.constexpr
):
    rows = tl.arange(0, G)
    lanes = tl.arange(0, HEAD_DIM)
    m = tl.full([G], -float("inf"), tl.float32)
    l = tl.zeros([G], tl.float32)
    O = tl.zeros([G, HEAD_DIM], tl.float32)

    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + lanes[None, :])
    for start in range(0, S, TILE):
        keys = start + tl.arange(0, TILE)
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + lanes[:, None])
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + lanes[None, :])
        s = tl.dot(q, k)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        of_state = tl.exp(m - m_new)
        l = l * of_state + tl.sum(p, 1)
        O = tl.dot(p.to(v.dtype), v, O * of_state[:, None])
        m = m_new

    tl.store(m_ptr + rows, m)
    tl.store(l_ptr + rows, l)
    tl.store(o_ptr + rows[:, None] * HEAD_DIM + lanes[None, :], O)
