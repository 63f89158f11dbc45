// An op spec takes an index view as an operand (start, step, axis), for masks: 12 bytes, where a handle has 8.

// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.composite_max_bytes=1 2>&1 | filecheck %s
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.composite_max_bytes=1 2>&1 | filecheck %s --check-prefix BREAKS

// 3 + 12 + 8 + 1 bytes: the error of a cap of one byte lists them.
// CHECK: note: add: 24 bytes
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %w = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %i = ahbm.index %c0 steps(%c0, %c1) : !ahbm.index<32x32xf32>
  ahbm.composite(%a, %b, %c, %i : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.index<32x32xf32>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 3], 2>], writes = array<i64: 2>} plan {}
  func.return
}

// 3 + 8 + 8 + 1 bytes with a buffer.
// BREAKS: note: add: 20 bytes
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %w = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %b = ahbm.region %x[%c0] sizes(%c64, %c32) strides(%c32, %c1) lo(%c0, %c0) hi(%c64, %c32) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %i = ahbm.index %c0 steps(%c0, %c1) : !ahbm.index<32x32xf32>
  ahbm.composite(%a, %b, %c, %w : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 3], 2>], writes = array<i64: 2>} plan {}
  func.return
}
