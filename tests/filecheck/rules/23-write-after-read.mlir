// A command that writes bytes which an earlier command in flight reads waits for it.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The composite still fetches `a`: the load into it is issued, and leaves when the composite has ended.
// CHECK: 43.000 - 52.000 {{.*}} pe_cpu #1
// CHECK: - [[END:[0-9.]+]] {{.*}} pe_sched #0
// CHECK: [[END]] - {{.*}} dma_read #1 {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %spare = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %s, %a : !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf16, tcm>
  func.return
}

// A load into another block runs beside the composite.
// BREAKS: 53.510 - {{.*}} dma_read #1 {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %spare = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %s, %spare : !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf16, tcm>
  func.return
}
