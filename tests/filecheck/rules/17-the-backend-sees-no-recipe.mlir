// The backend never sees a recipe: composites are tiled when the rows have taken its place.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p expand-recipes,tile-composites | filecheck %s
// RUN: not ahbmc-opt %s --split-input-file -p tile-composites 2>&1 | filecheck %s --check-prefix BREAKS

// Eight ops that run once, then tiles.
// CHECK: func.func @shows
// CHECK: plan {
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.once
// CHECK-NEXT: pe.tiles
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

// The name is still there.
// BREAKS: error: a composite with the recipe 'softmax_merge' cannot be tiled [invalid-ir]
// BREAKS: hint: run expand-recipes before tile-composites
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
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%c32, %c64, %c64) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {}
  func.return
}
