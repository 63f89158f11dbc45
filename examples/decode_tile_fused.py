"""Decoding with grouped-query attention, each tile of keys written out as two composites. One tile is 4 commands: they
stand between a load and a wait.

The first composite makes the scores. The second begins with the recipe `softmax_merge`, which brings the running
maximum m, sum l and output O up to date and makes the weights; then it adds their product with v to O. `STORE` writes
m, l and O to HBM after the last tile.
"""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def decode_tile_fused(
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
            k = al.ref(k_ptr + start * HEAD_DIM, (HEAD_DIM, TILE), (1, HEAD_DIM))
            v = al.ref(v_ptr + start * HEAD_DIM, (TILE, HEAD_DIM))
            s = al.composite(op="gemm", a=q, b=k)
            al.composite(
                prologue=[{"op": "softmax_merge", "s": s, "m": m, "l": l, "O": O}],
                op="gemm",
                b=v,
                out=O,
                epilogue=[{"op": "add", "other": O}],
            )
    al.wait(O)

    if STORE:
        tl.store(al.ref(m_ptr, (G,)), m)
        tl.store(al.ref(l_ptr, (G,)), l)
        tl.store(al.ref(o_ptr, (G, HEAD_DIM)), O)
