// RUN: ahbmc-opt %s -p cse | filecheck %s

// Changes: equal sums of equal operands become one.
// CHECK-LABEL: func.func @merges
// CHECK: %[[S:.*]] = arith.addi
// CHECK-NOT: arith.addi
// CHECK: arith.muli %[[S]], %[[S]]
func.func @merges(%x: i32, %y: i32) -> i32 {
  %a = arith.addi %x, %y : i32
  %b = arith.addi %x, %y : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}

// Changes: two loads of one place with nothing between them are one load, and dead ops go.
// CHECK-LABEL: func.func @loads
// CHECK: %[[X:.*]] = tl.load
// CHECK-NOT: tl.load
// CHECK-NOT: tl.splat
// CHECK: arith.addf %[[X]], %[[X]]
func.func @loads(%p: !tl.ptr<f32>) -> f32 {
  %a = tl.load %p : !tl.ptr<f32> -> f32
  %b = tl.load %p : !tl.ptr<f32> -> f32
  %dead = tl.splat %a : f32 -> tensor<8xf32>
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}

// Leaves alone: a write between two loads, even to another argument, may change what the second one reads.
// CHECK-LABEL: func.func @write_between
// CHECK: tl.load
// CHECK: tl.store
// CHECK: tl.load
func.func @write_between(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %v: f32) -> f32 {
  %a = tl.load %p : !tl.ptr<f32> -> f32
  tl.store %q, %v : !tl.ptr<f32>, f32
  %b = tl.load %p : !tl.ptr<f32> -> f32
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}

// Leaves alone: two buffers are two buffers, and ops that differ in an attribute are different.
// CHECK-LABEL: func.func @distinct
// CHECK-COUNT-2: ahbm.alloc
// CHECK: tl.program_id {axis = 0 : i32}
// CHECK: tl.program_id {axis = 1 : i32}
func.func @distinct() -> (!ahbm.buffer<8xf32, tcm>, !ahbm.buffer<8xf32, tcm>, i32, i32) {
  %a = ahbm.alloc : !ahbm.buffer<8xf32, tcm>
  %b = ahbm.alloc : !ahbm.buffer<8xf32, tcm>
  %x = tl.program_id {axis = 0 : i32}
  %y = tl.program_id {axis = 1 : i32}
  func.return %a, %b, %x, %y : !ahbm.buffer<8xf32, tcm>, !ahbm.buffer<8xf32, tcm>, i32, i32
}
