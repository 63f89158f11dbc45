// A load issues and goes on: PE_CPU works while loads are in flight, and a consumer awaits them before its own
// issue.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 100 cycles of PE_CPU beside two loads; both have ended by then, and `add` waits for neither.
// CHECK: 18.000 - 118.000 {{.*}} pe_cpu #2 cycles {{.*}} beside #0{{$}}
// CHECK: dma_read #1 {{.*}} beside #0
// CHECK: 118.000 - 128.000 {{.*}} pe_cpu #3 math add {{.*}} after the issue of #2{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c2048 = arith.constant 2048 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %x[%c2048] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.dma_read %s, %b : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.cycles {cycles = 100 : i64}
  ahbm.math "add" ins(%a, %b : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}

// After 10 cycles they are in flight, and the issue of `add` begins when the last of them ends.
// BREAKS: - [[END:[0-9.]+]] {{.*}} dma_read #1
// BREAKS-NEXT: [[END]] - {{.*}} pe_cpu #3 math add {{.*}} after #1{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c2048 = arith.constant 2048 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %x[%c2048] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.dma_read %s, %b : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.cycles {cycles = 10 : i64}
  ahbm.math "add" ins(%a, %b : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}
