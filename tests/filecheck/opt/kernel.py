# RUN: ahbmc-opt %s --kernel scale --arg x_ptr=*fp16 --arg n=i32 --const BLOCK=64 --machine ahbm-2sip | filecheck %s
# RUN: ahbmc-opt %s --kernel scale --arg x_ptr=*fp16 --arg n=i32 --const BLOCK=64 --print-debuginfo | filecheck %s --check-prefix=LOC
# RUN: not ahbmc-opt %s --arg x_ptr=*fp16 2>&1 | filecheck %s --check-prefix=WHICH
# RUN: not ahbmc-opt %s --kernel scale --arg x_ptr=*half --arg n=i32 --const BLOCK=64 2>&1 | filecheck %s --check-prefix=TYPE

# A kernel is input: types and constants come from flags, and every op has its place in the file.
import triton
import triton.language as tl


# CHECK: ahbm.machine = "ahbm-2sip"
# CHECK: func.func @scale(%x_ptr: !tl.ptr<f16>, %n: i32)
# CHECK: tl.make_range {start = 0 : i32, end = 64 : i32}
# CHECK: tl.load
# CHECK: tl.store
# LOC: tl.load {{.*}} loc("{{.*}}kernel.py":[[# @LINE + 6]]:
# TYPE: error: `*half` is no type; allowed: {{.*}}fp16
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(x_ptr + offs, x * 2.0, mask=mask)


# Of two kernels one must be named.
# WHICH: error: {{.*}}kernel.py has 2 kernels: scale, other
@triton.jit
def other(x_ptr):
    tl.store(x_ptr, 1.0)
