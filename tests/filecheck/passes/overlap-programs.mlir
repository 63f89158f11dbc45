// RUN: ahbmc-opt %s -p overlap-programs | filecheck %s
// RUN: ahbmc-opt %s -p overlap-programs{programs=3} | filecheck %s --check-prefix=THREE
// RUN: ahbmc-opt %s -p overlap-programs{programs=1} | filecheck %s --check-prefix=TURN

// CHECK: subject = "program", outcome = "in turn", reason = "the kernel holds tl.atomic"
// TURN-NOT: ahbm.overlap

// Changes: a PE takes up its programs at once, or so many at a time, which is what the simulator reads from the function.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: attributes {ahbm.overlap}
// THREE: func.func @copy
// THREE-SAME: attributes {ahbm.overlap = 3 : i64}
func.func @copy(%p: !tl.ptr<f32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %r = ahbm.region %p[%z] sizes(%n) strides(%one) lo(%z) hi(%n) {axes = ["affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %x = tl.load_region %r : !ahbm.region<f32, 1> -> tensor<64xf32>
  tl.store_region %r, %x : !ahbm.region<f32, 1>, tensor<64xf32>
  func.return
}

// Leaves alone: programs may see in which order others change what an atomic changes.
// CHECK-LABEL: func.func @count
// CHECK-NOT: ahbm.overlap
// CHECK: func.return
func.func @count(%p: !tl.ptr<i32>, %i: i32) {
  %a = tl.atomic "add", %p, %i : !tl.ptr<i32>, i32 -> i32
  func.return
}
