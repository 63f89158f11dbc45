// RUN: ahbmc-opt %s -p tile-composites,insert-dma-stages | filecheck %s

// Changes: both operands are streamed and the output goes to HBM.
// CHECK-LABEL: func.func @streamed
// CHECK: pe.tiles {{{.*}}streamed} k {
// CHECK-NEXT: pe.dma_read {part = 0 : i64}
// CHECK-NEXT: pe.dma_read {part = 1 : i64}
// CHECK-NEXT: pe.fetch
// CHECK: } output {
// CHECK-NEXT: pe.store {part = 2 : i64}
// CHECK-NEXT: pe.dma_write {part = 2 : i64}
func.func @streamed(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}

// Leaves alone: what lies in TCM has no DMA stage, and an output in TCM is stored there.
// CHECK-LABEL: func.func @staged
// CHECK: pe.tiles {{{.*}}streamed} k {
// CHECK-NEXT: pe.dma_read {part = 1 : i64}
// CHECK-NEXT: pe.fetch
// CHECK: } output {
// CHECK-NEXT: pe.store {part = 2 : i64}
// CHECK-NEXT: }
func.func @staged(%b: !ahbm.region<f16, 2>, %n: i64) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}

// Refuses nothing, but does nothing where there are no tiles: MATH ops work on TCM.
// CHECK-LABEL: func.func @math_only
// CHECK-NOT: pe.dma_read
func.func @math_only() {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  ahbm.composite(%a : !ahbm.buffer<64x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>], writes = array<i64: 0>} plan {
  }
  func.return
}
