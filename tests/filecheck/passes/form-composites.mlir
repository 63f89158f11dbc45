// RUN: ahbmc-opt %s -p form-composites{stage=none} | filecheck %s
// RUN: ahbmc-opt %s -p form-composites{stage=a} | filecheck %s --check-prefix=STAGE
// RUN: ahbmc-opt %s -p form-composites{when=auto} | filecheck %s --check-prefix=AUTO

// CHECK-DAG: outcome = "formed", reason = "a streamed, b streamed"
// CHECK-DAG: outcome = "refused", reason = "a batch of products"
// STAGE-DAG: outcome = "refused", reason = "a is streamed: the size of K is not known when the kernel is compiled"

// Changes: the operand that is loaded for the dot alone is streamed, the one that a loop carries is staged.
// CHECK-LABEL: func.func @streams
// CHECK-NOT: tl.load_region %rb
// CHECK: tl.composite(%{{.*}} = %a : tensor<32x64xf16>, %{{.*}} = %rb : !ahbm.region<f16, 2>) attributes {stage = "a"}
// CHECK: tl.gemm
// CHECK-NEXT: tl.yield
func.func @streams(%a: tensor<32x64xf16>, %p: !tl.ptr<f16>) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %rb = ahbm.region %p[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %b = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<64x32xf16>
  %d = tl.dot %a, %b : tensor<32x64xf16>, tensor<64x32xf16> -> tensor<32x32xf32>
  func.return %d : tensor<32x32xf32>
}

// Changes: the transpose of a load is a region with its axes exchanged.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[T:.*]] = ahbm.region %p[%{{.*}}] sizes(%k, %n) strides(%one, %k)
// CHECK-NOT: tl.trans
// CHECK: tl.composite({{.*}} = %[[T]] : !ahbm.region<f16, 2>)
func.func @transposed(%a: tensor<32x64xf16>, %p: !tl.ptr<f16>) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k = arith.constant 64 : i64
  %n = arith.constant 32 : i64
  %rb = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %l = tl.load_region %rb : !ahbm.region<f16, 2> -> tensor<32x64xf16>
  %b = tl.trans %l {order = array<i64: 1, 0>} : tensor<32x64xf16> -> tensor<64x32xf16>
  %d = tl.dot %a, %b : tensor<32x64xf16>, tensor<64x32xf16> -> tensor<32x32xf32>
  func.return %d : tensor<32x32xf32>
}

// Leaves alone: a load with another user stays, and so does one with a store behind it; both operands are staged.
// CHECK-LABEL: func.func @staged
// CHECK: %a = tl.load_region
// CHECK: %b = tl.load_region
// CHECK: tl.store_region
// CHECK: tl.composite(%{{.*}} = %a : tensor<32x32xf16>, %{{.*}} = %b : tensor<32x32xf16>)
// CHECK: tl.dot
func.func @staged(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %r = ahbm.region %p[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %s = ahbm.region %q[%z] sizes(%n, %n) strides(%n, %one) lo(%z, %z) hi(%n, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %a = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<32x32xf16>
  %b = tl.load_region %r : !ahbm.region<f16, 2> -> tensor<32x32xf16>
  tl.store_region %s, %a : !ahbm.region<f16, 2>, tensor<32x32xf16>
  %d = tl.dot %a, %b : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  func.return %d : tensor<32x32xf32>
}

// Changes: K is known to be 128 in this launch, so the whole of A is one load before the composite.
// STAGE-LABEL: func.func @whole
// STAGE: %[[CUT:.*]] = ahbm.cut %ra[%{{.*}}, %[[K:.*]]] {axis = 1 : i64}
// STAGE: %[[A:.*]] = tl.load_region %[[CUT]] : !ahbm.region<f16, 2> -> tensor<32x128xf16>
// STAGE: %[[B:.*]] = ahbm.cut %rb[%{{.*}}, %[[K]]] {axis = 0 : i64}
// STAGE: tl.composite(%{{.*}} = %[[A]] : tensor<32x128xf16>, %{{.*}} = %[[B]] : !ahbm.region<f16, 2>) attributes {stage = "a"}
// AUTO-LABEL: func.func @whole
// AUTO: tl.composite
func.func @whole(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 128 : i64}) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x32xf32>
  func.return %d : tensor<32x32xf32>
}

