// RUN: ahbmc-opt %s -p fuse-epilogues | filecheck %s

// CHECK: subject = "epilogue", outcome = "fused", reason = "arith.addf"
// CHECK: subject = "epilogue", outcome = "refused", reason = "the result has other users"
// CHECK: subject = "epilogue", outcome = "refused", reason = "tl.store_region stands between it and math.exp"
// CHECK: subject = "epilogue", outcome = "refused", reason = "arith.addf also takes the result of a later tl.composite"
// CHECK: subject = "epilogue", outcome = "refused", reason = "tl.store_region writes the tensor that the composite streams from"

// Changes: bias, maximum, cast and store run on each output tile; the composite writes HBM itself and gives no result.
// CHECK-LABEL: func.func @all_of_it
// CHECK: tl.composite({{.*}} = %bias : tensor<32x32xf32>, {{.*}} = %r : !ahbm.region<f16, 2>) {{.*}}{
// CHECK-NEXT: %[[D:.*]] = tl.dot
// CHECK-NEXT: %[[E:.*]] = arith.addf %[[D]], %bias
// CHECK-NEXT: %[[F:.*]] = arith.maxnumf %[[E]], %zero
// CHECK-NEXT: %[[G:.*]] = tl.cast %[[F]]
// CHECK-NEXT: tl.store_region %r{{.*}}, %[[G]]
// CHECK-NEXT: tl.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @all_of_it(%a: tensor<32x32xf16>, %bias: tensor<32x32xf32>, %zero: tensor<32x32xf32>, %p: !tl.ptr<f16>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %d = tl.composite(%x = %a : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  %e = arith.addf %d, %bias : tensor<32x32xf32>
  %f = arith.maxnumf %e, %zero : tensor<32x32xf32>
  %h = tl.cast %f : tensor<32x32xf32> -> tensor<32x32xf16>
  %r = ahbm.region %p[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  tl.store_region %r, %h : !ahbm.region<f16, 2>, tensor<32x32xf16>
  func.return
}

// Changes: a mask of index views comes along, with the views that it is taken through.
// CHECK-LABEL: func.func @mask
// CHECK-NOT: tl.cmp
// CHECK: tl.composite({{.*}} = %i : tensor<32xi32>, {{.*}} = %limit : tensor<32xi32>, {{.*}}
// CHECK-NEXT: tl.dot
// CHECK-NEXT: tl.cmp "slt"
// CHECK-NEXT: tl.expand_dims
// CHECK-NEXT: tl.broadcast
// CHECK-NEXT: tl.select
func.func @mask(%a: tensor<32x32xf16>, %low: f32, %n: i32) -> f32 {
  %i = tl.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %limit = tl.splat %n : i32 -> tensor<32xi32>
  %d = tl.composite(%x = %a : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  %m = tl.cmp "slt", %i, %limit : tensor<32xi32>, tensor<32xi32> -> tensor<32xi1>
  %row = tl.expand_dims %m {axis = 0 : i32} : tensor<32xi1> -> tensor<1x32xi1>
  %all = tl.broadcast %row : tensor<1x32xi1> -> tensor<32x32xi1>
  %pad = tl.splat %low : f32 -> tensor<32x32xf32>
  %s = tl.select %all, %d, %pad : tensor<32x32xi1>, tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %r = tl.reduce "max", %s {axis = 1 : i32} : tensor<32x32xf32> -> tensor<32xf32>
  %t = tl.reduce "max", %r {axis = 0 : i32} : tensor<32xf32> -> f32
  func.return %t : f32
}

// Leaves alone: a result that is read twice is needed as it is.
// CHECK-LABEL: func.func @two_users
// CHECK: %d = tl.composite
// CHECK: math.exp %d
// CHECK: arith.addf
func.func @two_users(%a: tensor<32x32xf16>) -> tensor<32x32xf32> {
  %d = tl.composite(%x = %a : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  %e = math.exp %d : tensor<32x32xf32>
  %f = arith.addf %e, %d : tensor<32x32xf32>
  func.return %f : tensor<32x32xf32>
}

// Refuses: the composite would move behind a store, and what it streams may be what is stored.
// CHECK-LABEL: func.func @store_between
// CHECK: %d = tl.composite
// CHECK: tl.store_region
// CHECK: math.exp %d
func.func @store_between(%a: tensor<32x32xf16>, %p: !tl.ptr<f16>) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %r = ahbm.region %p[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.composite(%x = %a : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  tl.store_region %r, %a : !ahbm.region<f16, 2>, tensor<32x32xf16>
  %e = math.exp %d : tensor<32x32xf32>
  func.return %e : tensor<32x32xf32>
}

// Changes the second and leaves the first: the sum of two products joins the one that is issued last.
// CHECK-LABEL: func.func @sum
// CHECK: %d = tl.composite
// CHECK-NEXT: tl.dot
// CHECK-NEXT: tl.yield
// CHECK: %f = tl.composite({{.*}}, %{{.*}} = %d : tensor<32x32xf32>)
// CHECK-NEXT: tl.dot
// CHECK-NEXT: arith.addf
func.func @sum(%a: tensor<32x32xf16>, %b: tensor<32x32xf16>) -> tensor<32x32xf32> {
  %d = tl.composite(%x = %a : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  %e = tl.composite(%x = %b : tensor<32x32xf16>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.dot %x, %x : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  %f = arith.addf %d, %e : tensor<32x32xf32>
  func.return %f : tensor<32x32xf32>
}

// Refuses: what the composite streams from would be written while it is still read.
// CHECK-LABEL: func.func @in_place
// CHECK: %[[D:.*]] = tl.composite
// CHECK: tl.store_region %r, %[[D]]
func.func @in_place(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %r = ahbm.region %p[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %half = ahbm.cut %r[%z, %n] {axis = 0 : i64} : !ahbm.region<f32, 2>
  %d = tl.composite(%x = %half : !ahbm.region<f32, 2>) attributes {stage = "none"} -> tensor<32x32xf32> {
    %g = tl.gemm %x, %x : !ahbm.region<f32, 2>, !ahbm.region<f32, 2> -> tensor<32x32xf32>
    tl.yield %g : tensor<32x32xf32>
  }
  tl.store_region %r, %d : !ahbm.region<f32, 2>, tensor<32x32xf32>
  func.return
}
