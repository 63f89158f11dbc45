// RUN: not ahbmc-opt %s -p tile-composites 2>&1 | filecheck %s

// Refuses: a recipe is no op that PE_SCHED could run.
// CHECK: error: a composite with the recipe 'softmax_merge' cannot be tiled [invalid-ir]
// CHECK: hint: run expand-recipes before tile-composites
func.func @recipe(%b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%s, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"softmax_merge", once, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}
