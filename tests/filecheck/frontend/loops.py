# RUN: ahbmc-opt %s --kernel carried --arg x=*fp32 --arg n=i32 --const BLOCK=16 | filecheck %s
# RUN: ahbmc-opt %s --kernel backward --arg x=*fp32 --arg n=i32 | filecheck %s --check-prefix=BACK
# RUN: ahbmc-opt %s --kernel unrolled --arg x=*fp32 --const DEPTH=3 | filecheck %s --check-prefix=UNROLL
# RUN: ahbmc-opt %s --kernel repeated --arg x=*fp32 --arg n=i32 | filecheck %s --check-prefix=WHILE

# What a loop changes is carried, and nothing else.
import triton
import triton.language as tl


# CHECK-LABEL: func.func @carried
# CHECK: scf.for %i = %{{.*}} to %n step %{{.*}} iter_args(%{{.*}} = %acc, %{{.*}} = %{{.*}}) -> (tensor<16xf32>, tensor<16x!tl.ptr<f32>>) : i32
# CHECK: scf.yield %{{.*}}, %{{.*}} : tensor<16xf32>, tensor<16x!tl.ptr<f32>>
@triton.jit
def carried(x, n, BLOCK: tl.constexpr):
    ptrs = x + tl.arange(0, BLOCK)
    same = n + 1
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n, BLOCK):
        same = same
        local = tl.load(ptrs)
        acc += local
        ptrs += BLOCK + i * 0
    tl.store(x + tl.arange(0, BLOCK), acc * same)


# A negative step is turned round here: a loop of constant bounds would look empty to the passes.
# BACK-LABEL: func.func @backward
# BACK: %[[ONE:.*]] = arith.constant 1 : i32
# BACK: %[[FIRST:.*]] = arith.subi %n, %[[ONE]] : i32
# BACK: %[[SPAN:.*]] = arith.subi %[[FIRST]], %{{.*}} : i32
# BACK: scf.for %[[T:.*]] = %{{.*}} to %[[SPAN]] step %{{.*}} : i32
# BACK: arith.subi %[[FIRST]], %[[T]] : i32
@triton.jit
def backward(x, n):
    for i in range(n - 1, -1, -2):
        tl.store(x + i, 1.0)


# UNROLL-LABEL: func.func @unrolled
# UNROLL-NOT: scf.for
# UNROLL-COUNT-3: tl.load
# UNROLL-NOT: tl.load
# UNROLL: arith.addf %[[SUM:.*]], %{{.*}} : f32
# UNROLL: tl.store
@triton.jit
def unrolled(x, DEPTH: tl.constexpr):
    chunks = ()
    for i in tl.static_range(DEPTH):
        chunks = chunks + (tl.load(x + i),)
    total = 0.0
    for i in tl.static_range(len(chunks)):
        total += chunks[i]
    tl.store(x, total)


# WHILE-LABEL: func.func @repeated
# WHILE: scf.while (%[[A:.*]] = %{{.*}}) : (i32) -> i32
# WHILE: %[[C:.*]] = tl.cmp "slt", %[[A]], %n
# WHILE: scf.condition(%[[C]]) %[[A]] : i32
# WHILE: scf.yield %{{.*}} : i32
@triton.jit
def repeated(x, n):
    i = 1
    while i < n:
        i = i * 2
    tl.store(x, i)
