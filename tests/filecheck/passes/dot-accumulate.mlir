// RUN: ahbmc-opt %s -p dot-accumulate | filecheck %s

// CHECK: outcome = "refused", reason = "the sum is rounded to f16"

// Changes: the sum of an accumulator and a dot is one dot, whichever comes first.
// CHECK-LABEL: func.func @either_side
// CHECK: %[[X:.*]] = tl.dot %a, %b acc(%acc)
// CHECK: %[[Y:.*]] = tl.dot %a, %b acc(%[[X]])
// CHECK-NOT: arith.addf
// CHECK: func.return %[[Y]]
func.func @either_side(%a: tensor<8x16xf16>, %b: tensor<16x8xf16>, %acc: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %d = tl.dot %a, %b : tensor<8x16xf16>, tensor<16x8xf16> -> tensor<8x8xf32>
  %x = arith.addf %acc, %d : tensor<8x8xf32>
  %e = tl.dot %a, %b : tensor<8x16xf16>, tensor<16x8xf16> -> tensor<8x8xf32>
  %y = arith.addf %e, %x : tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}

// Leaves alone: a dot that something else reads too would be computed twice.
// CHECK-LABEL: func.func @two_readers
// CHECK: %[[D:.*]] = tl.dot %a, %b :
// CHECK: arith.addf %acc, %[[D]]
func.func @two_readers(%a: tensor<8x16xf16>, %b: tensor<16x8xf16>, %acc: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %d = tl.dot %a, %b : tensor<8x16xf16>, tensor<16x8xf16> -> tensor<8x8xf32>
  %x = arith.addf %acc, %d : tensor<8x8xf32>
  func.return %d, %x : tensor<8x8xf32>, tensor<8x8xf32>
}

// Leaves alone: a dot that has an accumulator takes no second one.
// CHECK-LABEL: func.func @has_one
// CHECK: %[[D:.*]] = tl.dot %a, %b acc(%acc)
// CHECK: arith.addf %acc, %[[D]]
func.func @has_one(%a: tensor<8x16xf16>, %b: tensor<16x8xf16>, %acc: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %d = tl.dot %a, %b acc(%acc) : tensor<8x16xf16>, tensor<16x8xf16> acc_type tensor<8x8xf32> -> tensor<8x8xf32>
  %x = arith.addf %acc, %d : tensor<8x8xf32>
  func.return %x : tensor<8x8xf32>
}

// Refuses: in f16 the dot is rounded before it is added, which an accumulator would not do.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[D:.*]] = tl.dot %a, %b :
// CHECK: arith.addf %acc, %[[D]]
func.func @narrow(%a: tensor<8x16xf16>, %b: tensor<16x8xf16>, %acc: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %d = tl.dot %a, %b : tensor<8x16xf16>, tensor<16x8xf16> -> tensor<8x8xf16>
  %x = arith.addf %acc, %d : tensor<8x8xf16>
  func.return %x : tensor<8x8xf16>
}
