// RUN: ahbmc-opt %s -p 'cse , licm' | filecheck %s
// RUN: ahbmc-opt %s -p cse --print-op-generic --print-debuginfo | filecheck %s --check-prefix=GENERIC
// RUN: ahbmc-opt %s -p cse -o %t | filecheck %s --check-prefix=EMPTY --allow-empty
// RUN: not ahbmc-opt %s -p 'cse,form-composite' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not ahbmc-opt %s -p 'cse{x=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not ahbmc-opt %s -p 'form-composites{stage=c}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: ahbmc-opt %s -p 'cse,licm' --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE

// CHECK-LABEL: func.func @f
// CHECK: arith.addi
// CHECK-NOT: arith.addi
// GENERIC: "arith.addi"(%{{.*}}, %{{.*}}) {{.*}} : (i32, i32) -> i32 loc("{{.*}}pipelines.mlir":[[# @LINE + 10]]:8)
// EMPTY-NOT: {{.}}
// NAME: <pipeline>:1:5: error: there is no pass or pipeline 'form-composite'
// NAME: hint: did you mean 'form-composites'?
// OPTION: <pipeline>:1:5: error: pass 'cse' has no option 'x'
// VALUE: <pipeline>:1:23: error: option 'stage' of pass 'form-composites' is 'c'; allowed: {{.*}}a, b, none
// CHANGE: IR after cse
// CHANGE-NOT: IR after licm
func.func @f(%x: i32, %y: i32) -> i32 {
  // The first of the two stays.
  %a = arith.addi %x, %y : i32
  %b = arith.addi %x, %y : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
