// The operands of a recipe, and of every op that runs once, lie in TCM.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// The scores are a buffer; V, which the GEMM streams, may lie in HBM.
// CHECK: func.func @shows
// CHECK: ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>
func.func @shows(%x: !tl.ptr<f16>, %z: !tl.ptr<f32>) {
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}

// -----

// The scores lie in HBM.
func.func @breaks(%x: !tl.ptr<f16>, %z: !tl.ptr<f32>) {
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %z[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  // expected-error @+1 {{'ahbm.composite': op 0 ('softmax_merge') runs once and takes part 0 from HBM; its operands must lie in TCM}}
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.region<f32, 2>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}
