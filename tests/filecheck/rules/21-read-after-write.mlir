// A command that reads bytes which an earlier command in flight writes waits for it.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// `exp` of the block that the load writes is issued when the load has ended.
// CHECK: - [[END:[0-9.]+]] {{.*}} dma_read #0
// CHECK: [[END]] - {{.*}} pe_cpu #1 math exp {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%a : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}

// `exp` of another block is issued right behind it and runs beside it.
// BREAKS: 9.000 - 18.000 {{.*}} pe_cpu #1 math exp {{.*}} after the issue of #0{{$}}
// BREAKS: math #1 math exp {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %r = ahbm.region %x[%c0] sizes(%c32, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c32, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.dma_read %r, %a : !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>
  ahbm.math "exp" ins(%b : !ahbm.buffer<32x64xf16, tcm>) out(%b : !ahbm.buffer<32x64xf16, tcm>)
  func.return
}
