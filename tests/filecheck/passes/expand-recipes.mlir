// RUN: ahbmc-opt %s -p expand-recipes | filecheck %s

// Changes: the name becomes eight MATH ops, in the place of the name; their scratch are new parts.
// CHECK-LABEL: func.func @softmax_merge
// CHECK: %m_loc = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
// CHECK: %m_new = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
// CHECK: %corr = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
// CHECK: %l_loc = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
// CHECK: ahbm.composite(%s, %m, %l, %o, %v, %p, %m_loc, %m_new, %corr, %l_loc
// CHECK-SAME: #ahbm.spec<"reduce_max", once, [0], 6, {axis = 1 : i64}>, #ahbm.spec<"max", once, [1, 6], 7>, #ahbm.spec<"exp_diff", once, [1, 7], 8>
// CHECK-SAME: #ahbm.spec<"exp_diff", once, [0, 7], 5, {axis = 1 : i64}>, #ahbm.spec<"reduce_sum", once, [5], 9, {axis = 1 : i64}>
// CHECK-SAME: #ahbm.spec<"fma", once, [2, 8, 9], 2>, #ahbm.spec<"mul", once, [3, 8], 3, {axis = 1 : i64}>, #ahbm.spec<"copy", once, [7], 1>
// CHECK-SAME: #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>
func.func @softmax_merge(%v: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%s, %m, %l, %o, %v, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"softmax_merge", once, [0, 1, 2, 3], 5, {base = "e", scale = "before"}>, #ahbm.spec<"gemm", k_tile, [5, 4], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 1, 2, 3>} plan {
  }
  func.return
}

// Leaves alone: a composite without a recipe.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: ahbm.alloc
// CHECK: specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>]
func.func @plain(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>], writes = array<i64: 2>} plan {
  }
  func.return
}
