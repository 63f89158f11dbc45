// What a composite writes is there when all of it has ended, not tile by tile.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The first of four output tiles is stored long before the last; `exp` waits for the end.
// CHECK: - [[END:[0-9.]+]] {{.*}} pe_sched #0
// CHECK: [[END]] - {{.*}} pe_cpu #1 math exp {{.*}} after #0{{$}}
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.math "exp" ins(%o : !ahbm.buffer<64x64xf32, tcm>) out(%p : !ahbm.buffer<64x64xf32, tcm>)
  func.return
}

// `exp` of another block does not wait.
// BREAKS: 43.000 - 52.000 {{.*}} pe_cpu #1 math exp
// BREAKS: math #1 math exp {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %o : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  ahbm.math "exp" ins(%p : !ahbm.buffer<64x64xf32, tcm>) out(%p : !ahbm.buffer<64x64xf32, tcm>)
  func.return
}
