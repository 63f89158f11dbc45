// The primary output of a recipe is the `a` of the GEMM; another `a` beside it is an error.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// P, part 5, is what the GEMM takes.
// CHECK: func.func @shows
// CHECK: #ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5
// CHECK-SAME: #ahbm.spec<"gemm", k_tile, [5, 4], 3>
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %q = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%s, %m, %l, %o, %v, %p, %q : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}

// -----

// The GEMM takes part 6, and nobody takes P.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %q = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %v = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.composite': op 0 ('softmax_merge') makes part 5, which becomes the a of the GEMM, but the GEMM has part 6 as its a; give the GEMM no other a}}
  ahbm.composite(%s, %m, %l, %o, %v, %p, %q : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [6, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}
