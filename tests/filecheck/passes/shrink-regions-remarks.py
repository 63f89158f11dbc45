# RUN: ahbmc-opt %s --arg x=*fp32 --arg y=*fp32 --arg n=i32 -p canonicalize,cse,raise-regions,shrink-regions | filecheck %s
import triton
import triton.language as tl


# Numbers of rows that are let go are no block of indices any more: what is said of the first load is that it is strided.
# The other one is still gathered.
# CHECK-NOT: "gathered"
# CHECK: outcome = "strided", reason = "", loc = loc("{{[^"]*}}":18:9)
# CHECK: outcome = "gathered", reason = "axis 0 goes by a block of indices", loc = loc("{{[^"]*}}":19:9)
# CHECK-NOT: "gathered"
# CHECK: outcome = "shrunk", reason = "", loc = loc("{{[^"]*}}":18:9)
# CHECK-LABEL: func.func @held
@triton.jit
def held(x, y, n):
    r = tl.arange(0, 32)
    rows = tl.where(r < n, r, 0)[:, None] * 32
    a = tl.load(x + rows + r[None, :])
    b = tl.load(x + tl.where(r < n - 1, r, 0)[:, None] * 32 + r[None, :])
    tl.store(y + r[:, None] * 32 + r[None, :], a + b, mask=r[:, None] < n)
