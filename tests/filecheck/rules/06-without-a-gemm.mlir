// Without a GEMM all ops run once, in order; there are no tiles for an op to belong to.

// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics -p tile-composites | filecheck %s

// Two ops, and no loop.
// CHECK: func.func @shows
// CHECK: plan {
// CHECK-NEXT: pe.once {spec = 0 : i64}
// CHECK-NEXT: pe.once {spec = 1 : i64}
// CHECK-NEXT: }
func.func @shows(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", once, [0], 0>], writes = array<i64: 0>} plan {}
  func.return
}

// -----

// A K tile of no GEMM.
func.func @breaks(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  // expected-error @+1 {{'ahbm.composite': op 1 ('neg') runs per K tile without a GEMM}}
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", k_tile, [0], 0>], writes = array<i64: 0>} plan {}
  func.return
}

// -----

// An output tile of no GEMM.
func.func @breaks_too(%x: !tl.ptr<f16>, %y: !tl.ptr<f16>) {
  %a = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  // expected-error @+1 {{'ahbm.composite': op 1 ('neg') runs per output tile, but no GEMM comes before it}}
  ahbm.composite(%a : !ahbm.buffer<32x64xf16, tcm>) {specs = [#ahbm.spec<"exp", once, [0], 0>, #ahbm.spec<"neg", output_tile, [0], 0>], writes = array<i64: 0>} plan {}
  func.return
}
