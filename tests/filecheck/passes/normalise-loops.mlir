// RUN: ahbmc-opt %s -p normalise-loops | filecheck %s

// Changes: a loop over K by 32 runs from 0 by 1, and its counter is worked out from the number of the iteration.
// CHECK-LABEL: func.func @strided
// CHECK: %[[UP:.*]] = arith.addi %k, %{{.*}} : i32
// CHECK: %[[N:.*]] = arith.divsi %[[UP]], %{{.*}} : i32
// CHECK: %[[TRIP:.*]] = arith.maxsi %[[N]], %{{.*}} : i32
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[TRIP]] step %{{.*}} : i32
// CHECK: %[[I:.*]] = arith.muli %[[T]], %{{.*}} : i32
// CHECK: tl.store %{{.*}}, %[[I]]
func.func @strided(%p: !tl.ptr<i32>, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  scf.for %i = %c0 to %k step %c32 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Changes: a loop that counts down from 3 to 0 runs 4 times; canonicalize would have deleted it.
// CHECK-LABEL: func.func @backward
// CHECK: %[[TRIP:.*]] = arith.constant 4 : i32
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[TRIP]]
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
func.func @backward(%p: !tl.ptr<i32>) {
  %c3 = arith.constant 3 : i32
  %cm1 = arith.constant -1 : i32
  scf.for %i = %c3 to %cm1 step %cm1 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Changes: a loop with constant bounds that never runs has 0 iterations, not a negative number of them.
// CHECK-LABEL: func.func @never
// CHECK: %[[TRIP:.*]] = arith.constant 0 : i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
func.func @never(%p: !tl.ptr<i32>) {
  %c5 = arith.constant 5 : i32
  %c2 = arith.constant 2 : i32
  scf.for %i = %c5 to %c2 step %c2 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Leaves alone: a loop that runs from 0 by 1 already, up to what may be below 0.
// CHECK-LABEL: func.func @normal
// CHECK-NOT: arith.maxsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %n step
func.func @normal(%p: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Refuses: a step of 0 has no number of iterations; the loop stays as it is.
// CHECK-LABEL: func.func @standing
// CHECK-NOT: arith.divsi
// CHECK: scf.for %{{.*}} = %lb to %ub step
func.func @standing(%p: !tl.ptr<i32>, %lb: i32, %ub: i32) {
  %c0 = arith.constant 0 : i32
  scf.for %i = %lb to %ub step %c0 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Changes: a `while` that counts up to a bound becomes a loop from 0 by 1 that carries the same values.
// CHECK-LABEL: func.func @counting_while
// CHECK: %[[TRIP:.*]] = arith.maxsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[TRIP]] step %{{.*}} iter_args(%[[I:.*]] = %{{.*}})
// CHECK-NEXT: tl.store %p, %[[I]]
func.func @counting_while(%p: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %end = scf.while (%i = %c0) : (i32) -> i32 {
    %more = tl.cmp "slt", %i, %n : i32, i32 -> i1
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%j: i32):
    tl.store %p, %j : !tl.ptr<i32>, i32
    %next = arith.addi %j, %c32 : i32
    scf.yield %next : i32
  }
  func.return
}

// Refuses: a `while` whose bound is loaded in each round has no number of iterations before it runs.
// CHECK-LABEL: func.func @searching_while
// CHECK: scf.while
func.func @searching_while(%p: !tl.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = scf.while (%i = %c0) : (i32) -> i32 {
    %n = tl.load %p : !tl.ptr<i32> -> i32
    %more = tl.cmp "slt", %i, %n : i32, i32 -> i1
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%j: i32):
    %next = arith.addi %j, %c1 : i32
    scf.yield %next : i32
  }
  func.return
}
