// RUN: ahbmc-opt %s -p split-batches,canonicalize,cse | filecheck %s
// RUN: ahbmc-opt %s -p split-batches{most=1} | filecheck %s --check-prefix=MOST

// CHECK-DAG: outcome = "split", reason = "2 products"
// CHECK-DAG: outcome = "refused", reason = "tl.reduce needs all of the batch"
// CHECK-DAG: outcome = "refused", reason = "a block from outside cannot be split"
// MOST-DAG: outcome = "refused", reason = "a batch of 2 products, more than 1"

// Changes: both products are loaded, then each is computed and stored. A row that is the same for all of the batch is
// taken as it is.
// CHECK-LABEL: func.func @stored
// CHECK: tl.load_region {{.*}} : !ahbm.region<f16, 2> ->
// CHECK: tl.load_region {{.*}} : !ahbm.region<f16, 2> ->
// CHECK: tl.load_region {{.*}} : !ahbm.region<f16, 2> ->
// CHECK: tl.load_region {{.*}} : !ahbm.region<f16, 2> ->
// CHECK: %[[D0:.*]] = tl.dot {{.*}} : tensor<32x64xf16>, tensor<64x16xf16> -> tensor<32x16xf32>
// CHECK: %[[ROW:.*]] = tl.reshape %row : tensor<1x1x16xf32> -> tensor<1x16xf32>
// CHECK: tl.broadcast %[[ROW]] : tensor<1x16xf32> -> tensor<32x16xf32>
// CHECK: %[[S0:.*]] = arith.addf %[[D0]]
// CHECK: tl.store_region {{.*}}, %[[S0]] : !ahbm.region<f32, 2>, tensor<32x16xf32>
// CHECK: %[[D1:.*]] = tl.dot
// CHECK: %[[S1:.*]] = arith.addf %[[D1]]
// CHECK: tl.store_region {{.*}}, %[[S1]]
// MOST-LABEL: func.func @stored
// MOST: tl.dot {{.*}} : tensor<2x32x64xf16>
func.func @stored(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %o: !tl.ptr<f32>, %row: tensor<1x1x16xf32>, %apart: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %m = arith.constant 32 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 16 : i64
  %ra = ahbm.region %p[%z] sizes(%two, %m, %k) strides(%apart, %k, %one) lo(%z, %z, %z) hi(%two, %m, %k) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
  %rb = ahbm.region %q[%z] sizes(%two, %k, %n) strides(%apart, %n, %one) lo(%z, %z, %z) hi(%two, %k, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
  %rc = ahbm.region %o[%z] sizes(%two, %m, %n) strides(%apart, %n, %one) lo(%z, %z, %z) hi(%two, %m, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 3>
  %a = tl.load_region %ra : !ahbm.region<f16, 3> -> tensor<2x32x64xf16>
  %b = tl.load_region %rb : !ahbm.region<f16, 3> -> tensor<2x64x16xf16>
  %d = tl.dot %a, %b : tensor<2x32x64xf16>, tensor<2x64x16xf16> -> tensor<2x32x16xf32>
  %rows = tl.broadcast %row : tensor<1x1x16xf32> -> tensor<2x32x16xf32>
  %s = arith.addf %d, %rows : tensor<2x32x16xf32>
  tl.store_region %rc, %s : !ahbm.region<f32, 3>, tensor<2x32x16xf32>
  func.return
}

// Changes: a loop carries a sum for each product; the maximum of each row is one of a product.
// CHECK-LABEL: func.func @carried
// CHECK: %{{.*}}, %{{.*}} = scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) -> (tensor<32x16xf32>, tensor<32x16xf32>)
// CHECK: %[[U:.*]] = tl.dot {{.*}} acc(%[[X]])
// CHECK: %[[V:.*]] = tl.dot {{.*}} acc(%[[Y]])
// CHECK: scf.yield %[[U]], %[[V]]
// CHECK-COUNT-2: tl.reduce "max", %{{.*}} {axis = 1 : i32} : tensor<32x16xf32> -> tensor<32xf32>
func.func @carried(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %o: !tl.ptr<f32>, %apart: i64, %trip: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %m = arith.constant 32 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 16 : i64
  %rc = ahbm.region %o[%z] sizes(%two, %m) strides(%apart, %one) lo(%z, %z) hi(%two, %m) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %zero = arith.constant dense<0.0> : tensor<2x32x16xf32>
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<2x32x16xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %k : i64
    %ra = ahbm.region %p[%at] sizes(%two, %m, %k) strides(%apart, %k, %one) lo(%z, %z, %z) hi(%two, %m, %k) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
    %rb = ahbm.region %q[%at] sizes(%two, %k, %n) strides(%apart, %n, %one) lo(%z, %z, %z) hi(%two, %k, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
    %a = tl.load_region %ra : !ahbm.region<f16, 3> -> tensor<2x32x64xf16>
    %b = tl.load_region %rb : !ahbm.region<f16, 3> -> tensor<2x64x16xf16>
    %d = tl.dot %a, %b acc(%acc) : tensor<2x32x64xf16>, tensor<2x64x16xf16> acc_type tensor<2x32x16xf32> -> tensor<2x32x16xf32>
    scf.yield %d : tensor<2x32x16xf32>
  }
  %top = tl.reduce "max", %x {axis = 2 : i32} : tensor<2x32x16xf32> -> tensor<2x32xf32>
  tl.store_region %rc, %top : !ahbm.region<f32, 2>, tensor<2x32xf32>
  func.return
}

// Leaves alone: a product of matrices.
// CHECK-LABEL: func.func @matrices
// CHECK: tl.dot %a, %b : tensor<32x64xf16>, tensor<64x16xf16> -> tensor<32x16xf32>
func.func @matrices(%a: tensor<32x64xf16>, %b: tensor<64x16xf16>) -> tensor<32x16xf32> {
  %d = tl.dot %a, %b : tensor<32x64xf16>, tensor<64x16xf16> -> tensor<32x16xf32>
  func.return %d : tensor<32x16xf32>
}

// Refuses: the sum over the batch takes all of it.
// CHECK-LABEL: func.func @summed
// CHECK: tl.dot {{.*}} : tensor<2x32x64xf16>
func.func @summed(%a: tensor<2x32x64xf16>, %b: tensor<2x64x16xf16>) -> tensor<32x16xf32> {
  %d = tl.dot %a, %b : tensor<2x32x64xf16>, tensor<2x64x16xf16> -> tensor<2x32x16xf32>
  %s = tl.reduce "sum", %d {axis = 0 : i32} : tensor<2x32x16xf32> -> tensor<32x16xf32>
  func.return %s : tensor<32x16xf32>
}

// Refuses: nobody knows where the blocks come from.
// CHECK-LABEL: func.func @given
// CHECK: tl.dot {{.*}} : tensor<2x32x64xf16>
func.func @given(%a: tensor<2x32x64xf16>, %b: tensor<2x64x16xf16>, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %m = arith.constant 32 : i64
  %n = arith.constant 16 : i64
  %apart = arith.constant 512 : i64
  %rc = ahbm.region %o[%z] sizes(%two, %m, %n) strides(%apart, %n, %one) lo(%z, %z, %z) hi(%two, %m, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 3>
  %d = tl.dot %a, %b : tensor<2x32x64xf16>, tensor<2x64x16xf16> -> tensor<2x32x16xf32>
  tl.store_region %rc, %d : !ahbm.region<f32, 3>, tensor<2x32x16xf32>
  func.return
}
