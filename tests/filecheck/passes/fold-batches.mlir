// RUN: ahbmc-opt %s -p fold-batches,canonicalize,cse | filecheck %s

// CHECK-DAG: outcome = "folded", reason = "4 products share b"
// CHECK-DAG: outcome = "folded", reason = "a batch of one"

// Changes: all of the batch is rows of one product, and what is done lane by lane or along the last axis follows. The
// load and the store have one axis for two; its stride is that of a row where the heads lie one after the other.
// CHECK-LABEL: func.func @shared
// CHECK: %[[ROWS:.*]] = ahbm.region %p[{{.*}}] sizes(%{{.*}}, %[[K:.*]]) strides(%[[K]], %{{.*}}) {{.*}} {axes = ["affine", "affine"]}
// CHECK: %q = tl.load_region %[[ROWS]] : !ahbm.region<f16, 2> -> tensor<64x32xf16>
// CHECK: %d = tl.dot %q, %b : tensor<64x32xf16>, tensor<32x8xf16> -> tensor<64x8xf32>
// CHECK: %[[SCALE:.*]] = tl.splat %scale : f32 -> tensor<64x8xf32>
// CHECK: %s = arith.mulf %d, %[[SCALE]] : tensor<64x8xf32>
// CHECK: %m = tl.reduce "max", %s {axis = 1 : i32} : tensor<64x8xf32> -> tensor<64xf32>
// CHECK: tl.expand_dims %m {axis = 1 : i32}
// CHECK: tl.broadcast {{.*}} : tensor<64x1xf32> -> tensor<64x8xf32>
// CHECK: arith.subf {{.*}} : tensor<64x8xf32>
// CHECK-NOT: tl.reshape
// CHECK: tl.store_region {{.*}} : !ahbm.region<f32, 2>, tensor<64x8xf32>
func.func @shared(%p: !tl.ptr<f16>, %b: tensor<32x8xf16>, %scale: f32, %o: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %heads = arith.constant 4 : i64
  %t = arith.constant 16 : i64
  %k = arith.constant 32 : i64
  %n = arith.constant 8 : i64
  %head = arith.constant 512 : i64
  %out = arith.constant 128 : i64
  %rq = ahbm.region %p[%z] sizes(%heads, %t, %k) strides(%head, %k, %one) lo(%z, %z, %z) hi(%heads, %t, %k) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
  %ro = ahbm.region %o[%z] sizes(%heads, %t, %n) strides(%out, %n, %one) lo(%z, %z, %z) hi(%heads, %t, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 3>
  %q = tl.load_region %rq : !ahbm.region<f16, 3> -> tensor<4x16x32xf16>
  %b1 = tl.expand_dims %b {axis = 0 : i32} : tensor<32x8xf16> -> tensor<1x32x8xf16>
  %bs = tl.broadcast %b1 : tensor<1x32x8xf16> -> tensor<4x32x8xf16>
  %d = tl.dot %q, %bs : tensor<4x16x32xf16>, tensor<4x32x8xf16> -> tensor<4x16x8xf32>
  %scales = tl.splat %scale : f32 -> tensor<4x16x8xf32>
  %s = arith.mulf %d, %scales : tensor<4x16x8xf32>
  %m = tl.reduce "max", %s {axis = 2 : i32} : tensor<4x16x8xf32> -> tensor<4x16xf32>
  %m1 = tl.expand_dims %m {axis = 2 : i32} : tensor<4x16xf32> -> tensor<4x16x1xf32>
  %ms = tl.broadcast %m1 : tensor<4x16x1xf32> -> tensor<4x16x8xf32>
  %less = arith.subf %s, %ms : tensor<4x16x8xf32>
  tl.store_region %ro, %less : !ahbm.region<f32, 3>, tensor<4x16x8xf32>
  func.return
}

// Changes: heads that lie anywhere are a folded axis; the sum that a loop carries is folded, and so is a transposed b.
// CHECK-LABEL: func.func @carried
// CHECK: ahbm.region %p[{{.*}}] {{.*}} fold(%{{.*}}) width(%{{.*}}) stride(%head) {axes = ["folded", "affine"]}
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<64x8xf32>)
// CHECK: tl.trans %b {order = array<i64: 1, 0>} : tensor<8x32xf16> -> tensor<32x8xf16>
// CHECK: %[[D:.*]] = tl.dot %{{.*}}, %{{.*}} acc(%[[SUM]]) : tensor<64x32xf16>, tensor<32x8xf16> acc_type tensor<64x8xf32>
// CHECK: scf.yield %[[D]]
func.func @carried(%p: !tl.ptr<f16>, %b: tensor<8x32xf16>, %head: i64, %trip: i32, %o: !tl.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %heads = arith.constant 4 : i64
  %t = arith.constant 16 : i64
  %k = arith.constant 32 : i64
  %n = arith.constant 8 : i64
  %out = arith.constant 128 : i64
  %rq = ahbm.region %p[%z] sizes(%heads, %t, %k) strides(%head, %k, %one) lo(%z, %z, %z) hi(%heads, %t, %k) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
  %ro = ahbm.region %o[%z] sizes(%heads, %t, %n) strides(%out, %n, %one) lo(%z, %z, %z) hi(%heads, %t, %n) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 3>
  %q = tl.load_region %rq : !ahbm.region<f16, 3> -> tensor<4x16x32xf16>
  %zero = arith.constant dense<0.0> : tensor<4x16x8xf32>
  %b1 = tl.expand_dims %b {axis = 0 : i32} : tensor<8x32xf16> -> tensor<1x8x32xf16>
  %bs = tl.broadcast %b1 : tensor<1x8x32xf16> -> tensor<4x8x32xf16>
  %x = scf.for %i = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x16x8xf32>) : i32 {
    %bt = tl.trans %bs {order = array<i64: 0, 2, 1>} : tensor<4x8x32xf16> -> tensor<4x32x8xf16>
    %d = tl.dot %q, %bt acc(%acc) : tensor<4x16x32xf16>, tensor<4x32x8xf16> acc_type tensor<4x16x8xf32> -> tensor<4x16x8xf32>
    scf.yield %d : tensor<4x16x8xf32>
  }
  tl.store_region %ro, %x : !ahbm.region<f32, 3>, tensor<4x16x8xf32>
  func.return
}

