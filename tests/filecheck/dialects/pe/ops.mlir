// RUN: ahbmc-opt %s | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-op-generic | ahbmc-opt - | filecheck %s
// RUN: ahbmc-opt %s --print-debuginfo | ahbmc-opt - | filecheck %s

// A plan with every stage: an op before the tiles, the stages of a K tile and of an output tile, an op after the tiles.
// CHECK-LABEL: func.func @plan
func.func @plan(%a: !ahbm.region<f16, 2>, %b: !ahbm.buffer<16x4xf16, tcm>, %o: !ahbm.region<f32, 2>, %v: !ahbm.buffer<4xf32, tcm>, %n: i64) {
  // CHECK: ahbm.composite
  ahbm.composite(%a, %b, %o, %v : !ahbm.region<f16, 2>, !ahbm.buffer<16x4xf16, tcm>, !ahbm.region<f32, 2>, !ahbm.buffer<4xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"exp", once, [3], 3>, #ahbm.spec<"cast", k_tile, [1], -1>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 3], 2>, #ahbm.spec<"exp", once, [3], 3>], writes = array<i64: 2, 3>} plan {
    // CHECK: pe.once {spec = 0 : i64}
    pe.once {spec = 0 : i64}
    // CHECK-NEXT: pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
    pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
      // CHECK-NEXT: pe.dma_read {part = 0 : i64}
      pe.dma_read {part = 0 : i64}
      // CHECK-NEXT: pe.fetch
      pe.fetch
      // CHECK-NEXT: pe.math {spec = 1 : i64}
      pe.math {spec = 1 : i64}
      // CHECK-NEXT: pe.gemm {spec = 2 : i64}
      pe.gemm {spec = 2 : i64}
    // CHECK-NEXT: } output {
    } output {
      // CHECK-NEXT: pe.math {spec = 3 : i64}
      pe.math {spec = 3 : i64}
      // CHECK-NEXT: pe.store {part = 2 : i64}
      pe.store {part = 2 : i64}
      // CHECK-NEXT: pe.dma_write {part = 2 : i64}
      pe.dma_write {part = 2 : i64}
    }
    // CHECK: pe.once {spec = 4 : i64}
    pe.once {spec = 4 : i64}
  }
  func.return
}
