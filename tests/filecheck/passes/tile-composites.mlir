// RUN: ahbmc-opt %s -p tile-composites | filecheck %s

// Changes: position gives the phase, scope the repetition; the loop over tiles is rolled.
// CHECK-LABEL: func.func @phases
// CHECK: plan {
// CHECK-NEXT: pe.once {spec = 0 : i64}
// CHECK-NEXT: pe.tiles {tile = array<i64: 32, 64, 32>} k {
// CHECK-NEXT: pe.fetch
// CHECK-NEXT: pe.math {spec = 1 : i64}
// CHECK-NEXT: pe.gemm {spec = 2 : i64}
// CHECK-NEXT: } output {
// CHECK-NEXT: pe.math {spec = 3 : i64}
// CHECK-NEXT: pe.store {part = 2 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: pe.once {spec = 4 : i64}
func.func @phases(%b: !ahbm.region<f16, 2>, %n: i64) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", k_tile, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"exp", once, [2], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}

// Changes: without a GEMM all ops run once, in order.
// CHECK-LABEL: func.func @math_only
// CHECK: plan {
// CHECK-NEXT: pe.once {spec = 0 : i64}
// CHECK-NEXT: pe.once {spec = 1 : i64}
// CHECK-NEXT: }
func.func @math_only() {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  ahbm.composite(%a : !ahbm.buffer<64x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", once, [0], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}

// Leaves alone: a composite that has a plan.
// CHECK-LABEL: func.func @planned
// CHECK: pe.tiles {tile = array<i64: 16, 16, 16>}
func.func @planned(%a: !ahbm.region<f16, 2>, %n: i64) {
  ahbm.composite(%a : !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 0], 0>], writes = array<i64: 0>} plan {
    pe.tiles {tile = array<i64: 16, 16, 16>} k {
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 0 : i64}
    }
  }
  func.return
}
