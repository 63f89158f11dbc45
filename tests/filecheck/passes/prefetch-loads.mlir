// RUN: ahbmc-opt %s -p prefetch-loads | filecheck %s
// RUN: ahbmc-opt %s -p 'prefetch-loads{distance=2}' | filecheck %s --check-prefix TWO

// CHECK: outcome = "prefetched", reason = ""
// CHECK: outcome = "not prefetched", reason = "the loop holds tl.store_region"
// CHECK: outcome = "not prefetched", reason = "its address is carried by the loop"
// CHECK: outcome = "not prefetched", reason = "its address comes from tl.load"
// CHECK: outcome = "not prefetched", reason = "the scratch has no room for 2097152 bytes more"

// Changes: the block of iteration 0 is loaded before the loop, that of t + 1 at the head of iteration t, if there is
// such an iteration; the loop carries it.
// CHECK-LABEL: func.func @sum
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[ZERO]], %n
// CHECK: %[[FIRST:.*]] = scf.if %[[ANY]] -> (tensor<8xf32>) {
// CHECK: tl.load_region
// CHECK: } else {
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %init, %[[X:.*]] = %[[FIRST]])
// CHECK: %[[LATER:.*]] = arith.addi %[[T]], %
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[LATER]], %n
// CHECK: %[[NEXT:.*]] = scf.if %[[MORE]]
// CHECK: ahbm.region %p[%[[LATER]]]
// CHECK: tl.load_region
// CHECK: %[[S:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK-NEXT: scf.yield %[[S]], %[[NEXT]]

// Changes: two iterations early, the loop carries two blocks, and the second takes the place of the first.
// TWO-LABEL: func.func @sum
// TWO: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %init, %[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) ->
// TWO: %[[NEXT:.*]] = scf.if
// TWO: %[[S:.*]] = arith.addf %[[SUM]], %[[X]]
// TWO-NEXT: scf.yield %[[S]], %[[Y]], %[[NEXT]]
func.func @sum(%p: !tl.ptr<f32>, %init: tensor<8xf32>, %n: i64) -> tensor<8xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%sum = %init) -> (tensor<8xf32>) : i64 {
    %x = ahbm.region %p[%t] sizes(%eight) strides(%one) lo(%zero) hi(%eight) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %lx = tl.load_region %x : !ahbm.region<f32, 1> -> tensor<8xf32>
    %s = arith.addf %sum, %lx : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Refuses: the loop writes memory, which may be what the next iteration reads.
// CHECK-LABEL: func.func @writes
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tl.store_region
func.func @writes(%p: !tl.ptr<f32>, %n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  scf.for %t = %zero to %n step %one : i64 {
    %x = ahbm.region %p[%t] sizes(%eight) strides(%one) lo(%zero) hi(%eight) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %lx = tl.load_region %x : !ahbm.region<f32, 1> -> tensor<8xf32>
    tl.store_region %x, %lx : !ahbm.region<f32, 1>, tensor<8xf32>
    scf.yield
  }
  func.return
}

// Refuses: where the next iteration reads is known only when this one has ended.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @carried(%p: !tl.ptr<f32>, %init: tensor<8xf32>, %n: i64) -> tensor<8xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %r, %end = scf.for %t = %zero to %n step %one iter_args(%sum = %init, %at = %zero) -> (tensor<8xf32>, i64) : i64 {
    %x = ahbm.region %p[%at] sizes(%eight) strides(%one) lo(%zero) hi(%eight) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %lx = tl.load_region %x : !ahbm.region<f32, 1> -> tensor<8xf32>
    %s = arith.addf %sum, %lx : tensor<8xf32>
    %twice = arith.addi %at, %t : i64
    scf.yield %s, %twice : tensor<8xf32>, i64
  }
  func.return %r : tensor<8xf32>
}

// Refuses: the address is looked up in memory.
// CHECK-LABEL: func.func @looked_up
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @looked_up(%p: !tl.ptr<f32>, %q: !tl.ptr<i64>, %init: tensor<8xf32>, %n: i64) -> tensor<8xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%sum = %init) -> (tensor<8xf32>) : i64 {
    %at = tl.load %q : !tl.ptr<i64> -> i64
    %x = ahbm.region %p[%at] sizes(%eight) strides(%one) lo(%zero) hi(%eight) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %lx = tl.load_region %x : !ahbm.region<f32, 1> -> tensor<8xf32>
    %s = arith.addf %sum, %lx : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// Refuses: two such blocks are more than the scratch holds.
// CHECK-LABEL: func.func @large
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @large(%p: !tl.ptr<f32>, %init: tensor<524288xf32>, %n: i64) -> tensor<524288xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 524288 : i64
  %r = scf.for %t = %zero to %n step %one iter_args(%sum = %init) -> (tensor<524288xf32>) : i64 {
    %x = ahbm.region %p[%t] sizes(%size) strides(%one) lo(%zero) hi(%size) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
    %lx = tl.load_region %x : !ahbm.region<f32, 1> -> tensor<524288xf32>
    %s = arith.addf %sum, %lx : tensor<524288xf32>
    scf.yield %s : tensor<524288xf32>
  }
  func.return %r : tensor<524288xf32>
}

// Leaves alone: what is loaded before the loop, and a loop that loads nothing.
// CHECK-LABEL: func.func @before
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @before(%r: !ahbm.region<f32, 1>, %n: i64) -> tensor<8xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<8xf32>
  %end = scf.for %t = %zero to %n step %one iter_args(%sum = %x) -> (tensor<8xf32>) : i64 {
    %s = arith.addf %sum, %x : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  func.return %end : tensor<8xf32>
}
