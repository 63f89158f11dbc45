// An output in HBM has a `store` and a `dma_write` stage, one in TCM a `store` only.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p tile-composites,insert-dma-stages | filecheck %s

// In HBM.
// CHECK: func.func @shows
// CHECK: } output {
// CHECK-NEXT: pe.store {part = 2 : i64}
// CHECK-NEXT: pe.dma_write {part = 2 : i64}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c = ahbm.region %y[%c0] sizes(%c32, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.region<f16, 2>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// In TCM.
// CHECK: func.func @shows_tcm
// CHECK: } output {
// CHECK-NEXT: pe.store {part = 2 : i64}
// CHECK-NEXT: }
func.func @shows_tcm(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf16, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf16, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// -----

// A plan that leaves an output of HBM in TCM.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c = ahbm.region %y[%c0] sizes(%c32, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  // expected-error @+1 {{'ahbm.composite': the plan writes parts [] to HBM, but the output asks for [2]}}
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.region<f16, 2>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
    pe.tiles {tile = array<i64: 32, 64, 32>, streamed} k {
      pe.fetch
      pe.gemm {spec = 0 : i64}
    } output {
      pe.store {part = 2 : i64}
    }
  }
  func.return
}
