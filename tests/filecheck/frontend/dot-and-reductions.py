# RUN: ahbmc-opt %s --kernel products --arg x=*fp16 --const B=16 | filecheck %s
# RUN: ahbmc-opt %s --kernel reductions --arg x=*bf16 --arg o=*fp32 --const B=16 | filecheck %s --check-prefix=RED

# A dot sums in f32 unless it is told otherwise; its accumulator is optional.
import triton
import triton.language as tl


# CHECK-LABEL: func.func @products
# CHECK: %[[A:.*]] = tl.load
# CHECK: %[[B:.*]] = tl.trans %[[A]]
# CHECK: %[[ACC:.*]] = tl.dot %[[A]], %[[B]] : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
# CHECK: %[[SUM:.*]] = tl.dot %[[A]], %[[B]] acc(%[[ACC]]) {input_precision = "ieee"}
# CHECK: tl.dot %[[A]], %[[B]] : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
# CHECK: tl.cast %{{.*}} : tensor<16x16xf32> -> tensor<16x16xf16>
@triton.jit
def products(x, B: tl.constexpr):
    offs = tl.arange(0, B)
    ptrs = x + offs[:, None] * B + offs[None, :]
    a = tl.load(ptrs)
    b = a.T
    acc = tl.dot(a, b)
    acc = tl.dot(a, b, acc, input_precision="ieee")
    half = tl.dot(a, b, out_dtype=tl.float16)
    tl.store(ptrs, acc + half)


# Extrema of narrow types are found in 32 bits; kept axes have size 1; no axis means all.
# RED-LABEL: func.func @reductions
# RED: %[[V:.*]] = tl.load
# RED: %[[WIDE:.*]] = tl.cast %[[V]] : tensor<16x16xbf16> -> tensor<16x16xf32>
# RED: %[[MAX:.*]] = tl.reduce "max", %[[WIDE]] {axis = 1 : i32} : tensor<16x16xf32> -> tensor<16xf32>
# RED: tl.expand_dims %[[MAX]] {axis = 1 : i32}
# RED: tl.reduce "sum", %{{.*}} {axis = 0 : i32}
# RED: %[[FLAT:.*]] = tl.reshape %{{.*}} : tensor<16x16xf32> -> tensor<256xf32>
# RED: tl.reduce "min", %[[FLAT]] {axis = 0 : i32} : tensor<256xf32> -> f32
@triton.jit
def reductions(x, o, B: tl.constexpr):
    offs = tl.arange(0, B)
    v = tl.load(x + offs[:, None] * B + offs[None, :])
    e = v - tl.max(v, axis=-1, keep_dims=True)
    tl.store(o + offs, tl.sum(e, 0))
    tl.store(o, tl.min(e))
