// RUN: ahbmc-opt %s -p canonicalize --split-input-file --verify-diagnostics | filecheck %s
// RUN: ahbmc-opt %s -p canonicalize --split-input-file --verify-diagnostics --print-debuginfo | filecheck %s --check-prefix=LOC

// Changes: constants fold, neutral elements and dead ops vanish. What is new has the place of what it replaces.
// CHECK-LABEL: func.func @folds
// CHECK-NEXT: %[[C:.*]] = arith.constant 5 : i32
// CHECK-NEXT: %[[R:.*]] = arith.addi %{{.*}}, %[[C]] : i32
// CHECK-NEXT: func.return %[[R]]
// LOC-LABEL: func.func @folds
// LOC-NEXT: arith.constant 5 : i32 loc("kernel.py":3:9)
func.func @folds(%x: i32) -> i32 {
  %two = arith.constant 2 : i32 loc("kernel.py":1:9)
  %three = arith.constant 3 : i32 loc("kernel.py":2:9)
  %five = arith.addi %two, %three : i32 loc("kernel.py":3:9)
  %one = arith.constant 1 : i32
  %same = arith.muli %x, %one : i32
  %dead = tl.splat %x : i32 -> tensor<8xi32>
  %sum = arith.addi %same, %five : i32
  func.return %sum : i32
}

// -----

// Leaves alone: equal constants are merged by cse, not here; loads and stores stay in their order.
// CHECK-LABEL: func.func @keeps
// CHECK: tl.store
// CHECK: tl.load
// CHECK: tl.store
func.func @keeps(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %x: f32) {
  tl.store %p, %x : !tl.ptr<f32>, f32
  %y = tl.load %p : !tl.ptr<f32> -> f32
  tl.store %q, %y : !tl.ptr<f32>, f32
  func.return
}

// -----

// Refuses: xDSL would take a loop that counts down for an empty one and delete it.
func.func @down(%p: !tl.ptr<i32>) {
  %hi = arith.constant 3 : i32
  %lo = arith.constant -1 : i32
  %step = arith.constant -1 : i32
  // expected-error @+1 {{a loop with step -1; canonicalize takes steps above 0 only}}
  scf.for %i = %hi to %lo step %step : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}
