// An op spec is 3 bytes, 8 for each handle, 4 for each scalar, 8 for its out, 1, and its extras; the running tile
// takes none. Nothing is deduplicated.

// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.composite_max_bytes=1 2>&1 | filecheck %s
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::shows_extras --set machine.composite_max_bytes=1 2>&1 | filecheck %s --check-prefix SHOWS_EXTRAS
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.composite_max_bytes=1 2>&1 | filecheck %s --check-prefix BREAKS

// gemm: 3 + 16 + 8 + 1 and 12 for m, n, k. mul by a scalar: 3 + 4 + 8 + 1. add of `c` twice: 3 + 16 + 8 + 1. exp of
// the running tile: 3 + 8 + 1. reduce_max with its axis: 3 + 8 + 8 + 1 + 4.
// CHECK: has 142 bytes
// CHECK: note: gemm: 40 bytes
// CHECK: note: mul: 16 bytes
// CHECK: note: add: 28 bytes
// CHECK: note: exp: 12 bytes
// CHECK: note: reduce_max: 24 bytes
// CHECK: note: framing and written handles: 22 bytes
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %d = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %s = arith.constant 2.0 : f32
  ahbm.composite(%a, %b, %c, %d, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, f32) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 4], 2>, #ahbm.spec<"add", output_tile, [2, 2], 2>, #ahbm.spec<"exp", output_tile, [-1], 2>, #ahbm.spec<"reduce_max", once, [2], 3, {axis = 1 : i64}>], writes = array<i64: 2, 3>} plan {}
  func.return
}

// Extras of every kind: a number 4, a bool 1, a string 1, a tuple 1 and 4 for each entry. 3 + 8 + 8 + 1 + 4 + 4 + 1
// + 1 + 9.
// SHOWS_EXTRAS: note: exp: 39 bytes
func.func @shows_extras(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0, {axis = 1 : i64, by = 2.0 : f32, exact = true, how = "fast", over = [0 : i64, 1 : i64]}>], writes = array<i64: 0>} plan {}
  func.return
}

// The same sum with the running tile in place of a handle has 8 bytes fewer.
// BREAKS: note: add: 20 bytes
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %d = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %s = arith.constant 2.0 : f32
  ahbm.composite(%a, %b, %c, %d, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, f32) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>], writes = array<i64: 2>} plan {}
  func.return
}
