# RUN: ahbmc-opt %s --kernel integers --arg x=*u8 --arg o=*i32 --arg n=i32 --const B=16 | filecheck %s

# The sign of an integer is in the op: the IR's types have none.
import triton
import triton.language as tl


# CHECK-LABEL: func.func @integers(%x: !tl.ptr<i8>
# CHECK: arith.divsi %n, %{{.*}} : i32
# CHECK: arith.remsi %n, %{{.*}} : i32
# CHECK: %[[U:.*]] = tl.load %{{.*}} -> tensor<16xi8>
# CHECK: arith.shrui %[[U]], %{{.*}} : tensor<16xi8>
# CHECK: arith.divui %{{.*}}, %{{.*}} : tensor<16xi8>
# CHECK: tl.cmp "ugt", %[[U]], %{{.*}} : tensor<16xi8>
# CHECK: tl.cast %{{.*}} {unsigned} : tensor<16xi8> -> tensor<16xi32>
# CHECK: tl.cast %{{.*}} {unsigned} : tensor<16xi1> -> tensor<16xi32>
@triton.jit
def integers(x, o, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    q = n // 3
    r = n % 3
    u = tl.load(x + offs)
    v = (u >> 1) // 3
    larger = u > 7
    tl.store(o + offs, v.to(tl.int32) + larger.to(tl.int32) + q + r)
