// RUN: ahbmc-opt %s -p fuse-epilogues | filecheck %s

// Changes: the rows of a recipe that takes the tile join as one op, with what stands before and behind them.
// CHECK-LABEL: func.func @tile
// CHECK: tl.composite(
// CHECK: %[[P:.*]] = tl.gemm
// CHECK: %[[B:.*]] = arith.addf %[[P]]
// CHECK: %[[Y:.*]] = tl.recipe(%{{.*}} = %[[B]] : tensor<32x64xf32>)
// CHECK: %[[C:.*]] = tl.cast %[[Y]]
// CHECK: tl.store_region %{{.*}}, %[[C]]
// CHECK-NOT: tl.composite
func.func @tile(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %c: !ahbm.region<f16, 2>, %bias: tensor<32x64xf32>) {
  %p = tl.composite(%x = %a : !ahbm.region<f16, 2>, %y = %b : !ahbm.region<f16, 2>) attributes {stage = "none"} -> tensor<32x64xf32> {
    %g = tl.gemm %x, %y : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x64xf32>
    tl.yield %g : tensor<32x64xf32>
  }
  %t = arith.addf %p, %bias : tensor<32x64xf32>
  %r = tl.composite(%x = %t : tensor<32x64xf32>) -> tensor<32x64xf32> {
    %y = tl.recipe(%t_1 = %x : tensor<32x64xf32>) attributes {recipe = "linear_gelu", params = {form = "erf"}} -> tensor<32x64xf32> {
      %e = math.erf %t_1 : tensor<32x64xf32>
      tl.yield %e : tensor<32x64xf32>
    }
    tl.yield %y : tensor<32x64xf32>
  }
  %h = tl.cast %r : tensor<32x64xf32> -> tensor<32x64xf16>
  tl.store_region %c, %h : !ahbm.region<f16, 2>, tensor<32x64xf16>
  func.return
}

// Changes: rows at the end join too, and the composite gives what they write.
// CHECK-LABEL: func.func @end
// CHECK: tl.composite(
// CHECK: %[[S:.*]] = tl.gemm
// CHECK: %[[M:.*]], %[[L:.*]] = tl.recipe(%{{.*}} = %[[S]] : tensor<32x64xf32>
// CHECK: tl.yield %[[M]], %[[L]]
func.func @end(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>, %m: tensor<32xf32>, %l: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %p = tl.composite(%x = %a : !ahbm.region<f16, 2>, %y = %b : !ahbm.region<f16, 2>) attributes {stage = "none"} -> tensor<32x64xf32> {
    %g = tl.gemm %x, %y : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x64xf32>
    tl.yield %g : tensor<32x64xf32>
  }
  %m2, %l2 = tl.composite(%x = %p : tensor<32x64xf32>, %y = %m : tensor<32xf32>, %z = %l : tensor<32xf32>) -> tensor<32xf32>, tensor<32xf32> {
    %i, %j = tl.recipe(%s = %x : tensor<32x64xf32>, %m_1 = %y : tensor<32xf32>, %l_1 = %z : tensor<32xf32>) attributes {recipe = "log_sum_exp", params = {base = "e"}} -> tensor<32xf32>, tensor<32xf32> {
      %top = tl.reduce "max", %s {axis = 1 : i32} : tensor<32x64xf32> -> tensor<32xf32>
      tl.yield %top, %l_1 : tensor<32xf32>, tensor<32xf32>
    }
    tl.yield %i, %j : tensor<32xf32>, tensor<32xf32>
  }
  func.return %m2, %l2 : tensor<32xf32>, tensor<32xf32>
}

// Leaves alone: the scores have a second reader, so they must lie in a block of their own.
// CHECK-LABEL: func.func @read_twice
// CHECK: tl.composite
// CHECK: tl.composite
// CHECK: tl.recipe
func.func @read_twice(%a: !ahbm.region<f16, 2>, %b: !ahbm.region<f16, 2>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %p = tl.composite(%x = %a : !ahbm.region<f16, 2>, %y = %b : !ahbm.region<f16, 2>) attributes {stage = "none"} -> tensor<32x64xf32> {
    %g = tl.gemm %x, %y : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x64xf32>
    tl.yield %g : tensor<32x64xf32>
  }
  %r = tl.composite(%x = %p : tensor<32x64xf32>) -> tensor<32x64xf32> {
    %y = tl.recipe(%t_1 = %x : tensor<32x64xf32>) attributes {recipe = "linear_gelu", params = {form = "erf"}} -> tensor<32x64xf32> {
      %e = math.erf %t_1 : tensor<32x64xf32>
      tl.yield %e : tensor<32x64xf32>
    }
    tl.yield %y : tensor<32x64xf32>
  }
  func.return %p, %r : tensor<32x64xf32>, tensor<32x64xf32>
}

// Refuses: what the op also takes is a view of another result, which nothing outside has before the composite.
// CHECK-LABEL: func.func @other_result
// CHECK: %total, %d = tl.composite
// CHECK: tl.expand_dims %total
// CHECK: arith.divf %d
func.func @other_result(%rows: tensor<32x32xf32>, %weights: tensor<32xf32>, %sum: tensor<32xf32>, %v: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %total, %d = tl.composite(%x = %rows : tensor<32x32xf32>, %w = %weights : tensor<32xf32>, %t = %sum : tensor<32xf32>, %b = %v : tensor<32x32xf32>) -> tensor<32xf32>, tensor<32x32xf32> {
    %t2, %p = tl.recipe(%x_1 = %x : tensor<32x32xf32>, %w_1 = %w : tensor<32xf32>, %t_1 = %t : tensor<32xf32>) attributes {recipe = "rmsnorm_step", params = {sum = "rows", x = "f32"}} -> tensor<32xf32>, tensor<32x32xf32> {
      tl.yield %t_1, %x_1 : tensor<32xf32>, tensor<32x32xf32>
    }
    %g = tl.dot %p, %b : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    tl.yield %t2, %g : tensor<32xf32>, tensor<32x32xf32>
  }
  %e = tl.expand_dims %total {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %b = tl.broadcast %e : tensor<32x1xf32> -> tensor<32x32xf32>
  %q = arith.divf %d, %b : tensor<32x32xf32>
  func.return %q : tensor<32x32xf32>
}
