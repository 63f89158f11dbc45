// RUN: not ahbmc-opt %s -p lower-to-commands 2>&1 | filecheck %s

// Refuses: pointers that a loop hands on with another base each time have no base to gather from.
// CHECK: [[# @LINE + 6]]:12: error: a block of pointers that is handed on in no regular way cannot be lowered [unsupported]
// CHECK: hint: carry a block of offsets and add it to one pointer where it is used
func.func @pointers(%p: !tl.ptr<f32>, %q: !tl.ptr<f32>, %n: i64) {
  %z = arith.constant 0 : i64
  %a = tl.splat %p : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %b = tl.splat %q : !tl.ptr<f32> -> tensor<16x!tl.ptr<f32>>
  %u, %v = scf.for %t = %z to %n step %n iter_args(%x = %a, %y = %b) -> (tensor<16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>) : i64 {
    scf.yield %y, %x : tensor<16x!tl.ptr<f32>>, tensor<16x!tl.ptr<f32>>
  }
  %d = tl.load %u : tensor<16x!tl.ptr<f32>> -> tensor<16xf32>
  tl.store %v, %d : tensor<16x!tl.ptr<f32>>, tensor<16xf32>
  func.return
}
