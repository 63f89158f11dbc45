# A recipe is matched on the data flow, never on the order of ops; one op altered must not match.

# RUN: ahbmc-opt %s --kernel shows --arg q=*fp16 --arg k=*fp16 --arg v=*fp16 --arg o=*fp32 --arg steps=i32 --const B=64 -p fused | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg q=*fp16 --arg k=*fp16 --arg v=*fp16 --arg o=*fp32 --arg steps=i32 --const B=64 -p fused | filecheck %s --check-prefix BREAKS

import triton
import triton.language as tl


# The merge of one block of scores: the rows of `softmax_merge` and its GEMM.
# CHECK: #ahbm.spec<"exp_diff", once, {{.*}} #ahbm.spec<"gemm", k_tile
@triton.jit
def shows(q, k, v, o, steps, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    x = tl.load(q + at)
    m = tl.full([B], -float("inf"), tl.float32)
    l = tl.zeros([B], tl.float32)
    acc = tl.zeros([B, B], tl.float32)
    for i in range(steps):
        s = tl.dot(x, tl.load(k + i * B * B + at))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        corr = tl.exp(m - new)
        l = l * corr + tl.sum(p, 1)
        acc = acc * corr[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + i * B * B + at), acc)
        m = new
    tl.store(o + at, acc / l[:, None])


# The correction of the sum has its difference turned round: no recipe.
# BREAKS: ahbm.composite
# BREAKS-NOT: "exp_diff", once
@triton.jit
def breaks(q, k, v, o, steps, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    x = tl.load(q + at)
    m = tl.full([B], -float("inf"), tl.float32)
    l = tl.zeros([B], tl.float32)
    acc = tl.zeros([B, B], tl.float32)
    for i in range(steps):
        s = tl.dot(x, tl.load(k + i * B * B + at))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        corr = tl.exp(m - new)
        l = l * tl.exp(new - m) + tl.sum(p, 1)
        acc = acc * corr[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + i * B * B + at), acc)
        m = new
    tl.store(o + at, acc / l[:, None])
