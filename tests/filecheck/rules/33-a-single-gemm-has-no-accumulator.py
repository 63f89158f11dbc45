# A single-op GEMM has no accumulator operand: `dot(a, b, acc)` is a gemm and a math add under `primitive`.

# RUN: ahbmc-opt %s --kernel shows --arg a=*fp16 --arg b=*fp16 --arg c=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg a=*fp16 --arg b=*fp16 --arg c=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s --check-prefix BREAKS

import triton
import triton.language as tl


# One product and one sum.
# CHECK: ahbm.gemm
# CHECK: ahbm.math "add"
@triton.jit
def shows(a, b, c, o, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc = tl.load(c + at)
    acc = tl.dot(tl.load(a + at), tl.load(b + at), acc)
    tl.store(o + at, acc)


# Without an accumulator there is no sum.
# BREAKS: ahbm.gemm
# BREAKS-NOT: ahbm.math
@triton.jit
def breaks(a, b, c, o, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc = tl.dot(tl.load(a + at), tl.load(b + at))
    tl.store(o + at, acc)
