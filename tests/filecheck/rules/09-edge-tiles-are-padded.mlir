// A composite pads its edge tiles to whole ones, which cost what a whole tile costs; flops are those of the valid
// extents.

// RUN: ahbmc run %S/launch.yaml --set kernel=%s::shows --timing-only --oplog-text - | filecheck %s
// RUN: ahbmc run %S/launch.yaml --set kernel=%s::breaks --timing-only --oplog-text - | filecheck %s --check-prefix BREAKS

// 40 rows are two tiles, the second with 8 rows: 16,384 bytes move, 13,312 are asked for; two tiles of 16.384 ns.
// CHECK: pe_sched #0 composite gemm, 16,384 B read, 13,312 B of them asked for, 4,096 B written, 163,840 flops
// CHECK: 137.510 - 170.278 {{.*}} gemm #0
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c40 = arith.constant 40 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c40, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c40, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %c = ahbm.region %y[%c0] sizes(%c40, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c40, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%c40, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// 64 rows are two whole tiles, in the same time.
// BREAKS: pe_sched #0 composite gemm, 16,384 B read, 4,096 B written, 262,144 flops
// BREAKS: 137.510 - 170.278 {{.*}} gemm #0
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c8192 = arith.constant 8192 : i64
  %a = ahbm.region %x[%c0] sizes(%c64, %c64) strides(%c64, %c1) lo(%c0, %c0) hi(%c64, %c64) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = ahbm.region %x[%c8192] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %c = ahbm.region %y[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%c64, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {}
  func.return
}
