# The command `wait` comes only from `al.wait`.

# RUN: ahbmc-opt %s --kernel shows --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s
# RUN: ahbmc-opt %s --kernel breaks --arg x=*fp32 --arg o=*fp32 --const B=32 -p primitive | filecheck %s --check-prefix BREAKS

import ahbmc.language as al
import triton
import triton.language as tl


# `al.wait` is one command.
# CHECK: ahbm.dma_read
# CHECK: ahbm.wait
# CHECK: ahbm.math
@triton.jit
def shows(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    al.wait(v)
    tl.store(o + r, v * 2.0)


# Without it there is none, though the product waits for the load all the same.
# BREAKS: func.func @breaks
# BREAKS-NOT: ahbm.wait
@triton.jit
def breaks(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    tl.store(o + r, v * 2.0)
