"""One tile of decoding with grouped-query attention, written out as single-op commands: 23 of them.

The softmax of the tile joins the running maximum m, sum l and output O, which stay in TCM. `STATE_IN_HBM` reads them
from HBM first and writes them back, which is six commands more.
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
    G: tl.constexpr,
    TILE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    STATE_IN_HBM: tl.constexpr,
):
    if STATE_IN_HBM:
        m = tl.load(al.ref(m_ptr, (G,)))
        l = tl.load(al.ref(l_ptr, (G,)))
        O = tl.load(al.ref(o_ptr, (G, HEAD_DIM)))
    else:
        m = tl.full((G,), -float("inf"), tl.float32)
        l = tl.zeros((G,), tl.float32)
        O = tl.zeros((G, HEAD_DIM), tl.float32)

    with al.scratch_scope():
        q = tl.load(al.ref(q_ptr, (G, HEAD_DIM)))
        k = tl.load(al.ref(k_ptr, (HEAD_DIM, TILE), (1, HEAD_DIM)))
        v = tl.load(al.ref(v_ptr, (TILE, HEAD_DIM)))
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

    if STATE_IN_HBM:
        tl.store(al.ref(m_ptr, (G,)), m)
        tl.store(al.ref(l_ptr, (G,)), l)
        tl.store(al.ref(o_ptr, (G, HEAD_DIM)), O)
