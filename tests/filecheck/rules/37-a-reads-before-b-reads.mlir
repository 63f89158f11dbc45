// Tiles are read in groups of at most `pe.sched.stream_tiles` (1,024); within a group all reads of A come before
// all reads of B.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows_groups --set machine.pe.sched.stream_tiles=2 --timing-only --oplog-text - | filecheck %s --check-prefix GROUPS
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// Four tiles: 4 x 16 ns for A, then 16 ns for the first of B, 13 ns on the way; FETCH begins then.
// CHECK: 44.510 - {{.*}} dma_read #0
// CHECK: 137.510 - {{.*}} fetch #0
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c256 = arith.constant 256 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c32, %c256) strides(%c256, %c1) lo(%c0, %c0) hi(%c32, %c256) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c256, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c256, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c256) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// In groups of two: 2 x 16 ns for A, then the first of B.
// GROUPS: 105.510 - {{.*}} fetch #0
func.func @shows_groups(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c256 = arith.constant 256 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c32, %c256) strides(%c256, %c1) lo(%c0, %c0) hi(%c32, %c256) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c256, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c256, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c256) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// With A staged the first of B is there after 16 + 13 ns.
// BREAKS: 44.510 - {{.*}} dma_read #0
// BREAKS: 73.510 - {{.*}} fetch #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x256xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c256 = arith.constant 256 : i64
  %c8192 = arith.constant 8192 : i64
  %b = ahbm.region %x[%c8192] sizes(%c256, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c256, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.buffer<32x256xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c256) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
