// RUN: ahbmc-opt %s -p cse | filecheck %s

// Equal sums of equal operands become one.
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
