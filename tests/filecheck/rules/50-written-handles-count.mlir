// `rw` counts the distinct handles outside the composite that it writes, 8 bytes each; framing and the two lengths
// are 6.

// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::shows --set machine.composite_max_bytes=1 2>&1 | filecheck %s
// RUN: not ahbmc run %S/launch.yaml --set kernel=%s::breaks --set machine.composite_max_bytes=1 2>&1 | filecheck %s --check-prefix BREAKS

// Two written handles.
// CHECK: note: framing and written handles: 22 bytes
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %d = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %s = arith.constant 2.0 : f32
  ahbm.composite(%a, %b, %c, %d, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, f32) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"reduce_max", once, [2], 3, {axis = 1 : i64}>], writes = array<i64: 2, 3>} plan {}
  func.return
}

// A row maximum that only the composite itself reads is none.
// BREAKS: note: framing and written handles: 14 bytes
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %c = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %d = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %s = arith.constant 2.0 : f32
  ahbm.composite(%a, %b, %c, %d, %s : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, f32) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"reduce_max", once, [2], 3, {axis = 1 : i64}>, #ahbm.spec<"sub", once, [2, 3], 2, {axis = 1 : i64}>], writes = array<i64: 2>} plan {}
  func.return
}
