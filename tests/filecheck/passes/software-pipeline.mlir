// RUN: ahbmc-opt %s -p software-pipeline | filecheck %s
// RUN: ahbmc-opt %s -p software-pipeline,prefetch-loads,drop-dead-iter-args | filecheck %s --check-prefix LOADS

// CHECK: outcome = "one iteration early", reason = ""
// CHECK: outcome = "not early", reason = "it depends on the iteration before"
// CHECK: outcome = "not early", reason = "it is the only composite of its loop"
// CHECK: outcome = "not early", reason = "the loop holds tl.store_region"
// CHECK: outcome = "not early", reason = "it takes the result of tl.load_region, which has other users or is no load"

// Changes: the first product of iteration t + 1 starts at the head of iteration t, with its load before it; the second
// one, which the loop carries on, takes the result that was made an iteration ago.
// CHECK-LABEL: func.func @chain
// CHECK: %[[K0:.*]] = scf.if
// CHECK: tl.load_region
// CHECK: %[[S0:.*]] = scf.if
// CHECK: tl.composite(%{{.*}} = %q {{.*}} = %[[K0]] :
// CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%[[O:.*]] = %init, %{{.*}} = %[[K0]], %[[S:.*]] = %[[S0]])
// CHECK: %[[K:.*]] = scf.if
// CHECK: tl.load_region
// CHECK: %[[NEXT:.*]] = scf.if
// CHECK: tl.composite(%{{.*}} = %q {{.*}} = %[[K]] :
// CHECK: } else {
// CHECK: %[[NEW:.*]] = tl.composite(%{{.*}} = %[[S]] : tensor<32x64xf16>, %{{.*}} = %w {{.*}} = %[[O]] :
// CHECK: scf.yield %[[NEW]], %[[K]], %[[NEXT]]

// Changes: `prefetch-loads` puts the load of the early product earlier still, as it takes more than half of the time
// of the other product: before the loop stand two loads, before the product that waits for the first.
// LOADS-LABEL: func.func @chain
// LOADS: %[[K0:.*]] = scf.if
// LOADS: %[[K1:.*]] = scf.if
// LOADS: scf.if
// LOADS: tl.composite(%{{.*}} = %q {{.*}} = %[[K0]] :
// LOADS: scf.for %[[T:.*]] = {{.*}} iter_args(%{{.*}} = %init, %[[S:.*]] = %{{.*}}, %[[K:.*]] = %[[K1]])
// LOADS: scf.if
// LOADS: tl.load_region
// LOADS: scf.if
// LOADS: tl.composite(%{{.*}} = %q {{.*}} = %[[K]] :
func.func @chain(%q: tensor<32x64xf16>, %p: !tl.ptr<f16>, %w: tensor<64x64xf16>, %init: tensor<32x64xf32>, %n: i64) -> tensor<32x64xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<32x64xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%size, %size) strides(%one, %size) lo(%zero, %zero) hi(%size, %size) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<64x64xf16>
    %s = tl.composite(%a = %q : tensor<32x64xf16>, %b = %k : tensor<64x64xf16>) -> tensor<32x64xf16> {
      %d = tl.dot %a, %b : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf16>
      tl.yield %d : tensor<32x64xf16>
    }
    %new = tl.composite(%a = %s : tensor<32x64xf16>, %b = %w : tensor<64x64xf16>, %c = %o : tensor<32x64xf32>) -> tensor<32x64xf32> {
      %d = tl.dot %a, %b acc(%c) : tensor<32x64xf16>, tensor<64x64xf16> acc_type tensor<32x64xf32> -> tensor<32x64xf32>
      tl.yield %d : tensor<32x64xf32>
    }
    scf.yield %new : tensor<32x64xf32>
  }
  func.return %r : tensor<32x64xf32>
}

// Leaves alone: a product that is all there is in its loop follows the one before without a gap.
// CHECK-LABEL: func.func @alone
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @alone(%q: tensor<32x64xf16>, %p: !tl.ptr<f16>, %init: tensor<32x64xf32>, %n: i64) -> tensor<32x64xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<32x64xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%size, %size) strides(%one, %size) lo(%zero, %zero) hi(%size, %size) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %s = tl.composite(%a = %q : tensor<32x64xf16>, %b = %rk : !ahbm.region<f16, 2>) -> tensor<32x64xf32> {
      %d = tl.gemm %a, %b : tensor<32x64xf16>, !ahbm.region<f16, 2> -> tensor<32x64xf32>
      tl.yield %d : tensor<32x64xf32>
    }
    %new = arith.addf %o, %s : tensor<32x64xf32>
    scf.yield %new : tensor<32x64xf32>
  }
  func.return %r : tensor<32x64xf32>
}

// Refuses: what the loop stores may be what the product of the next iteration reads.
// CHECK-LABEL: func.func @stores
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @stores(%q: tensor<32x64xf16>, %p: !tl.ptr<f16>, %w: tensor<64x64xf16>, %init: tensor<32x64xf32>, %n: i64) -> tensor<32x64xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<32x64xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%size, %size) strides(%one, %size) lo(%zero, %zero) hi(%size, %size) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %s = tl.composite(%a = %q : tensor<32x64xf16>, %b = %rk : !ahbm.region<f16, 2>) -> tensor<32x64xf16> {
      %d = tl.gemm %a, %b : tensor<32x64xf16>, !ahbm.region<f16, 2> -> tensor<32x64xf16>
      tl.yield %d : tensor<32x64xf16>
    }
    tl.store_region %rk, %w : !ahbm.region<f16, 2>, tensor<64x64xf16>
    %new = tl.composite(%a = %s : tensor<32x64xf16>, %b = %w : tensor<64x64xf16>, %c = %o : tensor<32x64xf32>) -> tensor<32x64xf32> {
      %d = tl.dot %a, %b acc(%c) : tensor<32x64xf16>, tensor<64x64xf16> acc_type tensor<32x64xf32> -> tensor<32x64xf32>
      tl.yield %d : tensor<32x64xf32>
    }
    scf.yield %new : tensor<32x64xf32>
  }
  func.return %r : tensor<32x64xf32>
}

// Refuses: the block of the early product is wanted in this iteration too.
// CHECK-LABEL: func.func @shared
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @shared(%q: tensor<32x64xf16>, %p: !tl.ptr<f16>, %init: tensor<32x64xf32>, %n: i64) -> tensor<32x64xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%o = %init) -> (tensor<32x64xf32>) : i64 {
    %rk = ahbm.region %p[%t] sizes(%size, %size) strides(%one, %size) lo(%zero, %zero) hi(%size, %size) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %k = tl.load_region %rk : !ahbm.region<f16, 2> -> tensor<64x64xf16>
    %s = tl.composite(%a = %q : tensor<32x64xf16>, %b = %k : tensor<64x64xf16>) -> tensor<32x64xf16> {
      %d = tl.dot %a, %b : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf16>
      tl.yield %d : tensor<32x64xf16>
    }
    %new = tl.composite(%a = %s : tensor<32x64xf16>, %b = %k : tensor<64x64xf16>, %c = %o : tensor<32x64xf32>) -> tensor<32x64xf32> {
      %d = tl.dot %a, %b acc(%c) : tensor<32x64xf16>, tensor<64x64xf16> acc_type tensor<32x64xf32> -> tensor<32x64xf32>
      tl.yield %d : tensor<32x64xf32>
    }
    scf.yield %new : tensor<32x64xf32>
  }
  func.return %r : tensor<32x64xf32>
}
