// RUN: ahbmc-opt %s -p split-composites | filecheck %s

// CHECK: subject = "composite", outcome = "split", reason = "an iteration takes about {{[0-9]+}} ns apart, {{[0-9]+}} as one"
// CHECK: subject = "composite", outcome = "not split", reason = "an iteration takes about {{[0-9]+}} ns apart, {{[0-9]+}} as one"
// CHECK: subject = "composite", outcome = "not split", reason = "an op before the product works on its output"

// Changes: the ops that make the operand of the product are a command of their own; scaling its output is part of adding to it.
// CHECK-LABEL: func.func @softmax
// CHECK: scf.for
// CHECK-NEXT: ahbm.composite(%s, %m, %corr, %p : {{.*}}) {specs = [#ahbm.spec<"reduce_max", once, [0], 1, {axis = 1 : i64}>, #ahbm.spec<"exp", once, [1], 2>, #ahbm.spec<"exp_diff", once, [0, 1], 3, {axis = 1 : i64}>], writes = array<i64: 1, 2, 3>} plan {
// CHECK-NEXT: }
// CHECK-NEXT: ahbm.composite(%p, %v, %o, %corr : {{.*}}) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"fma", output_tile, [2, 3, -1], 2, {axis = 1 : i64}>], writes = array<i64: 2>} plan {
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @softmax(%v: !ahbm.buffer<128x128xf16, tcm>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<128x128xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<128xf32, tcm>
  %corr = ahbm.alloc : !ahbm.buffer<128xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<128x128xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<128x128xf32, tcm>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    ahbm.composite(%s, %m, %corr, %p, %v, %o : !ahbm.buffer<128x128xf32, tcm>, !ahbm.buffer<128xf32, tcm>, !ahbm.buffer<128xf32, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"reduce_max", once, [0], 1, {axis = 1 : i64}>, #ahbm.spec<"exp", once, [1], 2>, #ahbm.spec<"mul", once, [5, 2], 5, {axis = 1 : i64}>, #ahbm.spec<"exp_diff", once, [0, 1], 3, {axis = 1 : i64}>, #ahbm.spec<"gemm", k_tile, [3, 4], 5>, #ahbm.spec<"add", output_tile, [-1, 5], 5>], writes = array<i64: 1, 5>} plan {
    }
  }
  func.return
}

// Leaves alone: of 8 rows and 16 columns everything is done before PE_CPU has issued two commands.
// CHECK-LABEL: func.func @small
// CHECK: scf.for
// CHECK-NEXT: ahbm.composite({{.*}}) extents({{.*}}) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>], writes = array<i64: 3>} plan {
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @small(%v: !ahbm.buffer<16x16xf16, tcm>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<8x16xf16, tcm>
  %p = ahbm.alloc : !ahbm.buffer<8x16xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<8x16xf32, tcm>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    ahbm.composite(%s, %p, %v, %o : !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<8x16xf16, tcm>, !ahbm.buffer<16x16xf16, tcm>, !ahbm.buffer<8x16xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>], writes = array<i64: 3>} plan {
    }
  }
  func.return
}

// Refuses: an op before the product works on its output, and it is no scaling of what the product is added to.
// CHECK-LABEL: func.func @shifted
// CHECK: scf.for
// CHECK-NEXT: ahbm.composite({{.*}}) extents({{.*}}) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"sub", once, [3, 3], 3>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>, #ahbm.spec<"add"
func.func @shifted(%v: !ahbm.buffer<128x128xf16, tcm>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<128x128xf16, tcm>
  %p = ahbm.alloc : !ahbm.buffer<128x128xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<128x128xf32, tcm>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    ahbm.composite(%s, %p, %v, %o : !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"sub", once, [3, 3], 3>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>, #ahbm.spec<"add", output_tile, [-1, 3], 3>], writes = array<i64: 3>} plan {
    }
  }
  func.return
}

// Leaves alone: outside of a loop there is no product before.
// CHECK-LABEL: func.func @no_loop
// CHECK: specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>]
func.func @no_loop(%v: !ahbm.buffer<128x128xf16, tcm>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<128x128xf16, tcm>
  %p = ahbm.alloc : !ahbm.buffer<128x128xf16, tcm>
  %o = ahbm.alloc : !ahbm.buffer<128x128xf32, tcm>
  ahbm.composite(%s, %p, %v, %o : !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf16, tcm>, !ahbm.buffer<128x128xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"exp", once, [0], 1>, #ahbm.spec<"gemm", k_tile, [1, 2], 3>], writes = array<i64: 3>} plan {
  }
  func.return
}
