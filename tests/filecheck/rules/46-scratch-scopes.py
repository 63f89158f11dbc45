# Blocks made in `with al.scratch_scope():` end with it; a use behind it is an error.

# RUN: ahbmc-opt %s --kernel shows --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s
# RUN: not ahbmc-opt %s --kernel breaks --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive 2>&1 | filecheck %s --check-prefix BREAKS

import ahbmc.language as al
import triton
import triton.language as tl


# What the scope made is gone behind it.
# CHECK: func.func @shows
# CHECK: ahbm.copy
@triton.jit
def shows(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.zeros((B,), tl.float32)
    with al.scratch_scope():
        b = tl.load(x + r)
        al.copy_to(a, b * b)
    tl.store(o + r, a)


# A block of the scope that is used after it.
# BREAKS: [[# @LINE + 9]]:21: error: 'b' has no value here: it was made in the scratch scope of line [[# @LINE + 6]], which has ended
# BREAKS: hint: {{.*}}al.copy_to(dst, src)
@triton.jit
def breaks(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.zeros((B,), tl.float32)
    with al.scratch_scope():
        b = tl.load(x + r)
        al.copy_to(a, b)
    tl.store(o + r, b)
