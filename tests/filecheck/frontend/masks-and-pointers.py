# RUN: ahbmc-opt %s --kernel add --arg x=*fp16 --arg y=*fp16 --arg n=i32 --const BLOCK=64 | filecheck %s
# RUN: ahbmc-opt %s --kernel add --arg x=*fp16 --arg y=*fp16 --arg n=i32 --const BLOCK=64 --print-debuginfo | filecheck %s --check-prefix=LOC

# Offsets, masks and the pad value of a load; numbers are constants of the type of what they meet.
import triton
import triton.language as tl


# CHECK-LABEL: func.func @add(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>, %n: i32) attributes {tl.kernel}
# CHECK: %[[PID:.*]] = tl.program_id {axis = 0 : i32}
# CHECK: %[[FIRST:.*]] = arith.muli %[[PID]], %{{.*}} : i32
# CHECK: %[[LANES:.*]] = tl.make_range {start = 0 : i32, end = 64 : i32}
# CHECK: %[[SPLAT:.*]] = tl.splat %[[FIRST]] : i32 -> tensor<64xi32>
# CHECK: %[[OFFS:.*]] = arith.addi %[[SPLAT]], %[[LANES]]
# CHECK: %[[MASK:.*]] = tl.cmp "slt", %[[OFFS]]
# CHECK: %[[ADDRESS:.*]] = tl.addptr %{{.*}}, %[[OFFS]] : tensor<64x!tl.ptr<f16>>, tensor<64xi32>
# CHECK: %[[PAD:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf16>
# CHECK: %[[VALUE:.*]] = tl.load %[[ADDRESS]] mask(%[[MASK]] : tensor<64xi1>) other(%[[PAD]])
# CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<64xf16>
# CHECK: %[[PRODUCT:.*]] = arith.mulf %[[VALUE]], %[[HALF]] : tensor<64xf16>
# CHECK: tl.store %{{.*}}, %[[PRODUCT]] mask(%[[MASK]] : tensor<64xi1>)
# LOC: tl.load {{.*}} loc("{{.*}}masks-and-pointers.py":[[# @LINE + 6]]:9)
# LOC: tl.store {{.*}} loc("{{.*}}masks-and-pointers.py":[[# @LINE + 6]]:5)
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x + offs, mask=mask, other=1.0)
    tl.store(y + offs, v * 0.5, mask=mask)
