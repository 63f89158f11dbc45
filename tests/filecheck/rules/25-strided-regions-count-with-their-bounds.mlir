// A strided region counts with its bounding range.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The composite writes columns 0 to 31 of rows of 128, the load reads columns 64 to 95: no byte is shared, but the
// ranges meet.
// CHECK: - [[END:[0-9.]+]] {{.*}} pe_sched #0
// CHECK: [[END]] - {{.*}} pe_cpu #1 {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %t = ahbm.alloc : !ahbm.buffer<32x32xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %out = ahbm.region %y[%c0] sizes(%c32, %c32) strides(%c128, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %y[%c64] sizes(%c32, %c32) strides(%c128, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %out : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.region<f16, 2>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %s, %t : !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf16, tcm>
  func.return
}

// The load reads rows behind those.
// BREAKS: 43.000 - 52.000 {{.*}} pe_cpu #1
// BREAKS: dma_read #1 {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %t = ahbm.alloc : !ahbm.buffer<32x32xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %c8192 = arith.constant 8192 : i64
  %out = ahbm.region %y[%c0] sizes(%c32, %c32) strides(%c128, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %y[%c8192] sizes(%c32, %c32) strides(%c128, %c1) lo(%c0, %c0) hi(%c32, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %out : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.region<f16, 2>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %s, %t : !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf16, tcm>
  func.return
}
