// RUN: ahbmc-opt %s --split-input-file --verify-diagnostics
// RUN: not ahbmc-opt %s --split-input-file 2>&1 | filecheck %s

// Errors of reading, of verifying and of a pass's limits all name line and column, in every part of a split file.

// CHECK: diagnostics.mlir:[[# @LINE + 3]]:3: error: Operation tl.nonsense is not registered [invalid-ir]
func.func @f() {
  // expected-error @+1 {{Operation tl.nonsense is not registered}}
  tl.nonsense
  func.return
}

// -----

// CHECK: diagnostics.mlir:[[# @LINE + 4]]:1: error: 'tl.cycles': -1 cycles [invalid-ir]
// CHECK-NEXT: tl.cycles {cycles = -1 : i64}
// CHECK-NEXT: ^
// expected-error @+1 {{'tl.cycles': -1 cycles}}
tl.cycles {cycles = -1 : i64}

// -----

// CHECK: diagnostics.mlir:[[# @LINE + 3]]:{{.*}}: error: {{.*}}memory space 'l2'
func.func @g() {
  // expected-error @+1 {{memory space 'l2': it must be one of tcm, sram, hbm}}
  %0 = ahbm.alloc : !ahbm.buffer<8xf32, l2>
  func.return
}
