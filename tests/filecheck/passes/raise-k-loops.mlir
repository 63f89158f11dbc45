// RUN: ahbmc-opt %s -p raise-k-loops,canonicalize,cse | filecheck %s

// CHECK: outcome = "raised"
// CHECK: outcome = "refused", reason = "the loop also has tl.store_region"
// CHECK: outcome = "raised"
// CHECK: outcome = "raised"
// CHECK: outcome = "raised"
// CHECK: outcome = "refused", reason = "it carries 'v' as well, which is no sum of dots"
// CHECK: outcome = "refused", reason = "an operand comes from a carried value"

// Changes: the loop becomes one GEMM; K is trip * 8 lanes long, and valid up to K of the first iteration.
// CHECK-LABEL: func.func @raised
// CHECK-NOT: scf.for
// CHECK: %[[TRIPS:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i64
// CHECK: %[[SIZE:.*]] = arith.muli %[[TRIPS]], %{{.*}} : i64
// CHECK: %[[SOME:.*]] = arith.maxsi %k, %{{.*}} : i64
// CHECK: %[[K:.*]] = arith.minsi %[[SOME]], %[[SIZE]] : i64
// CHECK: %[[A:.*]] = ahbm.region %a[%{{.*}}] sizes(%{{.*}}, %[[SIZE]]) {{.*}} hi(%{{.*}}, %[[K]])
// CHECK: %[[B:.*]] = ahbm.region %b[%{{.*}}] sizes(%[[SIZE]], %{{.*}}) {{.*}} hi(%[[SIZE]], %{{.*}})
// CHECK: tl.gemm %[[A]], %[[B]] acc(%zero)
func.func @raised(%a: !tl.ptr<f16>, %b: !tl.ptr<f16>, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %left = arith.subi %k, %at : i64
    %some = arith.maxsi %left, %z : i64
    %hi = arith.minsi %some, %eight : i64
    %ra = ahbm.region %a[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %hi) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %ra : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %bt = arith.muli %at, %k : i64
    %rb = ahbm.region %b[%bt] sizes(%eight, %four) strides(%k, %one) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %d = tl.dot %la, %lb acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Leaves alone: a loop without a dot.
// CHECK-LABEL: func.func @other
// CHECK: scf.for
func.func @other(%p: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    tl.store %p, %i : !tl.ptr<i32>, i32
    scf.yield
  }
  func.return
}

// Refuses: a store in the loop would be lost.
// CHECK-LABEL: func.func @stores
// CHECK: scf.for
// CHECK: tl.store_region
func.func @stores(%ra: !tl.ptr<f16>, %b: tensor<8x4xf16>, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %r = ahbm.region %ra[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %s = ahbm.region %ra[%at] sizes(%eight, %four) strides(%one, %k) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %s : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %d = tl.dot %la, %lb acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    tl.store_region %s, %b : !ahbm.region<f16, 2>, tensor<8x4xf16>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Changes: a jump of 16 lanes leaves out every other block of 8, so the K axis is folded: block t begins at lane 16 * t.
// Of K lanes from the first on, 8 lie in each whole 16 and up to 8 in what is left.
// CHECK-LABEL: func.func @jumps
// CHECK-NOT: scf.for
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i64
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : i64
// CHECK: %[[WHOLE:.*]] = arith.divsi %k, %[[SIXTEEN]] : i64
// CHECK: %[[LEFT:.*]] = arith.remsi %k, %[[SIXTEEN]] : i64
// CHECK: ahbm.region {{.*}} fold(%{{.*}}) width(%[[EIGHT]]) stride(%[[SIXTEEN]]) {axes = ["affine", "folded"]}
// CHECK: tl.gemm
func.func @jumps(%ra: !tl.ptr<f16>, %zero: tensor<4x4xf32>, %k: i64, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %sixteen = arith.constant 16 : i64
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%acc = %zero) -> (tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %sixteen : i64
    %left = arith.subi %k, %at : i64
    %some = arith.maxsi %left, %z : i64
    %hi = arith.minsi %some, %eight : i64
    %r = ahbm.region %ra[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %hi) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %s = ahbm.region %ra[%at] sizes(%eight, %four) strides(%one, %k) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %s : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %d = tl.dot %la, %lb acc(%acc) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}

// Changes: two sums over one `a` are two GEMMs; what is scaled alike in every step is scaled once, and then taken off.
// CHECK-LABEL: func.func @sums
// CHECK-NOT: scf.for
// CHECK: %[[U:.*]] = tl.gemm %{{.*}}, %{{.*}} acc(%zero)
// CHECK: %[[V:.*]] = tl.gemm %{{.*}}, %{{[^ ]*}} {block_k
// CHECK: %[[SCALED:.*]] = arith.mulf %[[V]], %scale
// CHECK: %[[LESS:.*]] = arith.subf %other, %[[SCALED]]
// CHECK: func.return %[[U]], %[[LESS]]
func.func @sums(%a: !tl.ptr<f16>, %zero: tensor<4x4xf32>, %other: tensor<4x4xf32>, %scale: tensor<4x4xf32>, %k: i64, %trip: i32) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %eight = arith.constant 8 : i64
  %x, %y = scf.for %t = %c0 to %trip step %c1 iter_args(%u = %zero, %v = %other) -> (tensor<4x4xf32>, tensor<4x4xf32>) : i32 {
    %w = tl.cast %t : i32 -> i64
    %at = arith.muli %w, %eight : i64
    %r = ahbm.region %a[%at] sizes(%four, %eight) strides(%k, %one) lo(%z, %z) hi(%four, %eight) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %la = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<4x8xf16>
    %s = ahbm.region %a[%at] sizes(%eight, %four) strides(%one, %k) lo(%z, %z) hi(%eight, %four) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
    %lb = tl.load_region %s : !ahbm.region<f16, 2> -> tensor<8x4xf16>
    %d = tl.dot %la, %lb acc(%u) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    %e = tl.dot %la, %lb : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
    %f = arith.mulf %e, %scale : tensor<4x4xf32>
    %g = arith.subf %v, %f : tensor<4x4xf32>
    scf.yield %d, %g : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.return %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
}

// Refuses: a second carried value that is no sum of dots keeps the loop.
// CHECK-LABEL: func.func @two
// CHECK: scf.for
func.func @two(%a: tensor<4x8xf16>, %b: tensor<8x4xf16>, %zero: tensor<4x4xf32>, %trip: i32) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x, %y = scf.for %t = %c0 to %trip step %c1 iter_args(%u = %zero, %v = %zero) -> (tensor<4x4xf32>, tensor<4x4xf32>) : i32 {
    %d = tl.dot %a, %b acc(%u) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    %e = arith.mulf %v, %zero : tensor<4x4xf32>
    scf.yield %d, %e : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.return %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
}

// Refuses: an operand that is converted on its way to the dot, but not loaded.
// CHECK-LABEL: func.func @converted
// CHECK: scf.for
func.func @converted(%a: tensor<4x8xi8>, %b: tensor<8x4xf16>, %zero: tensor<4x4xf32>, %trip: i32) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = scf.for %t = %c0 to %trip step %c1 iter_args(%u = %zero) -> (tensor<4x4xf32>) : i32 {
    %c = tl.cast %a : tensor<4x8xi8> -> tensor<4x8xf16>
    %d = tl.dot %c, %b acc(%u) : tensor<4x8xf16>, tensor<8x4xf16> acc_type tensor<4x4xf32> -> tensor<4x4xf32>
    scf.yield %d : tensor<4x4xf32>
  }
  func.return %x : tensor<4x4xf32>
}
