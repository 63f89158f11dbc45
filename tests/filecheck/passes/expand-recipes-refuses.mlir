// RUN: not ahbmc-opt %s -p expand-recipes 2>&1 | filecheck %s

// Refuses: a name that is neither an op nor a recipe.
// CHECK: error: 'softmax_merj' is neither a MATH op nor a recipe; there are softmax_merge, log_sum_exp, {{.*}} [invalid-ir]
func.func @unknown(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%s, %b, %c : !ahbm.buffer<32x64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"softmax_merj", once, [0], 0>, #ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}
