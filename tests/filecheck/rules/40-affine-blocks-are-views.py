# Every block whose value is affine in its indices is a view; the analysis decides it, not the names of ops.

# RUN: ahbmc-opt %s --kernel shows --arg x=*fp32 --arg o=*fp32 --arg start=i32 --const B=32 -p primitive | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg x=*fp32 --arg o=*fp32 --arg start=i32 --const B=32 -p primitive | filecheck %s --check-prefix BREAKS

import triton
import triton.language as tl


# Index arithmetic that stays affine is no command; the mask and the values that come of it are.
# CHECK: func.func @shows
# CHECK-NOT: ahbm.math "addi"
# CHECK-NOT: ahbm.math "muli"
# CHECK: ahbm.math "select"
@triton.jit
def shows(x, o, start, B: tl.constexpr):
    r = tl.arange(0, B)
    rows = (start + r)[:, None] * 2
    columns = r[None, :] + 5
    v = tl.load(x + r[:, None] * B + r[None, :])
    tl.store(o + r[:, None] * B + r[None, :], tl.where(rows >= columns, v, 0.0))


# The product of two indices is affine in neither.
# BREAKS: func.func @breaks
# BREAKS: ahbm.math "muli"
# BREAKS: ahbm.math "select"
@triton.jit
def breaks(x, o, start, B: tl.constexpr):
    r = tl.arange(0, B)
    rows = (start + r)[:, None] * r[None, :]
    columns = r[None, :] + 5
    v = tl.load(x + r[:, None] * B + r[None, :])
    tl.store(o + r[:, None] * B + r[None, :], tl.where(rows >= columns, v, 0.0))
