# RUN: ahbmc-opt %s --kernel merged --arg x=*fp32 --arg n=i32 | filecheck %s
# RUN: ahbmc-opt %s --kernel returned --arg x=*fp32 --arg n=i32 | filecheck %s --check-prefix=RET
# RUN: ahbmc-opt %s --kernel chosen --arg x=*fp32 --arg n=i32 --const MODE=fast | filecheck %s --check-prefix=CONST
# RUN: ahbmc-opt %s --kernel selected --arg x=*fp32 --arg n=i32 | filecheck %s --check-prefix=SELECT

# Names that differ come out of a run-time `if`; what both branches share does not.
import triton
import triton.language as tl


# CHECK-LABEL: func.func @merged
# CHECK: %[[P:.*]], %[[V:.*]] = scf.if %{{.*}} -> (!tl.ptr<f32>, i32)
# CHECK: scf.yield %{{.*}}, %{{.*}} : !tl.ptr<f32>, i32
# CHECK: } else {
# CHECK: scf.yield %x, %n : !tl.ptr<f32>, i32
# CHECK: tl.load %[[P]]
@triton.jit
def merged(x, n):
    shared = n + 1
    if n > 3:
        p = x + 1
        v = 2
    else:
        p = x
        v = n
    tl.store(x, tl.load(p) * v + shared)


# What follows an early return runs in the other branch.
# RET-LABEL: func.func @returned
# RET: scf.if %{{.*}} {
# RET-NEXT: } else {
# RET: tl.store
# RET: }
# RET-NEXT: func.return
@triton.jit
def returned(x, n):
    if tl.program_id(0) >= n:
        return
    tl.store(x, 1.0)


# Of a branch known at compile time only one side is looked at.
# CONST-LABEL: func.func @chosen
# CONST-NOT: scf.if
# CONST: tl.store
@triton.jit
def chosen(x, n, MODE: tl.constexpr):
    if MODE == "fast":
        v = n
    else:
        v = undefined_elsewhere  # noqa: F821
    tl.store(x, v)


# A choice between scalars without effects is a select, so that addresses stay visible; a load is not moved out of its branch.
# SELECT-LABEL: func.func @selected
# SELECT: tl.select %{{.*}}, %n, %{{.*}} : i1, i32, i32 -> i32
# SELECT: scf.if %{{.*}} -> (f32)
# SELECT: tl.load
@triton.jit
def selected(x, n):
    a = n if n < 7 else 7
    b = tl.load(x + a) if a > 3 else 0.0
    tl.store(x, b)
