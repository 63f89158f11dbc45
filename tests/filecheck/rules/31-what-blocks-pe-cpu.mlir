// Loads and composites do not block PE_CPU; single-op `gemm` and `math` and a store do.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// Each is issued right behind the one before.
// CHECK: 43.000 - 52.000 {{.*}} pe_cpu #1 dma_read {{.*}} after the issue of #0{{$}}
// CHECK: 52.000 - 53.000 {{.*}} pe_cpu #2 cycles {{.*}} after the issue of #1
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %r = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %x[%c8192] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %r, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %s, %b : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.cycles {cycles = 1 : i64}
  func.return
}

// Each waits for the end of the one before, although it uses none of its bytes.
// BREAKS: - [[G:[0-9.]+]] {{.*}} gemm #0
// BREAKS-NEXT: [[G]] - {{.*}} pe_cpu #1 math exp {{.*}} after #0{{$}}
// BREAKS: - [[M:[0-9.]+]] {{.*}} math #1
// BREAKS-NEXT: [[M]] - {{.*}} pe_cpu #2 dma_write {{.*}} after #1{{$}}
// BREAKS: - [[W:[0-9.]+]] {{.*}} dma_write #2
// BREAKS-NEXT: [[W]] - {{.*}} pe_cpu #3 cycles {{.*}} after #2{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %w = ahbm.region %y[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.gemm %b, %c, %o : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%o : !ahbm.buffer<32x64xf16, tcm>) out(%o : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.dma_write %b, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>
  ahbm.cycles {cycles = 1 : i64}
  func.return
}
