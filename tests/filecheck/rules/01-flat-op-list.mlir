// A composite is a flat ordered list of op specs; it has no head and no epilogue, and an op has no ops.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Five ops in a row, one of them the GEMM.
// CHECK: func.func @shows
// CHECK: specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"neg", once, [2], 2>]
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %b = ahbm.alloc : !ahbm.buffer<64x32xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x32xf32, tcm>
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  ahbm.composite(%a, %b, %o : !ahbm.buffer<32x64xf16, tcm>, !ahbm.buffer<64x32xf16, tcm>, !ahbm.buffer<32x32xf32, tcm>) extents(%c32, %c32, %c64) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 2], 2>, #ahbm.spec<"add", output_tile, [-1, 2], 2>, #ahbm.spec<"neg", once, [2], 2>], writes = array<i64: 0, 2>} plan {}
  func.return
}

// -----

// An epilogue as a list in the list.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  // expected-error @+2 {{should be of base attribute ahbm.spec}}
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, [#ahbm.spec<"neg", once, [0], 0>]], writes = array<i64: 0>} plan {}
  func.return
}

// -----

// No op at all.
func.func @breaks_too(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  // expected-error @+1 {{'ahbm.composite': a composite without ops}}
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [], writes = array<i64>} plan {}
  func.return
}
