// Position gives the phase of an op: before the GEMM, in its tiles, after them; scope says how often it runs there.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p tile-composites | filecheck %s

// `k_tile` ops stand before or behind the GEMM of a tile, as they do in the list; `output_tile` ops before the
// store; ops that run once outside of the loop.
// CHECK: func.func @shows
// CHECK: pe.once {spec = 0 : i64}
// CHECK-NEXT: pe.tiles
// CHECK-NEXT: pe.fetch
// CHECK-NEXT: pe.math {spec = 1 : i64}
// CHECK-NEXT: pe.gemm {spec = 2 : i64}
// CHECK-NEXT: pe.math {spec = 3 : i64}
// CHECK-NEXT: } output {
// CHECK-NEXT: pe.math {spec = 4 : i64}
// CHECK-NEXT: pe.store
// CHECK-NEXT: }
// CHECK-NEXT: pe.once {spec = 5 : i64}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", k_tile, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", k_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"exp", once, [2], 2>], writes = array<i64: 0, 2>} plan {}
  func.return
}

// -----

// A plan that runs the last op before the tiles.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  // expected-error @+1 {{'ahbm.composite': the plan runs ops [0, 2] before the tiles, the composite's are [0]}}
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"exp", once, [2], 2>], writes = array<i64: 0, 2>} plan {
    pe.once {spec = 0 : i64}
    pe.once {spec = 2 : i64}
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.fetch
      pe.gemm {spec = 1 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}