// Changes: a batch of one. What an op along the first axes makes of it takes the block as it was.
// CHECK-LABEL: func.func @one
// CHECK: %[[D:.*]] = tl.dot {{.*}} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
// CHECK: %[[APART:.*]] = tl.reshape %[[D]] : tensor<16x8xf32> -> tensor<1x16x8xf32>
// CHECK: tl.reduce "sum", %[[APART]] {axis = 1 : i32}
func.func @one(%a: tensor<1x16x32xf16>, %b: tensor<1x32x8xf16>) -> tensor<1x8xf32> {
  %d = tl.dot %a, %b : tensor<1x16x32xf16>, tensor<1x32x8xf16> -> tensor<1x16x8xf32>
  %s = tl.reduce "sum", %d {axis = 1 : i32} : tensor<1x16x8xf32> -> tensor<1x8xf32>
  func.return %s : tensor<1x8xf32>
}

// Leaves alone: every product has a b of its own.
// CHECK-LABEL: func.func @each
// CHECK: tl.dot %a, %b : tensor<4x16x32xf16>, tensor<4x32x8xf16> -> tensor<4x16x8xf32>
func.func @each(%a: tensor<4x16x32xf16>, %b: tensor<4x32x8xf16>) -> tensor<4x16x8xf32> {
  %d = tl.dot %a, %b : tensor<4x16x32xf16>, tensor<4x32x8xf16> -> tensor<4x16x8xf32>
  func.return %d : tensor<4x16x8xf32>
}

// Refuses: the rows end within each head, so the two axes of the load stay apart, and a reshape stands behind it.
// CHECK-LABEL: func.func @ragged
// CHECK: tl.load_region {{.*}} : !ahbm.region<f16, 3> -> tensor<4x16x32xf16>
// CHECK: tl.reshape {{.*}} -> tensor<64x32xf16>
// CHECK: tl.dot {{.*}} : tensor<64x32xf16>, tensor<32x8xf16> -> tensor<64x8xf32>
func.func @ragged(%p: !tl.ptr<f16>, %b: tensor<32x8xf16>, %valid: i64) -> tensor<4x16x8xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %heads = arith.constant 4 : i64
  %t = arith.constant 16 : i64
  %k = arith.constant 32 : i64
  %head = arith.constant 512 : i64
  %rq = ahbm.region %p[%z] sizes(%heads, %t, %k) strides(%head, %k, %one) lo(%z, %z, %z) hi(%heads, %valid, %k) {axes = ["affine", "affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 3>
  %q = tl.load_region %rq : !ahbm.region<f16, 3> -> tensor<4x16x32xf16>
  %b1 = tl.expand_dims %b {axis = 0 : i32} : tensor<32x8xf16> -> tensor<1x32x8xf16>
  %bs = tl.broadcast %b1 : tensor<1x32x8xf16> -> tensor<4x32x8xf16>
  %d = tl.dot %q, %bs : tensor<4x16x32xf16>, tensor<4x32x8xf16> -> tensor<4x16x8xf32>
  func.return %d : tensor<4x16x8xf32>
}
