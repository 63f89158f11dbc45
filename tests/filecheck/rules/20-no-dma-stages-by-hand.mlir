// Nobody writes DMA stages by hand: `insert-dma-stages` puts them into plans that have none.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p insert-dma-stages | filecheck %s

// A plan by hand, without DMA stages; the pass adds them.
// CHECK: func.func @shows
// CHECK: streamed} k {
// CHECK-NEXT: pe.dma_read {part = 1 : i64}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}

// -----

// A plan with a DMA stage of its own.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.composite': the plan moves parts [1] by DMA before its DMA stages are in; insert-dma-stages puts them there}}
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>} k {
      pe.dma_read {part = 1 : i64}
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}
