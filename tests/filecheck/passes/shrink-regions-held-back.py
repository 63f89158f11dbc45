# RUN: ahbmc-opt %s --kernel held --arg a=*fp32 --arg c=*fp32 --arg m=i32 --const B=16 -p canonicalize,cse,raise-regions,shrink-regions,canonicalize,cse | filecheck %s
# RUN: ahbmc-opt %s --kernel wanted --arg a=*fp32 --arg c=*fp32 --arg m=i32 --const B=16 -p canonicalize,cse,raise-regions,shrink-regions,canonicalize,cse | filecheck %s --check-prefix=WANTED

# Numbers that are held back within the tensor, on lanes that the store masks off or on lanes that it wants.
import triton
import triton.language as tl


# Changes: both loads go by affine numbers again, and end where the store does.
# CHECK-LABEL: func.func @held
# CHECK: %[[X:.*]] = ahbm.region %a[{{.*}}] {{.*}} strides(%[[TWO:.*]]) lo({{.*}}) hi(%[[M:.*]]) {axes = ["affine"]}
# CHECK: tl.load_region %[[X]]
# CHECK: %[[Y:.*]] = ahbm.region %a[{{.*}}] {{.*}} strides(%[[THREE:.*]]) lo({{.*}}) hi(%[[M]]) {axes = ["affine"]}
# CHECK: tl.load_region %[[Y]]
# CHECK: ahbm.region %c[{{.*}}] {{.*}} hi(%[[M]]) {axes = ["affine"]}
@triton.jit
def held(a, c, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(a + tl.where(i < m, i, 0) * 2)
    y = tl.load(a + tl.minimum(i, m - 1) * 3)
    tl.store(c + i, x + y, mask=i < m)


# Leaves alone: the store wants one lane more than the numbers are free for.
# WANTED-LABEL: func.func @wanted
# WANTED: ahbm.region %a[{{.*}}] {{.*}} index({{.*}}) {axes = ["indexed"]}
@triton.jit
def wanted(a, c, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(a + tl.minimum(i, m - 1) * 2)
    tl.store(c + i, x, mask=i < m + 1)
