# RUN: ahbmc-opt %s --kernel streamed --arg x=*fp16 --arg w=*fp16 --arg y=*fp16 | filecheck %s
# RUN: ahbmc-opt %s --kernel streamed --arg x=*fp16 --arg w=*fp16 --arg y=*fp16 -p fused | filecheck %s --check-prefix=FUSED
# RUN: ahbmc-opt %s --kernel streamed --arg x=*fp16 --arg w=*fp16 --arg y=*fp16 -p primitive | filecheck %s --check-prefix=FUSED
# RUN: ahbmc-opt %s --kernel in_place --arg x=*fp16 --arg w=*fp16 --arg y=*fp32 | filecheck %s --check-prefix=PLACE
# RUN: ahbmc-opt %s --kernel in_place --arg x=*fp16 --arg w=*fp16 --arg y=*fp32 -p auto | filecheck %s --check-prefix=AUTO
# RUN: ahbmc-opt %s --kernel unread --arg x=*fp32 -p fused | filecheck %s --check-prefix=UNREAD

# RUN: ahbmc-opt %s --kernel merged --arg x=*fp16 --arg w=*fp16 --arg y=*fp32 | filecheck %s --check-prefix=MERGE
# RUN: ahbmc-opt %s --kernel merged --arg x=*fp16 --arg w=*fp16 --arg y=*fp32 -p auto | filecheck %s --check-prefix=ROWS
# RUN: ahbmc-opt %s --kernel at_end --arg x=*fp32 -p fused | filecheck %s --check-prefix=END

# Composites that are written out: what they compute is their body, and every pipeline issues them as they stand.
import triton
import triton.language as tl
from ahbmc import language as al


# A block and a region, an output in HBM: the number that an op takes is made ready outside, the conversion is the last op.
# CHECK-LABEL: func.func @streamed
# CHECK: %[[A:.*]] = tl.load_region
# CHECK: %[[TWO:.*]] = arith.constant dense<2.0
# CHECK: tl.composite(%[[X:.*]] = %[[A]] : tensor<24x40xf16>, %[[W:.*]] = %{{.*}} : !ahbm.region<f16, 2>, %[[S:.*]] = %[[TWO]] : tensor<24x56xf32>, %[[Y:.*]] = %{{.*}} : !ahbm.region<f16, 2>) attributes {stage = "none", as_written} {
# CHECK-NEXT: %[[P:.*]] = tl.gemm %[[X]], %[[W]]
# CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[P]], %[[S]]
# CHECK-NEXT: %[[H:.*]] = tl.cast %[[Q]] : tensor<24x56xf32> -> tensor<24x56xf16>
# CHECK-NEXT: tl.store_region %[[Y]], %[[H]]
# CHECK-NEXT: tl.yield
# What is done to the output by the plain op before is not drawn into it, and the load stays staged.
# FUSED-LABEL: func.func @streamed
# FUSED: ahbm.dma_read
# FUSED: ahbm.composite
# FUSED-SAME: [#ahbm.spec<"gemm", k_tile, [0, 1], 3>, #ahbm.spec<"mul", output_tile, [-1, 2], 3>], writes = array<i64: 3>
# FUSED: pe.dma_read {part = 1 : i64}
# FUSED-NOT: ahbm.composite
@triton.jit
def streamed(x, w, y):
    a = tl.load(al.ref(x, (24, 40)))
    out = al.ref(y, (24, 56))
    al.composite(op="gemm", a=a, b=al.ref(w, (40, 56)), out=out, epilogue=[{"op": "scale", "by": 2.0}])


# The block is written in place and its name goes on with what is in it: one buffer, and no op joins the composite.
# PLACE-LABEL: func.func @in_place
# PLACE: scf.for {{.*}} iter_args(%[[C:.*]] = %c) -> (tensor<24x56xf32>)
# PLACE: %[[D:.*]] = tl.composite({{.*}} %[[I:.*]] = %[[C]] : tensor<24x56xf32>) attributes {stage = "none", as_written} -> tensor<24x56xf32> {
# PLACE: %[[SUM:.*]] = arith.addf %{{.*}}, %[[I]]
# PLACE-NEXT: %[[R:.*]] = tl.copy_to %[[SUM]], %[[I]]
# PLACE-NEXT: tl.yield %[[R]]
# PLACE: scf.yield %[[D]]
# AUTO-LABEL: func.func @in_place
# AUTO: ahbm.fill %c
# AUTO: scf.for
# AUTO-NOT: iter_args
# AUTO: ahbm.composite(%{{.*}}, %{{.*}}, %c : {{.*}}) extents({{.*}}) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>, as_written}
# AUTO-NOT: ahbm.copy
@triton.jit
def in_place(x, w, y):
    c = tl.zeros((24, 56), tl.float32)
    for i in range(3):
        step = al.ref(x + i, (24, 40), (48, 1))
        al.composite(op="gemm", a=step, b=al.ref(w, (40, 56)), out=c, epilogue=[{"op": "add", "other": c}])
    tl.store(al.ref(y, (24, 56)), tl.exp(c))


