// RUN: ahbmc-opt %s -p drop-dead-iter-args | filecheck %s

// Changes: a carried pointer that only moves itself on goes, with the ops that move it; the sum stays.
// CHECK-LABEL: func.func @pointer
// CHECK: %[[R:.*]] = scf.for %{{.*}} iter_args(%[[S:.*]] = %x) -> (tensor<8xf32>) : i32 {
// CHECK-NEXT: %[[N:.*]] = arith.addf %[[S]], %x
// CHECK-NEXT: scf.yield %[[N]]
// CHECK: func.return %[[R]]
func.func @pointer(%p: tensor<8x!tl.ptr<f32>>, %x: tensor<8xf32>, %step: tensor<8xi32>, %n: i32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end, %sum = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p, %s = %x) -> (tensor<8x!tl.ptr<f32>>, tensor<8xf32>) : i32 {
    %next = tl.addptr %q, %step : tensor<8x!tl.ptr<f32>>, tensor<8xi32> -> tensor<8x!tl.ptr<f32>>
    %t = arith.addf %s, %x : tensor<8xf32>
    scf.yield %next, %t : tensor<8x!tl.ptr<f32>>, tensor<8xf32>
  }
  func.return %sum : tensor<8xf32>
}

// Changes: two carried values that only feed each other are dead as well.
// CHECK-LABEL: func.func @swapped
// CHECK: scf.for %{{.*}} step %{{.*}} : i32
// CHECK-NEXT: tl.store
func.func @swapped(%p: !tl.ptr<i32>, %a: i32, %b: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x, %y = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> (i32, i32) : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield %v, %u : i32, i32
  }
  func.return
}

// Changes: what no iteration changes is read from outside, after the loop too.
// CHECK-LABEL: func.func @unchanged
// CHECK: scf.for %{{.*}} step %{{.*}} : i32
// CHECK-NEXT: tl.store %p, %a
// CHECK: func.return %a
func.func @unchanged(%p: !tl.ptr<i32>, %a: i32, %n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a) -> (i32) : i32 {
    tl.store %p, %u : !tl.ptr<i32>, i32
    scf.yield %u : i32
  }
  func.return %x : i32
}

// Changes: a loop that does nothing but carry dead values goes as a whole, the inner one with the outer one.
// CHECK-LABEL: func.func @idle
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @idle(%a: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a) -> (i32) : i32 {
    %y = scf.for %j = %c0 to %n step %c1 iter_args(%v = %u) -> (i32) : i32 {
      %w = arith.addi %v, %j : i32
      scf.yield %w : i32
    }
    scf.yield %y : i32
  }
  func.return
}

// Leaves alone: a carried value that decides whether something is stored is alive, and so is one that is stored.
// CHECK-LABEL: func.func @alive
// CHECK: iter_args(%[[U:.*]] = %a, %[[F:.*]] = %flag)
// CHECK: scf.if %[[F]]
// CHECK: tl.store %p, %[[U]]
func.func @alive(%p: !tl.ptr<i32>, %a: i32, %flag: i1, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %x, %g = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %f = %flag) -> (i32, i1) : i32 {
    scf.if %f {
      tl.store %p, %u : !tl.ptr<i32>, i32
    }
    %v = arith.addi %u, %i : i32
    %h = arith.xori %f, %true : i1
    scf.yield %v, %h : i32, i1
  }
  func.return
}

// Refuses: an op whose effects are not known keeps what it reads.
// CHECK-LABEL: func.func @waits
// CHECK: iter_args(%[[U:.*]] = %a)
// CHECK: tl.wait %[[U]]
func.func @waits(%a: tensor<8xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a) -> (tensor<8xf32>) : i32 {
    tl.wait %u : tensor<8xf32>
    %v = arith.addf %u, %u : tensor<8xf32>
    scf.yield %v : tensor<8xf32>
  }
  func.return
}

// Changes: a branch gives only what is read after it, also where it stands in another one.
// CHECK-LABEL: func.func @unread_results
// CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK-NOT: arith.subf
// CHECK: scf.if %{{.*}} {
// CHECK: scf.yield %{{.*}} : f32
// CHECK: tl.store %{{.*}}, %[[R]]
func.func @unread_results(%p: !tl.ptr<f32>, %c: i1, %x: f32) {
  %a, %b = scf.if %c -> (f32, f32) {
    %s = arith.subf %x, %x : f32
    %i = scf.if %c -> (f32) {
      tl.store %p, %x : !tl.ptr<f32>, f32
      scf.yield %s : f32
    } else {
      scf.yield %x : f32
    }
    scf.yield %i, %x : f32, f32
  } else {
    %d = arith.mulf %x, %x : f32
    scf.yield %x, %d : f32, f32
  }
  tl.store %p, %b : !tl.ptr<f32>, f32
  func.return
}
