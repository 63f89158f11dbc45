// RUN: ahbmc-opt %s -p form-composites{in-loops=load} | filecheck %s
// RUN: ahbmc-opt %s -p form-composites | filecheck %s --check-prefix=STREAM

// The reason has what each way to stage would cost.
// CHECK: reason = "a staged, b staged, 64 lanes of K at a time: about 2,{{[0-9]+}} ns (none staged {{[0-9,]+}}, a staged {{[0-9,]+}}, b staged {{[0-9,]+}})"
// CHECK: reason = "a streamed, b staged: about {{[0-9,]+}} ns (none staged {{[0-9,]+}}, a staged {{[0-9,]+}}, both in pieces {{[0-9,]+}})"
// CHECK: reason = "2 products share a, {{[0-9]+}} lanes of K at a time: about {{[0-9,]+}} ns (apart {{[0-9,]+}})"

// Changes: streams would read each operand four times, so both are read in pieces of K, the next while one is computed.
// CHECK-LABEL: func.func @square
// CHECK: scf.for
// CHECK: %[[A:.*]] = tl.load_region {{.*}} -> tensor<128x64xf16>
// CHECK: %[[B:.*]] = tl.load_region {{.*}} -> tensor<64x128xf16>
// CHECK: tl.composite(%{{.*}} = %[[A]] : tensor<128x64xf16>, %{{.*}} = %[[B]] : tensor<64x128xf16>, %{{.*}} = %{{.*}} : tensor<128x128xf32>)
// CHECK: scf.yield
// CHECK: tl.load_region {{.*}} -> tensor<128x64xf16>
// CHECK: tl.composite
// CHECK-NOT: scf.for

// Leaves alone: where loops do not load ahead, one operand is staged as a whole.
// STREAM-LABEL: func.func @square
// STREAM-NOT: scf.for
// STREAM: tl.load_region {{.*}} -> tensor<128x512xf16>
func.func @square(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 512 : i64}) -> tensor<128x128xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 128 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<128x128xf32>
  func.return %d : tensor<128x128xf32>
}

// Leaves alone: A of 32 columns is streamed once in any case; staging B, which would be read four times, is enough.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: scf.for
// CHECK: %[[B:.*]] = tl.load_region {{.*}} -> tensor<512x32xf16>
// CHECK: tl.composite({{.*}} : !ahbm.region<f16, 2>, %{{.*}} = %[[B]] : tensor<512x32xf16>)
func.func @narrow(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 512 : i64}) -> tensor<128x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %m = arith.constant 128 : i64
  %ra = ahbm.region %p[%z] sizes(%m, %k) strides(%k, %one) lo(%z, %z) hi(%m, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<128x32xf32>
  func.return %d : tensor<128x32xf32>
}

// Changes: two products of one A are done together, and each piece of A is read once for both.
// CHECK-LABEL: func.func @two
// CHECK: scf.for {{.*}} iter_args(%[[U:.*]] = %{{.*}}, %[[V:.*]] = %{{.*}}) -> (tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK: %[[A:.*]] = tl.load_region {{.*}} -> tensor<64x[[CHUNK:[0-9]+]]xf16>
// CHECK: %[[B:.*]] = tl.load_region {{.*}} -> tensor<[[CHUNK]]x64xf16>
// CHECK: tl.composite(%{{.*}} = %[[A]] : {{.*}} = %[[B]] : {{.*}} = %[[U]] : tensor<64x64xf32>)
// CHECK: %[[C:.*]] = tl.load_region {{.*}} -> tensor<[[CHUNK]]x64xf16>
// CHECK: tl.composite(%{{.*}} = %[[A]] : {{.*}} = %[[C]] : {{.*}} = %[[V]] : tensor<64x64xf32>)
// CHECK: scf.yield
// CHECK-NOT: scf.for
func.func @two(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %r: !tl.ptr<f16>, %k: i64 {ahbm.value = 1024 : i64}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rc = ahbm.region %r[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  %e = tl.gemm %ra, %rc : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  func.return %d, %e : tensor<64x64xf32>, tensor<64x64xf32>
}

// Leaves alone: a store between two products of one A might write what the second one reads.
// CHECK-LABEL: func.func @written
// CHECK: tl.composite
// CHECK: tl.store_region
// CHECK: tl.composite
func.func @written(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %o: !tl.ptr<f32>, %x: tensor<64x64xf32>, %k: i64 {ahbm.value = 128 : i64}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %ro = ahbm.region %o[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f32> -> !ahbm.region<f32, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  tl.store_region %ro, %x : !ahbm.region<f32, 2>, tensor<64x64xf32>
  %e = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  func.return %d, %e : tensor<64x64xf32>, tensor<64x64xf32>
}
