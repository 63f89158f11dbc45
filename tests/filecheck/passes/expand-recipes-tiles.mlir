// RUN: ahbmc-opt %s -p expand-recipes | filecheck %s

// Changes: rows on the tile of a product run per output tile, behind the GEMM; the last one makes the next tile. Numbers
// are scalars of PE_CPU, each once.
// CHECK-LABEL: func.func @linear_gelu_erf
// CHECK: %u = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
// CHECK-DAG: arith.constant 0.707106
// CHECK-DAG: arith.constant 5.000000e-01
// CHECK: #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"mul", output_tile, [-1, 4], 3>, #ahbm.spec<"erf", output_tile, [3], 3>
// CHECK-SAME: #ahbm.spec<"fma", output_tile, [3, 5, 5], 3>, #ahbm.spec<"mul", output_tile, [-1, 3], 2>], writes = array<i64: 2>
func.func @linear_gelu_erf(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"linear_gelu", output_tile, [-1], 2, {form = "erf", tile = tensor<32x64xf32>}>], writes = array<i64: 2>} plan {
  }
  func.return
}

// CHECK-LABEL: func.func @linear_gelu_tanh
// CHECK: #ahbm.spec<"mul", output_tile, [-1, -1], 3>, #ahbm.spec<"fma", output_tile, [3, 4, 5], 3>, #ahbm.spec<"mul", output_tile, [3, -1], 3>
// CHECK-SAME: #ahbm.spec<"tanh", output_tile, [3], 3>, #ahbm.spec<"fma", output_tile, [3, 6, 6], 3>, #ahbm.spec<"mul", output_tile, [-1, 3], 2>
func.func @linear_gelu_tanh(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  ahbm.composite(%a, %b, %c : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"linear_gelu", output_tile, [-1], 2, {form = "tanh", tile = tensor<32x64xf32>}>], writes = array<i64: 2>} plan {
  }
  func.return
}

// The product is the gate, part 3 is let through.
// CHECK-LABEL: func.func @swiglu_gate
// CHECK: #ahbm.spec<"neg", output_tile, [-1], 4>, #ahbm.spec<"exp", output_tile, [4], 4>, #ahbm.spec<"add", output_tile, [4, 5], 4>
// CHECK-SAME: #ahbm.spec<"div", output_tile, [-1, 4], 4>, #ahbm.spec<"mul", output_tile, [4, 3], 2>
func.func @swiglu_gate(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  %u = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  ahbm.composite(%a, %b, %c, %u : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"swiglu_gate", output_tile, [-1, 3], 2, {product = "gate", tile = tensor<32x64xf32>}>], writes = array<i64: 2>} plan {
  }
  func.return
}

// The other way round.
// CHECK-LABEL: func.func @swiglu_up
// CHECK: #ahbm.spec<"neg", output_tile, [3], 4>, #ahbm.spec<"exp", output_tile, [4], 4>, #ahbm.spec<"add", output_tile, [4, 5], 4>
// CHECK-SAME: #ahbm.spec<"div", output_tile, [3, 4], 4>, #ahbm.spec<"mul", output_tile, [4, -1], 2>
func.func @swiglu_up(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %n: i64) {
  %u = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  ahbm.composite(%a, %b, %c, %u : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"swiglu_gate", output_tile, [-1, 3], 2, {product = "up", tile = tensor<32x64xf32>}>], writes = array<i64: 2>} plan {
  }
  func.return
}

