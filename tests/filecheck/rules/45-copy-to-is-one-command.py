# `al.copy_to` is one `copy` command into a block that is there; an assignment copies nothing.

# RUN: ahbmc-opt %s --kernel shows --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s --check-prefix BREAKS

import ahbmc.language as al
import triton
import triton.language as tl


# The copy is one command.
# CHECK: ahbm.math "exp"
# CHECK: ahbm.copy %{{.*}}, %[[A:[0-9a-z]+]]
# CHECK: ahbm.dma_write %[[A]],
@triton.jit
def shows(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    al.copy_to(a, tl.exp(a))
    tl.store(o + r, a)


# An assignment is a name for the value, and copies nothing.
# BREAKS: ahbm.math "exp"
# BREAKS-NOT: ahbm.copy
@triton.jit
def breaks(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    a = tl.exp(a)
    tl.store(o + r, a)
