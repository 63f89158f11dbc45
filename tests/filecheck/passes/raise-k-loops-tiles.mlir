// RUN: ahbmc-opt %s -p raise-k-loops,canonicalize,cse | filecheck %s

// CHECK: outcome = "raised"
// CHECK: outcome = "refused", reason = "what b is combined with is not the same in every iteration"
// CHECK: outcome = "refused", reason = "what b is combined with differs along K"

// Changes: what is done to b between its load and the dot is done to the tiles of the GEMM. A scale per column and a
// factor are the same for all of K.
// CHECK-LABEL: func.func @dequantised
// CHECK-NOT: scf.for
// CHECK: tl.gemm %{{.*}}, %{{.*}} acc(%zero) {block_k = 8 : i64} : !ahbm.region<f16, 2>, !ahbm.region<i8, 2> acc_type tensor<4x4xf32> -> tensor<4x4xf32> tiles {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xf16>, %[[B:.*]]: tensor<8x4xi8>):
// CHECK-NEXT: %[[WIDE:.*]] = tl.cast %[[B]] : tensor<8x4xi8> -> tensor<8x4xf16>
// CHECK-NEXT: %[[COLUMNS:.*]] = tl.broadcast %columns : tensor<1x4xf16> -> tensor<8x4xf16>
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[WIDE]], %[[COLUMNS]] : tensor<8x4xf16>
// CHECK-NEXT: %[[FACTOR:.*]] = tl.splat %factor : f16 -> tensor<8x4xf16>
// CHECK-NEXT: %[[OUT:.*]] = arith.mulf %[[FACTOR]], %[[SCALED]] : tensor<8x4xf16>
// CHECK-NEXT: tl.yield %[[A]], %[[OUT]]
func.func @dequantised(%a: !tl.ptr<f16>, %b: !tl.ptr<i8>, %columns: tensor<1x4xf16>, %factor: f16, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %scale = tl.broadcast %columns : tensor<1x4xf16> -> tensor<8x4xf16>
  %same = tl.splat %factor : f16 -> tensor<8x4xf16>
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %ra = ahbm.region %a[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %bt = arith.muli %at, %four : i64
    %rb = ahbm.region %b[%bt] sizes(%eight, %four) strides(%four, %one) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<i8> -> !ahbm.region<i8, 2>
    %lb = tl.load_region %rb : !ahbm.region<i8, 2> -> tensor<8x4xi8>
    %wide = tl.cast %lb : tensor<8x4xi8> -> tensor<8x4xf16>
    %scaled = arith.mulf %wide, %scale : tensor<8x4xf16>
    %all = arith.mulf %same, %scaled : tensor<8x4xf16>
    %d = tl.dot %la, %all acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Refuses: the factor is another one in every iteration.
// CHECK-LABEL: func.func @per_block
// CHECK: scf.for
func.func @per_block(%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %factors: !tl.ptr<f16>, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %ra = ahbm.region %a[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %bt = arith.muli %at, %four : i64
    %rb = ahbm.region %b[%bt] sizes(%eight, %four) strides(%four, %one) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %here = tl.addptr %factors, %t : !tl.ptr<f16>, i32 -> !tl.ptr<f16>
    %factor = tl.load %here : !tl.ptr<f16> -> f16
    %same = tl.splat %factor : f16 -> tensor<8x4xf16>
    %all = arith.mulf %same, %lb : tensor<8x4xf16>
    %d = tl.dot %la, %all acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Refuses: the scale differs from one lane of K to the next within a block, which tells nothing of the other blocks.
// CHECK-LABEL: func.func @per_lane
// CHECK: scf.for
func.func @per_lane(%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %rows: tensor<8x1xf16>, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %scale = tl.broadcast %rows : tensor<8x1xf16> -> tensor<8x4xf16>
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %ra = ahbm.region %a[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %bt = arith.muli %at, %four : i64
    %rb = ahbm.region %b[%bt] sizes(%eight, %four) strides(%four, %one) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %all = arith.mulf %scale, %lb : tensor<8x4xf16>
    %d = tl.dot %la, %all acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Changes: a transpose behind a cast and a factor is put before them, next to the load.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[L:.*]] = tl.load_region
// CHECK: %[[T:.*]] = tl.trans %[[L]] {order = array<i64: 1, 0>} : tensor<4x8xi8> -> tensor<8x4xi8>
// CHECK: %[[C:.*]] = tl.cast %[[T]] : tensor<8x4xi8> -> tensor<8x4xf16>
// CHECK: %[[F:.*]] = tl.splat %factor : f16 -> tensor<8x4xf16>
// CHECK: %[[S:.*]] = arith.mulf %[[C]], %[[F]]
// CHECK: tl.dot %a, %[[S]]
func.func @transposed(%a: tensor<4x8xf16>, %b: !tl.ptr<i8>, %factor: f16) -> tensor<4x4xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %rb = ahbm.region %b[%z] sizes(%four, %eight) strides(%eight, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<i8> -> !ahbm.region<i8, 2>
  %l = tl.load_region %rb : !ahbm.region<i8, 2> -> tensor<4x8xi8>
  %c = tl.cast %l : tensor<4x8xi8> -> tensor<4x8xf16>
  %same = tl.splat %factor : f16 -> tensor<4x8xf16>
  %s = arith.mulf %c, %same : tensor<4x8xf16>
  %t = tl.trans %s {order = array<i64: 1, 0>} : tensor<4x8xf16> -> tensor<8x4xf16>
  %d = tl.dot %a, %t : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}
