// A streamed operand has a `dma_read` stage before its fetch, a staged one has none.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p tile-composites,insert-dma-stages | filecheck %s

// `a` is a buffer, `b` a region.
// CHECK: func.func @shows
// CHECK: pe.tiles {{.*}} k {
// CHECK-NEXT: pe.dma_read {part = 1 : i64}
// CHECK-NEXT: pe.fetch
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// -----

// A plan that reads `a` from HBM, where it does not lie.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.composite': the plan reads parts [0, 1] from HBM, but [1] are streamed}}
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
      pe.dma_read {part = 0 : i64}
      pe.dma_read {part = 1 : i64}
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}