# What nobody reads is issued too, and the same thing twice is two commands.
# UNREAD-LABEL: func.func @unread
# UNREAD-COUNT-2: ahbm.composite
# UNREAD-NOT: ahbm.composite
@triton.jit
def unread(x):
    a = tl.load(al.ref(x, (24, 40)))
    al.composite(op="math", a=a, epilogue=[{"op": "exp"}])
    al.composite(op="math", a=a, epilogue=[{"op": "exp"}])


# A recipe before the product: its meaning is its body, its rows are looked up later. What it writes goes on under its
# name, the last of it with the product added; the rows are neither split off nor issued early.
# MERGE-LABEL: func.func @merged
# MERGE: scf.for {{.*}} iter_args(%[[M:.*]] = %m, %[[L:.*]] = %l, %[[O:.*]] = %o)
# MERGE: %[[C:.*]], %{{.*}}, %{{.*}} = tl.composite
# MERGE: %[[M1:.*]], %[[L1:.*]], %[[O1:.*]], %[[P:.*]] = tl.recipe(%{{.*}} = %{{.*}} : tensor<24x40xf32>, {{.*}}) attributes {recipe = "softmax_merge", params = {base = "2", scale = "before", guard = "none", mask = "none", products = "one"}}
# MERGE: math.exp2
# MERGE: %[[G:.*]] = tl.gemm %[[P]]
# MERGE-NEXT: %[[SUM:.*]] = arith.addf %[[G]], %[[O1]]
# MERGE-NEXT: %[[R:.*]] = tl.copy_to %[[SUM]], %[[O1]]
# MERGE-NEXT: tl.yield %[[M1]], %[[L1]], %[[R]]
# ROWS-LABEL: func.func @merged
# ROWS: scf.for
# ROWS: ahbm.composite
# ROWS-SAME: [#ahbm.spec<"reduce_max", once,
# ROWS-SAME: #ahbm.spec<"copy", once,
# ROWS-SAME: #ahbm.spec<"gemm", k_tile,
# ROWS-SAME: #ahbm.spec<"add", output_tile,
# ROWS-SAME: as_written}
# ROWS-NOT: ahbm.composite
@triton.jit
def merged(x, w, y):
    m = tl.full((24,), -1.0e9, tl.float32)
    l = tl.zeros((24,), tl.float32)
    o = tl.zeros((24, 56), tl.float32)
    for i in range(3):
        s = tl.load(al.ref(x + i * 40, (24, 40), (120, 1))).to(tl.float32)
        al.composite(
            prologue=[{"op": "softmax_merge", "base": "2", "s": s, "m": m, "l": l, "O": o}],
            op="gemm",
            b=al.ref(w, (40, 56)),
            out=o,
            epilogue=[{"op": "add", "other": o}],
        )
    tl.store(al.ref(y, (24, 56)), o)
    tl.store(al.ref(y + 2000, (24,)), l)


# Scopes: an op runs on each output tile, or once when all of them are stored, on the output itself.
# END-LABEL: func.func @at_end
# END: specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>, #ahbm.spec<"exp", once, [2], 2>, #ahbm.spec<"add", once, [2, 1], 2>], writes = array<i64: 2>
# END: output {
# END: pe.store
# END: pe.once {spec = 2 : i64}
# END: pe.once {spec = 3 : i64}
@triton.jit
def at_end(x):
    a = tl.load(al.ref(x, (24, 24)))
    b = al.composite(
        op="gemm",
        a=a,
        b=a,
        epilogue=[{"op": "exp"}, {"op": "exp", "scope": "once"}, {"op": "add", "other": 1.0, "scope": "once"}],
    )
    tl.store(al.ref(x, (24, 24)), b)
