// RUN: ahbmc-opt %s -p shrink-regions,canonicalize,cse | filecheck %s

// Changes: rows of a beyond the store's bound never reach memory, so the region of a ends there too; the columns of b likewise.
// CHECK-LABEL: func.func @rows
// CHECK: %[[A:.*]] = ahbm.region %a[%{{.*}}] {{.*}} hi(%[[M:.*]], %{{.*}})
// CHECK: %[[B:.*]] = ahbm.region %b[%{{.*}}] {{.*}} hi(%{{.*}}, %[[N:.*]])
// CHECK: %[[C:.*]] = ahbm.region %c[%{{.*}}] {{.*}} hi(%[[M]], %[[N]])
func.func @rows(%a: !tl.ptr<f32>, %b: !tl.ptr<f32>, %c: !tl.ptr<f32>, %m: i64, %n: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %ra = ahbm.region %a[%z] sizes(%four, %four) strides(%four, %one) lo(%z, %z) hi(%four, %four) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %rb = ahbm.region %b[%z] sizes(%four, %four) strides(%four, %one) lo(%z, %z) hi(%four, %four) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %x = tl.load_region %ra : !ahbm.region<f32, 2> -> tensor<4x4xf32>
  %y = tl.load_region %rb : !ahbm.region<f32, 2> -> tensor<4x4xf32>
  %d = tl.dot %x, %y : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %e = math.exp2 %d : tensor<4x4xf32>
  %pm = arith.maxsi %m, %z : i64
  %hm = arith.minsi %pm, %four : i64
  %pn = arith.maxsi %n, %z : i64
  %hn = arith.minsi %pn, %four : i64
  %rc = ahbm.region %c[%z] sizes(%four, %four) strides(%four, %one) lo(%z, %z) hi(%hm, %hn) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  tl.store_region %rc, %e : !ahbm.region<f32, 2>, tensor<4x4xf32>
  func.return
}

// Leaves alone: a sum over the lanes needs every one of them, whatever is stored of it.
// CHECK-LABEL: func.func @reduced
// CHECK: ahbm.region %a[%{{.*}}] sizes(%[[S:.*]]) {{.*}} hi(%[[S]])
func.func @reduced(%a: !tl.ptr<f32>, %c: !tl.ptr<f32>, %m: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %ra = ahbm.region %a[%z] sizes(%four) strides(%one) lo(%z) hi(%four) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %ra : !ahbm.region<f32, 1> -> tensor<4xf32>
  %s = tl.reduce "sum", %x {axis = 0 : i32} : tensor<4xf32> -> f32
  %b = tl.splat %s : f32 -> tensor<4xf32>
  %hm = arith.minsi %m, %four : i64
  %rc = ahbm.region %c[%z] sizes(%four) strides(%one) lo(%z) hi(%hm) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  tl.store_region %rc, %b : !ahbm.region<f32, 1>, tensor<4xf32>
  func.return
}

// Leaves alone: two stores with different bounds demand the lanes of both.
// CHECK-LABEL: func.func @two_stores
// CHECK: ahbm.region %a[%{{.*}}] sizes(%[[S:.*]]) {{.*}} hi(%[[S]])
func.func @two_stores(%a: !tl.ptr<f32>, %c: !tl.ptr<f32>, %m: i64, %n: i64) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %ra = ahbm.region %a[%z] sizes(%four) strides(%one) lo(%z) hi(%four) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %ra : !ahbm.region<f32, 1> -> tensor<4xf32>
  %r = ahbm.region %c[%z] sizes(%four) strides(%one) lo(%z) hi(%m) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %s = ahbm.region %c[%z] sizes(%four) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  tl.store_region %r, %x : !ahbm.region<f32, 1>, tensor<4xf32>
  tl.store_region %s, %x : !ahbm.region<f32, 1>, tensor<4xf32>
  func.return
}

// Refuses: a bound that is only known after the load cannot bound it.
// CHECK-LABEL: func.func @later
// CHECK: ahbm.region %a[%{{.*}}] sizes(%[[S:.*]]) {{.*}} hi(%[[S]])
func.func @later(%a: !tl.ptr<f32>, %c: !tl.ptr<f32>, %p: !tl.ptr<i64>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %ra = ahbm.region %a[%z] sizes(%four) strides(%one) lo(%z) hi(%four) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %ra : !ahbm.region<f32, 1> -> tensor<4xf32>
  %m = tl.load %p : !tl.ptr<i64> -> i64
  %hm = arith.minsi %m, %four : i64
  %rc = ahbm.region %c[%z] sizes(%four) strides(%one) lo(%z) hi(%hm) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  tl.store_region %rc, %x : !ahbm.region<f32, 1>, tensor<4xf32>
  func.return
}
