// A recipe is a named row of op specs, kept as data: `expand-recipes` puts its rows in the place of its name.
// `softmax_merge` is eight MATH ops; with P V and the add into O the composite has ten.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p expand-recipes | filecheck %s

// Row maximum, new maximum, correction, P, row sum of P, l, O and m; then the GEMM with P as its `a`.
// CHECK: func.func @shows
// CHECK: specs = [#ahbm.spec<"reduce_max", once,
// CHECK-SAME: #ahbm.spec<"max", once,
// CHECK-SAME: #ahbm.spec<"exp_diff", once,
// CHECK-SAME: #ahbm.spec<"exp_diff", once,
// CHECK-SAME: #ahbm.spec<"reduce_sum", once,
// CHECK-SAME: #ahbm.spec<"fma", once,
// CHECK-SAME: #ahbm.spec<"mul", once,
// CHECK-SAME: #ahbm.spec<"copy", once,
// CHECK-SAME: #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}

// -----

// A name that no row has.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'softmax_merj' is neither a MATH op nor a recipe}}
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merj", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}
