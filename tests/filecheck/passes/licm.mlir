// RUN: ahbmc-opt %s -p licm | filecheck %s

// Changes: what does not depend on the loop is computed before it, and what depends on that only, too.
// CHECK-LABEL: func.func @moves
// CHECK: %[[A:.*]] = arith.muli
// CHECK: tl.splat %[[A]]
// CHECK: scf.for
// CHECK-NOT: arith.muli
func.func @moves(%p: tensor<8x!tl.ptr<i32>>, %n: i32, %lb: i32, %ub: i32, %step: i32) {
  scf.for %i = %lb to %ub step %step : i32 {
    %a = arith.muli %n, %n : i32
    %b = tl.splat %a : i32 -> tensor<8xi32>
    tl.store %p, %b : tensor<8x!tl.ptr<i32>>, tensor<8xi32>
    scf.yield
  }
  func.return
}

// Leaves alone: a load may give another value each time, and an op on the loop's counter does.
// CHECK-LABEL: func.func @stays
// CHECK: scf.for
// CHECK: tl.load
// CHECK: arith.addi
func.func @stays(%p: !tl.ptr<i32>, %lb: i32, %ub: i32, %step: i32) {
  scf.for %i = %lb to %ub step %step : i32 {
    %a = tl.load %p : !tl.ptr<i32> -> i32
    %b = arith.addi %a, %i : i32
    tl.store %p, %b : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Leaves alone: a division by zero in a loop that never runs must not be computed before it.
// CHECK-LABEL: func.func @division
// CHECK: scf.for
// CHECK: arith.divsi
func.func @division(%p: !tl.ptr<i32>, %n: i32, %lb: i32, %ub: i32, %step: i32) {
  scf.for %i = %lb to %ub step %step : i32 {
    %a = arith.divsi %lb, %n : i32
    tl.store %p, %a : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}
