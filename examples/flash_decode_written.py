"""Decoding with grouped-query attention with composites that are written out: what the passes are to make of the plain
kernel in `flash_decode.py`.
"""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def flash_decode_composites(
    q_ptr, k_ptr, v_ptr, o_ptr, sm_scale, S, G: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr
):
    """The two products as composites, the softmax between them as single-op commands."""
    m = tl.full((G,), -float("inf"), tl.float32)
    l = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, HEAD_DIM), tl.float32)
    q = tl.load(al.ref(q_ptr, (G, HEAD_DIM)))
    qk_scale = sm_scale * 1.44269504
    for start_n in range(0, S, BLOCK_N):
        k = al.ref(k_ptr + start_n * HEAD_DIM, (HEAD_DIM, BLOCK_N), (1, HEAD_DIM))
        v = al.ref(v_ptr + start_n * HEAD_DIM, (BLOCK_N, HEAD_DIM))
        s = al.composite(op="gemm", a=q, b=k, epilogue=[{"op": "scale", "by": qk_scale}])
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        al.composite(op="gemm", a=p.to(tl.float16), b=v, out=acc, epilogue=[{"op": "add", "other": acc}])
        m = m_new
    tl.store(al.ref(o_ptr, (G, HEAD_DIM)), acc / l[:, None])


@triton.jit
def flash_decode_fused(
    q_ptr, k_ptr, v_ptr, o_ptr, sm_scale, S, G: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr
):
    """The softmax as the recipe of the second composite."""
    m = tl.full((G,), -float("inf"), tl.float32)
    l = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, HEAD_DIM), tl.float32)
    q = tl.load(al.ref(q_ptr, (G, HEAD_DIM)))
    qk_scale = sm_scale * 1.44269504
    for start_n in range(0, S, BLOCK_N):
        k = al.ref(k_ptr + start_n * HEAD_DIM, (HEAD_DIM, BLOCK_N), (1, HEAD_DIM))
        v = al.ref(v_ptr + start_n * HEAD_DIM, (BLOCK_N, HEAD_DIM))
        with al.scratch_scope():
            s = al.composite(op="gemm", a=q, b=k, epilogue=[{"op": "scale", "by": qk_scale}])
            al.composite(
                prologue=[{"op": "softmax_merge", "base": "2", "s": s, "m": m, "l": l, "O": acc}],
                op="gemm",
                b=v,
                out=acc,
                epilogue=[{"op": "add", "other": acc}],
            )
    tl.store(al.ref(o_ptr, (G, HEAD_DIM)), acc / l[:, None])


@triton.jit
def flash_decode_ahead(
    q_ptr, k_ptr, v_ptr, o_ptr, sm_scale, S, G: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr
):
    """As `flash_decode_fused`, but k and v are loaded, and the next scores made, one tile ahead."""
    m = tl.full((G,), -float("inf"), tl.float32)
    l = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, HEAD_DIM), tl.float32)
    q = tl.load(al.ref(q_ptr, (G, HEAD_DIM)))
    qk_scale = sm_scale * 1.44269504
    k = tl.load(al.ref(k_ptr, (HEAD_DIM, BLOCK_N), (1, HEAD_DIM)))
    v = tl.load(al.ref(v_ptr, (BLOCK_N, HEAD_DIM)))
    s = al.composite(op="gemm", a=q, b=k, epilogue=[{"op": "scale", "by": qk_scale}])
    for start_n in range(BLOCK_N, S, BLOCK_N):
        k = tl.load(al.ref(k_ptr + start_n * HEAD_DIM, (HEAD_DIM, BLOCK_N), (1, HEAD_DIM)))
        next_v = tl.load(al.ref(v_ptr + start_n * HEAD_DIM, (BLOCK_N, HEAD_DIM)))
        next_s = al.composite(op="gemm", a=q, b=k, epilogue=[{"op": "scale", "by": qk_scale}])
        al.composite(
            prologue=[{"op": "softmax_merge", "base": "2", "s": s, "m": m, "l": l, "O": acc}],
            op="gemm",
            b=v,
            out=acc,
            epilogue=[{"op": "add", "other": acc}],
        )
        s, v = next_s, next_v
    al.composite(
        prologue=[{"op": "softmax_merge", "base": "2", "s": s, "m": m, "l": l, "O": acc}],
        op="gemm",
        b=v,
        out=acc,
        epilogue=[{"op": "add", "other": acc}],
    )
    tl.store(al.ref(o_ptr, (G, HEAD_DIM)), acc / l[:, None])
