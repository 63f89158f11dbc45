# RUN: ahbmc-opt %s --kernel streamed --arg x=*fp16 --arg y=*fp16 --arg stride=i32 | filecheck %s
# RUN: ahbmc-opt %s --kernel blocks --arg x=*fp16 --arg y=*fp16 --arg n=i32 | filecheck %s --check-prefix=BLOCK

# AHBM's own functions: regions of any size, waits, cycles and a copy that rebinds its destination.
import triton
import triton.language as tl
from ahbmc import language as al


# CHECK-LABEL: func.func @streamed
# CHECK: %[[STRIDE:.*]] = tl.cast %stride : i32 -> i64
# CHECK: %[[R:.*]] = ahbm.region %x[%{{.*}}] sizes(%{{.*}}, %{{.*}}) strides(%[[STRIDE]], %{{.*}}) lo(%{{.*}}) hi(%{{.*}})
# CHECK: %[[A:.*]] = tl.load_region %[[R]] : !ahbm.region<f16, 2> -> tensor<24x33xf16>
# CHECK: tl.wait %[[A]]
# CHECK: tl.cycles {cycles = 12 : i64}
# CHECK: %[[B:.*]] = tl.copy_to %[[A]], %{{.*}} : tensor<24x33xf16>, tensor<24x33xf16>
# CHECK: tl.store_region %{{.*}}, %[[B]] : !ahbm.region<f16, 2>, tensor<24x33xf16>
@triton.jit
def streamed(x, y, stride):
    a = tl.load(al.ref(x, (24, 33), (stride, 1)))
    al.wait(a)
    al.cycles(12)
    b = tl.zeros((24, 33), tl.float16)
    al.copy_to(b, a)
    tl.store(al.ref(y, (24, 33)), b)


# A block pointer becomes pointers and a mask of the axes that are checked; what a loop carries of it is its offset.
# BLOCK-LABEL: func.func @blocks
# BLOCK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %acc, %[[OFFSET:.*]] = %{{.*}}) -> (tensor<16x32xf32>, i64) : i32
# BLOCK: tl.cmp "sge"
# BLOCK: tl.cmp "slt"
# BLOCK: tl.load %{{.*}} mask(%{{.*}} : tensor<16x32xi1>)
# BLOCK: arith.addi %[[OFFSET]], %{{.*}} : i64
@triton.jit
def blocks(x, y, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 32), (1, 0))
    acc = tl.zeros((16, 32), tl.float32)
    for _ in range(0, n, 32):
        acc += tl.load(p, boundary_check=(1,), padding_option="zero")
        p = tl.advance(p, (0, 32))
    q = tl.make_block_ptr(y, (n, n), (n, 1), (0, 0), (16, 32), (1, 0))
    tl.store(q, acc.to(tl.float16), boundary_check=(0, 1))
