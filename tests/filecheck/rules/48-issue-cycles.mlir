// A command costs round-half-even(FIXED + logical bytes x R) cycles: FIXED 40 for a composite, 8 for any other, R
// 1/16; all three from the machine file.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.pe.cpu.fixed_cycles_composite=10 --set machine.pe.cpu.fixed_cycles_single=20 --set machine.pe.cpu.cycles_per_byte=0.25 --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 54 bytes: 43.375 are 43 cycles of 1 ns. 17 bytes: 9.0625 are 9.
// CHECK: 0.000 - 43.000 {{.*}} pe_cpu #0
// CHECK: 43.000 - 52.000 {{.*}} pe_cpu #1
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c2048 = arith.constant 2048 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c2048] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  func.return
}

// Of another machine: 10 + 13.5 are 24 cycles (the even one), 20 + 4.25 are 24.
// BREAKS: 0.000 - 24.000 {{.*}} pe_cpu #0
// BREAKS: 24.000 - 48.000 {{.*}} pe_cpu #1
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c2048 = arith.constant 2048 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c2048] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  func.return
}
