// Waits that follow from the hazards cost nothing; the command `wait` costs its issue.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// `exp` is issued the instant the load has ended, and is the second command.
// CHECK: - [[END:[0-9.]+]] {{.*}} dma_read #0
// CHECK-NEXT: [[END]] - {{.*}} pe_cpu #1 math exp {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}

// 8 cycles more, and a command more.
// BREAKS: - 39.510 {{.*}} dma_read #0
// BREAKS: 39.510 - 47.510 {{.*}} pe_cpu #1 wait {{.*}} after #0{{$}}
// BREAKS-NEXT: 47.510 - {{.*}} pe_cpu #2 math exp {{.*}} after the issue of #1{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.wait %a : !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%a : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}
