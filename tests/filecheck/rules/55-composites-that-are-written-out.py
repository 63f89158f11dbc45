# `al.composite` is one command whose ops are those of its prologue, its own, and those of its epilogue, in this order; an
# `a` beside a recipe is an error.

# RUN: ahbmc-opt %s --kernel shows --arg x=*fp16 --arg y=*fp32 -p primitive | filecheck %s
# RUN: not ahbmc-opt %s --kernel breaks --arg x=*fp16 --arg y=*fp32 -p primitive 2>&1 | filecheck %s --check-prefix BREAKS

import ahbmc.language as al
import triton
import triton.language as tl


# The eight rows of the recipe, the GEMM with what they make as its a, the sum into O: under `primitive` too.
# CHECK: ahbm.composite
# CHECK-SAME: specs = [#ahbm.spec<"reduce_max", once,
# CHECK-SAME: #ahbm.spec<"copy", once, {{.*}}>, #ahbm.spec<"gemm", k_tile, {{.*}}, [[O:[0-9]+]]>, #ahbm.spec<"add", output_tile, [-1, [[O]]], [[O]]>]
# CHECK-NOT: ahbm.gemm
@triton.jit
def shows(x, y):
    s = tl.zeros((32, 64), tl.float32)
    m = tl.zeros((32,), tl.float32)
    l = tl.zeros((32,), tl.float32)
    O = tl.zeros((32, 64), tl.float32)
    al.composite(
        op="gemm",
        b=al.ref(x, (64, 64)),
        out=O,
        prologue=[{"op": "softmax_merge", "s": s, "m": m, "l": l, "O": O}],
        epilogue=[{"op": "add", "other": O}],
    )
    tl.store(al.ref(y, (32, 64)), O)


# BREAKS: [[# @LINE + 9]]:5: error: {{.*}}'a' beside a prologue
# BREAKS: hint: {{.*}}leave out one
@triton.jit
def breaks(x, y):
    s = tl.zeros((32, 64), tl.float32)
    m = tl.zeros((32,), tl.float32)
    l = tl.zeros((32,), tl.float32)
    O = tl.zeros((32, 64), tl.float32)
    v = al.ref(x, (64, 64))
    al.composite(op="gemm", a=s, b=v, out=O, prologue=[{"op": "softmax_merge", "s": s, "m": m, "l": l, "O": O}])
    tl.store(al.ref(y, (32, 64)), O)
