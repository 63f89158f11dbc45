// Single-op commands: DMA 17 bytes, gemm 40, math 14 + 8 per input (+ 4 per axis or scalar), copy 24, wait 4; rank,
// mask and type do not matter.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.pe.cpu.fixed_cycles_single=0 --set machine.pe.cpu.cycles_per_byte=1 --timing-only --json - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_load --set machine.pe.cpu.fixed_cycles_single=0 --set machine.pe.cpu.cycles_per_byte=1 --timing-only --oplog-text - | filecheck %s --check-prefix LOAD
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.pe.cpu.fixed_cycles_single=0 --set machine.pe.cpu.cycles_per_byte=1 --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// On a machine where a byte is a cycle and nothing is fixed: 17 + 40 + 22 + 30 + 26 + 24 + 4 cycles.
// CHECK: "issue_cycles": 163
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.gemm %a, %b, %o : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%o : !ahbm.buffer<32x64xf16, tcm>) out(%o : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.math "add" ins(%o, %a : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%o : !ahbm.buffer<32x64xf16, tcm>)
  ahbm.math "reduce_max" ins(%o : !ahbm.buffer<32x64xf16, tcm>) out(%m : !ahbm.buffer<32xf16, tcm>) {axis = 1 : i64}
  ahbm.copy %o, %p : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.wait %p : !ahbm.buffer<32x64xf16, tcm>
  func.return
}

// A load alone.
// LOAD: 0.000 - 17.000 {{.*}} pe_cpu #0 dma_read
func.func @shows_load(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  func.return
}

// A load of few lanes of a strided region has the same 17 bytes.
// BREAKS: 0.000 - 17.000 {{.*}} pe_cpu #0 dma_read
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %c5 = arith.constant 5 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c128, %c1) lo(%c0, %c0) hi(%c3, %c5) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  func.return
}
