// RUN: not ahbmc-opt %s -p lower-to-commands 2>&1 | filecheck %s

// Refuses: an op that holds ops on blocks and is no loop or branch.
// CHECK: [[# @LINE + 3]]:8: error: 'scf.execute_region' over blocks cannot be lowered to commands [unsupported]
// CHECK: hint: write it with scf.for, scf.while and scf.if
func.func @region(%x: f32) {
  %y = scf.execute_region -> (tensor<16xf32>) {
    %a = tl.splat %x : f32 -> tensor<16xf32>
    scf.yield %a : tensor<16xf32>
  }
  func.return
}