// Rows at the end run once, behind the tiles, on the block that they were stored to; without a GEMM they are all there is.
// CHECK-LABEL: func.func @log_sum_exp
// CHECK: #ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"reduce_max", once, [2], 5, {axis = 1 : i64}>, #ahbm.spec<"max", once, [3, 5], 6>
// CHECK-SAME: #ahbm.spec<"exp2_diff", once, [3, 6], 7>, #ahbm.spec<"exp2_diff", once, [2, 6], 8, {axis = 1 : i64}>, #ahbm.spec<"reduce_sum", once, [8], 9, {axis = 1 : i64}>
// CHECK-SAME: #ahbm.spec<"fma", once, [4, 7, 9], 4>, #ahbm.spec<"copy", once, [6], 3>], writes = array<i64: 3, 4>
// CHECK: ahbm.composite(%s, %m, %l
// CHECK-SAME: specs = [#ahbm.spec<"reduce_max", once, [0], 3, {axis = 1 : i64}>, #ahbm.spec<"max", once, [1, 3], 4>, #ahbm.spec<"exp_diff", once, [1, 4], 5>
func.func @log_sum_exp(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %n: i64) {
  %s = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %m = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %l = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  ahbm.composite(%a, %b, %s, %m, %l : !ahbm.region<f16, 2>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"gemm", k_tile, [0, 1], 2>, #ahbm.spec<"log_sum_exp", once, [2, 3, 4], 4, {base = "2", tile = tensor<32x64xf32>}>], writes = array<i64: 3, 4>} plan {
  }
  ahbm.composite(%s, %m, %l : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.buffer<32xf32, tcm>) {specs = [#ahbm.spec<"log_sum_exp", once, [0, 1, 2], 2, {base = "e", tile = tensor<32x64xf32>}>], writes = array<i64: 1, 2>} plan {
  }
  func.return
}

// Rows before the GEMM make its a: x narrow, the sum over K, with weights.
// CHECK-LABEL: func.func @rmsnorm_linear
// CHECK: #ahbm.spec<"copy", once, [0], 7>, #ahbm.spec<"mul", once, [7, 7], 7>, #ahbm.spec<"reduce_sum", once, [7], 8, {axis = 1 : i64}>, #ahbm.spec<"div", once, [8, 2], 8>
// CHECK-SAME: #ahbm.spec<"add", once, [8, 1], 8>, #ahbm.spec<"rsqrt", once, [8], 8>, #ahbm.spec<"mul", once, [0, 8], 7, {axis = 1 : i64}>, #ahbm.spec<"mul", once, [7, 3], 6, {axis = 0 : i64}>, #ahbm.spec<"gemm", k_tile, [6, 4], 5>
func.func @rmsnorm_linear(%b: !ahbm.region<f16, 2>, %eps: f32, %k: f32, %n: i64) {
  %x = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  %w = ahbm.alloc : !ahbm.buffer<64xf16, tcm>
  %y = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%x, %eps, %k, %w, %b, %y, %p : !ahbm.buffer<32x64xf16, tcm>, f32, f32, !ahbm.buffer<64xf16, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"rmsnorm_linear", once, [0, 1, 2, 3], 6, {mean = "over", weight = "with", x = "narrow"}>, #ahbm.spec<"gemm", k_tile, [6, 4], 5>], writes = array<i64: 5>} plan {
  }
  func.return
}

// A step along K: squares are summed along rows.
// CHECK-LABEL: func.func @rmsnorm_step
// CHECK: #ahbm.spec<"mul", once, [0, 0], 6>, #ahbm.spec<"reduce_sum", once, [6], 7, {axis = 1 : i64}>, #ahbm.spec<"add", once, [2, 7], 2>
// CHECK-SAME: #ahbm.spec<"mul", once, [0, 1], 5, {axis = 0 : i64}>, #ahbm.spec<"gemm", k_tile, [5, 3], 4>, #ahbm.spec<"add", output_tile, [-1, 4], 4>], writes = array<i64: 2, 4>
func.func @rmsnorm_step(%b: !ahbm.region<f16, 2>, %n: i64) {
  %x = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %w = ahbm.alloc : !ahbm.buffer<64xf32, tcm>
  %total = ahbm.alloc : !ahbm.buffer<32xf32, tcm>
  %o = ahbm.alloc : !ahbm.buffer<32x64xf32, tcm>
  %p = ahbm.alloc : !ahbm.buffer<32x64xf16, tcm>
  ahbm.composite(%x, %w, %total, %b, %o, %p : !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<32xf32, tcm>, !ahbm.region<f16, 2>, !ahbm.buffer<32x64xf32, tcm>, !ahbm.buffer<32x64xf16, tcm>) extents(%n, %n, %n) {specs = [#ahbm.spec<"rmsnorm_step", once, [0, 1, 2], 5, {sum = "rows", x = "f32"}>, #ahbm.spec<"gemm", k_tile, [5, 3], 4>, #ahbm.spec<"add", output_tile, [-1, 4], 4>], writes = array<i64: 2, 4>} plan {
  }
  func.return
}
