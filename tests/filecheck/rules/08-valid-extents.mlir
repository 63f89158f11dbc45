// The M, N and K of a composite are the valid extents, not the block: tiles outside of them are not made.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 96 of a block of 128 are three tiles a side: 9 x 2 tiles of 4 KiB are read, 9 of 2 KiB written.
// CHECK: pe_sched #0 composite gemm, 73,728 B read, 18,432 B written, 1,179,648 flops
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c96 = arith.constant 96 : i64
  %c128 = arith.constant 128 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c128, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c96, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c128) strides(%c128, %c1) lo(%c0, %c0) hi(%c64, %c96) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %c = ahbm.region %y[%c0] sizes(%c128, %c128) strides(%c128, %c1) lo(%c0, %c0) hi(%c96, %c96) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%c96, %c96, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// All 128 are four a side: 16 tiles.
// BREAKS: pe_sched #0 composite gemm, 131,072 B read, 32,768 B written, 2,097,152 flops
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c128, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c128, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c128) strides(%c128, %c1) lo(%c0, %c0) hi(%c64, %c128) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %c = ahbm.region %y[%c0] sizes(%c128, %c128) strides(%c128, %c1) lo(%c0, %c0) hi(%c128, %c128) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%c128, %c128, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
