# A cast is one math command, unless it is the output conversion of a composite: the only use of its product, stored
# in HBM.

# RUN: ahbmc-opt %s --kernel shows --arg a=*fp16 --arg b=*fp16 --arg o=*fp16 --arg p=*fp32 --const B=64 -p composite | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg a=*fp16 --arg b=*fp16 --arg o=*fp16 --arg p=*fp32 --const B=64 -p composite | filecheck %s --check-prefix BREAKS

import triton
import triton.language as tl


# The composite stores fp16 itself.
# CHECK: ahbm.composite({{.*}} !ahbm.region<f16, 2>) extents
# CHECK-NOT: ahbm.math "cast"
@triton.jit
def shows(a, b, o, p, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc = tl.dot(tl.load(a + at), tl.load(b + at))
    tl.store(o + at, acc.to(tl.float16))


# The product has a second user, so the cast is a command.
# BREAKS: ahbm.composite({{.*}} !ahbm.buffer<64x64xf32, tcm>) extents
# BREAKS: ahbm.math "cast"
@triton.jit
def breaks(a, b, o, p, B: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc = tl.dot(tl.load(a + at), tl.load(b + at))
    tl.store(o + at, acc.to(tl.float16))
    tl.store(p + at, acc)
