"""Decoding with grouped-query attention, each tile of keys written out as single-op commands. One tile is 23 of them.

The softmax of a tile joins the running maximum m, sum l and output O, which stay in TCM; `STORE` writes them to HBM
after the last tile.
"""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def decode_tile_primitive(
    q_ptr,
    k_ptr,
    v_ptr,
    m_ptr,
    l_ptr,
    o_ptr,
    S,
    G: tl.constexpr,
    TILE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    STORE: tl.constexpr,
):
    m = tl.full((G,), -float("inf"), tl.float32)
    l = tl.zeros((G,), tl.float32)
    O = tl.zeros((G, HEAD_DIM), tl.float32)
    q = tl.load(al.ref(q_ptr, (G, HEAD_DIM)))
    for start in range(0, S, TILE):
        with al.scratch_scope():
            k = tl.load(al.ref(k_ptr + start * HEAD_DIM, (HEAD_DIM, TILE), (1, HEAD_DIM)))
            v = tl.load(al.ref(v_ptr + start * HEAD_DIM, (TILE, HEAD_DIM)))
            # The softmax of this tile alone ...
            s = tl.dot(q, k)
            m_tile = tl.max(s, 1)
            p = tl.exp(s - m_tile[:, None])
            l_tile = tl.sum(p, 1)
            o_tile = tl.dot(p, v)
            # ... joins what the tiles before it have left.
            m_new = tl.maximum(m, m_tile)
            of_state = tl.exp(m - m_new)
            of_tile = tl.exp(m_tile - m_new)
            al.copy_to(l, l * of_state + l_tile * of_tile)
            al.copy_to(O, O * of_state[:, None] + o_tile * of_tile[:, None])
            al.copy_to(m, m_new)

    if STORE:
        tl.store(al.ref(m_ptr, (G,)), m)
        tl.store(al.ref(l_ptr, (G,)), l)
        tl.store(al.ref(o_ptr, (G, HEAD_DIM)), O)
