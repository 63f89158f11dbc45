// PE_SCHED awaits bytes in use stage by stage: only the stage that touches them waits.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// The second composite writes what the first writes: it reads, fetches and multiplies beside it, and its first
// store comes when the first has ended.
// CHECK: - [[END:[0-9.]+]] {{.*}} pe_sched #0
// CHECK: fetch #1 composite {{.*}} beside #0
// CHECK: gemm #1 composite {{.*}} beside #0
// CHECK: [[END]] - {{.*}} store #1 composite
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %t = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %s : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%c, %d, %s : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// With an output of its own its stores begin while the first is under way.
// BREAKS: store #1 composite {{.*}} beside #0{{$}}
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<64x64xf16, tcm>
  %s = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %t = ahbm.alloc : !ahbm.buffer<64x64xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = ahbm.region %x[%c8192] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %s : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>], writes = array<i64: 2>} plan {}
  ahbm.composite(%c, %d, %t : !ahbm.buffer<64x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<64x64xf32, tcm>) extents(%c64, %c64, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
