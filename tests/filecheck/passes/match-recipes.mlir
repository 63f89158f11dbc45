// RUN: ahbmc-opt %s -p match-recipes | filecheck %s

// CHECK: outcome = "matched", reason = "softmax_merge"
// CHECK: outcome = "refused", reason = "softmax_merge: the running output is not O = mul(O, corr) along axis 1"
// CHECK: outcome = "matched", reason = "softmax_merge"
// CHECK: outcome = "refused", reason = "softmax_merge: 'p' is also read by tl.store"

// Changes: the online-softmax step and its product become one composite, which takes v from its load: whether it streams v is for `form-composites` to say.
// CHECK-LABEL: func.func @merge
// CHECK: %[[LV:.*]] = tl.load_region
// CHECK-NOT: tl.reduce
// CHECK: tl.composite(%{{.*}} = %s : tensor<4x8xf32>, %{{.*}} = %m : tensor<4xf32>, %{{.*}} = %l : tensor<4xf32>, %{{.*}} = %o : tensor<4x4xf32>, %{{.*}} = %[[LV]] : tensor<8x4xf16>)
// CHECK: %[[M:.*]], %[[L:.*]], %[[O:.*]], %[[P:.*]] = tl.recipe(
// CHECK-SAME: recipe = "softmax_merge", params = {base = "2", scale = "before", guard = "none", mask = "none", products = "one"}
// CHECK: %[[D:.*]] = tl.dot %[[P]], %{{.*}} acc(%[[O]])
// CHECK: tl.yield %[[M]], %[[L]], %[[D]]
func.func @merge(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x4xf32>, %v: !tl.ptr<f16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %z = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %rv = ahbm.region %v[%z] sizes(%eight, %four) strides(%four, %four) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %lv = tl.load_region %rv : !ahbm.region<f16, 2> -> tensor<8x4xf16>
  %rows = tl.reduce "max", %s {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %new = arith.maxnumf %rows, %m : tensor<4xf32>
  %e = tl.expand_dims %new {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %b = tl.broadcast %e : tensor<4x1xf32> -> tensor<4x8xf32>
  %x = arith.subf %s, %b : tensor<4x8xf32>
  %p = math.exp2 %x : tensor<4x8xf32>
  %y = arith.subf %m, %new : tensor<4xf32>
  %c = math.exp2 %y : tensor<4xf32>
  %sum = tl.reduce "sum", %p {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %scaled = arith.mulf %l, %c : tensor<4xf32>
  %ln = arith.addf %sum, %scaled : tensor<4xf32>
  %ce = tl.expand_dims %c {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %cb = tl.broadcast %ce : tensor<4x1xf32> -> tensor<4x4xf32>
  %os = arith.mulf %o, %cb : tensor<4x4xf32>
  %pc = tl.cast %p : tensor<4x8xf32> -> tensor<4x8xf16>
  %on = tl.dot %pc, %lv acc(%os) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %new, %ln, %on : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// Leaves alone: a product that follows no exponential is none of its business and leaves no remark.
// CHECK-LABEL: func.func @product
// CHECK: tl.dot
func.func @product(%a: tensor<4x8xf16>, %b: tensor<8x4xf16>) -> tensor<4x4xf32> {
  %d = tl.dot %a, %b : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}

// Refuses: an output that is added to without being rescaled computes something else.
// CHECK-LABEL: func.func @unscaled
// CHECK-NOT: tl.composite
// CHECK: func.return
func.func @unscaled(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x4xf32>, %v: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %rows = tl.reduce "max", %s {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %new = arith.maxnumf %rows, %m : tensor<4xf32>
  %e = tl.expand_dims %new {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %b = tl.broadcast %e : tensor<4x1xf32> -> tensor<4x8xf32>
  %x = arith.subf %s, %b : tensor<4x8xf32>
  %p = math.exp %x : tensor<4x8xf32>
  %y = arith.subf %m, %new : tensor<4xf32>
  %c = math.exp %y : tensor<4xf32>
  %sum = tl.reduce "sum", %p {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %scaled = arith.mulf %l, %c : tensor<4xf32>
  %ln = arith.addf %sum, %scaled : tensor<4xf32>
  %on = tl.dot %p, %v acc(%o) : tensor<4x8xf32>, tensor<8x4xf32> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %new, %ln, %on : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// Changes: P is stored as well, so the composite gives it too.
// CHECK-LABEL: func.func @weights_stored
// CHECK: %{{.*}}, %{{.*}}, %[[P:.*]], %{{.*}} = tl.composite
// CHECK: tl.store %q, %[[P]]
func.func @weights_stored(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x4xf32>, %v: tensor<8x4xf32>, %q: tensor<4x8x!tl.ptr<f32>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %rows = tl.reduce "max", %s {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %new = arith.maxnumf %rows, %m : tensor<4xf32>
  %e = tl.expand_dims %new {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %b = tl.broadcast %e : tensor<4x1xf32> -> tensor<4x8xf32>
  %x = arith.subf %s, %b : tensor<4x8xf32>
  %p = math.exp %x : tensor<4x8xf32>
  tl.store %q, %p : tensor<4x8x!tl.ptr<f32>>, tensor<4x8xf32>
  %y = arith.subf %m, %new : tensor<4xf32>
  %c = math.exp %y : tensor<4xf32>
  %sum = tl.reduce "sum", %p {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %scaled = arith.mulf %l, %c : tensor<4xf32>
  %ln = arith.addf %sum, %scaled : tensor<4xf32>
  %ce = tl.expand_dims %c {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %cb = tl.broadcast %ce : tensor<4x1xf32> -> tensor<4x4xf32>
  %os = arith.mulf %o, %cb : tensor<4x4xf32>
  %on = tl.dot %p, %v acc(%os) : tensor<4x8xf32>, tensor<8x4xf32> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %new, %ln, %on : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// Refuses: P is stored before it is rounded for the product, and a composite keeps that to itself.
// CHECK-LABEL: func.func @leak
// CHECK-NOT: tl.composite
// CHECK: func.return
func.func @leak(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x4xf32>, %v: tensor<8x4xf16>, %q: tensor<4x8x!tl.ptr<f32>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %rows = tl.reduce "max", %s {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %new = arith.maxnumf %rows, %m : tensor<4xf32>
  %e = tl.expand_dims %new {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %b = tl.broadcast %e : tensor<4x1xf32> -> tensor<4x8xf32>
  %x = arith.subf %s, %b : tensor<4x8xf32>
  %p = math.exp %x : tensor<4x8xf32>
  tl.store %q, %p : tensor<4x8x!tl.ptr<f32>>, tensor<4x8xf32>
  %y = arith.subf %m, %new : tensor<4xf32>
  %c = math.exp %y : tensor<4xf32>
  %sum = tl.reduce "sum", %p {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4xf32>
  %scaled = arith.mulf %l, %c : tensor<4xf32>
  %ln = arith.addf %sum, %scaled : tensor<4xf32>
  %ce = tl.expand_dims %c {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %cb = tl.broadcast %ce : tensor<4x1xf32> -> tensor<4x4xf32>
  %os = arith.mulf %o, %cb : tensor<4x4xf32>
  %pc = tl.cast %p : tensor<4x8xf32> -> tensor<4x8xf16>
  %on = tl.dot %pc, %v acc(%os) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %new, %ln, %on : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
