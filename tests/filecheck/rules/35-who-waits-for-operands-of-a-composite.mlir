// PE_CPU waits for loads of staged operands before it issues a composite; results of earlier composites are awaited
// in PE_SCHED, stage by stage.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// `a` is on its way: the issue waits.
// CHECK: - [[END:[0-9.]+]] {{.*}} dma_read #0
// CHECK-NEXT: [[END]] - {{.*}} pe_cpu #1 composite gemm {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %z = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %r = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf16, tcm>
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// `a` is what a composite makes: it is issued at once, its reads of `b` go ahead, its fetch waits.
// BREAKS: 43.000 - 86.000 {{.*}} pe_cpu #1 composite gemm
// BREAKS: - [[END:[0-9.]+]] {{.*}} pe_sched #0
// BREAKS: dma_read #1 composite {{.*}} beside #0
// BREAKS: [[END]] - {{.*}} fetch #1
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %z = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %r = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%z, %r, %a : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf16, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