// Changes: A of 128 x 8192 does not fit the scratch, so it is read in pieces that are added up, the last one behind the loop.
// STAGE-LABEL: func.func @pieces
// STAGE: scf.for
// STAGE: tl.load_region {{.*}} -> tensor<128x[[PIECE:[0-9]+]]xf16>
// STAGE: tl.composite({{.*}} : tensor<128x[[PIECE]]xf16>, {{.*}} : !ahbm.region<f16, 2>, %{{.*}} = %{{.*}} : tensor<128x32xf32>)
// STAGE: scf.yield
// STAGE: tl.load_region {{.*}} -> tensor<128x[[PIECE]]xf16>
// STAGE: tl.composite({{.*}} : tensor<128x[[PIECE]]xf16>, {{.*}} : !ahbm.region<f16, 2>, %{{.*}} = %{{.*}} : tensor<128x32xf32>)
func.func @pieces(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 8192 : i64}) -> tensor<128x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %m = arith.constant 128 : i64
  %ra = ahbm.region %p[%z] sizes(%m, %k) strides(%k, %one) lo(%z, %z) hi(%m, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<128x32xf32>
  func.return %d : tensor<128x32xf32>
}

// Refuses: nobody knows K, so A is streamed all the same, and a remark says why.
// STAGE-LABEL: func.func @unknown
// STAGE-NOT: tl.load_region
// STAGE: tl.composite({{.*}} = %ra : !ahbm.region<f16, 2>, {{.*}} = %rb : !ahbm.region<f16, 2>) attributes {stage = "none"}
func.func @unknown(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64) -> tensor<32x32xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 32 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<32x32xf32>
  func.return %d : tensor<32x32xf32>
}

// Leaves alone under when=auto: a product of 8 x 8 x 8 is far cheaper than a padded tile.
// AUTO-LABEL: func.func @small
// AUTO-NOT: tl.composite
// AUTO: tl.dot
func.func @small(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) -> tensor<8x8xf32> {
  %d = tl.dot %a, %b : tensor<8x8xf16>, tensor<8x8xf16> -> tensor<8x8xf32>
  func.return %d : tensor<8x8xf32>
}

// Changes under when=auto: a raised GEMM for which single ops are cheaper is the kernel's loop again, with its own block of K.
// AUTO-LABEL: func.func @loop_again
// AUTO: scf.for
// AUTO: tl.load_region {{.*}} -> tensor<8x16xf16>
// AUTO: tl.load_region {{.*}} -> tensor<16x8xf16>
// AUTO: tl.dot
func.func @loop_again(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 16 : i64}) -> tensor<8x8xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 8 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb {block_k = 16 : i64} : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<8x8xf32>
  func.return %d : tensor<8x8xf32>
}

// A slice to itself: the composite is faster, although it reads B once for each row of tiles.
// AUTO-LABEL: func.func @own_slice
// AUTO: tl.composite
func.func @own_slice(%p: !tl.ptr<f16>, %q: !tl.ptr<f16>, %k: i64 {ahbm.value = 512 : i64}) -> tensor<64x64xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb {block_k = 64 : i64} : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  func.return %d : tensor<64x64xf32>
}

// The same product on a slice that eight PEs share is bound by its bytes: single ops, which read B once.
// AUTO-LABEL: func.func @shared_slice
// AUTO-NOT: tl.composite
// AUTO: tl.dot
func.func @shared_slice(%p: !tl.ptr<f16> {ahbm.sharers = 8 : i64}, %q: !tl.ptr<f16> {ahbm.sharers = 8 : i64}, %k: i64 {ahbm.value = 512 : i64}) -> tensor<64x64xf32> {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %ra = ahbm.region %p[%z] sizes(%n, %k) strides(%k, %one) lo(%z, %z) hi(%n, %k) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %rb = ahbm.region %q[%z] sizes(%k, %n) strides(%n, %one) lo(%z, %z) hi(%k, %n) {axes = ["affine", "affine"]} : !tl.ptr<f16> -> !ahbm.region<f16, 2>
  %d = tl.gemm %ra, %rb {block_k = 64 : i64} : !ahbm.region<f16, 2>, !ahbm.region<f16, 2> -> tensor<64x64xf32>
  func.return %d : tensor<64x64xf32>
}

// Leaves alone: a composite has one product at most, so a batch of them is left to single-op commands.
// CHECK-LABEL: func.func @batch
// CHECK-NEXT: tl.dot
func.func @batch(%a: tensor<3x32x64xf16>, %b: tensor<3x64x32xf16>) -> tensor<3x32x32xf32> {
  %d = tl.dot %a, %b : tensor<3x32x64xf16>, tensor<3x64x32xf16> -> tensor<3x32x32xf32>
  func.return %d : tensor<3x32x32xf32>
}
